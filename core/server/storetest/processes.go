package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
)

func testProcesses(t *testing.T, open Open) {
	t.Run("ADraftIsReplacedAndVersionsStay", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		b.write(func(w server.Writer) error { return w.PutDraft("supplier", "h2", []byte("second"), at(5)) })
		require.Equal(t, server.ProcessRow{Name: "supplier", DraftHash: "h2", DraftSource: []byte("second"), DraftAt: at(5), Latest: 1},
			read(b, func(r server.Reader) (server.ProcessRow, error) { return r.Process("supplier") }))
		v := read(b, func(r server.Reader) (server.Version, error) { return r.Version("supplier", 1) })
		require.Equal(t, server.Version{Process: "supplier", Number: 1, Hash: "hash-supplier", Source: []byte("source of supplier"),
			PublishedAt: epoch, PublishedBy: "server"}, v)
	})

	t.Run("NumbersVersionsWithoutGaps", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		version := func(n int) server.Version {
			return server.Version{Process: "supplier", Number: n, Hash: "h", Source: []byte("s"), PublishedAt: epoch, PublishedBy: "server"}
		}
		for _, n := range []int{0, 1, 3} {
			require.ErrorIs(t, b.Write(b.ctx, func(w server.Writer) error { return w.PutVersion(version(n)) }), server.ErrConflict)
		}
		b.write(func(w server.Writer) error { return w.PutVersion(version(2)) })
		require.Equal(t, version(2), read(b, func(r server.Reader) (server.Version, error) { return r.Version("supplier", 0) }))
		all := read(b, func(r server.Reader) ([]server.Version, error) { return r.Versions("supplier") })
		require.Len(t, all, 2)
		require.Equal(t, 2, all[0].Number)
		require.Equal(t, 2, read(b, func(r server.Reader) (server.ProcessRow, error) { return r.Process("supplier") }).Latest)
		require.Equal(t, 2, read(b, func(r server.Reader) (int, error) { return r.Latest("supplier") }))
	})

	t.Run("NamesAllOrThePublishedOnes", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		b.write(func(w server.Writer) error { return w.PutDraft("draft", "h", []byte("d"), at(5)) })
		published := read(b, func(r server.Reader) ([]string, error) { return r.ProcessNames(true) })
		require.Contains(t, published, "supplier")
		require.NotContains(t, published, "draft")
		require.IsIncreasing(t, published)
		require.ElementsMatch(t, append(published, "draft"), read(b, func(r server.Reader) ([]string, error) { return r.ProcessNames(false) }))
	})

	t.Run("KnowsWhatIsMissing", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		_, err := tryRead(b, func(r server.Reader) (server.ProcessRow, error) { return r.Process("nothing") })
		require.ErrorIs(t, err, server.ErrNotFound)
		_, err = tryRead(b, func(r server.Reader) (int, error) { return r.Latest("nothing") })
		require.ErrorIs(t, err, server.ErrNotFound)
		for _, n := range []int{0, 2} {
			_, err = tryRead(b, func(r server.Reader) (server.Version, error) { return r.Version("nothing", n) })
			require.ErrorIs(t, err, server.ErrNotFound)
		}
		require.ErrorIs(t, b.Write(b.ctx, func(w server.Writer) error { return w.PutVersion(server.Version{Process: "nothing", Number: 1}) }),
			server.ErrNotFound)
		require.ErrorIs(t, b.Write(b.ctx, func(w server.Writer) error { return w.Bind("nothing", "role", "group") }), server.ErrNotFound)
		require.Empty(t, read(b, func(r server.Reader) ([]server.Version, error) { return r.Versions("nothing") }))
	})

	t.Run("PagesByName", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		b.write(func(w server.Writer) error { return w.PutDraft("draft-only", "h", []byte("s"), epoch) })
		list := func(published bool, after string, limit int) []string {
			return ids(read(b, func(r server.Reader) ([]server.ProcessRow, error) { return r.Processes(published, after, limit) }),
				func(p server.ProcessRow) string { return p.Name })
		}
		require.Equal(t, []string{"draft-only", "hiring", "supplier"}, list(false, "", 10))
		require.Equal(t, []string{"hiring", "supplier"}, list(true, "", 10))
		require.Equal(t, []string{"draft-only", "hiring"}, list(false, "", 2))
		require.Equal(t, []string{"supplier"}, list(false, "hiring", 2))
		require.Empty(t, list(true, "supplier", 2))
	})

	t.Run("BindsARoleToItsLatestGroup", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		bindings := func() map[string]string {
			return read(b, func(r server.Reader) (map[string]string, error) { return r.Bindings("supplier") })
		}
		require.Empty(t, bindings())
		b.write(func(w server.Writer) error { return w.Bind("supplier", "finance", "first") })
		b.write(func(w server.Writer) error { return w.Bind("supplier", "finance", "second") })
		b.write(func(w server.Writer) error { return w.Bind("hiring", "finance", "other") })
		require.Equal(t, map[string]string{"finance": "second"}, bindings())
	})
}
