// Package issuer is the OpenID Connect issuer of dev mode: everyone may sign in as anyone. The protocol is
// zitadel/oidc's; this package adds the sign-in page, the one client and a store in memory.
package issuer

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/apserver/ap/core/process"
)

// TokenLifetime is how long an access token and an ID token last.
const TokenLifetime = time.Hour

// Options configures a Dev issuer.
type Options struct {
	// Issuer is the issuer's URL, without a trailing slash; the handler serves the paths below it.
	Issuer string
	// ClientID and RedirectURIs are the one client's; it is public and has to use PKCE.
	ClientID     string
	RedirectURIs []string
	// LoggedOutURIs are where the client may send the browser after its logout.
	LoggedOutURIs []string
	// Secret keys the signing key, so that tokens outlive a restart; nil makes a new key.
	Secret []byte
	// LoginPage writes the sign-in page; nil writes a plain one.
	LoginPage func(w http.ResponseWriter, r *http.Request, status int, p LoginPage)
}

// LoginPage is what the sign-in page shows: a form that posts "email" to Action.
type LoginPage struct {
	Action string
	Email  string
	// Problem says what was wrong with the e-mail, or is empty.
	Problem string
}

// Dev is the issuer.
type Dev struct {
	opts     Options
	provider *op.Provider
	store    *store
	mux      *http.ServeMux
}

// New returns an issuer.
func New(opts Options) (*Dev, error) {
	if opts.LoginPage == nil {
		opts.LoginPage = plainLoginPage
	}
	if opts.Secret == nil {
		opts.Secret = make([]byte, 32)
		rand.Read(opts.Secret)
	}
	key, err := signingKey(opts.Secret)
	if err != nil {
		return nil, fmt.Errorf("making the dev issuer's key: %w", err)
	}
	id, err := keyID(key)
	if err != nil {
		return nil, fmt.Errorf("naming the dev issuer's key: %w", err)
	}
	base, err := url.Parse(opts.Issuer)
	if err != nil {
		return nil, fmt.Errorf("the dev issuer's URL: %w", err)
	}
	d := &Dev{opts: opts}
	if d.store, err = newStore(opts, key, id); err != nil {
		return nil, fmt.Errorf("setting up the dev issuer: %w", err)
	}
	config := &op.Config{CodeMethodS256: true, DefaultLogoutRedirectURI: opts.Issuer + "/signed-out"}
	rand.Read(config.CryptoKey[:])
	options := []op.Option{}
	if base.Scheme == "http" {
		options = append(options, op.WithAllowInsecure())
	}
	d.provider, err = op.NewProvider(config, d.store, op.StaticIssuer(opts.Issuer), options...)
	if err != nil {
		return nil, fmt.Errorf("setting up the dev issuer: %w", err)
	}
	d.mux = http.NewServeMux()
	d.mux.HandleFunc("GET "+base.Path+"/login", d.showLogin)
	d.mux.HandleFunc("POST "+base.Path+"/login", d.login)
	d.mux.Handle("/", http.StripPrefix(base.Path, d.provider))
	return d, nil
}

// ServeHTTP serves the issuer's paths: those of the path of its URL and below.
func (d *Dev) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.mux.ServeHTTP(w, r) }

// Token returns an access token for a person that a client of theirs could have been given.
func (d *Dev) Token(ctx context.Context, email, audience string) (string, error) {
	if problem := emailProblem(email); problem != "" {
		return "", fmt.Errorf("email: %s", problem)
	}
	request := tokenRequest{subject: email, audience: []string{audience}}
	expires := time.Now().Add(TokenLifetime)
	return op.CreateJWT(ctx, d.opts.Issuer, request, expires, rand.Text(), d.store.client, d.store)
}

type tokenRequest struct {
	subject  string
	audience []string
}

func (t tokenRequest) GetSubject() string    { return t.subject }
func (t tokenRequest) GetAudience() []string { return t.audience }
func (t tokenRequest) GetScopes() []string   { return nil }

func (d *Dev) showLogin(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("request")
	request, ok := d.store.pending(id)
	if !ok {
		d.expired(w, r)
		return
	}
	d.opts.LoginPage(w, r, http.StatusOK, LoginPage{Action: d.loginURL(id), Email: request.LoginHint})
}

func (d *Dev) login(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("request")
	if _, ok := d.store.pending(id); !ok {
		d.expired(w, r)
		return
	}
	email := strings.TrimSpace(r.PostFormValue("email"))
	if problem := emailProblem(email); problem != "" {
		d.opts.LoginPage(w, r, http.StatusUnprocessableEntity, LoginPage{Action: d.loginURL(id), Email: email, Problem: problem})
		return
	}
	d.store.authenticate(id, email)
	ctx := op.ContextWithIssuer(r.Context(), d.opts.Issuer)
	http.Redirect(w, r, op.AuthCallbackURL(d.provider)(ctx, id), http.StatusSeeOther)
}

func (d *Dev) expired(w http.ResponseWriter, r *http.Request) {
	d.opts.LoginPage(w, r, http.StatusBadRequest, LoginPage{Problem: "This sign-in is no longer open. Go back to the page you came from and sign in again."})
}

func (d *Dev) loginURL(id string) string {
	return d.store.client.LoginURL(id)
}

// emailProblem says why a text is no e-mail address, or returns "".
func emailProblem(email string) string {
	switch {
	case strings.TrimSpace(email) == "":
		return "Enter an e-mail address; any will do."
	case !process.IsEmail(email):
		return "This is not an e-mail address. Any will do, such as mira@example.com."
	default:
		return ""
	}
}

// signingKey derives a P-256 key from a secret.
func signingKey(secret []byte) (*ecdsa.PrivateKey, error) {
	var err error
	for i := range uint32(100) { // a derived number is out of the curve's range once in 2³²
		mac := hmac.New(sha256.New, secret)
		mac.Write(binary.BigEndian.AppendUint32([]byte("ap dev issuer signing key"), i))
		var key *ecdsa.PrivateKey
		if key, err = ecdsa.ParseRawPrivateKey(elliptic.P256(), mac.Sum(nil)); err == nil {
			return key, nil
		}
	}
	return nil, err
}

// keyID names a key by its public half, so that another key gets another name.
func keyID(key *ecdsa.PrivateKey) (string, error) {
	public, err := key.PublicKey.Bytes()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:8]), nil
}

var plainTemplate = template.Must(template.New("login").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in (dev)</title></head>
<body><main><h1>Sign in</h1>
{{with .Problem}}<p role="alert">{{.}}</p>{{end}}
{{with .Action}}<form method="post" action="{{.}}">
<p><label for="email">E-mail</label> <input id="email" name="email" type="email" value="{{$.Email}}" required autofocus autocomplete="username"></p>
<p><button>Sign in</button></p></form>
<p>This is a server in dev mode: any e-mail address will do, and no password is asked.</p>{{end}}
</main></body></html>
`))

func plainLoginPage(w http.ResponseWriter, r *http.Request, status int, p LoginPage) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	plainTemplate.Execute(w, p)
}
