package web

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apserver/ap/templates"
)

// upload takes one file while its form is still being filled in, and answers with the row that names it there.
func (h *site) upload(w http.ResponseWriter, r *http.Request) {
	id, _, _ := h.person(r)
	var kept []templates.KeptFile
	var issues []templates.Issue
	key := newKey()
	store := h.storeFiles(r, id, &kept, &issues)
	_, err := h.readForm(w, r, func(_, name, contentType string, content io.Reader) error {
		return store(key, name, contentType, content)
	})
	switch {
	case err != nil:
		h.refusedForm(w, r, err)
	case len(issues) > 0:
		http.Error(w, issues[0].Text, http.StatusUnprocessableEntity)
	case len(kept) == 0:
		http.Error(w, "No file arrived.", http.StatusBadRequest)
	default:
		h.render(w, r, http.StatusOK, templates.FileRow(kept[0]))
	}
}

// previewBytes is how much of a text a preview shows.
const previewBytes = 16 << 10

// previewed says whether a file of this type has a preview of its own; a picture is one itself.
func previewed(mediaType string) bool {
	kind, disposition := fileType(mediaType)
	return disposition == "inline" && !strings.HasPrefix(kind, "image/")
}

// signedFile is the signed address, as path and query, of a file that a run's evidence names; ok is false when the request
// was answered already.
func (h *site) signedFile(w http.ResponseWriter, r *http.Request) (address string, ok bool) {
	id, _, _ := h.person(r)
	view, err := h.srv.GetRun(r.Context(), id, r.PathValue("id"))
	if err != nil {
		h.refused(w, r, err, "reading a run")
		return "", false
	}
	address, ok = fileURLs(view.Data)[r.PathValue("file")]
	if !ok {
		h.fail(w, r, http.StatusNotFound, "There is no such file", "The run names no file like this now. Open it again from the page of the run.")
	}
	return address, ok
}

// runFile sends whoever is signed in to a file of a run: its signed address works for a while only.
func (h *site) runFile(w http.ResponseWriter, r *http.Request) {
	if address, ok := h.signedFile(w, r); ok {
		http.Redirect(w, r, address, http.StatusFound)
	}
}

// preview shows the beginning of a text file, or a PDF in a frame.
func (h *site) preview(w http.ResponseWriter, r *http.Request) {
	address, ok := h.signedFile(w, r)
	if !ok {
		return
	}
	_, query, _ := strings.Cut(address, "?")
	upload, content, err := h.srv.OpenFile(r.Context(), r.PathValue("file"), query)
	if err != nil {
		h.refuseFile(w, r, err)
		return
	}
	defer content.Close()
	p := templates.Preview{Name: upload.FileName, URL: address, Size: upload.Bytes}
	kind, _ := fileType(upload.ContentType)
	switch {
	case kind == "application/pdf":
		p.PDF = true
	case strings.HasPrefix(kind, "text/"):
		if p.Text, p.More, err = beginning(content); err != nil {
			h.refused(w, r, err, "reading a file")
			return
		}
	}
	if r.Header.Get("HX-Request") == "true" {
		h.render(w, r, http.StatusOK, templates.PreviewPart(p))
		return
	}
	h.render(w, r, http.StatusOK, templates.PreviewPage(h.chrome(r, p.Name, ""), p))
}

// beginning reads the first part of a text, whole characters only; more says that something follows.
func beginning(content io.Reader) (text string, more bool, err error) {
	b := make([]byte, previewBytes+1)
	n, err := io.ReadFull(content, b)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", false, err
	}
	more = n > previewBytes
	b = b[:min(n, previewBytes)]
	for i := 0; more && i < utf8.UTFMax && len(b) > 0 && !utf8.Valid(b); i++ {
		b = b[:len(b)-1]
	}
	return strings.ToValidUTF8(string(b), "\ufffd"), more, nil
}

func itoa64(n int64) string { return strconv.FormatInt(n, 10) }
