package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/db"
)

// openMode says what a command does when there is no data directory.
type openMode int

const (
	// existingData refuses: the command needs something that is there.
	existingData openMode = iota
	// createData makes it.
	createData
)

// backend is the data directory, open, with the process server on it.
type backend struct {
	settings *settings
	db       *db.DB
	clock    *server.MovableClock
	log      *slog.Logger
	srv      *server.Server
}

// open opens the data directory beside whatever else uses it, and makes the server that a command calls.
func (a *app) open(ctx context.Context, mode openMode) (*backend, error) {
	s, err := a.settings()
	if err != nil {
		return nil, err
	}
	b, err := openData(ctx, s, mode, slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		return nil, err
	}
	b.serveAt(b.publicURL())
	return b, nil
}

// publicURL is where files are to be fetched: the server's that runs beside the command, or where one would be.
func (b *backend) publicURL() string {
	if b.settings.BaseURL != "" {
		return b.settings.BaseURL
	}
	if url, ok := b.db.ServingAt(); ok {
		return url
	}
	return "http://" + b.settings.Addr
}

// openData opens the data directory and its clock. The caller closes it.
func openData(ctx context.Context, s *settings, mode openMode, log *slog.Logger) (*backend, error) {
	store, err := db.Open(ctx, s.Data, db.Options{Logger: log, MustExist: mode == existingData})
	if err != nil {
		return nil, err
	}
	clock, err := server.OpenMovableClock(ctx, store.Store())
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &backend{settings: s, db: store, clock: clock, log: log}, nil
}

// serveAt makes the process server, whose signed URLs begin with base.
func (b *backend) serveAt(base string) {
	s := b.settings
	b.srv = server.New(b.db.Store(), b.db.Files(), server.Options{
		Secret:         b.db.Secret(),
		BaseURL:        base,
		Clock:          b.clock,
		Logger:         b.log,
		Lease:          s.Lease,
		RunDataBytes:   s.RunDataBytes,
		MaxUploadBytes: int64(s.MaxUploadBytes),
		FileURLTTL:     s.FileURLTTL,
		Operators:      s.Operators,
	})
}

func (b *backend) close() {
	if err := b.db.Close(); err != nil {
		b.log.Error("closing the data directory", "error", err)
	}
}

// newLogger makes the log of a server.
func newLogger(w io.Writer, s *settings) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.LogLevel)); err != nil {
		level = slog.LevelInfo
	}
	opts := &slog.HandlerOptions{Level: level}
	if s.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
