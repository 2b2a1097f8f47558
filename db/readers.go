package db

import (
	"context"
	"errors"

	"github.com/jmoiron/sqlx"
)

// readers are the connections that read. They are opened as they are needed.
type readers struct {
	pool *sqlx.DB
	// free holds the connections not in use; nil stands for one not opened yet.
	free   chan *conn
	closed chan struct{}
	// prepared is passed on to every connection.
	prepared func(string)
}

func newReaders(pool *sqlx.DB, opts Options) *readers {
	r := &readers{pool: pool, free: make(chan *conn, opts.Readers), closed: make(chan struct{}), prepared: opts.prepared}
	for range opts.Readers {
		r.free <- nil
	}
	return r
}

// read runs fn on one snapshot.
func (r *readers) read(ctx context.Context, fn func(reader) error) (err error) {
	c, err := r.take(ctx)
	if err != nil {
		return err
	}
	defer func() { r.free <- c }()
	if _, err := c.exec(sqlBegin); err != nil {
		return err
	}
	defer func() {
		if _, end := c.exec(sqlRollback); end != nil && err == nil {
			err = end
		}
	}()
	return fn(reader{c})
}

func (r *readers) take(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case c := <-r.free:
		if c != nil {
			return c, nil
		}
		c, err := connect(context.WithoutCancel(ctx), r.pool, readerCache)
		if err != nil {
			r.free <- nil
			return nil, err
		}
		c.prepared = r.prepared
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.closed:
		return nil, ErrClosed
	}
}

// close waits for the reads that run and closes their connections.
func (r *readers) close() error {
	var errs []error
	close(r.closed)
	for range cap(r.free) {
		if c := <-r.free; c != nil {
			errs = append(errs, c.close())
		}
	}
	return errors.Join(append(errs, r.pool.Close())...)
}
