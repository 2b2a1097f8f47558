package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"

	"github.com/apserver/ap/core/process"
)

// dataCache holds what was worked out about one run data: its JSON and its hash, each when first asked for.
type dataCache struct {
	dataOnce, snapshotOnce sync.Once
	data                   json.RawMessage
	snapshot               string
}

// Data is the run data as JSON: what the snapshot is over and what the cap counts. It carries no signed URLs. It is
// shared: don't change it.
func (st *State) Data(doc *process.Document) json.RawMessage {
	c := st.data
	c.dataOnce.Do(func() { c.data = slices.Clip(appendData(make([]byte, 0, st.dataSize()), doc, st, nil)) })
	return c.data
}

// Snapshot is the hash of the run data, in hex (protocol.md 4). It changes exactly when run data changes.
func (st *State) Snapshot(doc *process.Document) string {
	c := st.data
	c.snapshotOnce.Do(func() {
		sum := sha256.Sum256(st.Data(doc))
		c.snapshot = hex.EncodeToString(sum[:])
	})
	return c.snapshot
}

// appendData writes run data (protocol.md 2): the inputs, and each step with a current record or a history, in the
// document's order. url, if not nil, signs the URL of each file.
func appendData(b []byte, doc *process.Document, st *State, url func(ref string) string) []byte {
	e := encoder{b: b}
	e.open()
	e.raw("inputs", st.Inputs)
	e.key("steps")
	e.open()
	for i := range st.Steps {
		s := &st.Steps[i]
		if s.Current == nil && len(s.History) == 0 {
			continue
		}
		e.key(doc.Steps[i].ID)
		e.open()
		if s.Current != nil {
			e.record(s.Current, url)
		}
		e.key("history")
		e.b = append(e.b, '[')
		for j, r := range s.History {
			if j > 0 {
				e.b = append(e.b, ',')
			}
			e.open()
			e.record(r, url)
			e.close()
		}
		e.b = append(e.b, ']')
		e.close()
	}
	e.close()
	e.close()
	return e.b
}

func (e *encoder) record(r *Record, url func(ref string) string) {
	e.raw("output", r.Output)
	e.str("summary", r.Summary)
	e.evidence("evidence", r.Evidence, url)
	e.str("next", r.Next)
	e.str("reason", r.Reason)
	e.str("decision", r.Decision)
	e.str("note", r.Note)
	e.str("by", r.By)
	e.time("at", &r.At)
}

// dataSize is about how many bytes the run data takes.
func (st *State) dataSize() int {
	n := 64 + len(st.Inputs)
	for i := range st.Steps {
		s := &st.Steps[i]
		if s.Current != nil {
			n += 100 + s.Current.size()
		}
		for _, r := range s.History {
			n += 20 + r.size()
		}
	}
	return n
}

func (r *Record) size() int {
	return 128 + len(r.Output) + len(r.Summary) + len(r.Note) + len(r.Next) + len(r.Reason) + len(r.By) + 160*len(r.Evidence)
}

// bytesWith is what the cap counts (protocol.md 2) once a step has completed with that record: run data and the data of
// held events.
func (f *fold) bytesWith(step int, r *Record) int {
	with := *f.st
	with.Steps = slices.Clone(with.Steps)
	with.Steps[step].archive()
	with.Steps[step].Current = r
	return len(appendData(make([]byte, 0, with.dataSize()), f.doc, &with, nil)) + f.heldBytes()
}
