package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/server"
)

const metadataPath = "/.well-known/oauth-protected-resource"

// maxToken is the longest token looked at.
const maxToken = 16 << 10

var (
	errNoToken      = errors.New("a bearer token is required")
	errInvalidToken = errors.New("the token is not valid here")
	errManyTokens   = errors.New("more than one Authorization header")
)

// bearerToken returns the token of an Authorization header (RFC 6750 2.1): the scheme in any case, then spaces, then a
// b64token. Another scheme, like no header, is errNoToken.
func bearerToken(header http.Header) (string, error) {
	values := header.Values("Authorization")
	if len(values) == 0 {
		return "", errNoToken
	}
	if len(values) > 1 {
		return "", errManyTokens
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", errNoToken
	}
	token = strings.Trim(token, " ")
	if token == "" || len(token) > maxToken || !isB64Token(token) {
		return "", errInvalidToken
	}
	return token, nil
}

// isB64Token says whether s has the form of RFC 6750's b64token: 1*(ALPHA / DIGIT / "-._~+/") *"=".
func isB64Token(s string) bool {
	body := strings.TrimRight(s, "=")
	for i := range len(body) {
		c := body[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~+/", c) >= 0:
		default:
			return false
		}
	}
	return body != ""
}

// bearer lets a request with a valid token through, with its identity in the context, and answers any other as RFC 6750
// section 3 and RFC 9728 section 5.1 say.
func (h *site) bearer(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, err := bearerToken(r.Header)
		var id server.Identity
		if err == nil {
			id, err = h.tokenIdentity(r.Context(), token)
		}
		if err != nil {
			h.refuseToken(w, r, err)
			return
		}
		infoOf(r.Context()).by = id.By()
		if wait, ok := h.calls.allow(id.By()); !ok {
			retryAfter(w, wait)
			writeJSON(w, http.StatusTooManyRequests, oauthError{"too_many_requests", "Too many calls at once. Wait as long as Retry-After says."})
			return
		}
		next.ServeHTTP(w, r.WithContext(withIdentity(r.Context(), id)))
	})
}

type identityKey struct{}

func withIdentity(ctx context.Context, id server.Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

func identityOf(ctx context.Context) server.Identity {
	id, _ := ctx.Value(identityKey{}).(server.Identity)
	return id
}

// oauthError is the body of a refusal.
type oauthError struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

func (h *site) refuseToken(w http.ResponseWriter, r *http.Request, err error) {
	challenge := fmt.Sprintf(`Bearer resource_metadata="%s"`, h.opts.BaseURL+metadataPath+"/mcp")
	switch {
	case errors.Is(err, errNoToken):
		h.metrics.signIns.WithLabelValues("token", "none").Inc()
		w.Header().Set("WWW-Authenticate", challenge)
		writeJSON(w, http.StatusUnauthorized, oauthError{"unauthorized", "Send an agent key or an access token as Authorization: Bearer."})
	case errors.Is(err, errManyTokens):
		w.Header().Set("WWW-Authenticate", challenge+`, error="invalid_request"`)
		writeJSON(w, http.StatusBadRequest, oauthError{"invalid_request", "Send one Authorization header."})
	case errors.Is(err, errInvalidToken):
		h.metrics.signIns.WithLabelValues("token", "invalid").Inc()
		h.log.InfoContext(r.Context(), "token refused", "request", infoOf(r.Context()).id, "remote", remoteAddress(r), "reason", err)
		if wait, ok := h.badTokens.allow(remoteAddress(r)); !ok {
			retryAfter(w, wait)
			writeJSON(w, http.StatusTooManyRequests, oauthError{"too_many_requests", "Too many invalid tokens from this address."})
			return
		}
		w.Header().Set("WWW-Authenticate", challenge+`, error="invalid_token", error_description="The token is unknown, expired, revoked or not for this server."`)
		writeJSON(w, http.StatusUnauthorized, oauthError{"invalid_token", "The token is unknown, expired, revoked or not for this server."})
	case errors.Is(err, errIssuerDown):
		h.metrics.signIns.WithLabelValues("token", "issuer_down").Inc()
		h.log.ErrorContext(r.Context(), "a token can't be checked", "issuer", h.opts.OIDC.Issuer, "error", err)
		retryAfter(w, 5*time.Second)
		writeJSON(w, http.StatusServiceUnavailable, oauthError{"temporarily_unavailable", "The identity provider does not answer, so the token can't be checked."})
	default:
		h.log.ErrorContext(r.Context(), "checking a token", "error", err)
		h.internal(w, r)
	}
}

// tokenIdentity returns who a token stands for: an agent by its key or by a JWT of the issuer. Nothing it returns has
// the token in it.
func (h *site) tokenIdentity(ctx context.Context, token string) (server.Identity, error) {
	if strings.Count(token, ".") == 2 {
		return h.jwtIdentity(ctx, token)
	}
	id, ok, err := h.srv.AgentByKey(ctx, token)
	if err != nil {
		return server.Identity{}, fmt.Errorf("looking up an agent key: %w", err)
	}
	if !ok {
		return server.Identity{}, fmt.Errorf("%w: no agent has this key, or it was revoked or has expired", errInvalidToken)
	}
	return id, nil
}

// jwtIdentity returns who a JWT access token stands for. It is the client acting for the person, an agent of its own
// ("CLIENT/mira@example.com"): only with PeopleOverMCP does a person's token count as the person.
func (h *site) jwtIdentity(ctx context.Context, token string) (server.Identity, error) {
	if h.issuer == nil {
		return server.Identity{}, fmt.Errorf("%w: it is a JWT, and there is no issuer", errInvalidToken)
	}
	idp, err := h.issuer.get(ctx)
	if err != nil {
		return server.Identity{}, err
	}
	checked, err := verify(ctx, idp.accessTokens, token)
	if errors.Is(err, errIssuerDown) {
		return server.Identity{}, err
	}
	if err != nil {
		return server.Identity{}, fmt.Errorf("%w: %w", errInvalidToken, err)
	}
	said := claims{}
	if err := checked.Claims(&said); err != nil {
		return server.Identity{}, fmt.Errorf("%w: reading the claims: %w", errInvalidToken, err)
	}
	email := server.NormalEmail(said.text("email"))
	if email != "" && (!said.mayUseEmail(h.opts.OIDC) || !process.IsEmail(email)) {
		email = ""
	}
	if h.opts.PeopleOverMCP && email != "" {
		id, err := h.srv.Person(ctx, email, said.list(h.opts.OIDC.GroupsClaim))
		if err != nil {
			return server.Identity{}, fmt.Errorf("reading a person's groups: %w", err)
		}
		return id, nil
	}
	name, err := agentName(said, email)
	if err != nil {
		return server.Identity{}, fmt.Errorf("%w: %w", errInvalidToken, err)
	}
	return server.Identity{Kind: server.Agent, Name: name}, nil
}

// clientClaims are the claims that name the client a token was issued to: OpenID Connect's, RFC 9068's, and those of
// two large providers that use neither.
var clientClaims = []string{"azp", "client_id", "cid", "appid"}

// agentName names the client that a token was issued to and whom it acts for: "CLIENT/mira@example.com", or with the
// token's subject where there is no e-mail. The last slash divides the two, so one in the second is written %2F. The
// slash also keeps these names apart from those of `ap agent add`.
func agentName(said claims, email string) (string, error) {
	client := "unknown"
	for _, claim := range clientClaims {
		if c := said.text(claim); c != "" {
			client = c
			break
		}
	}
	whom := email
	if whom == "" {
		whom = said.text("sub")
	}
	if whom == "" {
		return "", errors.New("it names nobody: neither email nor sub")
	}
	name := client + "/" + strings.NewReplacer("%", "%25", "/", "%2F").Replace(whom)
	if len(name) > 512 || strings.ContainsFunc(name, func(c rune) bool { return unicode.IsSpace(c) || !unicode.IsPrint(c) }) {
		return "", errors.New("its client or subject can't be a name")
	}
	return name, nil
}

// resourceMetadata describes /mcp to OAuth clients (RFC 9728 section 2).
type resourceMetadata struct {
	Resource             string   `json:"resource"`
	ResourceName         string   `json:"resource_name"`
	AuthorizationServers []string `json:"authorization_servers,omitempty"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	ScopesSupported      []string `json:"scopes_supported,omitempty"`
}

func (h *site) metadata(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*") // public, and asked for by clients in browsers
	w.Header().Set("Access-Control-Allow-Headers", "MCP-Protocol-Version")
	w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	answer := resourceMetadata{Resource: h.opts.BaseURL + "/mcp", ResourceName: "ap process server", BearerMethods: []string{"header"}}
	if h.issuer != nil {
		answer.AuthorizationServers = []string{h.opts.OIDC.Issuer}
		answer.ScopesSupported = []string{"openid", "email"}
	}
	writeJSON(w, http.StatusOK, answer)
}
