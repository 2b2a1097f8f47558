package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/apserver/ap/core/run"
)

// Errors a Store returns; everything else is internal.
var (
	// ErrNotFound says that there is no such row.
	ErrNotFound = errors.New("not found")
	// ErrConflict says that the row is there already, or that the run or process has moved on: read again and decide again.
	ErrConflict = errors.New("written by someone else meanwhile")
	// ErrBusy says that the database was busy or full; nothing of the write was kept, and it may be tried again.
	ErrBusy = errors.New("the database is busy")
)

// Store keeps everything durable. Its methods may be called concurrently, and by several processes on one directory.
type Store interface {
	// Read runs fn on one consistent snapshot; it never waits for a writer.
	Read(ctx context.Context, fn func(Reader) error) error
	// Write runs fn in the single writer and returns once what it wrote is durable. Concurrent writes share a
	// transaction; an error of fn undoes its own writes and nothing else. fn must not wait for anything but the Writer, and
	// may run again: also when another write of its transaction failed half way.
	Write(ctx context.Context, fn func(Writer) error) error
	// Changes returns a channel that receives (without ever blocking the store) after something was committed, by this
	// process or another, and a function that ends the subscription.
	Changes() (<-chan struct{}, func())
	// Backup writes a whole data directory into the folder dir (made if absent, refused if not empty), while others read and
	// write: the database as of one moment, the files it names and the secret. Using the copy as the data restores it.
	Backup(ctx context.Context, dir string) error
	Close() error
}

// Reader reads. Lists are keyset-paged: after is the key of the last row of the page before, zero for the first.
type Reader interface {
	// Processes lists processes by name; published restricts it to those with a version.
	Processes(published bool, after string, limit int) ([]ProcessRow, error)
	// ProcessNames lists the names of all processes, or of those with a version, in order.
	ProcessNames(published bool) ([]string, error)
	Process(name string) (ProcessRow, error)
	// Latest is the number of a process's latest version, 0 when nothing is published.
	Latest(process string) (int, error)
	// Version returns a published version; number 0 is the latest.
	Version(process string, number int) (Version, error)
	// Versions lists a process's versions, newest first.
	Versions(process string) ([]Version, error)
	// Bindings maps each bound role of a process to its group.
	Bindings(process string) (map[string]string, error)

	// Run returns the projection of a run.
	Run(id string) (RunRow, error)
	// Entries returns the journal of a run in order, from after (exclusive) up to until (inclusive; 0 is the end).
	Entries(runID string, after, until int) ([]run.Entry, error)
	// Projection returns everything stored about a run beside its journal, inputs included, its rows ordered by key: what
	// verification compares with the fold.
	Projection(runID string) (Projection, error)
	Runs(q RunQuery) ([]RunRow, error)
	// Ready lists claimable agent steps by (Since, RunID, StepID).
	Ready(q ReadyQuery) ([]ReadyRow, error)
	// Items lists open work items by (OpenedAt, ID).
	Items(q ItemQuery) ([]ItemRow, error)
	// DueRuns lists the runs whose next timer is at or before now, earliest first.
	DueRuns(now time.Time, limit int) ([]string, error)
	// NextTimer is the earliest timer of all runs, or nil.
	NextTimer() (*time.Time, error)
	// RunIDs lists the ids of all runs, for verification.
	RunIDs(after string, limit int) ([]string, error)
	// Notices lists the outbox, newest first.
	Notices(q NoticeQuery) ([]NoticeRow, error)

	Request(id string) (Request, error)
	Upload(id string) (Upload, error)
	// Uploads lists all uploads by id.
	Uploads(after string, limit int) ([]Upload, error)

	// Groups lists every group that is bound or has members, with its members.
	Groups() (map[string][]string, error)
	// GroupsOf lists the groups that an e-mail was added to.
	GroupsOf(email string) ([]string, error)
	Agents() ([]AgentRow, error)
	// AgentByKey finds the agent with that key hash.
	AgentByKey(hash []byte) (AgentRow, error)

	// Setting returns a small server-wide value, such as the dev clock's offset; "" when it was never set.
	Setting(key string) (string, error)
	// Counts are the numbers /metrics shows, from indexes.
	Counts() (Counts, error)
}

// Writer writes, and reads what it wrote.
type Writer interface {
	Reader

	// PutDraft makes or replaces a process's draft.
	PutDraft(name, hash string, source []byte, at time.Time) error
	// Bind sets the group of a role.
	Bind(process, role, group string) error
	// PutVersion adds the next version; its number must be the latest plus one.
	PutVersion(Version) error

	// Append adds entries to a run's journal and replaces its projection. It fails if the first entry's Seq is not the
	// run's next. notices go to the outbox.
	Append(p Projection, entries []run.Entry, notices []Notice) error
	PutRequest(Request) error
	PutUpload(Upload) error

	AddMember(group, email string) error
	// RemoveMember returns ErrNotFound when the e-mail is not in the group.
	RemoveMember(group, email string) error
	PutAgent(AgentRow) error
	RevokeAgent(name string, at time.Time) error
	TouchAgent(name string, at time.Time) error

	SetSetting(key, value string) error
}

// ProcessRow is a process as admins see it.
type ProcessRow struct {
	Name string
	// DraftHash and DraftSource are the draft's; DraftAt when it was imported.
	DraftHash   string
	DraftSource []byte
	DraftAt     time.Time
	// Latest is the latest version's number, 0 when nothing is published.
	Latest int
}

// Version is a published, immutable version of a process.
type Version struct {
	Process     string
	Number      int
	Hash        string
	Source      []byte
	PublishedAt time.Time
	PublishedBy string
}

// RunRow is the projection of a run: everything a list shows without folding.
type RunRow struct {
	ID        string
	Process   string
	Version   int
	Mode      run.Mode
	State     run.RunState
	Outcome   string
	StartedBy string
	StartedAt time.Time
	UpdatedAt time.Time
	Inputs    json.RawMessage
	// Seq and Head are the number and hash of the last journal entry.
	Seq  int
	Head []byte
	// NextTimer is when something happens by itself, or nil.
	NextTimer *time.Time
}

// Projection is all that is stored about a run beside its journal; it can be rebuilt from it.
type Projection struct {
	Run   RunRow
	Ready []ReadyRow
	Items []ItemRow
	// Inputs are the canonical JSON values of the inputs by field, for finding runs; only given at the start.
	Inputs map[string]string
}

// ReadyRow is a claimable agent step.
type ReadyRow struct {
	RunID, StepID, Process string
	Since                  time.Time
}

// ItemRow is an open work item.
type ItemRow struct {
	ID, RunID, StepID, Process string
	// Exactly one of Group and Person is set.
	Group, Person string
	OpenedAt      time.Time
	Due           *time.Time
	Escalated     bool
	Test          bool
	// Search is what the inbox search looks through: process, step and text, lower case.
	Search string
}

// RunQuery selects runs, newest first.
type RunQuery struct {
	Process string
	State   run.RunState
	// Inputs are canonical JSON values by field; all must match.
	Inputs map[string]string
	// AfterStarted and AfterID are the key of the last row of the page before.
	AfterStarted time.Time
	AfterID      string
	Limit        int
}

// ReadyQuery selects ready steps, oldest first.
type ReadyQuery struct {
	// Process restricts to one process; Processes to several (nil is all).
	Process   string
	Processes []string
	After     ReadyRow
	Limit     int
}

// ItemQuery selects open items assigned to a person or any of the groups, oldest first.
type ItemQuery struct {
	Person  string
	Groups  []string
	Process string
	// Overdue selects items whose due time is at or before this time; nil selects all.
	Overdue *time.Time
	// Mode restricts to live or test runs; "" is both.
	Mode   run.Mode
	Search string
	// AfterOpened and AfterID are the key of the last row of the page before.
	AfterOpened time.Time
	AfterID     string
	Limit       int
}

// Request is a recorded write (protocol.md 7).
type Request struct {
	ID   string
	Tool string
	// Args is a hash over the arguments as JSON values; By is the caller.
	Args []byte
	By   string
	// RunID and Seq name the journal entry to fold to for the original result; At is the time of that result.
	RunID string
	Seq   int
	At    time.Time
	// Ref is what the result holds beyond the folded state, as JSON (claim and lease numbers, an upload's id, …).
	Ref json.RawMessage
}

// Upload is a stored file.
type Upload struct {
	ID          string
	SHA256      string
	Bytes       int64
	FileName    string
	ContentType string
	By          string
	At          time.Time
}

// AgentRow is an agent with a key.
type AgentRow struct {
	Name      string
	KeyHash   []byte
	Processes []string // nil is no limit
	CreatedAt time.Time
	ExpiresAt *time.Time
	RevokedAt *time.Time
	LastUsed  *time.Time
}

// Notice is a notification as data (protocol.md 4, 6): delivery reads it from the outbox.
type Notice struct {
	ID     string
	Kind   string // "assigned", "overdue", "escalated", "ended"
	RunID  string
	StepID string
	// ItemID is the work item it is about, if any.
	ItemID string
	// Group or Person is who it is for.
	Group, Person string
	At            time.Time
}

// NoticeRow is a notice with what there is to say of its run now.
type NoticeRow struct {
	Notice
	// Process is the run's; Outcome is empty unless the run has ended.
	Process, Outcome string
	State            run.RunState
	// Open says that the work item it is about still waits.
	Open bool
}

// NoticeQuery selects notices for a person or any of the groups.
type NoticeQuery struct {
	Person string
	Groups []string
	Limit  int
}

// Counts are gauges for /metrics.
type Counts struct {
	OpenItems, ReadySteps, ActiveRuns int
}

// Files keeps the bytes of uploads, addressed by their SHA-256 in hex.
type Files interface {
	Put(ctx context.Context, sha256 string, content []byte) error
	// Open returns ErrNotFound when there is no such file.
	Open(ctx context.Context, sha256 string) (io.ReadCloser, error)
}
