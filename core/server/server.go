package server

import (
	"encoding/json"
	"log/slog"
	"time"

	"github.com/apserver/ap/core/process"
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

// withDefaults fills in what was left out.
func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	if o.IDs == nil {
		o.IDs = RandomIDs{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Lease == 0 {
		o.Lease = 10 * time.Minute
	}
	if o.RunDataBytes == 0 {
		o.RunDataBytes = 256 << 10
	}
	if o.MaxUploadBytes == 0 {
		o.MaxUploadBytes = 10 << 20
	}
	if o.FileURLTTL == 0 {
		o.FileURLTTL = 15 * time.Minute
	}
	if o.Operators == "" {
		o.Operators = "operators"
	}
	if o.Profiles == nil {
		o.Profiles = []string{"parallel-1"}
	}
	if o.RealTime == nil {
		o.RealTime = time.Now
	}
	return o
}

// minSecret is the fewest bytes of a secret that tokens can't be guessed from.
const minSecret = 32

// Server is the process server.
type Server struct {
	store Store
	files Files
	opts  Options
	sign  signer
	log   *slog.Logger

	states    *cache[string, foldedRun]
	documents *cache[versionKey, *process.Document]
	bindings  *cache[string, map[string]string]
	stuck     stuckRuns
	touched   lastTouch
}

// New returns a server on a store and a file store. It panics when the secret is shorter than 32 bytes.
func New(store Store, files Files, opts Options) *Server {
	if len(opts.Secret) < minSecret {
		panic("server: the secret needs at least 32 bytes")
	}
	opts = opts.withDefaults()
	return &Server{
		store:     store,
		files:     files,
		opts:      opts,
		sign:      newSigner(opts.Secret),
		log:       opts.Logger,
		states:    newCache[string, foldedRun](stateCacheBytes),
		documents: newCache[versionKey, *process.Document](documentCacheBytes),
		bindings:  newCache[string, map[string]string](bindingCacheSize),
	}
}

// Result is a tool's result as it goes over the wire.
type Result struct {
	// JSON is the whole {"ok":…} object.
	JSON json.RawMessage
	// Code is the error code, or "" when ok.
	Code string
}
