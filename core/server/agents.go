package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// keyPrefix begins every agent key, so that a key is known for one wherever it turns up.
const keyPrefix = "ap_"

// agentName is the form of an agent's name: `agent:NAME` names it in run data, and no name can pass for a person's client
// (which has a slash) or for a person.
var agentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// maxKeyLife bounds how long a key can be made to last.
const maxKeyLife = 100 * 365 * 24 * time.Hour

// AddAgent makes an agent and returns its key, which is shown once and stored only as a hash. It may be limited to some
// processes (nil is no limit) and expire (0 is never). An agent of that name that is not revoked is a conflict.
func (s *Server) AddAgent(ctx context.Context, name string, processes []string, expires time.Duration) (key string, err error) {
	var issues []string
	if !agentName.MatchString(name) {
		issues = append(issues, fmt.Sprintf("%q: an agent's name is 1 to 64 letters, digits, dots, - and _, beginning with a letter or digit", shown(name)))
	}
	if expires < 0 || expires > maxKeyLife {
		issues = append(issues, "a key lasts for more than nothing and at most 100 years")
	}
	if len(issues) > 0 {
		return "", invalid("The agent can't be made like this", issues...)
	}
	secret := make([]byte, 32)
	rand.Read(secret) // never fails (crypto/rand)
	key = keyPrefix + base64.RawURLEncoding.EncodeToString(secret)
	now := s.realNow()
	row := AgentRow{Name: name, KeyHash: hashKey(key), Processes: slices.Compact(slices.Sorted(slices.Values(processes))), CreatedAt: now, ExpiresAt: expiry(now, expires)}
	err = s.admin(ctx, func(w Writer) error {
		if err := s.checkProcesses(w, processes); err != nil {
			return err
		}
		agents, err := w.Agents()
		if err != nil {
			return fmt.Errorf("listing agents: %w", err)
		}
		if slices.ContainsFunc(agents, func(a AgentRow) bool { return a.Name == name && a.RevokedAt == nil }) {
			return conflict(fmt.Sprintf("There is an agent %s already; revoke it first with `ap agent revoke %s`", name, name))
		}
		if err := w.PutAgent(row); err != nil {
			return fmt.Errorf("storing the agent %s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return key, nil
}

func hashKey(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

func (s *Server) realNow() time.Time { return s.opts.RealTime().UTC().Truncate(time.Millisecond) }

// Agents lists all agents.
func (s *Server) Agents(ctx context.Context) ([]AgentRow, error) {
	var agents []AgentRow
	err := s.store.Read(ctx, func(r Reader) (err error) {
		agents, err = r.Agents()
		return err
	})
	return agents, storeError(err)
}

// RevokeAgent ends an agent's key at once; not_found names the nearest agent.
func (s *Server) RevokeAgent(ctx context.Context, name string) error {
	return s.admin(ctx, func(w Writer) error {
		agents, err := w.Agents()
		if err != nil {
			return fmt.Errorf("listing agents: %w", err)
		}
		var live []string
		for _, a := range agents {
			if a.RevokedAt == nil {
				live = append(live, a.Name)
			}
		}
		if !slices.Contains(live, name) {
			if slices.ContainsFunc(agents, func(a AgentRow) bool { return a.Name == name }) {
				return conflict(fmt.Sprintf("The agent %s is revoked already", name))
			}
			return notFound("There is no agent %q%s", shown(name), suggestion(name, live))
		}
		if err := w.RevokeAgent(name, s.realNow()); err != nil {
			return fmt.Errorf("revoking the agent %s: %w", name, err)
		}
		return nil
	})
}

// AgentByKey returns the identity behind an agent key; ok is false for a key that is unknown, revoked or expired.
func (s *Server) AgentByKey(ctx context.Context, key string) (id Identity, ok bool, err error) {
	if !strings.HasPrefix(key, keyPrefix) {
		return Identity{}, false, nil
	}
	var row AgentRow
	err = s.store.Read(ctx, func(r Reader) (err error) {
		row, err = r.AgentByKey(hashKey(key))
		return err
	})
	if errors.Is(err, ErrNotFound) {
		return Identity{}, false, nil
	}
	if err != nil {
		return Identity{}, false, storeError(err)
	}
	now := s.realNow()
	if row.RevokedAt != nil || row.ExpiresAt != nil && !now.Before(*row.ExpiresAt) {
		return Identity{}, false, nil
	}
	s.touch(ctx, row, now)
	return Identity{Kind: Agent, Name: row.Name, Processes: row.Processes}, true, nil
}

const (
	// touchEvery is how exact an agent's last use is kept: a key in constant use costs one write in that time.
	touchEvery = time.Minute
	// touchWait is how long a call waits for that write.
	touchWait = time.Second
)

// lastTouch remembers when each agent's last use was written, or tried to be.
type lastTouch struct {
	mu sync.Mutex
	at map[string]time.Time
}

// due says whether an agent's use is to be written now, and remembers that it was.
func (t *lastTouch) due(name string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last, ok := t.at[name]; ok && now.Sub(last) < touchEvery && !now.Before(last) {
		return false
	}
	if t.at == nil {
		t.at = map[string]time.Time{}
	}
	t.at[name] = now
	return true
}

// touch records that a key was used. That it can't be is no reason to refuse the call.
func (s *Server) touch(ctx context.Context, row AgentRow, now time.Time) {
	if row.LastUsed != nil && now.Sub(*row.LastUsed) < touchEvery && !now.Before(*row.LastUsed) || !s.touched.due(row.Name, now) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, touchWait)
	defer cancel()
	err := s.store.Write(ctx, func(w Writer) error { return w.TouchAgent(row.Name, now) })
	if err != nil {
		s.log.WarnContext(ctx, "recording an agent's last use", "agent", row.Name, "error", err)
	}
}
