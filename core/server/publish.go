package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/apserver/ap/core/process"
)

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
