// Package web is the HTTP side: the MCP endpoint, OIDC login, the inbox pages, signed files, health and metrics.
package web

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/alexedwards/scs/v2"

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
	// RateLimit is calls per second per identity on /mcp, Burst its burst; MaxConcurrent bounds requests under way.
	RateLimit     float64
	Burst         int
	MaxConcurrent int
	// Ready reports whether the database can be written.
	Ready func() error
	// Version is shown to MCP clients.
	Version string
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
	// DecideMaxAge asks for a fresh login before a decision when the last is older; 0 never.
	DecideMaxAge time.Duration
}

// DevClock is the movable clock of dev mode.
type DevClock interface {
	Advance(d time.Duration) (now time.Time, err error)
}

// Handler is everything the server serves. It may be used at once; an issuer that is down is tried again when someone
// signs in.
func Handler(s *server.Server, opts Options) (http.Handler, error) {
	panic("not yet")
}
