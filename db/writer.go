package db

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
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
	maxProjections = 4096
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
	closed  sync.Once
	changes *changes
	// version is SQLite's data_version as last seen: it changes with the commits of others.
	version int64
	// known are projections as they were last written, by run.
	known *lru.Cache[string, *projection]
	tx    tx
}

func newWriter(pool *sqlx.DB, c *conn, t *turn) *writer {
	known, err := lru.New[string, *projection](maxProjections)
	if err != nil {
		panic(err) // only for a size that isn't positive
	}
	w := &writer{pool: pool, conn: c, turn: t, queue: make(chan *job, 4*maxBatch), closing: make(chan struct{}),
		stopped: make(chan struct{}), changes: newChanges(), known: known}
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
			w.pollOthers()
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
	w.closed.Do(func() { close(w.closing) })
	<-w.stopped
	w.changes.close()
	return errors.Join(w.conn.close(), w.pool.Close())
}

// batch commits a write and all that come while it works, up to the bound.
func (w *writer) batch(first *job) {
	jobs := []*job{first}
	err := w.begin()
	if err != nil {
		jobs = w.drain(jobs)
	} else {
		jobs, err = w.work(jobs)
	}
	if err != nil {
		// Nothing was kept, whatever the single writes said.
		w.known.Purge()
		for _, j := range jobs {
			if j.err == nil {
				j.err = err
			}
		}
	}
	wrote := false
	for _, j := range jobs {
		wrote = wrote || j.err == nil
		close(j.done)
	}
	if wrote {
		w.changes.notify()
	}
}

// begin opens the transaction. It waits for other processes, and no longer than the busy timeout.
func (w *writer) begin() error {
	release := w.turn.take()
	defer release()
	_, err := w.conn.exec(sqlBeginWrite)
	if err != nil {
		return fmt.Errorf("begin to write: %w", err)
	}
	return nil
}

// drain takes the writes that wait: they have waited as long as the first.
func (w *writer) drain(jobs []*job) []*job {
	for {
		select {
		case j := <-w.queue:
			if j.state.CompareAndSwap(jobWaiting, jobTaken) {
				jobs = append(jobs, j)
			}
		default:
			return jobs
		}
	}
}

// work runs the writes and commits them. An error means that none of them was kept.
func (w *writer) work(jobs []*job) ([]*job, error) {
	for j := jobs[0]; j != nil; {
		if err := w.runJob(j); err != nil {
			return jobs, w.abandon(err)
		}
		j = nil
		if len(jobs) < maxBatch {
			select {
			case j = <-w.queue:
				jobs = append(jobs, j)
			default:
			}
		}
	}
	if _, err := w.conn.exec(sqlCommit); err != nil {
		return jobs, w.abandon(fmt.Errorf("commit: %w", err))
	}
	return jobs, nil
}

// abandon ends a transaction that can't be committed.
func (w *writer) abandon(cause error) error {
	if w.conn.inTransaction() {
		if _, err := w.conn.exec(sqlRollback); err != nil {
			return errors.Join(cause, fmt.Errorf("roll back: %w", err))
		}
	}
	return cause
}

// runJob runs one write inside its savepoint. Its own failure is the job's; an error returned is the transaction's.
func (w *writer) runJob(j *job) error {
	if !j.state.CompareAndSwap(jobWaiting, jobTaken) {
		j.err = j.ctx.Err()
		return nil
	}
	if _, err := w.conn.exec(sqlSavepoint); err != nil {
		return err
	}
	w.tx.touched = w.tx.touched[:0]
	j.err = w.call(j)
	if j.err == nil {
		_, err := w.conn.exec(sqlRelease)
		return err
	}
	for _, id := range w.tx.touched {
		w.known.Remove(id)
	}
	if !w.conn.inTransaction() {
		return j.err // SQLite has ended the transaction, as it does when the disk is full
	}
	if _, err := w.conn.exec(sqlRollbackTo); err != nil {
		return err
	}
	_, err := w.conn.exec(sqlRelease)
	return err
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

func (w *writer) pollOthers() {
	var version int64
	if err := w.conn.get(&version, sqlDataVersion); err != nil || version == w.version {
		return
	}
	w.version = version
	w.changes.notify()
}
