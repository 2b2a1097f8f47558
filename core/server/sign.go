package server

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/apserver/ap/core/run"
)

// signer makes and checks what the server hands out and takes back: claim tokens, cursors and file URLs. Each has a key
// of its own, derived from the one secret, so that none can pass for another.
type signer struct {
	tokens, cursors, files []byte
}

func newSigner(secret []byte) signer {
	return signer{
		tokens:  deriveKey(secret, "ap claim token v1"),
		cursors: deriveKey(secret, "ap cursor v1"),
		files:   deriveKey(secret, "ap file url v1"),
	}
}

func deriveKey(secret []byte, use string) []byte {
	key, err := hkdf.Key(sha256.New, secret, nil, use, sha256.Size)
	if err != nil {
		panic(fmt.Sprintf("deriving the key for %q: %v", use, err)) // only for a length that SHA-256 can't give
	}
	return key
}

func mac(key, message []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(message)
	return h.Sum(nil)
}

// seal returns message and its MAC as one URL-safe string; open takes it apart again and says whether it verifies.
func seal(key, message []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(mac(key, message), message...))
}

func open(key []byte, sealed string) (message []byte, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || len(b) < sha256.Size {
		return nil, false
	}
	message = b[sha256.Size:]
	return message, hmac.Equal(b[:sha256.Size], mac(key, message))
}

// token is the claim token for one lease of one claim (protocol.md 3): derived, never stored.
func (g signer) token(runID string, ref run.ClaimRef) string {
	b := binary.AppendUvarint(nil, uint64(ref.Claim))
	b = binary.AppendUvarint(b, uint64(ref.Lease))
	return seal(g.tokens, append(b, runID...))
}

// verifyToken returns what a token proves; ok is false for a string that this server didn't make.
func (g signer) verifyToken(token string) (runID string, ref run.ClaimRef, ok bool) {
	b, ok := open(g.tokens, token)
	if !ok {
		return "", run.ClaimRef{}, false
	}
	claim, n := binary.Uvarint(b)
	if n <= 0 {
		return "", run.ClaimRef{}, false
	}
	b = b[n:]
	lease, n := binary.Uvarint(b)
	if n <= 0 {
		return "", run.ClaimRef{}, false
	}
	return string(b[n:]), run.ClaimRef{Claim: int(claim), Lease: int(lease)}, true
}

// cursorKey is where a page of a list ended: the sort key of its last row.
type cursorKey struct {
	At   time.Time `json:"t,omitzero"`
	ID   string    `json:"i"`
	Step string    `json:"s,omitempty"`
}

// cursor makes the opaque cursor of a list; openCursor refuses one that wasn't made for it.
func (g signer) cursor(list string, key cursorKey) string {
	b, err := json.Marshal(key)
	if err != nil {
		panic(fmt.Sprintf("encoding a cursor: %v", err)) // strings and a time always encode
	}
	return seal(g.cursors, append([]byte(list+"\n"), b...))
}

// openCursor returns the key of a cursor; an empty cursor is the start of the list.
func (g signer) openCursor(list, cursor string) (cursorKey, error) {
	var key cursorKey
	if cursor == "" {
		return key, nil
	}
	b, ok := open(g.cursors, cursor)
	if prefix := list + "\n"; ok && len(b) > len(prefix) && string(b[:len(prefix)]) == prefix {
		if err := json.Unmarshal(b[len(prefix):], &key); err == nil {
			return key, nil
		}
	}
	return key, refusal(run.Invalid, "The cursor isn't one that this list returned", "cursor: not a cursor of this list")
}

// fileURL is the path and query of an upload's signed URL, which works until expires.
func (g signer) fileURL(id string, expires time.Time) string {
	exp := strconv.FormatInt(expires.UnixMilli(), 10)
	sig := base64.RawURLEncoding.EncodeToString(mac(g.files, []byte(id+"\n"+exp)))
	return "/files/" + url.PathEscape(id) + "?exp=" + exp + "&sig=" + sig
}

// verifyFileURL says whether a query was signed for the upload and when it expires.
func (g signer) verifyFileURL(id, query string) (expires time.Time, ok bool) {
	q, err := url.ParseQuery(query)
	if err != nil || len(q) != 2 || len(q["exp"]) != 1 || len(q["sig"]) != 1 {
		return time.Time{}, false
	}
	sig, err := base64.RawURLEncoding.Strict().DecodeString(q.Get("sig"))
	if err != nil || !hmac.Equal(sig, mac(g.files, []byte(id+"\n"+q.Get("exp")))) {
		return time.Time{}, false
	}
	ms, err := strconv.ParseInt(q.Get("exp"), 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	return time.UnixMilli(ms), true
}
