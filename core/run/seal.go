package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// Seal turns events into the entries that follow the entry numbered seq with hash prev (0 and nil for a new run).
//
// An entry's hash is SHA-256 over, in this order: the previous entry's hash, or SHA-256 of the run's id before the first
// entry; Seq, V and At (Unix milliseconds) as 8 bytes big-endian each; and Type, By and Data, each after its length in
// bytes as 8 bytes big-endian. Starting from the run's id keeps entries from being moved between runs.
func Seal(runID string, seq int, prev []byte, events []Event) []Entry {
	entries := make([]Entry, len(events))
	var scratch []byte
	for i, ev := range events {
		e := Entry{Event: ev, Seq: seq + i + 1}
		scratch, e.Hash = entryHash(scratch[:0], runID, prev, e)
		entries[i] = e
		prev = e.Hash
	}
	return entries
}

// Verify checks that entry follows from the hash prev (nil before a run's first entry).
func Verify(runID string, prev []byte, entry Entry) bool {
	if (entry.Seq == 1) != (len(prev) == 0) {
		return false
	}
	_, hash := entryHash(nil, runID, prev, entry)
	return bytes.Equal(entry.Hash, hash)
}

// entryHash works in b, which it returns for the next.
func entryHash(b []byte, runID string, prev []byte, e Entry) (scratch, hash []byte) {
	if len(prev) == 0 {
		seed := sha256.Sum256([]byte(runID))
		prev = seed[:]
	}
	b = slices.Grow(b, len(prev)+6*8+len(e.Type)+len(e.By)+len(e.Data))
	b = append(b, prev...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Seq))
	b = binary.BigEndian.AppendUint64(b, uint64(e.V))
	b = binary.BigEndian.AppendUint64(b, uint64(e.At.UnixMilli()))
	b = binary.BigEndian.AppendUint64(b, uint64(len(e.Type)))
	b = append(b, e.Type...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(e.By)))
	b = append(b, e.By...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(e.Data)))
	b = append(b, e.Data...)
	sum := sha256.Sum256(b)
	return b, sum[:]
}
