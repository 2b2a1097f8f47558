package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/apserver/ap/templates"
	devissuer "github.com/apserver/ap/web/issuer"
)

// devClient is the client id of the browser, and of the tokens that /dev/token gives.
const devClient = "ap-dev"

// newDevIssuer returns the issuer of dev mode, under /dev/oidc.
func (h *site) newDevIssuer() (*devissuer.Dev, error) {
	return devissuer.New(devissuer.Options{
		Issuer:        h.opts.BaseURL + "/dev/oidc",
		ClientID:      devClient,
		RedirectURIs:  []string{h.opts.BaseURL + "/auth/callback"},
		LoggedOutURIs: []string{h.opts.BaseURL + "/signed-out"},
		Secret:        h.opts.DevSecret,
		LoginPage:     h.devLoginPage,
	})
}

func (h *site) registerDev(mux *http.ServeMux, dev *devissuer.Dev) {
	mux.Handle("/dev/oidc/", dev)
	mux.HandleFunc("POST /dev/token", func(w http.ResponseWriter, r *http.Request) { h.devToken(w, r, dev) })
	mux.HandleFunc("POST /dev/clock", h.devClock)
}

// devToken gives an access token for any e-mail. It is an hour of real time long.
func (h *site) devToken(w http.ResponseWriter, r *http.Request, dev *devissuer.Dev) {
	var ask struct {
		Email    string `json:"email"`
		Audience string `json:"audience"`
	}
	if err := devBody(r, &ask); err != nil {
		devRefuse(w, err, `{"email": "mira@example.com"}`)
		return
	}
	if ask.Audience == "" {
		ask.Audience = h.opts.OIDC.Audience
	}
	token, err := dev.Token(r.Context(), ask.Email, ask.Audience)
	if err != nil {
		devRefuse(w, err, `{"email": "mira@example.com"}`)
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"access_token": token})
}

// devClock moves the server's clock forward.
func (h *site) devClock(w http.ResponseWriter, r *http.Request) {
	const example = `{"advance": "72h"} or {"advance": "3d"}`
	var ask struct {
		Advance string `json:"advance"`
	}
	if err := devBody(r, &ask); err != nil {
		devRefuse(w, err, example)
		return
	}
	d, err := advanceBy(ask.Advance)
	if err != nil {
		devRefuse(w, err, example)
		return
	}
	if h.opts.DevClock == nil {
		devRefuse(w, errors.New("this server has no clock that moves"), example)
		return
	}
	now, err := h.opts.DevClock.Advance(d)
	if err != nil {
		devRefuse(w, fmt.Errorf("advance: %w", err), example)
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"now": now.UTC().Format("2006-01-02T15:04:05.000Z")})
}

// devBody reads a small JSON object with no other members than those of v.
func devBody(r *http.Request, v any) error {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("reading the body: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("the body is not the JSON object expected: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the JSON object")
	}
	return nil
}

func devRefuse(w http.ResponseWriter, err error, example string) {
	writeJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error(), "example": example})
}

var inDays = regexp.MustCompile(`^([0-9]{1,9})d$`)

// maxAdvance is the longest step of the clock: as long as the longest duration in a process.
const maxAdvance = 36500 * 24 * time.Hour

// advanceBy reads a Go duration, or a whole number of days such as 3d, that doesn't go back.
func advanceBy(s string) (time.Duration, error) {
	if s == "" {
		return 0, errors.New("advance: missing")
	}
	if m := inDays.FindStringSubmatch(s); m != nil {
		days, err := strconv.Atoi(m[1])
		if err != nil || days > 36500 {
			return 0, errors.New("advance: more than 36500d")
		}
		return time.Duration(days) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, fmt.Errorf("advance: %q is neither a duration such as 72h or 90m nor days such as 3d", s)
	case d < 0:
		return 0, errors.New("advance: the clock doesn't go back")
	case d > maxAdvance:
		return 0, errors.New("advance: more than 36500d")
	}
	return d, nil
}

// inProcess sends the site's own requests to the dev issuer straight to its handler: it needs no port and no name.
type inProcess struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	in.Host = r.URL.Host
	in.RemoteAddr = "127.0.0.1:0"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	out := &answer{header: http.Header{}, status: http.StatusOK}
	t.handler.ServeHTTP(out, in)
	return &http.Response{
		Status: http.StatusText(out.status), StatusCode: out.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: out.header, Body: io.NopCloser(&out.body), ContentLength: int64(out.body.Len()), Request: r,
	}, nil
}

// answer keeps a response.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

func (h *site) devLoginPage(w http.ResponseWriter, r *http.Request, status int, p devissuer.LoginPage) {
	if p.Action == "" {
		h.problem(w, r, status, templates.Message{Title: "Sign in again", Text: p.Problem, Link: "/login", LinkText: "Sign in"})
		return
	}
	h.render(w, r, status, templates.DevLogin(h.plainChrome(r, "Sign in"), templates.Login{Action: p.Action, Email: p.Email, Issue: p.Problem}))
}
