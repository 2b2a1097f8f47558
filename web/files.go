package web

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/apserver/ap/core/server"
)

// inlineTypes are the types of uploads that a browser may show, with what it is told they are: pictures, PDF and text.
// None can run a script here; anything else is an attachment of no known type.
var inlineTypes = map[string]string{
	"image/png":        "image/png",
	"image/jpeg":       "image/jpeg",
	"image/gif":        "image/gif",
	"image/webp":       "image/webp",
	"application/pdf":  "application/pdf",
	"text/plain":       "text/plain; charset=utf-8",
	"text/csv":         "text/plain; charset=utf-8",
	"text/markdown":    "text/plain; charset=utf-8",
	"application/json": "text/plain; charset=utf-8",
}

// file serves an upload by its signed URL: the exact bytes, without a login.
func (h *site) file(w http.ResponseWriter, r *http.Request) {
	upload, content, err := h.srv.OpenFile(r.Context(), r.PathValue("id"), r.URL.RawQuery)
	if err != nil {
		h.refuseFile(w, r, err)
		return
	}
	defer content.Close()
	kind, disposition := fileType(upload.ContentType)
	header := w.Header()
	header.Set("Content-Type", kind)
	header.Set("Content-Disposition", mime.FormatMediaType(disposition, map[string]string{"filename": safeFileName(upload.FileName, upload.ID)}))
	header.Set("Content-Length", strconv.FormatInt(upload.Bytes, 10))
	header.Set("Content-Security-Policy", filePolicy(kind))
	header.Set("X-Frame-Options", "SAMEORIGIN")
	header.Set("Referrer-Policy", "no-referrer") // the URL is the key
	header.Set("Cache-Control", "private, no-store")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	if _, err := io.Copy(w, content); err != nil {
		h.log.InfoContext(r.Context(), "sending a file", "file", upload.ID, "error", err)
	}
}

func (h *site) refuseFile(w http.ResponseWriter, r *http.Request, err error) {
	var refused *server.Error
	switch {
	case errors.As(err, &refused) && refused.Code == "not_found":
		h.fail(w, r, http.StatusNotFound, "There is no such file", "Open it again from the page or the result that named it.")
	case errors.As(err, &refused):
		h.fail(w, r, http.StatusForbidden, "This link to a file no longer works", "Such links work for a short while only. Open the file again from the page or the result that named it.")
	default:
		h.log.ErrorContext(r.Context(), "opening a file", "file", r.PathValue("id"), "error", err)
		h.internal(w, r)
	}
}

// fileType returns the type an upload is served as, and whether it may be shown.
func fileType(contentType string) (kind, disposition string) {
	base, _, err := mime.ParseMediaType(contentType)
	if kind, ok := inlineTypes[base]; ok && err == nil {
		return kind, "inline"
	}
	return "application/octet-stream", "attachment"
}

// filePolicy is the Content-Security-Policy of a file: a page of no origin that loads nothing. A browser's PDF viewer
// doesn't start in a sandbox, and runs no script of the page.
func filePolicy(kind string) string {
	const nothing = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
	if kind == "application/pdf" {
		return nothing + "; object-src 'self'"
	}
	return nothing + "; sandbox"
}

// safeFileName is a name that any system can save under: the last part of a path, without control and formatting
// characters (which can hide an extension), at most 150 bytes.
func safeFileName(name, id string) string {
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "_"), `\`, "/"))
	name = strings.Map(func(c rune) rune {
		switch {
		case unicode.Is(unicode.Cf, c), unicode.IsControl(c):
			return -1
		case strings.ContainsRune(`/\:*?"<>|;`, c):
			return '_'
		default:
			return c
		}
	}, name)
	name = strings.TrimSpace(strings.Trim(name, "."))
	if len(name) > 150 {
		extension := path.Ext(name)
		if len(extension) > 20 {
			extension = ""
		}
		cut := 150 - len(extension)
		for !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = name[:cut] + extension
	}
	if name == "" || name == "_" {
		return id
	}
	return name
}
