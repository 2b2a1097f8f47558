package db

import (
	"database/sql"
	"errors"
	"fmt"
	"syscall"

	"github.com/mattn/go-sqlite3"

	"github.com/apserver/ap/core/server"
)

// ErrClosed says that the store was closed.
var ErrClosed = errors.New("the store is closed")

// ErrDamaged says that the database file is not what SQLite wrote.
var ErrDamaged = errors.New("the database is damaged")

// fault is an error of the database in words that say what to do. kind is what errors.Is finds.
type fault struct {
	text  string
	kind  error
	cause error
}

func (f *fault) Error() string   { return f.text + " (" + f.cause.Error() + ")" }
func (f *fault) Unwrap() []error { return []error{f.kind, f.cause} }

// classify puts an error of SQLite in the terms of core/server. A transaction that met a busy or full database left
// nothing behind, so it may be tried again.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, sql.ErrNoRows) {
		return server.ErrNotFound
	}
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	var f *fault
	if errors.As(err, &f) {
		return err
	}
	switch e.Code {
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrProtocol:
		return &fault{"the database is busy: another process is writing", server.ErrBusy, err}
	case sqlite3.ErrFull:
		return &fault{"the disk that holds the data directory is full: nothing was written; make room", server.ErrBusy, err}
	case sqlite3.ErrReadonly, sqlite3.ErrPerm, sqlite3.ErrCantOpen:
		return &fault{"the database can't be written: make the data directory and everything in it writable for this user",
			server.ErrBusy, err}
	case sqlite3.ErrIoErr, sqlite3.ErrNomem:
		return &fault{"the database could not be read or written: nothing was kept; check the disk", server.ErrBusy, err}
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return &fault{"the database is damaged: stop the server and go on with the latest backup", ErrDamaged, err}
	}
	return err
}

// isConstraint says whether a statement failed because the row is there already.
func isConstraint(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == sqlite3.ErrConstraint
}

// panicked is the error of a write whose function panicked.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("a write panicked: %v", p.value) }

// classifyIO puts an error of writing a file in the terms of core/server.
func classifyIO(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS) {
		return &fault{"the disk that holds the data directory takes no more: nothing was written; make room", server.ErrBusy, err}
	}
	return err
}
