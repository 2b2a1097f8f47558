package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// What whoever runs `ap` on the data directory may do with processes. The pages show the same lists.

// Import makes or replaces the draft of a process. The source was parsed already; roles bound before stay bound.
func (s *Server) Import(ctx context.Context, source []byte, doc *process.Document) error {
	return s.admin(ctx, func(w Writer) error {
		if err := w.PutDraft(doc.Name, doc.Hash, source, s.opts.Clock.Now()); err != nil {
			return fmt.Errorf("storing the draft of %s: %w", doc.Name, err)
		}
		return nil
	})
}

// admin runs an admin's write.
func (s *Server) admin(ctx context.Context, fn func(w Writer) error) error {
	return storeError(s.store.Write(ctx, fn))
}

// Bind binds roles of a process to groups; a role the process doesn't have is refused, with the nearest one named.
func (s *Server) Bind(ctx context.Context, name string, roles map[string]string) error {
	return s.admin(ctx, func(w Writer) error {
		doc, err := s.draft(w, name)
		if err != nil {
			return err
		}
		var issues []string
		for _, role := range slices.Sorted(maps.Keys(roles)) {
			issues = append(issues, bindingIssues(doc, role, roles[role])...)
		}
		if len(issues) > 0 {
			return invalid("The roles of "+name+" can't be bound like this", issues...)
		}
		for role, group := range roles {
			if err := w.Bind(name, role, group); err != nil {
				return fmt.Errorf("binding %s of %s: %w", role, name, err)
			}
		}
		return nil
	})
}

func bindingIssues(doc *process.Document, role, group string) []string {
	var issues []string
	declared := doc.Roles()
	switch {
	case role == process.Initiator:
		issues = append(issues, role+": is the person who started the run; it isn't bound")
	case !slices.Contains(declared, role):
		issues = append(issues, fmt.Sprintf("%s: no such role in %s%s", shown(role), doc.Name, suggestion(role, declared)))
	}
	if problem := nameProblem(group); problem != "" {
		issues = append(issues, fmt.Sprintf("%s: the group's name %s", shown(role), problem))
	}
	return issues
}

// maxName is the longest name of a group, in characters.
const maxName = 200

// nameProblem says what is wrong with a group's name; "" when nothing is.
func nameProblem(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "is blank"
	case strings.TrimSpace(name) != name:
		return "begins or ends with a space"
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "has characters that can't be printed"
	case utf8.RuneCountInString(name) > maxName:
		return fmt.Sprintf("is longer than %d characters", maxName)
	}
	return ""
}

// draft returns the parsed draft of a process.
func (s *Server) draft(r Reader, name string) (*process.Document, error) {
	row, err := r.Process(name)
	if errors.Is(err, ErrNotFound) {
		return nil, s.unknownProcess(r, name, false)
	}
	if err != nil {
		return nil, fmt.Errorf("reading process %s: %w", name, err)
	}
	return parseStored(row.DraftSource)
}

// ProcessInfo is a process with everything an admin or a page shows of it.
type ProcessInfo struct {
	Row ProcessRow
	// Draft and Latest are the parsed documents; Latest is nil when nothing is published.
	Draft, Latest *process.Document
	Versions      []Version
	// Roles maps every role of the draft to its group, "" when unbound.
	Roles map[string]string
}

// Process returns one process, drafts included; not_found names the nearest one.
func (s *Server) Process(ctx context.Context, name string) (*ProcessInfo, error) {
	var info *ProcessInfo
	err := s.store.Read(ctx, func(r Reader) error {
		row, err := r.Process(name)
		if errors.Is(err, ErrNotFound) {
			return s.unknownProcess(r, name, false)
		}
		if err != nil {
			return fmt.Errorf("reading process %s: %w", name, err)
		}
		info, err = s.processInfo(r, row)
		return err
	})
	return info, storeError(err)
}

// Processes lists all processes by name.
func (s *Server) Processes(ctx context.Context) ([]ProcessInfo, error) {
	var infos []ProcessInfo
	err := s.store.Read(ctx, func(r Reader) error {
		infos = nil
		for after := ""; ; {
			rows, err := r.Processes(false, after, maxLimit)
			if err != nil {
				return fmt.Errorf("listing processes: %w", err)
			}
			for _, row := range rows {
				info, err := s.processInfo(r, row)
				if err != nil {
					return err
				}
				infos = append(infos, *info)
				after = row.Name
			}
			if len(rows) < maxLimit {
				return nil
			}
		}
	})
	return infos, storeError(err)
}

func (s *Server) processInfo(r Reader, row ProcessRow) (*ProcessInfo, error) {
	info := &ProcessInfo{Row: row, Roles: map[string]string{}}
	var err error
	if info.Versions, err = r.Versions(row.Name); err != nil {
		return nil, fmt.Errorf("listing the versions of %s: %w", row.Name, err)
	}
	if row.Latest > 0 {
		if info.Latest, _, err = s.document(r, row.Name, row.Latest); err != nil {
			return nil, err
		}
	}
	if info.Latest != nil && info.Latest.Hash == row.DraftHash {
		info.Draft = info.Latest // published as it is, and parsed already
	} else if info.Draft, err = parseStored(row.DraftSource); err != nil {
		return nil, fmt.Errorf("the draft of %s: %w", row.Name, err)
	}
	bound, err := r.Bindings(row.Name)
	if err != nil {
		return nil, fmt.Errorf("reading the bindings of %s: %w", row.Name, err)
	}
	for _, role := range info.Draft.Roles() {
		info.Roles[role] = bound[role]
	}
	return info, nil
}

// VersionSource returns the document of one version (0 is the latest).
func (s *Server) VersionSource(ctx context.Context, name string, number int) (Version, *process.Document, error) {
	var v Version
	var doc *process.Document
	err := s.store.Read(ctx, func(r Reader) (err error) {
		v, err = r.Version(name, number)
		if errors.Is(err, ErrNotFound) {
			return s.unknownVersion(r, name, number)
		}
		if err != nil {
			return fmt.Errorf("reading version %d of %s: %w", number, name, err)
		}
		doc, _, err = s.document(r, name, v.Number)
		return err
	})
	return v, doc, storeError(err)
}

func (s *Server) unknownVersion(r Reader, name string, number int) error {
	row, err := r.Process(name)
	switch {
	case errors.Is(err, ErrNotFound):
		return s.unknownProcess(r, name, false)
	case err != nil:
		return fmt.Errorf("reading process %s: %w", name, err)
	case row.Latest == 0:
		return notFound("Nothing of %s is published yet; publish it with `ap publish %s`", name, name)
	}
	return notFound("The process %s has no version %d; its latest is %d", name, number, row.Latest)
}

// unknownProcess says that there is no such process, and which one may have been meant.
func (s *Server) unknownProcess(r Reader, name string, published bool) error {
	names, err := r.ProcessNames(published)
	if err != nil {
		return fmt.Errorf("listing processes: %w", err)
	}
	what := "process"
	if published {
		what = "published process"
	}
	return notFound("There is no %s %q%s", what, shown(name), suggestion(name, names))
}

// suggestion is "; did you mean X?" for the nearest of the names, or "" when none is near.
func suggestion(name string, names []string) string {
	if utf8.RuneCountInString(name) > maxShown {
		return ""
	}
	nearest, distance := "", max(2, utf8.RuneCountInString(name)/3)+1
	for _, n := range names {
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(n)); d < distance {
			nearest, distance = n, d
		}
	}
	if nearest == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", nearest)
}

// checkProcesses refuses names of processes that don't exist.
func (s *Server) checkProcesses(r Reader, names []string) error {
	var issues []string
	for _, name := range names {
		_, err := r.Process(name)
		if errors.Is(err, ErrNotFound) {
			err = s.unknownProcess(r, name, false)
		}
		var refused *Error
		switch {
		case errors.As(err, &refused):
			issues = append(issues, refused.Message)
		case err != nil:
			return fmt.Errorf("reading process %s: %w", name, err)
		}
	}
	if len(issues) > 0 {
		return refusal(run.NotFound, "Not every process is there", issues...)
	}
	return nil
}

// expiry is when something that lasts for d from now ends; nil for 0.
func expiry(now time.Time, d time.Duration) *time.Time {
	if d == 0 {
		return nil
	}
	at := now.Add(d)
	return &at
}
