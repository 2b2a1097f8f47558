package server

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// The typed methods behind the tools, for the pages and the command line. Each keeps every rule its tool keeps: who may
// call, limits, idempotency. Refusals are *Error.

// StartRunArgs are the arguments of start_run. Mode "" is live; Version 0 the latest.
type StartRunArgs struct {
	Process   string
	Version   int
	Inputs    json.RawMessage
	Mode      run.Mode
	RequestID string
}

// DecideArgs are the arguments of decide. Nil is an argument that was not given.
type DecideArgs struct {
	RunID, WorkItemID, Snapshot, Decision string
	Output                                json.RawMessage
	Evidence                              []run.Evidence
	Summary, Next, Reason, Note           *string
	RequestID                             string
}

// UploadArgs are the arguments of upload, with the content decoded.
type UploadArgs struct {
	FileName, ContentType string
	Content               []byte
	RequestID             string
}

// UploadResult is the result of upload.
type UploadResult struct {
	ID     string `json:"id"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// StartRun starts a run (an agent, a person or the admin).
func (s *Server) StartRun(ctx context.Context, id Identity, a StartRunArgs) (*run.View, error) {
	panic("not yet")
}

// GetRun returns the run view (anyone).
func (s *Server) GetRun(ctx context.Context, id Identity, runID string) (*run.View, error) {
	panic("not yet")
}

// Decide decides a work item (a person inside the assignment).
func (s *Server) Decide(ctx context.Context, id Identity, a DecideArgs) (*run.View, error) {
	panic("not yet")
}

// Cancel cancels a run (an operator or the admin).
func (s *Server) Cancel(ctx context.Context, id Identity, runID, reason, requestID string) (*run.View, error) {
	panic("not yet")
}

// SendEvent delivers an event (an agent, an operator or the admin); consumedBy is "" when it is held.
func (s *Server) SendEvent(ctx context.Context, id Identity, runID, name string, data json.RawMessage, requestID string) (consumedBy string, err error) {
	panic("not yet")
}

// Upload stores a file (an agent or a person).
func (s *Server) Upload(ctx context.Context, id Identity, a UploadArgs) (UploadResult, error) {
	panic("not yet")
}

// OpenFile opens an upload whose signed URL (path and query) verifies; the caller closes it. An expired or forged URL is
// forbidden.
func (s *Server) OpenFile(ctx context.Context, fileID, query string) (Upload, io.ReadCloser, error) {
	panic("not yet")
}

// RunPage is what the run page and the item page show beyond the run view.
type RunPage struct {
	View     *run.View
	State    *run.State
	Document *process.Document
	// Entries are the run's journal, oldest first.
	Entries []run.Entry
	// Uploads are the files its evidence names, by id.
	Uploads map[string]Upload
	Now     time.Time
}

// RunPage returns everything known about a run (anyone signed in).
func (s *Server) RunPage(ctx context.Context, id Identity, runID string) (*RunPage, error) {
	panic("not yet")
}

// ItemPage is a work item with its run. View is the open item's, and nil once it was decided or removed.
type ItemPage struct {
	RunPage
	Item run.Item
	Open *run.ItemView
	// Mine says whether the caller may decide it.
	Mine bool
}

// ItemPage returns a work item, open or not.
func (s *Server) ItemPage(ctx context.Context, id Identity, itemID string) (*ItemPage, error) {
	panic("not yet")
}

// Change is one difference in run data between two moments.
type Change struct {
	StepID string
	// Field is "output.total", "summary", "decision", "evidence", …; empty when the whole record came or went.
	Field string
	// Before and After are JSON values; nil where there was or is none.
	Before, After json.RawMessage
	By            string
	At            time.Time
}

// Changes says what changed in a run's data since the snapshot a page showed, oldest first; ok is false when the run
// never had that snapshot.
func (s *Server) Changes(ctx context.Context, id Identity, runID, snapshot string) (changes []Change, ok bool, err error) {
	panic("not yet")
}

// InboxQuery selects work items for the inbox.
type InboxQuery struct {
	Process string
	// Group restricts to one of the person's groups, or to "me".
	Group   string
	Overdue bool
	Mode    run.Mode
	Search  string
	Cursor  string
	Limit   int
}

// InboxItem is one row of the inbox.
type InboxItem struct {
	Item    run.ItemView
	RunID   string
	Process string
	Version int
	// Inputs and StartedBy are the run's: they tell two items of the same step apart.
	Inputs    json.RawMessage
	StartedBy string
	OpenedAt  time.Time
	Mode      run.Mode
	Overdue   bool
}

// InboxPage is a page of the inbox.
type InboxPage struct {
	Items      []InboxItem
	NextCursor string
	Now        time.Time
}

// Inbox lists the open work items assigned to a person, oldest first.
func (s *Server) Inbox(ctx context.Context, id Identity, q InboxQuery) (*InboxPage, error) {
	panic("not yet")
}

// RunsQuery selects runs for a list.
type RunsQuery struct {
	Process string
	State   run.RunState
	Inputs  json.RawMessage
	Cursor  string
	Limit   int
}

// RunsPage is a page of runs, newest first.
type RunsPage struct {
	Runs       []RunRow
	NextCursor string
}

// ListRuns lists runs (anyone).
func (s *Server) ListRuns(ctx context.Context, id Identity, q RunsQuery) (*RunsPage, error) {
	panic("not yet")
}

// Now is the server's time.
func (s *Server) Now() time.Time { return s.opts.Clock.Now() }

// Operators is the operators' group.
func (s *Server) Operators() string { return s.opts.Operators }

// Changed returns a channel that receives after anything changed, and a function that ends the subscription.
func (s *Server) Changed() (<-chan struct{}, func()) { return s.store.Changes() }
