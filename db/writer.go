package db

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jmoiron/sqlx"
)

const (
	// maxBatch bounds how many writes share a transaction, and so how long the first of them waits.
	maxBatch = 128
	// pollEvery is how often the commits of other processes are looked for while someone wants to know.
	pollEvery = 250 * time.Millisecond
	// maxProjections bounds the projections that the writer remembers.
	maxProjections = 2048
)

// job is one write on its way through the writer.
type job struct {
	fn    func(*tx) error
	ctx   context.Context
	state atomic.Int32
	err   error
	done  chan struct{}
}

// The states of a job. One that was given up before the writer came to it never runs.
const (
	jobWaiting int32 = iota
	jobTaken
	jobGivenUp
)

// writer is the goroutine that writes, and its connection.
type writer struct {
	pool    *sqlx.DB
	conn    *conn
	turn    *turn
	queue   chan *job
	closing chan struct{}
	stopped chan struct{}
	changes *changes
	// version is SQLite's data_version as last seen: it changes with the commits of others.
	version int64
	// known are projections as they are stored, by run.
	known   *lru.Cache[string, *projection]
	commits commits
	tx      tx
}

func newWriter(pool *sqlx.DB, c *conn, t *turn) *writer {
	known, err := lru.New[string, *projection](maxProjections)
	if err != nil {
		panic(err) // only for a size that isn't positive
	}
	w := &writer{pool: pool, conn: c, turn: t, queue: make(chan *job, 4*maxBatch), closing: make(chan struct{}),
		stopped: make(chan struct{}), changes: newChanges(), known: known, commits: newCommits()}
	w.tx = tx{reader: reader{c}, w: w}
	return w
}

// write puts fn in the queue and waits until it is durable.
func (w *writer) write(ctx context.Context, fn func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j := &job{fn: fn, ctx: ctx, done: make(chan struct{})}
	select {
	case w.queue <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-w.closing:
		return ErrClosed
	}
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
		if j.state.CompareAndSwap(jobWaiting, jobGivenUp) {
			return ctx.Err()
		}
	case <-w.stopped:
	}
	// The writer has taken it, and what it wrote may be durable already: wait for the answer.
	select {
	case <-j.done:
		return j.err
	case <-w.stopped:
		select {
		case <-j.done:
			return j.err
		default:
			return ErrClosed
		}
	}
}

// run is the writer's goroutine.
func (w *writer) run() {
	defer close(w.stopped)
	for {
		select {
		case j := <-w.queue:
			w.batch(j)
		case <-w.changes.poll.C:
			_ = w.look() // what is wrong will be the next write's error
		case <-w.closing:
			for {
				select {
				case j := <-w.queue:
					w.batch(j)
				default:
					return
				}
			}
		}
	}
}

// close lets the writes that wait finish, and ends the goroutine.
func (w *writer) close() error {
	close(w.closing)
	<-w.stopped
	w.changes.poll.Stop()
	return errors.Join(w.conn.close(), w.pool.Close())
}

// batch commits a write and all that come while it works, up to the bound, and answers them.
func (w *writer) batch(first *job) {
	if !first.state.CompareAndSwap(jobWaiting, jobTaken) {
		return
	}
	start := time.Now()
	jobs := []*job{first}
	err := w.begin()
	if err != nil {
		jobs = w.drain(jobs)
	} else {
		jobs, err = w.work(jobs)
	}
	wrote := false
	for _, j := range jobs {
		if err != nil && j.err == nil {
			j.err = err // nothing was kept, whatever the write itself came to
		}
		wrote = wrote || j.err == nil
		close(j.done)
	}
	if wrote {
		w.commits.observe(len(jobs), start)
	}
	if wrote && w.tx.notable {
		w.changes.notify()
	}
}

// begin opens the transaction. It waits for other processes, and no longer than the busy timeout.
func (w *writer) begin() error {
	w.tx.notable = false
	release := w.turn.take()
	_, err := w.conn.exec(sqlBeginWrite)
	release()
	if err != nil {
		return fmt.Errorf("begin to write: %w", err)
	}
	if err := w.look(); err != nil {
		return errors.Join(err, w.rollback())
	}
	return nil
}

// look finds out whether others have written since the last look: what is remembered is of no use then, and subscribers
// want to know.
func (w *writer) look() error {
	var version int64
	if err := w.conn.get(&version, sqlDataVersion); err != nil {
		return fmt.Errorf("look for other writers: %w", err)
	}
	if version != w.version {
		w.version = version
		w.known.Purge()
		w.changes.notify()
	}
	return nil
}

// next returns the next write that waits, or nil.
func (w *writer) next() *job {
	for {
		select {
		case j := <-w.queue:
			if j.state.CompareAndSwap(jobWaiting, jobTaken) {
				return j
			}
		default:
			return nil
		}
	}
}

// yields is how often the writer lets other goroutines run before it commits.
const yields = 4

// gather returns the next write, or nil when nobody who can run has one. Callers that were answered by the last commit are
// on their way with their next write: letting them run first costs no time when there are none, and makes one fsync of
// several.
func (w *writer) gather() *job {
	for range yields {
		if j := w.next(); j != nil {
			return j
		}
		runtime.Gosched()
	}
	return w.next()
}

// drain takes all writes that wait: they have waited as long as the first.
func (w *writer) drain(jobs []*job) []*job {
	for j := w.next(); j != nil; j = w.next() {
		jobs = append(jobs, j)
	}
	return jobs
}

// work runs writes in the open transaction and commits it. An error means that none of them was kept.
func (w *writer) work(jobs []*job) ([]*job, error) {
	for i := 0; ; i++ {
		if i == len(jobs) && i < maxBatch {
			if j := w.gather(); j != nil {
				jobs = append(jobs, j)
			}
		}
		if i == len(jobs) {
			break
		}
		j := jobs[i]
		if j.err != nil {
			continue // it failed the first time round
		}
		w.tx.wrote = false
		if j.err = w.call(j); j.err != nil && (w.tx.wrote || !w.conn.inTransaction()) {
			// What it wrote has to go, and everything else in the transaction goes with it: the others run again.
			if err := w.again(); err != nil {
				return jobs, err
			}
			i = -1
		}
	}
	if _, err := w.conn.exec(sqlCommit); err != nil {
		return jobs, errors.Join(fmt.Errorf("commit: %w", err), w.rollback())
	}
	return jobs, nil
}

// again drops what the transaction has written and begins a new one.
func (w *writer) again() error {
	if err := w.rollback(); err != nil {
		return err
	}
	return w.begin()
}

// rollback ends the transaction, unless SQLite has ended it already, as it does when the disk is full.
func (w *writer) rollback() error {
	w.known.Purge()
	if !w.conn.inTransaction() {
		return nil
	}
	if _, err := w.conn.exec(sqlRollback); err != nil {
		return fmt.Errorf("roll back: %w", err)
	}
	return nil
}

// call runs the function of a write; a panic in it is its error and nobody else's.
func (w *writer) call(j *job) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{v, debug.Stack()}
		}
	}()
	return j.fn(&w.tx)
}
