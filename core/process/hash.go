package process

import (
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/gowebpki/jcs"
)

// contentHash is protocol.md 1.7: SHA-256 over the RFC 8785 form of the frontmatter as parsed, one newline, and the
// body's bytes, in lower-case hex. The frontmatter has no issue that is an error.
func contentHash(root *node, body string) string {
	canonical, err := jcs.Transform(root.appendJSON(nil))
	if err != nil {
		// What the rules let through is JSON whose numbers a double holds.
		panic("process: canonical JSON: " + err.Error())
	}
	h := sha256.New()
	h.Write(canonical)
	h.Write([]byte{'\n'})
	io.WriteString(h, body)
	return hex.EncodeToString(h.Sum(nil))
}
