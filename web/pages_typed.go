package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/templates"
)

const (
	// typedMax is how many bytes of text a form may hold: run data's cap several times over.
	typedMax = 1 << 20
	// filesMax is how many files one form may bring.
	filesMax = 20
)

var (
	errTyped  = errors.New("the form holds more text than a run may")
	errFiles  = fmt.Errorf("the form brings more than %d files", filesMax)
	errNoText = errors.New("the form holds bytes that are no text")
)

// take is what becomes of a file in a form; nil leaves it out.
type take func(key, name, contentType string, content io.Reader) error

// readForm reads a form, text first to last, handing each file to take as it comes: what is read never stays in memory
// as a whole. The requestId stands before any file.
func (h *site) readForm(w http.ResponseWriter, r *http.Request, files take) (url.Values, error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		r.Body = http.MaxBytesReader(w, r.Body, typedMax)
		if err := r.ParseForm(); err != nil {
			return nil, fmt.Errorf("reading a form: %w", err)
		}
		return r.PostForm, validText(r.PostForm)
	}
	r.Body = http.MaxBytesReader(w, r.Body, filesMax*(h.srv.MaxUploadBytes()+1<<16)+typedMax)
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, fmt.Errorf("reading a form: %w", err)
	}
	typed, left, seen := url.Values{}, int64(typedMax), 0
	for {
		part, err := parts.NextPart()
		if err == io.EOF {
			return typed, validText(typed)
		}
		if err != nil {
			return typed, fmt.Errorf("reading a form: %w", err)
		}
		if part.FileName() == "" {
			text, err := io.ReadAll(io.LimitReader(part, left+1))
			if err != nil {
				return typed, fmt.Errorf("reading a form: %w", err)
			}
			if left -= int64(len(text)); left < 0 {
				return typed, errTyped
			}
			typed.Add(part.FormName(), string(text))
			continue
		}
		if seen++; seen > filesMax {
			return typed, errFiles
		}
		if err := takeFile(part, typed.Get("requestId"), files); err != nil {
			return typed, err
		}
	}
}

func takeFile(part *multipart.Part, key string, files take) error {
	if files == nil {
		_, err := io.Copy(io.Discard, part)
		return err
	}
	return files(key, part.FileName(), part.Header.Get("Content-Type"), part)
}

func validText(typed url.Values) error {
	for name, values := range typed {
		if !utf8.ValidString(name) {
			return errNoText
		}
		for _, v := range values {
			if !utf8.ValidString(v) {
				return errNoText
			}
		}
	}
	return nil
}

// refusedForm answers a form that could not be read at all.
func (h *site) refusedForm(w http.ResponseWriter, r *http.Request, err error) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, errTyped), errors.As(err, &tooLarge):
		h.fail(w, r, http.StatusRequestEntityTooLarge, "That is too much at once", "Nothing was done. Go back, shorten the text or attach fewer files, and send it again.")
	case errors.Is(err, errFiles):
		h.fail(w, r, http.StatusRequestEntityTooLarge, "Those are too many files", fmt.Sprintf("Nothing was done. Go back and attach at most %d files at a time.", filesMax))
	default:
		h.log.InfoContext(r.Context(), "a form could not be read", "path", r.URL.Path, "error", err)
		h.fail(w, r, http.StatusBadRequest, "The form arrived damaged", "Nothing was done. Go back and send it again.")
	}
}

// storeFiles uploads each file of a form. The same form sent twice uploads once. What is wrong with a file is an issue of
// the form; only a failure of ours is an error.
func (h *site) storeFiles(r *http.Request, id server.Identity, kept *[]templates.KeptFile, issues *[]templates.Issue) take {
	return func(key, name, contentType string, content io.Reader) error {
		limit := h.srv.MaxUploadBytes()
		data, err := io.ReadAll(io.LimitReader(content, limit+1))
		if err != nil {
			return fmt.Errorf("reading a file of a form: %w", err)
		}
		if int64(len(data)) > limit {
			_, err := io.Copy(io.Discard, content)
			*issues = append(*issues, fileIssue(fmt.Sprintf("%s is larger than %s.", templates.Line(name, 80), templates.Bytes(limit))))
			return err
		}
		if contentType == "" {
			contentType = "application/octet-stream"
		}
		sum := sha256.New()
		fmt.Fprintf(sum, "%q %q ", name, contentType)
		sum.Write(data)
		up, err := h.srv.Upload(r.Context(), id, server.UploadArgs{
			FileName: name, ContentType: contentType, Content: data, RequestID: key + "-" + hex.EncodeToString(sum.Sum(nil)[:16]),
		})
		var refusal *server.Error
		if errors.As(err, &refusal) {
			*issues = append(*issues, fileIssue(fmt.Sprintf("%s was not taken: %s", templates.Line(name, 80), sentence(refusal.Error()))))
			return nil
		}
		if err != nil {
			return err
		}
		*kept = append(*kept, templates.KeptFile{ID: up.ID, Name: name, Size: up.Bytes})
		return nil
	}
}

func fileIssue(text string) templates.Issue {
	return templates.Issue{About: "file", Label: "Evidence file", Text: text}
}

// keptFiles are the files of earlier answers that a form still names.
func keptFiles(typed url.Values) []templates.KeptFile {
	var files []templates.KeptFile
	for _, id := range typed["kept"] {
		size, _ := strconv.ParseInt(typed.Get("size."+id), 10, 64)
		files = append(files, templates.KeptFile{ID: id, Name: typed.Get("name." + id), Size: size})
	}
	return files
}

// sessionTyped keeps a form over a sign-in, as a typedForm in JSON.
const sessionTyped = "typed"

type typedForm struct {
	// Path is the page it belongs to, Person who typed it.
	Path, Person string
	Typed        url.Values
}

// signInFirst keeps a form that was sent without a sign-in, or with one too old for a decision, and asks for a new one.
// Afterwards the page has what was typed again.
func (h *site) signInFirst(w http.ResponseWriter, r *http.Request, page string, typed url.Values, fresh bool) {
	if wait, ok := h.loginStarts.allow(remoteAddress(r)); !ok {
		retryAfter(w, wait)
		h.fail(w, r, http.StatusTooManyRequests, "Too many forms", "Too many forms came from your address without a sign-in. Wait a minute, go back, and send yours again.")
		return
	}
	kept, err := json.Marshal(typedForm{Path: page, Person: typed.Get("person"), Typed: typed})
	if err != nil {
		panic(err) // strings always marshal
	}
	h.sessions.Put(r.Context(), sessionTyped, string(kept))
	if !fresh {
		h.sessions.SetDeadline(r.Context(), time.Now().Add(anonymousTime))
	}
	h.toLogin(w, r, page, fresh)
}

// takeTyped returns, once, what the person had typed into the page before signing in.
func (h *site) takeTyped(r *http.Request, id server.Identity) (url.Values, bool) {
	kept := h.sessions.GetString(r.Context(), sessionTyped)
	if kept == "" {
		return nil, false
	}
	var form typedForm
	if json.Unmarshal([]byte(kept), &form) != nil || form.Person != id.Name {
		h.sessions.Remove(r.Context(), sessionTyped)
		return nil, false
	}
	if form.Path != r.URL.Path {
		return nil, false
	}
	h.sessions.Remove(r.Context(), sessionTyped)
	return form.Typed, true
}
