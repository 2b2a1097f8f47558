package server_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/core/server/servertest"
)

// signedURL returns the id and query of the first signed URL in a result.
func signedURL(t *testing.T, result json.RawMessage) (id, query string) {
	t.Helper()
	_, rest, found := strings.Cut(string(result), `"url":"https://ap.example/files/`)
	require.True(t, found, "no signed URL in %s", result)
	url, _, _ := strings.Cut(rest, `"`)
	id, query, found = strings.Cut(url, "?")
	require.True(t, found)
	return id, query
}

// submitted has an agent submit a file and returns the run and the result.
func submitted(t *testing.T, f *servertest.Fixture, content string) (servertest.View, servertest.Reply) {
	t.Helper()
	v := f.Begin(editor, "collect", nil)
	c := f.Take(worker, v.Run.ID, "quote")
	return v, f.Write(worker, "submit", args{"token": c.Token, "output": args{"price": 1}, "summary": "s",
		"evidence": []any{args{"kind": "file", "ref": uploaded(t, f, content)}, args{"kind": "link", "ref": "https://example.com"}}})
}

// Every file evidence item carries sha256 and a signed url that works for a while and serves the exact bytes
// (protocol.md 8).
func TestFileEvidenceCarriesItsHashAndASignedURL(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(collect, nil)
	content := "a quote\x00\xff"
	v, r := submitted(t, f, content)
	require.True(t, r.OK, "%s", r.JSON)
	read := f.Call(worker, "get_run", args{"runId": v.Run.ID})
	for _, result := range []json.RawMessage{r.JSON, read.JSON} {
		require.Equal(t, 1, strings.Count(string(result), `"url"`), "a link has none")
		require.Contains(t, string(result), `"sha256":"`)
		id, query := signedURL(t, result)
		up, body, err := f.OpenFile(t.Context(), id, query)
		require.NoError(t, err)
		got, err := io.ReadAll(body)
		require.NoError(t, err)
		require.NoError(t, body.Close())
		require.Equal(t, content, string(got))
		require.Equal(t, "note.txt", up.FileName)
	}
	id, query := signedURL(t, read.JSON)
	for name, bad := range map[string]string{"no query": "", "forged": strings.Replace(query, "sig=", "sig=A", 1), "moved": strings.Replace(query, "exp=1", "exp=9", 1)} {
		_, _, err := f.OpenFile(t.Context(), id, bad)
		refusedError(t, err, run.Forbidden, name)
	}
	_, _, err := f.OpenFile(t.Context(), id+"x", query)
	refusedError(t, err, run.Forbidden)
	advance(t, f, 15*time.Minute-time.Millisecond)
	_, body, err := f.OpenFile(t.Context(), id, query)
	require.NoError(t, err)
	require.NoError(t, body.Close())
	advance(t, f, time.Millisecond)
	_, _, err = f.OpenFile(t.Context(), id, query)
	refusedError(t, err, run.Forbidden)
	require.ErrorContains(t, err, "expired")
}

func refusedError(t *testing.T, err error, code run.Code, why ...any) *server.Error {
	t.Helper()
	var refused *server.Error
	require.ErrorAs(t, err, &refused, why...)
	require.Equal(t, code, refused.Code, why...)
	return refused
}

// A file that isn't found or changed doesn't count as attached (protocol.md 3).
func TestFilesAreHashedAgainAtSubmission(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := servertest.Open(t, dir)
	f.Publish(collect, nil)
	v := f.Begin(editor, "collect", nil)
	c := f.Take(worker, v.Run.ID, "quote")
	changed, gone, whole := uploaded(t, f, "will change"), uploaded(t, f, "will go"), uploaded(t, f, "will stay")
	var files []string
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "files"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	}))
	for _, path := range files {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		switch string(b) {
		case "will change":
			require.NoError(t, os.Chmod(path, 0o600))
			require.NoError(t, os.WriteFile(path, []byte("has changed"), 0o600))
		case "will go":
			require.NoError(t, os.Remove(path))
		}
	}
	submit := func(refs ...string) servertest.Reply {
		items := []any{}
		for _, ref := range refs {
			items = append(items, args{"kind": "file", "ref": ref})
		}
		return f.Write(worker, "submit", args{"token": c.Token, "output": args{"price": 1}, "summary": "s", "evidence": items})
	}
	refused(t, submit(changed), run.NotAccepted, "evidence: file required", "evidence "+changed+": bytes changed")
	refused(t, submit(gone, "f_none"), run.NotAccepted, "evidence: file required", "evidence "+gone+": bytes changed", "evidence f_none: not found")
	refused(t, submit(whole, changed), run.NotAccepted, "evidence "+changed+": bytes changed")
	require.True(t, submit(whole).OK)

	problems, err := f.Verify(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, problems, 2)
	require.Regexp(t, `^file `+changed+` \(note.txt\): its bytes have the hash [0-9a-f]{64}, recorded is [0-9a-f]{64}$`, problems[0].Message)
	require.Equal(t, "file "+gone+" (note.txt): its bytes are missing", problems[1].Message)
}

// upload: over maxUploadBytes is invalid (protocol.md 8).
func TestUploadTakesBase64UpToTheLimit(t *testing.T) {
	t.Parallel()
	f := servertest.New(t, func(o *server.Options) { o.MaxUploadBytes = 10 })
	up := func(content string) servertest.Reply {
		return f.Write(worker, "upload", args{"fileName": "a", "contentType": "b", "contentBase64": content})
	}
	require.JSONEq(t, `{"id":"f_000001","sha256":"84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882","bytes":10}`,
		string(up(base64.StdEncoding.EncodeToString([]byte("0123456789"))).Data))
	refused(t, up(base64.StdEncoding.EncodeToString([]byte("0123456789a"))), run.Invalid, "contentBase64: 11 bytes, limit 10")
	for _, bad := range []string{"a", "aGk", "aGk_", "aGk=aGk=", "häh="} {
		refused(t, up(bad), run.Invalid, "contentBase64: expected standard base64, padded")
	}
	refused(t, f.Write(worker, "upload", args{"fileName": "", "contentType": strings.Repeat("x", 161), "contentBase64": ""}), run.Invalid,
		"fileName: at least 1 character", "contentType: at most 160 characters", "contentBase64: at least 1 character")
	// The same bytes under another request are another upload.
	again := up(base64.StdEncoding.EncodeToString([]byte("0123456789")))
	require.NotContains(t, string(again.Data), "f_000001")
}

func TestHostileNamesOfUploadsAreKeptAsTheyAre(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(collect, nil)
	name := "../../etc/passwd\x00\r\nX: y\".html"
	r, err := f.Upload(t.Context(), worker, server.UploadArgs{FileName: name, ContentType: "text/html\r\n<script>", Content: []byte("x"), RequestID: "1"})
	require.NoError(t, err)
	v := f.Begin(editor, "collect", nil)
	c := f.Take(worker, v.Run.ID, "quote")
	id, query := signedURL(t, f.Write(worker, "submit", args{"token": c.Token, "output": args{"price": 1}, "summary": "s", "evidence": []any{args{"kind": "file", "ref": r.ID}}}).JSON)
	up, body, err := f.OpenFile(t.Context(), id, query)
	require.NoError(t, err)
	require.NoError(t, body.Close())
	require.Equal(t, name, up.FileName)
	_, err = f.Upload(t.Context(), worker, server.UploadArgs{FileName: "\xff", ContentType: "x", Content: []byte("x"), RequestID: "2"})
	refusedError(t, err, run.Invalid)
}
