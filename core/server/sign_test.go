package server

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
)

var testSigner = newSigner([]byte("0123456789abcdef0123456789abcdef"))

// The token is opaque and unforgeable (protocol.md 3).
func TestATokenProvesItsClaimAndNothingElseDoes(t *testing.T) {
	t.Parallel()
	ref := run.ClaimRef{Claim: 3, Lease: 200}
	token := testSigner.token("r_1", ref)
	runID, got, ok := testSigner.verifyToken(token)
	require.True(t, ok)
	require.Equal(t, "r_1", runID)
	require.Equal(t, ref, got)
	require.NotContains(t, token, "r_1")
	require.Regexp(t, `^[A-Za-z0-9_-]+$`, token)

	for i := range token {
		for _, c := range "Aa0-" {
			if forged := token[:i] + string(c) + token[i+1:]; forged != token {
				_, _, ok := testSigner.verifyToken(forged)
				require.False(t, ok, "%s passes for %s", forged, token)
			}
		}
	}
	other := newSigner([]byte("another secret of thirty-two byte"))
	for name, bad := range map[string]string{
		"empty": "", "cut": token[:len(token)-1], "padded": token + "=", "longer": token + "A", "spaced": " " + token,
		"another server's": other.token("r_1", ref),
		"a cursor":         testSigner.cursor("x", cursorKey{ID: "r_1"}),
		"not base64":       "?????",
		"without a MAC":    base64.RawURLEncoding.EncodeToString([]byte("r_1")),
	} {
		_, _, ok := testSigner.verifyToken(bad)
		require.False(t, ok, name)
	}
}

func TestTokensOfDifferentLeasesDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, runID := range []string{"r_1", "r_11", "r_"} {
		for claim := 1; claim < 200; claim += 63 {
			for lease := 1; lease < 200; lease += 63 {
				token := testSigner.token(runID, run.ClaimRef{Claim: claim, Lease: lease})
				require.False(t, seen[token])
				seen[token] = true
			}
		}
	}
}

// Cursors are opaque; one that isn't ours is invalid (protocol.md 8).
func TestACursorWorksForItsOwnListOnly(t *testing.T) {
	t.Parallel()
	key := cursorKey{At: time.Date(2026, 10, 6, 9, 0, 0, 1e6, time.UTC), ID: "r_1", Step: "a"}
	cursor := testSigner.cursor("runs", key)
	got, err := testSigner.openCursor("runs", cursor)
	require.NoError(t, err)
	require.True(t, key.At.Equal(got.At))
	require.Equal(t, key.ID+key.Step, got.ID+got.Step)
	for _, bad := range []string{"x", cursor + "A", strings.ToUpper(cursor), testSigner.token("r_1", run.ClaimRef{})} {
		_, err := testSigner.openCursor("runs", bad)
		var refused *Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, run.Invalid, refused.Code)
	}
	_, err = testSigner.openCursor("run", cursor)
	require.Error(t, err)
	first, err := testSigner.openCursor("runs", "")
	require.NoError(t, err)
	require.Zero(t, first)
}

func TestAFileURLOpensItsFileUntilItExpires(t *testing.T) {
	t.Parallel()
	expires := time.Date(2026, 10, 6, 9, 15, 0, 0, time.UTC)
	path, query, found := strings.Cut(testSigner.fileURL("f_1", expires), "?")
	require.True(t, found)
	require.Equal(t, "/files/f_1", path)
	got, ok := testSigner.verifyFileURL("f_1", query)
	require.True(t, ok)
	require.True(t, expires.Equal(got))
	for name, bad := range map[string][2]string{
		"another file":   {"f_2", query},
		"later":          {"f_1", strings.Replace(query, "exp=1", "exp=2", 1)},
		"more":           {"f_1", query + "&x=1"},
		"twice":          {"f_1", query + "&" + query},
		"no signature":   {"f_1", query[:strings.Index(query, "&")]},
		"empty":          {"f_1", ""},
		"broken escapes": {"f_1", "exp=%zz&sig=%"},
		"cut":            {"f_1", query[:len(query)-1]},
	} {
		_, ok := testSigner.verifyFileURL(bad[0], bad[1])
		require.False(t, ok, name)
	}
}

func FuzzVerifyToken(f *testing.F) {
	good := testSigner.token("r_1", run.ClaimRef{Claim: 1, Lease: 1})
	f.Add(good)
	f.Add(good[:10])
	f.Add(base64.RawURLEncoding.EncodeToString(make([]byte, 40)))
	f.Fuzz(func(t *testing.T, token string) {
		runID, ref, ok := testSigner.verifyToken(token)
		if ok && testSigner.token(runID, ref) != token {
			t.Fatalf("%q verifies and is not the token of %s %v", token, runID, ref)
		}
	})
}

func FuzzOpenCursor(f *testing.F) {
	f.Add(testSigner.cursor("runs", cursorKey{ID: "r_1"}))
	f.Fuzz(func(t *testing.T, cursor string) {
		if _, err := testSigner.openCursor("processes", cursor); err == nil && cursor != "" {
			t.Fatalf("%q opens as a cursor that was never made", cursor)
		}
	})
}
