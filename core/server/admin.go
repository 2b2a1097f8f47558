package server

import (
	"context"
	"time"

	"github.com/apserver/ap/core/process"
)

// What whoever runs `ap` on the data directory may do. The pages show the same lists.

// Import makes or replaces the draft of a process. The source was parsed already; roles bound before stay bound.
func (s *Server) Import(ctx context.Context, source []byte, doc *process.Document) error {
	panic("not yet")
}

// Bind binds roles of a process to groups; a role the process doesn't have is refused, with the nearest one named.
func (s *Server) Bind(ctx context.Context, name string, roles map[string]string) error {
	panic("not yet")
}

// Publish publishes the draft (protocol.md 1.8). Unchanged content returns the existing version.
func (s *Server) Publish(ctx context.Context, name string) (Version, error) {
	panic("not yet")
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
	panic("not yet")
}

// Processes lists all processes by name.
func (s *Server) Processes(ctx context.Context) ([]ProcessInfo, error) { panic("not yet") }

// VersionSource returns the document of one version (0 is the latest).
func (s *Server) VersionSource(ctx context.Context, name string, number int) (Version, *process.Document, error) {
	panic("not yet")
}

// AddMembers adds e-mails to a group, RemoveMembers takes them out, Groups lists every group.
func (s *Server) AddMembers(ctx context.Context, group string, emails []string) error {
	panic("not yet")
}
func (s *Server) RemoveMembers(ctx context.Context, group string, emails []string) error {
	panic("not yet")
}
func (s *Server) Groups(ctx context.Context) (map[string][]string, error) { panic("not yet") }

// Person returns the identity of an e-mail: its groups are those given (from a sign-in) and those it was added to.
func (s *Server) Person(ctx context.Context, email string, groups []string) (Identity, error) {
	panic("not yet")
}

// AddAgent makes an agent and returns its key, which is shown once and stored only as a hash. An agent of that name
// that is not revoked is a conflict.
func (s *Server) AddAgent(ctx context.Context, name string, processes []string, expires time.Duration) (key string, err error) {
	panic("not yet")
}

// Agents lists all agents; RevokeAgent ends a key at once.
func (s *Server) Agents(ctx context.Context) ([]AgentRow, error)     { panic("not yet") }
func (s *Server) RevokeAgent(ctx context.Context, name string) error { panic("not yet") }

// AgentByKey returns the identity behind an agent key; ok is false for a key that is unknown, revoked or expired.
func (s *Server) AgentByKey(ctx context.Context, key string) (id Identity, ok bool, err error) {
	panic("not yet")
}

// Problem is one difference that Verify found.
type Problem struct {
	RunID   string
	Message string
}

// Verify recomputes every journal hash, every projection and every stored file's hash and reports what differs.
// progress, if not nil, is called with the number of runs done.
func (s *Server) Verify(ctx context.Context, progress func(runs int)) ([]Problem, error) {
	panic("not yet")
}

// Backup writes a consistent copy of database, files and secret into dir, which must be empty or absent.
func (s *Server) Backup(ctx context.Context, dir string) error { panic("not yet") }
