package process

// MaxBytes is the largest PROCESS.md (protocol.md 1.1).
const MaxBytes = 1 << 20

// Parse reads and checks a PROCESS.md against every rule of protocol.md section 1. All issues come back at once, in
// the order of their places; the document is nil exactly when one of them is an error.
func Parse(src []byte, opts Options) (*Document, []Issue) {
	panic("not yet")
}
