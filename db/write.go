package db

import (
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/apserver/ap/core/server"
)

// tx is a server.Writer: the writer's connection inside its transaction. Append is in append.go.
type tx struct {
	reader
	w *writer
	// wrote says that the write has changed something.
	wrote bool
	// notable says that the transaction has changed something that subscribers want to know of.
	notable bool
}

func (t *tx) exec(q string, args ...any) (sql.Result, error) {
	res, err := t.quietly(q, args...)
	if err == nil {
		t.notable = true
	}
	return res, err
}

// quietly writes what no subscriber wants to know of.
func (t *tx) quietly(q string, args ...any) (sql.Result, error) {
	res, err := t.conn.exec(q, args...)
	if err == nil {
		t.wrote = true // a statement that fails has changed nothing
	}
	return res, err
}

func (t *tx) PutDraft(name, hash string, source []byte, at time.Time) error {
	if _, err := t.exec(sqlPutDraft, name, hash, source, ms(at)); err != nil {
		return fmt.Errorf("draft of %s: %w", name, err)
	}
	return nil
}

func (t *tx) Bind(process, role, group string) error {
	if _, err := t.Process(process); err != nil {
		return err
	}
	if _, err := t.exec(sqlBind, process, role, group); err != nil {
		return fmt.Errorf("bind role %s of %s: %w", role, process, err)
	}
	return nil
}

func (t *tx) PutVersion(v server.Version) error {
	if err := t.one(sqlSetLatest, v.Process, v.Number); err != nil {
		p, missing := t.Process(v.Process)
		if missing != nil {
			return missing
		}
		if errors.Is(err, server.ErrNotFound) {
			err = fmt.Errorf("the latest is %d: %w", p.Latest, server.ErrConflict)
		}
		return fmt.Errorf("publish version %d of %s: %w", v.Number, v.Process, err)
	}
	if _, err := t.exec(sqlPutVersion, v.Process, v.Number, v.Hash, v.Source, ms(v.PublishedAt), v.PublishedBy); err != nil {
		return fmt.Errorf("publish version %d of %s: %w", v.Number, v.Process, err)
	}
	return nil
}

func (t *tx) PutRequest(r server.Request) error {
	var ref any
	if r.Ref != nil {
		ref = string(r.Ref)
	}
	_, err := t.exec(sqlPutRequest, r.ID, r.Tool, r.Args, r.By, r.RunID, r.Seq, ms(r.At), ref)
	if isConstraint(err) {
		err = server.ErrConflict
	}
	if err != nil {
		return fmt.Errorf("record request: %w", err)
	}
	return nil
}

func (t *tx) PutUpload(u server.Upload) error {
	sum, err := hex.DecodeString(u.SHA256)
	if err != nil || len(sum) != 32 {
		return fmt.Errorf("upload %s: %q is not a SHA-256 in hex", u.ID, u.SHA256)
	}
	_, err = t.exec(sqlPutUpload, u.ID, sum, u.Bytes, u.FileName, u.ContentType, u.By, ms(u.At))
	if isConstraint(err) {
		err = server.ErrConflict
	}
	if err != nil {
		return fmt.Errorf("upload %s: %w", u.ID, err)
	}
	return nil
}

func (t *tx) AddMember(group, email string) error {
	if _, err := t.exec(sqlAddMember, group, email); err != nil {
		return fmt.Errorf("add %s to group %s: %w", email, group, err)
	}
	return nil
}

func (t *tx) RemoveMember(group, email string) error {
	if err := t.one(sqlRemoveMember, group, email); err != nil {
		return fmt.Errorf("remove %s from group %s: %w", email, group, err)
	}
	return nil
}

func (t *tx) PutAgent(a server.AgentRow) error {
	var processes any
	if a.Processes != nil {
		b, err := json.Marshal(a.Processes)
		if err != nil {
			return fmt.Errorf("agent %s: %w", a.Name, err)
		}
		processes = string(b)
	}
	if _, err := t.exec(sqlPutAgent, a.Name, a.KeyHash, processes, ms(a.CreatedAt), msOrNull(a.ExpiresAt),
		msOrNull(a.RevokedAt), msOrNull(a.LastUsed)); err != nil {
		return fmt.Errorf("agent %s: %w", a.Name, err)
	}
	return nil
}

func (t *tx) RevokeAgent(name string, at time.Time) error {
	if err := t.one(sqlRevokeAgent, name, ms(at)); err != nil {
		return fmt.Errorf("revoke agent %s: %w", name, err)
	}
	return nil
}

func (t *tx) TouchAgent(name string, at time.Time) error {
	if err := changedOne(t.quietly(sqlTouchAgent, name, ms(at))); err != nil {
		return fmt.Errorf("agent %s: %w", name, err)
	}
	return nil
}

func (t *tx) SetSetting(key, value string) error {
	if _, err := t.exec(sqlSetSetting, key, value); err != nil {
		return fmt.Errorf("setting %s: %w", key, err)
	}
	return nil
}

// one runs a statement that has to change one row; ErrNotFound if it changed none.
func (t *tx) one(q string, args ...any) error { return changedOne(t.exec(q, args...)) }

func changedOne(res sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		return server.ErrNotFound
	}
	return nil
}
