package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"
)

// Options configures a Server. Zero values take the defaults named.
type Options struct {
	// Secret keys claim tokens and signed URLs; at least 32 bytes.
	Secret []byte
	// BaseURL is the server's public URL without a trailing slash; signed file URLs begin with it.
	BaseURL string
	Clock   Clock
	IDs     IDs
	Logger  *slog.Logger
	// Lease is how long a claim lasts (10 minutes).
	Lease time.Duration
	// RunDataBytes caps a run's data (262144), MaxUploadBytes one upload (10 MiB).
	RunDataBytes   int
	MaxUploadBytes int64
	// FileURLTTL is how long a signed file URL works (15 minutes).
	FileURLTTL time.Duration
	// Operators is the operators' group ("operators").
	Operators string
	// Profiles are the profiles offered (parallel-1): `describe` lists them, and a process that needs another is refused at
	// publication.
	Profiles []string
	// RealTime is the time that agent keys expire by (time.Now): never the moved clock of dev mode.
	RealTime func() time.Time
}

// Server is the process server.
type Server struct {
	store Store
	files Files
	opts  Options
}

// New returns a server on a store and a file store.
func New(store Store, files Files, opts Options) *Server {
	panic("not yet")
}

// Run is the scheduler: it fires timers when they are due until ctx ends. Reads and writes don't depend on it.
func (s *Server) Run(ctx context.Context) error { panic("not yet") }

// Result is a tool's result as it goes over the wire.
type Result struct {
	// JSON is the whole {"ok":…} object.
	JSON json.RawMessage
	// Code is the error code, or "" when ok.
	Code string
}

// Tools are the names of the fourteen tools, in the protocol's order.
func Tools() []string { panic("not yet") }

// Call runs a tool with raw JSON arguments (protocol.md 8): decoding is strict, and every refusal, a breach of the
// arguments' schema included, is a Result. An unknown tool is ok == false.
func (s *Server) Call(ctx context.Context, id Identity, tool string, args json.RawMessage) (result Result, ok bool) {
	panic("not yet")
}

// ArgumentSchema and ResultSchema are the JSON Schemas (draft 2020-12) of a tool's arguments and of its whole result.
func ArgumentSchema(tool string) json.RawMessage { panic("not yet") }
func ResultSchema(tool string) json.RawMessage   { panic("not yet") }

// Description is what a tool tells a model about itself.
func Description(tool string) string { panic("not yet") }
