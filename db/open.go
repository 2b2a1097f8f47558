package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/apserver/ap/core/server"
)

// The parts of a data directory.
const (
	databaseFile = "ap.db"
	filesDir     = "files"
	secretFile   = "secret.key"
	serveFile    = "serve.lock"
	turnFile     = "write.lock"
	schemaFile   = "schema.lock"
)

// Options configures Open. Zero values take the defaults named.
type Options struct {
	Logger *slog.Logger
	// BusyTimeout is how long a write waits for other processes before it is server.ErrBusy (10 s).
	BusyTimeout time.Duration
	// Readers is how many reads run at once; more wait for each other, never for a write (twice the processors, 4 to 8).
	Readers int
	// MustExist refuses a directory that holds no database instead of making one.
	MustExist bool
	// prepared, if not nil, is told the text of every statement that is prepared.
	prepared func(string)
	// migrations, if not nil, are those of another version of ap.
	migrations fs.FS
}

// DB is an open data directory. It is a server.Store.
type DB struct {
	dir     string
	opts    Options
	secret  []byte
	readers *readers
	writer  *writer
	files   *files
	closing sync.Once
}

var _ server.Store = (*DB)(nil)

// Open opens the data directory dir, and makes it and what is missing in it: the database at the newest schema, the
// secret, the folder of files. A database of a newer version of ap is refused. Errors say what to do.
func Open(ctx context.Context, dir string, opts Options) (*DB, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.BusyTimeout == 0 {
		opts.BusyTimeout = 10 * time.Second
	}
	if opts.Readers == 0 {
		opts.Readers = min(max(2*runtime.GOMAXPROCS(0), 4), 8)
	}
	d := &DB{dir: dir, opts: opts}
	if err := d.prepare(); err != nil {
		return nil, err
	}
	var err error
	if d.secret, err = d.openSecret(); err != nil {
		return nil, err
	}
	if err := d.migrate(ctx); err != nil {
		return nil, err
	}
	if d.files, err = openFiles(filepath.Join(dir, filesDir)); err != nil {
		return nil, err
	}
	if err := d.connect(ctx); err != nil {
		return nil, fmt.Errorf("open %s: %w", d.path(databaseFile), err)
	}
	return d, nil
}

func (d *DB) path(name string) string { return filepath.Join(d.dir, name) }

// prepare makes the directory, and makes sure that it can be used.
func (d *DB) prepare() error {
	info, err := os.Stat(d.dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if d.opts.MustExist {
			return fmt.Errorf("there is no data directory %s: make one with `ap import` or `ap serve`, or name yours with --data",
				d.dir)
		}
		if err := os.MkdirAll(d.dir, 0o700); err != nil {
			return fmt.Errorf("make the data directory %s: %w; name another with --data", d.dir, err)
		}
		if err := syncDir(filepath.Dir(filepath.Clean(d.dir))); err != nil {
			return fmt.Errorf("make the data directory %s: %w", d.dir, err)
		}
	case err != nil:
		return fmt.Errorf("read the data directory %s: %w; name another with --data", d.dir, err)
	case !info.IsDir():
		return fmt.Errorf("the data directory %s is not a directory; name another with --data", d.dir)
	}
	exists, err := d.exists(databaseFile)
	if err != nil {
		return fmt.Errorf("read the data directory %s: %w; give this user access to it, or name another with --data", d.dir, err)
	}
	if !exists && d.opts.MustExist {
		return fmt.Errorf("%s holds no database: make one with `ap import` or `ap serve`, or name your directory with --data",
			d.dir)
	}
	if err := d.probe(nil); err != nil {
		return fmt.Errorf("the data directory %s can't be written: %w; give this user write access to it and everything in it, or "+
			"name another with --data", d.dir, err)
	}
	if !exists {
		if unfinished, _ := d.exists(databaseFile + partial); unfinished {
			return fmt.Errorf("%s is a backup that was not finished: use another", d.dir)
		}
	}
	return nil
}

func (d *DB) exists(name string) (bool, error) {
	_, err := os.Stat(d.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// probe writes content into a file of its own in the directory, to the disk, and removes it.
func (d *DB) probe(content []byte) error {
	f, err := os.CreateTemp(d.dir, ".probe-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if len(content) > 0 {
		if _, err = f.Write(content); err == nil {
			err = f.Sync()
		}
	}
	return errors.Join(err, f.Close())
}

// The page caches of the connections, in KiB.
const (
	writerCache = 32 << 10
	readerCache = 4 << 10
)

// connect opens the connections of the writer and the readers, and starts the writer.
func (d *DB) connect(ctx context.Context) error {
	readPool, err := sqlx.Open("sqlite3", dsn(d.path(databaseFile), d.opts.BusyTimeout, url.Values{"_query_only": {"1"}}))
	if err != nil {
		return err
	}
	readPool.SetMaxOpenConns(d.opts.Readers)
	writePool, err := sqlx.Open("sqlite3", dsn(d.path(databaseFile), d.opts.BusyTimeout, nil))
	if err != nil {
		return errors.Join(err, readPool.Close())
	}
	c, err := connect(ctx, writePool, writerCache)
	if err != nil {
		return errors.Join(err, writePool.Close(), readPool.Close())
	}
	if _, err := c.c.ExecContext(ctx, fmt.Sprintf("PRAGMA wal_autocheckpoint = %d", walPages)); err != nil {
		return errors.Join(classify(err), c.close(), writePool.Close(), readPool.Close())
	}
	c.prepared = d.opts.prepared
	d.readers = newReaders(readPool, d.opts)
	d.writer = newWriter(writePool, c, newTurn(d.path(turnFile)))
	go d.writer.run()
	return nil
}

// walPages is how many pages the write-ahead log holds before they are moved into the database. A page that changes
// several times meanwhile is moved once.
const walPages = 4000

// Store returns the store itself.
func (d *DB) Store() server.Store { return d }

// Secret is the key of claim tokens and signed URLs: 32 random bytes, made with the directory.
func (d *DB) Secret() []byte { return d.secret }

// Files are the uploads.
func (d *DB) Files() server.Files { return d.files }

// Dir is the data directory.
func (d *DB) Dir() string { return d.dir }

// Write implements server.Store.
func (d *DB) Write(ctx context.Context, fn func(server.Writer) error) error {
	return d.write(ctx, func(t *tx) error { return fn(t) })
}

func (d *DB) write(ctx context.Context, fn func(*tx) error) error {
	err := d.writer.write(ctx, fn)
	var p *panicked
	if errors.As(err, &p) {
		d.opts.Logger.Error("a write panicked", "panic", p.value, "stack", string(p.stack))
	}
	return err
}

// Read implements server.Store. fn must not call Read again: it would wait for a connection while it holds one.
func (d *DB) Read(ctx context.Context, fn func(server.Reader) error) error {
	return d.readers.read(ctx, func(r reader) error { return fn(r) })
}

// Changes implements server.Store.
func (d *DB) Changes() (<-chan struct{}, func()) { return d.writer.changes.subscribe() }

// Close lets the writes that wait and the reads that run finish, and closes everything.
func (d *DB) Close() error {
	var err error
	d.closing.Do(func() {
		err = errors.Join(d.writer.close(), d.readers.close(), d.files.bucket.Close())
	})
	return err
}

// Writable says whether a write would succeed now: nil, or why not. It keeps nothing.
func (d *DB) Writable() error {
	if err := d.probe(make([]byte, 64<<10)); err != nil {
		return fmt.Errorf("the data directory %s can't be written: %w", d.dir, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.opts.BusyTimeout)
	defer cancel()
	probed := errors.New("probed")
	err := d.write(ctx, func(t *tx) error {
		if err := t.SetSetting("probe", ""); err != nil {
			return err
		}
		return probed
	})
	switch {
	case errors.Is(err, probed):
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return &fault{"the database is busy: writes wait too long", server.ErrBusy, err}
	}
	return err
}
