package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"
)

// issuerTimeout bounds each request to the issuer.
const issuerTimeout = 10 * time.Second

// pingEvery is how long /readyz believes what it heard of the issuer.
const pingEvery = 10 * time.Second

// errIssuerDown says that the issuer could not be asked: nothing is known about the sign-in or token at hand.
var errIssuerDown = errors.New("the identity provider does not answer")

// signingAlgorithms are the algorithms a token may be signed with: public keys only. With a shared secret (HS256) or
// none at all anybody could sign (RFC 8725 3.1).
var signingAlgorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// issuer is the identity provider. It is discovered when it is first needed; one that doesn't answer is asked again the
// next time.
type issuer struct {
	opts     OIDCOptions
	redirect string
	client   *http.Client
	flight   singleflight.Group
	found    atomic.Pointer[discovered]

	mu      sync.Mutex
	pinged  time.Time
	pingErr error
}

// discovered is what the issuer's discovery document leads to.
type discovered struct {
	provider     *oidc.Provider
	oauth        oauth2.Config
	idTokens     *oidc.IDTokenVerifier
	accessTokens *oidc.IDTokenVerifier
	// endSession is the endpoint of RP-initiated logout, or "".
	endSession string
}

func newIssuer(opts OIDCOptions, redirect string, transport http.RoundTripper) *issuer {
	return &issuer{opts: opts, redirect: redirect, client: &http.Client{Transport: marking{transport}, Timeout: issuerTimeout}}
}

// context returns a context for requests to the issuer.
func (p *issuer) context(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.client)
}

// get returns the discovered issuer, or errIssuerDown.
func (p *issuer) get(ctx context.Context) (*discovered, error) {
	if d := p.found.Load(); d != nil {
		return d, nil
	}
	result := p.flight.DoChan("discover", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), issuerTimeout)
		defer cancel()
		d, err := p.discover(ctx)
		if err == nil {
			p.found.Store(d)
		}
		return d, err
	})
	select {
	case r := <-result:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*discovered), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", errIssuerDown, ctx.Err())
	}
}

func (p *issuer) discover(ctx context.Context) (*discovered, error) {
	provider, err := oidc.NewProvider(p.context(ctx), p.opts.Issuer)
	if err != nil {
		return nil, fmt.Errorf("%w: discovering %s: %w", errIssuerDown, p.opts.Issuer, err)
	}
	var more struct {
		EndSession string `json:"end_session_endpoint"`
		Keys       string `json:"jwks_uri"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, fmt.Errorf("%w: reading the discovery document of %s: %w", errIssuerDown, p.opts.Issuer, err)
	}
	keys := keySet{oidc.NewRemoteKeySet(p.context(context.Background()), more.Keys)}
	verifier := func(audience string) *oidc.IDTokenVerifier {
		return oidc.NewVerifier(p.opts.Issuer, keys, &oidc.Config{ClientID: audience, SupportedSigningAlgs: signingAlgorithms})
	}
	return &discovered{
		provider: provider,
		oauth: oauth2.Config{
			ClientID: p.opts.ClientID, ClientSecret: p.opts.ClientSecret, Endpoint: provider.Endpoint(),
			RedirectURL: p.redirect, Scopes: p.opts.Scopes,
		},
		idTokens:     verifier(p.opts.ClientID),
		accessTokens: verifier(p.opts.Audience),
		endSession:   more.EndSession,
	}, nil
}

// ping says whether the issuer answers now.
func (p *issuer) ping(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.pinged) < pingEvery {
		return p.pingErr
	}
	p.pingErr = p.ask(ctx)
	p.pinged = time.Now()
	return p.pingErr
}

func (p *issuer) ask(ctx context.Context) error {
	at := strings.TrimSuffix(p.opts.Issuer, "/") + "/.well-known/openid-configuration"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	answer, err := p.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", at, answer.Status)
	}
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20))
	return err
}

// verify checks a token (RFC 7519 7.2): signature, issuer, audience, expiry and not-before. It returns errIssuerDown when
// the issuer's keys could not be read, so that nothing is known about the token.
func verify(ctx context.Context, v *oidc.IDTokenVerifier, raw string) (*oidc.IDToken, error) {
	var down error
	token, err := v.Verify(context.WithValue(ctx, keysDownKey{}, &down), raw)
	if err != nil && down != nil {
		return nil, down
	}
	if err != nil {
		return nil, err
	}
	if token.IssuedAt.After(time.Now().Add(clockSkew)) {
		return nil, fmt.Errorf("issued in the future, at %s", token.IssuedAt.UTC().Format(time.RFC3339))
	}
	return token, nil
}

// clockSkew is how far ahead of ours an issuer's clock may be. go-oidc allows not-before the same.
const clockSkew = 5 * time.Minute

type keysDownKey struct{}

// keySet is the issuer's key set; it tells verify when it could not be read, which go-oidc's error doesn't.
type keySet struct{ oidc.KeySet }

// VerifySignature implements oidc.KeySet.
func (k keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, jwt)
	if down, ok := ctx.Value(keysDownKey{}).(*error); ok && errors.Is(err, errIssuerDown) {
		*down = err
	}
	return payload, err
}

// marking marks every failure to read from the issuer with errIssuerDown.
type marking struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t marking) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errIssuerDown, err)
	}
	if answer.StatusCode >= 500 || answer.StatusCode >= 400 && r.Method == http.MethodGet {
		answer.Body.Close()
		return nil, fmt.Errorf("%w: %s answered %s", errIssuerDown, r.URL.Host+r.URL.Path, answer.Status)
	}
	return answer, nil
}
