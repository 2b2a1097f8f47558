// Package web is the HTTP side: the MCP endpoint, OIDC login, the inbox pages, signed files, health and metrics.
package web

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/apserver/ap/core/server"
)

// Options configures the HTTP side.
type Options struct {
	// BaseURL is the public URL without a trailing slash.
	BaseURL string
	Logger  *slog.Logger
	// OIDC is the identity provider for people and access tokens.
	OIDC OIDCOptions
	// Dev serves the built-in issuer, /dev/token and /dev/clock; DevClock moves the server's clock.
	Dev      bool
	DevClock DevClock
	// PeopleOverMCP lets a person's access token count as the person (off by default).
	PeopleOverMCP bool
	// Sessions keeps browser sessions.
	Sessions scs.Store
	// SessionLifetime and SessionIdle bound a session (12 h, 2 h).
	SessionLifetime, SessionIdle time.Duration
	// RateLimit is calls per second per identity on /mcp, Burst its burst; MaxConcurrent bounds requests under way. 0 sets
	// no limit.
	RateLimit     float64
	Burst         int
	MaxConcurrent int
	// Ready reports whether the database can be written.
	Ready func() error
	// Version is shown to MCP clients.
	Version string
	// DevSecret keys the signing key of the dev issuer, so that its tokens outlive a restart; nil makes a new key.
	DevSecret []byte
	// Closing is closed when the server begins to shut down: streams end, and /readyz says no.
	Closing <-chan struct{}
	// Collectors are more metrics to show.
	Collectors []prometheus.Collector
}

// OIDCOptions names the issuer; an empty Issuer means that nobody can sign in.
type OIDCOptions struct {
	Issuer       string
	ClientID     string
	ClientSecret string
	Scopes       []string
	// GroupsClaim is the claim that lists a person's groups ("groups").
	GroupsClaim string
	// Audience is what access tokens on /mcp must be for; BaseURL + "/mcp" by default.
	Audience string
	// RequireEmailVerified also refuses an e-mail about which the issuer doesn't say whether it is verified. One that it
	// says is not verified is always refused.
	RequireEmailVerified bool
	// DecideMaxAge asks for a fresh login before a decision when the last is older; 0 never.
	DecideMaxAge time.Duration
}

// DevClock is the movable clock of dev mode.
type DevClock interface {
	Advance(d time.Duration) (now time.Time, err error)
}

// withDefaults fills in what was not given.
func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.SessionLifetime <= 0 {
		o.SessionLifetime = 12 * time.Hour
	}
	if o.SessionIdle <= 0 {
		o.SessionIdle = 2 * time.Hour
	}
	if o.OIDC.Audience == "" {
		o.OIDC.Audience = o.BaseURL + "/mcp"
	}
	if o.OIDC.GroupsClaim == "" {
		o.OIDC.GroupsClaim = "groups"
	}
	if len(o.OIDC.Scopes) == 0 {
		o.OIDC.Scopes = []string{"openid", "email", "profile"}
	}
	return o
}

// check returns the base URL, or what is wrong with the options.
func (o Options) check() (*url.URL, error) {
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.Path != "" || base.RawQuery != "" || base.Fragment != "" || base.User != nil {
		return nil, fmt.Errorf("base URL %q: expected http:// or https://, a host and perhaps a port, and nothing after it", o.BaseURL)
	}
	if o.Sessions == nil {
		return nil, errors.New("no store for sessions")
	}
	if o.OIDC.Issuer == "" {
		return base, nil
	}
	issuer, err := url.Parse(o.OIDC.Issuer)
	switch {
	case err != nil || issuer.Host == "" || issuer.Scheme != "https" && issuer.Scheme != "http":
		return nil, fmt.Errorf("issuer %q: expected an https:// URL", o.OIDC.Issuer)
	case issuer.Scheme == "http" && !isLoopback(issuer.Host):
		return nil, fmt.Errorf("issuer %q: plain http is for issuers on this machine; expected https://", o.OIDC.Issuer)
	case o.OIDC.ClientID == "":
		return nil, fmt.Errorf("issuer %q: no client id", o.OIDC.Issuer)
	}
	return base, nil
}

// Handler is everything the server serves. It may be used at once; an issuer that is down is tried again when someone
// signs in.
//
// The http.Server around it should have a ReadHeaderTimeout (10 s), a ReadTimeout long enough for the largest upload
// (60 s), a WriteTimeout (60 s; streams of events lengthen their own), an IdleTimeout (120 s) and MaxHeaderBytes (64 KiB).
func Handler(s *server.Server, opts Options) (http.Handler, error) {
	opts = opts.withDefaults()
	base, err := opts.check()
	if err != nil {
		return nil, err
	}
	h := &site{
		srv: s, opts: opts, base: base, log: opts.Logger, sessions: newSessions(opts, base),
		calls: newLimiters(opts.RateLimit, opts.Burst), badTokens: newLimiters(1, 30), loginStarts: newLimiters(5, 100),
		streams: make(chan struct{}, streamsMax), heartbeat: heartbeat,
	}
	h.sessions.ErrorFunc = func(w http.ResponseWriter, r *http.Request, err error) {
		h.log.ErrorContext(r.Context(), "reading or keeping a session", "error", err)
		h.internal(w, r)
	}
	if h.metrics, err = newMetrics(s, opts.Collectors); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	root := http.NewServeMux()
	if err := h.setUpIssuer(root); err != nil {
		return nil, err
	}
	if opts.PeopleOverMCP {
		h.log.Warn("people-over-mcp is on: whoever holds a person's access token can decide as that person")
	}
	h.register(root)
	return h.logRequests(secureHeaders(base.Scheme == "https", limitConcurrent(opts.MaxConcurrent, h.sameOrigin(root)))), nil
}

// setUpIssuer sets up the identity provider, which in dev mode is our own.
func (h *site) setUpIssuer(root *http.ServeMux) error {
	redirect := h.opts.BaseURL + "/auth/callback"
	transport := http.DefaultTransport
	if h.opts.Dev {
		dev, err := h.newDevIssuer()
		if err != nil {
			return err
		}
		h.registerDev(root, dev)
		h.opts.OIDC.Issuer, h.opts.OIDC.ClientID, h.opts.OIDC.ClientSecret = h.opts.BaseURL+"/dev/oidc", devClient, ""
		transport = inProcess{dev}
	}
	if h.opts.OIDC.Issuer != "" {
		h.issuer = newIssuer(h.opts.OIDC, redirect, transport)
	}
	return nil
}

// register registers every route but those of dev mode.
func (h *site) register(root *http.ServeMux) {
	root.Handle("/mcp", h.mcpHandler())
	for _, path := range []string{metadataPath, metadataPath + "/mcp"} {
		root.HandleFunc("GET "+path, h.metadata)
		root.HandleFunc("OPTIONS "+path, h.metadata)
	}
	root.HandleFunc("GET /healthz", h.healthz)
	root.HandleFunc("GET /readyz", h.readyz)
	root.Handle("GET /metrics", h.metrics.handler())
	root.HandleFunc("GET /files/{id}", h.file)

	pages := http.NewServeMux()
	h.registerLogin(pages)
	h.registerPages(pages)
	pages.HandleFunc("GET /events", h.events)
	pages.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		h.fail(w, r, http.StatusNotFound, "There is no such page", "The address may be mistyped, or what it showed is gone.")
	})
	root.Handle("/static/", pages) // no session: nothing there is anybody's
	root.Handle("/", h.withSession(pages))
}

// sameOrigin refuses what pages of other sites make a browser send, but to /mcp, which takes no cookie.
func (h *site) sameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	if err := protection.AddTrustedOrigin(h.base.Scheme + "://" + h.base.Host); err != nil {
		panic(err) // the base URL was checked
	}
	protection.AddInsecureBypassPattern("/mcp")
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.fail(w, r, http.StatusForbidden, "This came from another site", "For your safety, what pages of other sites send is refused. Go to the inbox and do it there.")
	}))
	return protection.Handler(next)
}

// ownOrigin says whether an Origin header names this server.
func (h *site) ownOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	return u.Scheme == h.base.Scheme && u.Host == h.base.Host || isLoopback(u.Host) && isLoopback(h.base.Host)
}

// isLoopback says whether a host, with or without a port, is this machine.
func isLoopback(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = strings.Trim(hostPort, "[]")
	}
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}
