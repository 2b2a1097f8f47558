package db

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
)

// The writes that share a transaction with one that fails half way run again, and come to what they come to alone.
func TestWritesRunAgainWhenAnotherFailsHalfWay(t *testing.T) {
	t.Parallel()
	d, err := Open(context.Background(), t.TempDir(), Options{})
	require.NoError(t, err)
	defer d.Close()

	refused := errors.New("refused")
	working, others := make(chan struct{}), make(chan struct{})
	var once sync.Once
	fns := []func(server.Writer) error{
		func(w server.Writer) error {
			once.Do(func() { close(working); <-others }) // holds the transaction open until the others have come
			return w.SetSetting("first", "1")
		},
		func(w server.Writer) error { return w.SetSetting("second", "1") },
		func(w server.Writer) error { return errors.Join(w.SetSetting("half", "1"), refused) },
		func(w server.Writer) error { panic(errors.Join(w.SetSetting("panic", "1"), refused)) },
		func(server.Writer) error { return refused }, // has written nothing, so nobody else is concerned
		func(w server.Writer) error { return w.SetSetting("last", "1") },
	}
	runs, errs := make([]int, len(fns)), make([]error, len(fns)) // the writer's alone until each is answered
	var wg sync.WaitGroup
	write := func(i int) {
		wg.Go(func() {
			errs[i] = d.Write(context.Background(), func(w server.Writer) error {
				runs[i]++
				return fns[i](w)
			})
		})
	}
	write(0)
	<-working
	for i := 1; i < len(fns); i++ {
		write(i)
		for len(d.writer.queue) < i {
			time.Sleep(time.Millisecond)
		}
	}
	close(others)
	wg.Wait()

	require.NoError(t, errors.Join(errs[0], errs[1], errs[5]))
	require.ErrorIs(t, errs[2], refused)
	require.ErrorContains(t, errs[3], "a write panicked: refused")
	require.ErrorIs(t, errs[4], refused)
	require.Equal(t, []int{3, 3, 1, 1, 1, 1}, runs)
	require.NoError(t, d.Read(context.Background(), func(r server.Reader) error {
		for key, want := range map[string]string{"first": "1", "second": "1", "half": "", "panic": "", "last": "1"} {
			got, err := r.Setting(key)
			require.NoError(t, err)
			require.Equal(t, want, got, key)
		}
		return nil
	}))
}
