package server

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"time"
)

// IDs is where new identifiers come from.
type IDs interface {
	// New returns an id that was never returned before, beginning with prefix (such as "r_"). Later ids sort after
	// earlier ones, to the millisecond.
	New(prefix string, now time.Time) string
}

// crockford writes bytes in Crockford's base 32, lower case: digits sort before letters, and no letter is mistaken for
// a digit.
var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// RandomIDs makes ids of 48 bits of time in milliseconds and 80 random bits, in 26 characters.
type RandomIDs struct{}

// New implements IDs.
func (RandomIDs) New(prefix string, now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	rand.Read(b[6:]) // never fails (crypto/rand)
	return prefix + crockford.EncodeToString(b[:])
}
