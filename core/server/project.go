package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// project is all that is stored about a run beside its journal, Inputs apart. It follows from the state alone, so that
// verification can compute it again.
func project(doc *process.Document, st *run.State, head []byte) Projection {
	p := Projection{Run: RunRow{
		ID: st.ID, Process: st.Process, Version: st.Version, Mode: st.Mode,
		State: st.State, Outcome: st.Outcome, StartedBy: st.StartedBy,
		StartedAt: st.StartedAt, UpdatedAt: st.UpdatedAt, Inputs: st.Inputs,
		Seq: st.Seq, Head: head, NextTimer: st.NextTimer(doc),
	}}
	for _, ready := range run.Ready(doc, st, st.UpdatedAt) {
		p.Ready = append(p.Ready, ReadyRow{RunID: st.ID, StepID: ready.StepID, Process: st.Process, Since: ready.Since})
	}
	for _, item := range st.OpenItems() {
		p.Items = append(p.Items, itemRow(doc, st, item))
	}
	return p
}

func itemRow(doc *process.Document, st *run.State, item run.Item) ItemRow {
	row := ItemRow{
		ID: item.ID, RunID: st.ID, StepID: item.StepID, Process: st.Process,
		Group: item.Group, Person: NormalEmail(item.Person), OpenedAt: item.OpenedAt,
		Escalated: item.Escalation != nil, Test: st.Mode == run.Test,
	}
	if i := doc.Index(item.StepID); i >= 0 {
		row.Due = st.Steps[i].Due
		row.Search = searchText(doc.Name, &doc.Steps[i])
	}
	return row
}

// maxSearch bounds, in bytes, how much of a step's text the inbox search looks through.
const maxSearch = 2000

// searchText is what the inbox search looks through: process, step and text, lower case, and each name as words too.
func searchText(name string, step *process.Step) string {
	words := strings.NewReplacer("-", " ", "_", " ")
	text := step.Text
	if len(text) > maxSearch {
		text = strings.ToValidUTF8(text[:maxSearch], "")
	}
	return strings.ToLower(strings.Join([]string{name, words.Replace(name), step.ID, words.Replace(step.ID), text}, "\n"))
}

// maxInputKey is the longest canonical value, in bytes, that is kept as it is for finding runs; a longer one is kept as
// its hash.
const maxInputKey = 120

// inputKeys are the values of a run's inputs in the form they are found by: canonical JSON, or "#" and a hash where that
// is long.
func inputKeys(inputs []byte) (map[string]string, error) {
	if len(inputs) == 0 {
		return nil, nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(inputs))
	if _, err := dec.ReadToken(); err != nil {
		return nil, fmt.Errorf("reading the inputs: %w", err)
	}
	keys := map[string]string{}
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("reading the inputs: %w", err)
		}
		name := tok.String()
		value, err := appendNext(nil, dec)
		if err != nil {
			return nil, fmt.Errorf("reading the input %s: %w", name, err)
		}
		keys[name] = inputKey(value)
	}
	return keys, nil
}

func inputKey(canonical []byte) string {
	if len(canonical) <= maxInputKey {
		return string(canonical)
	}
	sum := sha256.Sum256(canonical)
	return "#" + hex.EncodeToString(sum[:])
}
