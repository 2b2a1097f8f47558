package issuer

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// A sign-in has this long, and so many may be under way.
const (
	signInTime = 15 * time.Minute
	signInsMax = 10000
)

var errUnknown = errors.New("unknown or expired")

// store is the memory of the issuer: sign-ins under way. Tokens are signed and carry what they say.
type store struct {
	key    *ecdsa.PrivateKey
	keyID  string
	client *client

	mu       sync.Mutex // held while a sign-in is read and replaced
	requests *lru.Cache[string, *authRequest]
	codes    *lru.Cache[string, string] // code → request
}

func newStore(opts Options, key *ecdsa.PrivateKey, id string) (*store, error) {
	requests, err := lru.New[string, *authRequest](signInsMax)
	if err != nil {
		return nil, err
	}
	codes, err := lru.New[string, string](signInsMax)
	if err != nil {
		return nil, err
	}
	return &store{key: key, keyID: id, client: &client{opts: opts}, requests: requests, codes: codes}, nil
}

// authRequest is a sign-in under way. It is replaced, never changed.
type authRequest struct {
	oidc.AuthRequest
	id       string
	created  time.Time
	subject  string
	authTime time.Time
}

func (a *authRequest) GetID() string                      { return a.id }
func (a *authRequest) GetACR() string                     { return "" }
func (a *authRequest) GetAMR() []string                   { return nil }
func (a *authRequest) GetAudience() []string              { return []string{a.ClientID} }
func (a *authRequest) GetAuthTime() time.Time             { return a.authTime }
func (a *authRequest) GetClientID() string                { return a.ClientID }
func (a *authRequest) GetNonce() string                   { return a.Nonce }
func (a *authRequest) GetRedirectURI() string             { return a.RedirectURI }
func (a *authRequest) GetResponseType() oidc.ResponseType { return a.ResponseType }
func (a *authRequest) GetResponseMode() oidc.ResponseMode { return a.ResponseMode }
func (a *authRequest) GetScopes() []string                { return a.Scopes }
func (a *authRequest) GetState() string                   { return a.State }
func (a *authRequest) GetSubject() string                 { return a.subject }
func (a *authRequest) Done() bool                         { return a.subject != "" }
func (a *authRequest) GetCodeChallenge() *oidc.CodeChallenge {
	return &oidc.CodeChallenge{Challenge: a.CodeChallenge, Method: a.CodeChallengeMethod}
}

// pending returns a sign-in under way.
func (s *store) pending(id string) (*authRequest, bool) {
	r, ok := s.requests.Get(id)
	return r, ok && time.Since(r.created) < signInTime
}

// authenticate records who signed in.
func (s *store) authenticate(id, subject string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.pending(id); ok {
		done := *r
		done.subject, done.authTime = subject, time.Now().UTC()
		s.requests.Add(id, &done)
	}
}

// CreateAuthRequest implements op.AuthStorage. There is no session at the issuer: every sign-in asks who it is, so that
// prompt=none never works.
func (s *store) CreateAuthRequest(_ context.Context, r *oidc.AuthRequest, _ string) (op.AuthRequest, error) {
	for _, prompt := range r.Prompt {
		if prompt == oidc.PromptNone {
			return nil, oidc.ErrLoginRequired()
		}
	}
	if r.CodeChallenge == "" || r.CodeChallengeMethod != oidc.CodeChallengeMethodS256 {
		return nil, oidc.ErrInvalidRequest().WithDescription("PKCE with S256 is required")
	}
	request := &authRequest{AuthRequest: *r, id: rand.Text(), created: time.Now()}
	s.requests.Add(request.id, request)
	return request, nil
}

// AuthRequestByID implements op.AuthStorage.
func (s *store) AuthRequestByID(_ context.Context, id string) (op.AuthRequest, error) {
	if r, ok := s.pending(id); ok {
		return r, nil
	}
	return nil, errUnknown
}

// AuthRequestByCode implements op.AuthStorage. A code works once.
func (s *store) AuthRequestByCode(ctx context.Context, code string) (op.AuthRequest, error) {
	s.mu.Lock()
	id, ok := s.codes.Get(code)
	s.codes.Remove(code)
	s.mu.Unlock()
	if !ok {
		return nil, errUnknown
	}
	return s.AuthRequestByID(ctx, id)
}

// SaveAuthCode implements op.AuthStorage.
func (s *store) SaveAuthCode(_ context.Context, id, code string) error {
	s.codes.Add(code, id)
	return nil
}

// DeleteAuthRequest implements op.AuthStorage.
func (s *store) DeleteAuthRequest(_ context.Context, id string) error {
	s.requests.Remove(id)
	return nil
}

// CreateAccessToken implements op.AuthStorage.
func (s *store) CreateAccessToken(context.Context, op.TokenRequest) (id string, expires time.Time, err error) {
	return rand.Text(), time.Now().Add(TokenLifetime), nil
}

// CreateAccessAndRefreshTokens implements op.AuthStorage; there are no refresh tokens.
func (s *store) CreateAccessAndRefreshTokens(context.Context, op.TokenRequest, string) (id, refresh string, expires time.Time, err error) {
	return "", "", time.Time{}, oidc.ErrUnsupportedGrantType()
}

// TokenRequestByRefreshToken implements op.AuthStorage.
func (s *store) TokenRequestByRefreshToken(context.Context, string) (op.RefreshTokenRequest, error) {
	return nil, op.ErrInvalidRefreshToken
}

// TerminateSession implements op.AuthStorage; there is no session to end.
func (s *store) TerminateSession(context.Context, string, string) error { return nil }

// RevokeToken implements op.AuthStorage; tokens end by themselves.
func (s *store) RevokeToken(context.Context, string, string, string) *oidc.Error {
	return oidc.ErrUnsupportedGrantType()
}

// GetRefreshTokenInfo implements op.AuthStorage.
func (s *store) GetRefreshTokenInfo(context.Context, string, string) (userID, tokenID string, err error) {
	return "", "", op.ErrInvalidRefreshToken
}

// SigningKey implements op.AuthStorage.
func (s *store) SigningKey(context.Context) (op.SigningKey, error) { return signing{s}, nil }

// SignatureAlgorithms implements op.AuthStorage.
func (s *store) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.ES256}, nil
}

// KeySet implements op.AuthStorage.
func (s *store) KeySet(context.Context) ([]op.Key, error) { return []op.Key{public{s}}, nil }

type signing struct{ s *store }

func (k signing) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.ES256 }
func (k signing) Key() any                                    { return k.s.key }
func (k signing) ID() string                                  { return k.s.keyID }

type public struct{ s *store }

func (k public) ID() string                         { return k.s.keyID }
func (k public) Algorithm() jose.SignatureAlgorithm { return jose.ES256 }
func (k public) Use() string                        { return "sig" }
func (k public) Key() any                           { return &k.s.key.PublicKey }

// GetClientByClientID implements op.OPStorage.
func (s *store) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	if id != s.client.opts.ClientID {
		return nil, errUnknown
	}
	return s.client, nil
}

// AuthorizeClientIDSecret implements op.OPStorage; the client is public.
func (s *store) AuthorizeClientIDSecret(context.Context, string, string) error { return errUnknown }

// SetUserinfoFromScopes implements op.OPStorage.
func (s *store) SetUserinfoFromScopes(_ context.Context, info *oidc.UserInfo, subject, _ string, _ []string) error {
	setUserInfo(info, subject)
	return nil
}

// SetUserinfoFromToken implements op.OPStorage.
func (s *store) SetUserinfoFromToken(_ context.Context, info *oidc.UserInfo, _, subject, _ string) error {
	setUserInfo(info, subject)
	return nil
}

// SetIntrospectionFromToken implements op.OPStorage; tokens are verified by their signature.
func (s *store) SetIntrospectionFromToken(context.Context, *oidc.IntrospectionResponse, string, string, string) error {
	return errUnknown
}

// GetPrivateClaimsFromScopes implements op.OPStorage: what an access token says beyond the standard claims.
func (s *store) GetPrivateClaimsFromScopes(_ context.Context, subject, clientID string, _ []string) (map[string]any, error) {
	return map[string]any{"email": subject, "email_verified": true, "azp": clientID}, nil
}

// GetKeyByIDAndClientID implements op.OPStorage; the client has no keys.
func (s *store) GetKeyByIDAndClientID(context.Context, string, string) (*jose.JSONWebKey, error) {
	return nil, errUnknown
}

// ValidateJWTProfileScopes implements op.OPStorage.
func (s *store) ValidateJWTProfileScopes(context.Context, string, []string) ([]string, error) {
	return nil, oidc.ErrUnsupportedGrantType()
}

// Health implements op.Storage.
func (s *store) Health(context.Context) error { return nil }

// setUserInfo fills in what the issuer knows of a person: the e-mail they typed.
func setUserInfo(info *oidc.UserInfo, subject string) {
	info.Subject = subject
	info.Email = subject
	info.EmailVerified = true
}

// client is the one client: public, with PKCE.
type client struct{ opts Options }

func (c *client) GetID() string                       { return c.opts.ClientID }
func (c *client) RedirectURIs() []string              { return c.opts.RedirectURIs }
func (c *client) PostLogoutRedirectURIs() []string    { return c.opts.LoggedOutURIs }
func (c *client) ApplicationType() op.ApplicationType { return op.ApplicationTypeWeb }
func (c *client) AuthMethod() oidc.AuthMethod         { return oidc.AuthMethodNone }
func (c *client) ResponseTypes() []oidc.ResponseType {
	return []oidc.ResponseType{oidc.ResponseTypeCode}
}
func (c *client) GrantTypes() []oidc.GrantType {
	return []oidc.GrantType{oidc.GrantTypeCode}
}
func (c *client) LoginURL(request string) string {
	return c.opts.Issuer + "/login?request=" + url.QueryEscape(request)
}
func (c *client) AccessTokenType() op.AccessTokenType  { return op.AccessTokenTypeJWT }
func (c *client) IDTokenLifetime() time.Duration       { return TokenLifetime }
func (c *client) DevMode() bool                        { return true }
func (c *client) IsScopeAllowed(string) bool           { return false }
func (c *client) IDTokenUserinfoClaimsAssertion() bool { return true }
func (c *client) ClockSkew() time.Duration             { return 0 }
func (c *client) RestrictAdditionalIdTokenScopes() func([]string) []string {
	return func(scopes []string) []string { return scopes }
}
func (c *client) RestrictAdditionalAccessTokenScopes() func([]string) []string {
	return func(scopes []string) []string { return scopes }
}
