package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
)

func setting(key string) func(server.Reader) (string, error) {
	return func(r server.Reader) (string, error) { return r.Setting(key) }
}

func testTransactions(t *testing.T, open Open) {
	t.Run("KeepsWhatAWriteWrote", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		b.write(func(w server.Writer) error { return w.SetSetting("a", "1") })
		require.Equal(t, "1", read(b, setting("a")))
	})

	t.Run("UndoesAWriteThatFails", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		refused := errors.New("refused")
		err := b.Write(b.ctx, func(w server.Writer) error {
			if err := w.SetSetting("a", "1"); err != nil {
				return err
			}
			return refused
		})
		require.ErrorIs(t, err, refused)
		require.Empty(t, read(b, setting("a")))
	})

	t.Run("UndoesAWriteThatPanicsAndGoesOn", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		err := b.Write(b.ctx, func(w server.Writer) error {
			if err := w.SetSetting("a", "1"); err != nil {
				return err
			}
			panic("a bug")
		})
		require.ErrorContains(t, err, "a bug")
		b.write(func(w server.Writer) error { return w.SetSetting("b", "2") })
		require.Empty(t, read(b, setting("a")))
		require.Equal(t, "2", read(b, setting("b")))
	})

	t.Run("AWriteReadsWhatItWrote", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		var got string
		b.write(func(w server.Writer) (err error) {
			if err := w.SetSetting("a", "1"); err != nil {
				return err
			}
			got, err = w.Setting("a")
			return err
		})
		require.Equal(t, "1", got)
	})

	t.Run("AFailedWriteUndoesNoOther", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		refused := errors.New("refused")
		errs := make([]error, 100)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				errs[i] = b.Write(b.ctx, func(w server.Writer) error {
					if err := w.SetSetting(fmt.Sprint("k", i), "1"); err != nil {
						return err
					}
					if i%3 == 0 {
						return refused
					}
					return nil
				})
			})
		}
		wg.Wait()
		for i, err := range errs {
			got := read(b, setting(fmt.Sprint("k", i)))
			if i%3 == 0 {
				require.ErrorIs(t, err, refused)
				require.Empty(t, got)
			} else {
				require.NoError(t, err)
				require.Equal(t, "1", got)
			}
		}
	})

	t.Run("WritesDontInterleave", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				_ = b.Write(b.ctx, func(w server.Writer) error {
					s, err := w.Setting("count")
					if err != nil {
						return err
					}
					return w.SetSetting("count", s+"x")
				})
			})
		}
		wg.Wait()
		require.Len(t, read(b, setting("count")), 50)
	})

	t.Run("AReadSeesOneSnapshot", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		b.write(func(w server.Writer) error { return w.SetSetting("a", "1") })
		var before, after string
		require.NoError(t, b.Read(b.ctx, func(r server.Reader) (err error) {
			if before, err = r.Setting("a"); err != nil {
				return err
			}
			if err := b.Write(b.ctx, func(w server.Writer) error { return w.SetSetting("a", "2") }); err != nil {
				return err
			}
			after, err = r.Setting("a")
			return err
		}))
		require.Equal(t, "1", before)
		require.Equal(t, "1", after)
		require.Equal(t, "2", read(b, setting("a")))
	})

	t.Run("AReadDoesNotWaitForAWrite", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		working, finish := make(chan struct{}), make(chan struct{})
		done := make(chan error, 1)
		go func() {
			done <- b.Write(b.ctx, func(w server.Writer) error {
				err := w.SetSetting("a", "1")
				close(working)
				<-finish
				return err
			})
		}()
		<-working
		require.Empty(t, read(b, setting("a")))
		close(finish)
		require.NoError(t, <-done)
		require.Equal(t, "1", read(b, setting("a")))
	})

	t.Run("GivesUpAWriteThatNeverBegan", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		working, finish := make(chan struct{}), make(chan struct{})
		done := make(chan error, 1)
		go func() {
			done <- b.Write(b.ctx, func(server.Writer) error {
				close(working)
				<-finish
				return nil
			})
		}()
		<-working
		ctx, cancel := context.WithCancel(b.ctx)
		second := make(chan error, 1)
		go func() { second <- b.Write(ctx, func(w server.Writer) error { return w.SetSetting("a", "1") }) }()
		cancel()
		require.ErrorIs(t, <-second, context.Canceled)
		close(finish)
		require.NoError(t, <-done)
		require.Empty(t, read(b, setting("a")))
	})

	t.Run("AWriteThatBeganIsAnsweredThoughItsContextEnds", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		ctx, cancel := context.WithCancel(b.ctx)
		err := b.Write(ctx, func(w server.Writer) error {
			cancel()
			return w.SetSetting("a", "1")
		})
		require.NoError(t, err)
		require.Equal(t, "1", read(b, setting("a")))
	})

	t.Run("TellsSubscribersOfChanges", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		ch, end := b.Changes()
		defer end()
		for i := range 3 { // nobody receives meanwhile, and nothing waits for it
			b.write(func(w server.Writer) error { return w.SetSetting("a", fmt.Sprint(i)) })
		}
		select {
		case <-ch:
		case <-time.After(10 * time.Second):
			require.Fail(t, "no change was told")
		}
	})

	t.Run("RefusesUseAfterClose", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		require.NoError(t, b.Close())
		require.Error(t, b.Write(b.ctx, func(server.Writer) error { return nil }))
		require.Error(t, b.Read(b.ctx, func(server.Reader) error { return nil }))
	})

	t.Run("BacksUpWhileOthersWrite", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		dir := t.TempDir() + "/backup"
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					_ = b.Write(b.ctx, func(w server.Writer) error { return w.SetSetting("a", fmt.Sprint(i)) })
				}
			}
		})
		err := b.Backup(b.ctx, dir)
		close(stop)
		wg.Wait()
		require.NoError(t, err)
		require.Error(t, b.Backup(b.ctx, dir), "the directory is not empty any more")
	})
}
