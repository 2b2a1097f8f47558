package db_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/db"
)

// The test program is also the other process of tests that need one: with AP_DB_CHILD it does what that names on the data
// directory AP_DB_DIR, a line on stdout for each thing done, until its stdin ends.
func TestMain(m *testing.M) {
	name := os.Getenv("AP_DB_CHILD")
	if name == "" {
		os.Exit(m.Run())
	}
	if err := childMain(name, os.Getenv("AP_DB_DIR")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func childMain(name, dir string) error {
	d, err := db.Open(context.Background(), dir, db.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	switch name {
	case "open":
		fmt.Printf("%x\n", d.Secret())
		return nil
	case "serve":
		unlock, err := d.LockServe("http://127.0.0.1:8080")
		if err != nil {
			return err
		}
		defer unlock()
		fmt.Println("locked")
		<-ended
		return nil
	case "count":
		return childCount(d, ended)
	case "runs":
		return childRuns(d)
	default:
		return fmt.Errorf("no child %q", name)
	}
}

// childCount adds one to a setting, again and again.
func childCount(d *db.DB, ended chan struct{}) error {
	for {
		select {
		case <-ended:
			return nil
		default:
		}
		began := time.Now()
		if err := d.Write(context.Background(), increment("count")); err != nil {
			return err
		}
		fmt.Println(time.Since(began).Microseconds())
	}
}

func increment(key string) func(server.Writer) error {
	return func(w server.Writer) error {
		s, err := w.Setting(key)
		if err != nil {
			return err
		}
		var n int
		if s != "" {
			if _, err := fmt.Sscan(s, &n); err != nil {
				return err
			}
		}
		return w.SetSetting(key, fmt.Sprint(n+1))
	}
}

// child is another process.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
	errs  *strings.Builder
}

func start(t *testing.T, name, dir string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0]), errs: &strings.Builder{}}
	c.cmd.Env = append(os.Environ(), "AP_DB_CHILD="+name, "AP_DB_DIR="+dir)
	c.cmd.Stderr = c.errs
	var err error
	c.stdin, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.lines = bufio.NewScanner(stdout)
	require.NoError(t, c.cmd.Start())
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	})
	return c
}

// line returns the next thing the child did; ok is false when it has ended.
func (c *child) line() (string, bool) {
	ok := c.lines.Scan()
	return c.lines.Text(), ok
}

func (c *child) mustLine() string {
	c.t.Helper()
	s, ok := c.line()
	if !ok {
		_ = c.cmd.Wait()
		require.FailNow(c.t, "the other process ended", c.errs.String())
	}
	return s
}

// end lets the child finish.
func (c *child) end() {
	c.t.Helper()
	require.NoError(c.t, c.stdin.Close())
	for c.lines.Scan() {
	}
	require.NoError(c.t, c.cmd.Wait(), c.errs.String())
}
