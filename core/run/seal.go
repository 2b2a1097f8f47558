package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
)

// Seal turns events into the entries that follow the entry numbered seq with hash prev (0 and nil for a new run).
//
// An entry's hash is SHA-256 over, in this order: the previous entry's hash, or SHA-256 of the run's id before the first
// entry; Seq, V and At (Unix milliseconds) as 8 bytes big-endian each; and Type, By and Data, each after its length in
// bytes as 8 bytes big-endian. Starting from the run's id keeps entries from being moved between runs.
func Seal(runID string, seq int, prev []byte, events []Event) []Entry {
	entries := make([]Entry, len(events))
	for i, ev := range events {
		e := Entry{Event: ev, Seq: seq + i + 1}
		e.Hash = entryHash(runID, prev, e)
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
	return bytes.Equal(entry.Hash, entryHash(runID, prev, entry))
}

func entryHash(runID string, prev []byte, e Entry) []byte {
	if len(prev) == 0 {
		seed := sha256.Sum256([]byte(runID))
		prev = seed[:]
	}
	b := make([]byte, 0, len(prev)+6*8+len(e.Type)+len(e.By)+len(e.Data))
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
	return sum[:]
}
