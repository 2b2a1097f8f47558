package run

import (
	"encoding/json"

	"github.com/apserver/ap/core/process"
)

// Plain returns the state without what it has worked out about its data, to compare states.
func (st *State) Plain() *State {
	c := *st
	c.data = nil
	return &c
}

// FreshData is the run data worked out anew, whatever the state remembers of it.
func (st *State) FreshData(doc *process.Document) json.RawMessage {
	return appendData(nil, doc, st, nil)
}
