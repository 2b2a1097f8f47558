package server

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// Problem is one difference that Verify found.
type Problem struct {
	// RunID is the run it is about; empty for a process, a version or a file.
	RunID   string
	Message string
}

// verifyBatch is how many runs or files are listed at a time.
const verifyBatch = 200

// Verify recomputes every journal hash, every projection, every published version's hash and every stored file's hash,
// and reports what differs. progress, if not nil, is called with the number of runs done.
func (s *Server) Verify(ctx context.Context, progress func(runs int)) ([]Problem, error) {
	var problems []Problem
	add := func(found []Problem, err error) error {
		problems = append(problems, found...)
		return err
	}
	if err := add(s.verifyVersions(ctx)); err != nil {
		return problems, storeError(err)
	}
	done := 0
	for after := ""; ; {
		ids, err := s.runIDs(ctx, after)
		if err != nil {
			return problems, storeError(err)
		}
		for _, id := range ids {
			if err := add(s.verifyRun(ctx, id)); err != nil {
				return problems, storeError(err)
			}
			after = id
		}
		done += len(ids)
		if progress != nil && len(ids) > 0 {
			progress(done)
		}
		if len(ids) < verifyBatch {
			break
		}
	}
	return problems, storeError(add(s.verifyFiles(ctx)))
}

func (s *Server) runIDs(ctx context.Context, after string) (ids []string, err error) {
	err = s.store.Read(ctx, func(r Reader) (err error) {
		ids, err = r.RunIDs(after, verifyBatch)
		return err
	})
	return ids, err
}

// verifyVersions compares each published version with the hash it was published under.
func (s *Server) verifyVersions(ctx context.Context) (problems []Problem, err error) {
	err = s.store.Read(ctx, func(r Reader) error {
		problems = nil
		for after := ""; ; {
			rows, err := r.Processes(true, after, verifyBatch)
			if err != nil {
				return fmt.Errorf("listing processes: %w", err)
			}
			for _, row := range rows {
				versions, err := r.Versions(row.Name)
				if err != nil {
					return fmt.Errorf("listing the versions of %s: %w", row.Name, err)
				}
				problems = append(problems, versionProblems(row, versions)...)
				after = row.Name
			}
			if len(rows) < verifyBatch {
				return nil
			}
		}
	})
	return problems, err
}

func versionProblems(row ProcessRow, versions []Version) []Problem {
	var problems []Problem
	for i, v := range versions {
		if want := len(versions) - i; v.Number != want {
			return append(problems, Problem{Message: fmt.Sprintf("process %s: version %d is missing", row.Name, want)})
		}
		doc, issues := process.Parse(v.Source, process.Options{})
		switch {
		case doc == nil:
			problems = append(problems, Problem{Message: fmt.Sprintf("process %s, version %d: the stored file is broken: %s", row.Name, v.Number, strings.Join(errorLines(issues), "; "))})
		case doc.Hash != v.Hash:
			problems = append(problems, Problem{Message: fmt.Sprintf("process %s, version %d: the content's hash is %s, recorded is %s", row.Name, v.Number, doc.Hash, v.Hash)})
		case doc.Name != row.Name:
			problems = append(problems, Problem{Message: fmt.Sprintf("process %s, version %d: the stored file is of %s", row.Name, v.Number, doc.Name)})
		}
	}
	return problems
}

// verifyRun checks one run in one snapshot: the chain of its journal, and what is stored beside it against the fold.
func (s *Server) verifyRun(ctx context.Context, id string) (problems []Problem, err error) {
	err = s.store.Read(ctx, func(r Reader) error {
		problems = nil
		stored, err := r.Projection(id)
		if errors.Is(err, ErrNotFound) {
			problems = []Problem{{id, "there is a journal and no run"}}
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading run %s: %w", id, err)
		}
		entries, err := r.Entries(id, 0, 0)
		if err != nil {
			return fmt.Errorf("reading the journal of run %s: %w", id, err)
		}
		doc, _, err := s.document(r, stored.Run.Process, stored.Run.Version)
		if err != nil {
			problems = []Problem{{id, fmt.Sprintf("its process can't be read: %v", err)}}
			return nil
		}
		for _, message := range runProblems(doc, id, stored, entries) {
			problems = append(problems, Problem{id, message})
		}
		return nil
	})
	return problems, err
}

// runProblems says what differs in one run. Past a break in the chain nothing can be relied on, so it stops there.
func runProblems(doc *process.Document, id string, stored Projection, entries []run.Entry) (messages []string) {
	var st *run.State
	var head []byte
	for i, e := range entries {
		if e.Seq != i+1 {
			return append(messages, fmt.Sprintf("journal: entry %d is missing", i+1))
		}
		if !run.Verify(id, head, e) {
			return append(messages, fmt.Sprintf("journal: entry %d (%s at %s) isn't what was written, or what stands before it isn't", e.Seq, e.Type, run.Time(e.At)))
		}
		next, err := applied(doc, st, e)
		if err != nil {
			return append(messages, fmt.Sprintf("journal: entry %d (%s) can't follow: %v", e.Seq, e.Type, err))
		}
		st, head = next, e.Hash
	}
	if st == nil {
		return append(messages, "journal: it is empty")
	}
	if st.Seq < stored.Run.Seq {
		return append(messages, fmt.Sprintf("journal: it ends with entry %d, and %d were written", st.Seq, stored.Run.Seq))
	}
	folded := project(doc, st, head)
	keys, err := inputKeys(st.Inputs)
	if err != nil {
		return append(messages, fmt.Sprintf("journal: %v", err))
	}
	folded.Inputs = keys
	return projectionProblems(stored, folded)
}

// applied is run.Apply for entries that may hold anything.
func applied(doc *process.Document, st *run.State, e run.Entry) (next *run.State, err error) {
	defer caught(&err)
	return run.Apply(doc, st, e.Event)
}

// projectionProblems compares what is stored about a run with what its journal folds to, field by field.
func projectionProblems(stored, folded Projection) (messages []string) {
	differ := func(what string, is, should any) {
		if is != should {
			messages = append(messages, fmt.Sprintf("%s: stored is %v, the journal says %v", what, is, should))
		}
	}
	is, should := stored.Run, folded.Run
	differ("process", is.Process, should.Process)
	differ("version", is.Version, should.Version)
	differ("mode", is.Mode, should.Mode)
	differ("state", is.State, should.State)
	differ("outcome", is.Outcome, should.Outcome)
	differ("starter", is.StartedBy, should.StartedBy)
	differ("start", run.Time(is.StartedAt).String(), run.Time(should.StartedAt).String())
	differ("last update", run.Time(is.UpdatedAt).String(), run.Time(should.UpdatedAt).String())
	differ("number of entries", is.Seq, should.Seq)
	differ("hash of the last entry", hex.EncodeToString(is.Head), hex.EncodeToString(should.Head))
	differ("next timer", optionalTime(is.NextTimer), optionalTime(should.NextTimer))
	if !bytes.Equal(is.Inputs, should.Inputs) {
		messages = append(messages, "inputs: not those of the journal")
	}
	if !maps.Equal(stored.Inputs, folded.Inputs) {
		messages = append(messages, "inputs: the index to find the run by is not that of the journal")
	}
	messages = append(messages, rowProblems("ready step", stored.Ready, folded.Ready, func(r ReadyRow) string { return r.StepID })...)
	return append(messages, rowProblems("work item", stored.Items, folded.Items, func(r ItemRow) string { return r.ID })...)
}

func optionalTime(t *time.Time) string {
	if t == nil {
		return "none"
	}
	return run.Time(*t).String()
}

// rowProblems compares two lists of rows by key, in whatever order they come.
func rowProblems[T any](what string, stored, folded []T, key func(T) string) (messages []string) {
	rows := func(list []T) map[string]string {
		m := map[string]string{}
		for _, row := range list {
			b, _ := json.Marshal(row) // rows are strings, booleans and UTC times
			m[key(row)] = string(b)
		}
		return m
	}
	is, should := rows(stored), rows(folded)
	for _, k := range slices.Sorted(maps.Keys(should)) {
		switch row, ok := is[k]; {
		case !ok:
			messages = append(messages, fmt.Sprintf("%s %s: it is missing", what, k))
		case row != should[k]:
			messages = append(messages, fmt.Sprintf("%s %s: stored is %s, the journal says %s", what, k, row, should[k]))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(is)) {
		if _, ok := should[k]; !ok {
			messages = append(messages, fmt.Sprintf("%s %s: the journal knows nothing of it", what, k))
		}
	}
	return messages
}

// verifyFiles hashes every stored upload again.
func (s *Server) verifyFiles(ctx context.Context) ([]Problem, error) {
	var problems []Problem
	for after := ""; ; {
		var uploads []Upload
		err := s.store.Read(ctx, func(r Reader) (err error) {
			uploads, err = r.Uploads(after, verifyBatch)
			return err
		})
		if err != nil {
			return problems, fmt.Errorf("listing uploads: %w", err)
		}
		for _, up := range uploads {
			if message := s.fileProblem(ctx, up); message != "" {
				problems = append(problems, Problem{Message: fmt.Sprintf("file %s (%s): %s", up.ID, shown(up.FileName), message)})
			}
			after = up.ID
		}
		if len(uploads) < verifyBatch || ctx.Err() != nil {
			return problems, ctx.Err()
		}
	}
}

func (s *Server) fileProblem(ctx context.Context, up Upload) string {
	sum, err := s.hashFile(ctx, up.SHA256)
	switch {
	case err != nil:
		return fmt.Sprintf("its bytes can't be read: %v", err)
	case sum == "":
		return "its bytes are missing"
	case sum != up.SHA256:
		return fmt.Sprintf("its bytes have the hash %s, recorded is %s", sum, up.SHA256)
	}
	return ""
}

// Backup writes a consistent copy of database, files and secret into dir, which must be empty or absent. Using the copy
// as the data directory restores it.
func (s *Server) Backup(ctx context.Context, dir string) error {
	return storeError(s.store.Backup(ctx, dir))
}
