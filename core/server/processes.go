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

// Publish publishes the draft (protocol.md 1.8). Unchanged content returns the existing version.
func (s *Server) Publish(ctx context.Context, name string) (Version, error) {
	var version Version
	err := s.admin(ctx, func(w Writer) error {
		row, err := w.Process(name)
		if errors.Is(err, ErrNotFound) {
			return s.unknownProcess(w, name, false)
		}
		if err != nil {
			return fmt.Errorf("reading process %s: %w", name, err)
		}
		doc, problems := process.Parse(row.DraftSource, process.Options{})
		issues := errorLines(problems)
		if doc != nil {
			bound, err := w.Bindings(name)
			if err != nil {
				return fmt.Errorf("reading the bindings of %s: %w", name, err)
			}
			issues = s.publicationIssues(doc, bound)
		}
		if len(issues) > 0 {
			return invalid(name+" can't be published", issues...)
		}
		version, err = s.publish(w, row, doc)
		return err
	})
	return version, err
}

// publish adds the next version, or returns the latest where nothing has changed.
func (s *Server) publish(w Writer, row ProcessRow, doc *process.Document) (Version, error) {
	if row.Latest > 0 {
		latest, err := w.Version(row.Name, row.Latest)
		if err != nil {
			return Version{}, fmt.Errorf("reading version %d of %s: %w", row.Latest, row.Name, err)
		}
		if latest.Hash == doc.Hash {
			return latest, nil
		}
	}
	v := Version{
		Process: row.Name, Number: row.Latest + 1, Hash: doc.Hash, Source: row.DraftSource,
		PublishedAt: s.opts.Clock.Now(), PublishedBy: Identity{Kind: Admin}.By(),
	}
	if err := w.PutVersion(v); err != nil {
		return Version{}, fmt.Errorf("storing version %d of %s: %w", v.Number, row.Name, err)
	}
	return v, nil
}

// publicationIssues are the reasons not to publish a document that parses, each with what to do about it.
func (s *Server) publicationIssues(doc *process.Document, bound map[string]string) []string {
	var issues []string
	for _, role := range doc.Roles() {
		if bound[role] == "" {
			issues = append(issues, fmt.Sprintf("role %s: not bound to a group; bind it with `ap bind %s %s=GROUP`", role, doc.Name, shellWord(role)))
		}
	}
	for _, profile := range doc.Profiles() {
		if !slices.Contains(s.opts.Profiles, profile) {
			issues = append(issues, fmt.Sprintf("profile %s: the process uses it and this server doesn't offer it", profile))
		}
	}
	for _, step := range doc.Steps {
		if slices.Contains(step.Evidence, "file") && !slices.Contains(Tools(), toolUpload) {
			issues = append(issues, fmt.Sprintf("step %s: needs the tool %s, which this server doesn't offer", step.ID, toolUpload))
		}
		if step.Kind == process.WaitFor && !slices.Contains(Tools(), toolSendEvent) {
			issues = append(issues, fmt.Sprintf("step %s: needs the tool %s, which this server doesn't offer", step.ID, toolSendEvent))
		}
	}
	return issues
}

// shellWord quotes a word for a shell where that is needed.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_@%+", r)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// errorLines are the issues that refuse a file, one line each, with their places.
func errorLines(issues []process.Issue) []string {
	var lines []string
	for _, i := range issues {
		if i.Severity == process.Error {
			lines = append(lines, fmt.Sprintf("PROCESS.md:%d:%d: %s", i.Line, i.Column, i.Message))
		}
	}
	return lines
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
