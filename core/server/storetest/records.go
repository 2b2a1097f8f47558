package storetest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/server"
)

func testRecords(t *testing.T, open Open) {
	t.Run("RecordsARequestOnce", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		request := server.Request{ID: strings.Repeat("ü", 128), Tool: "submit", Args: hash("args"), By: "agent:robot", RunID: "r_1", Seq: 4,
			At: at(3), Ref: json.RawMessage(`{"claim": 1, "lease": 2}`)}
		b.write(func(w server.Writer) error { return w.PutRequest(request) })
		plain := server.Request{ID: "plain", Tool: "upload", Args: hash("args"), By: "mira@example.com", At: at(3)}
		b.write(func(w server.Writer) error { return w.PutRequest(plain) })
		get := func(id string) (server.Request, error) {
			return tryRead(b, func(r server.Reader) (server.Request, error) { return r.Request(id) })
		}
		got, err := get(request.ID)
		require.NoError(t, err)
		require.Equal(t, request, got)
		got, err = get("plain")
		require.NoError(t, err)
		require.Equal(t, plain, got)
		_, err = get("other")
		require.ErrorIs(t, err, server.ErrNotFound)

		again := request
		again.Tool = "claim"
		require.ErrorIs(t, b.Write(b.ctx, func(w server.Writer) error { return w.PutRequest(again) }), server.ErrConflict)
	})

	t.Run("RecordsUploads", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		sum := strings.Repeat("0123456789abcdef", 4)
		upload := func(id string) server.Upload {
			return server.Upload{ID: id, SHA256: sum, Bytes: 12, FileName: "Rechnung – März.pdf", ContentType: "application/pdf",
				By: "agent:robot", At: at(1)}
		}
		for _, id := range []string{"f_2", "f_1", "f_3"} {
			b.write(func(w server.Writer) error { return w.PutUpload(upload(id)) })
		}
		require.Equal(t, upload("f_1"), read(b, func(r server.Reader) (server.Upload, error) { return r.Upload("f_1") }))
		_, err := tryRead(b, func(r server.Reader) (server.Upload, error) { return r.Upload("f_9") })
		require.ErrorIs(t, err, server.ErrNotFound)
		require.Equal(t, []server.Upload{upload("f_2")},
			read(b, func(r server.Reader) ([]server.Upload, error) { return r.Uploads("f_1", 1) }))
		require.ErrorIs(t, b.Write(b.ctx, func(w server.Writer) error { return w.PutUpload(upload("f_1")) }), server.ErrConflict)
		bad := upload("f_4")
		bad.SHA256 = "short"
		require.Error(t, b.Write(b.ctx, func(w server.Writer) error { return w.PutUpload(bad) }))
	})

	t.Run("KeepsSettings", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		require.Empty(t, read(b, setting("clock")))
		b.write(func(w server.Writer) error { return w.SetSetting("clock", "3h") })
		b.write(func(w server.Writer) error { return w.SetSetting("clock", "4h") })
		require.Equal(t, "4h", read(b, setting("clock")))
	})
}
