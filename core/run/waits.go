package run

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/apserver/ap/core/process"
)

// startWaitUntil starts a wait for a time in run data; a value that is missing or no time fails the step and the run. A
// time past is over at once.
func (f *fold) startWaitUntil(s *process.Step, at time.Time) {
	text := f.text(s.Text)
	wake, ok := process.ParseDatetime(text)
	switch {
	case text == "":
		f.failStep(s.ID, "No time to wait until: "+s.Text+" has no value.", at)
		return
	case !ok:
		f.failStep(s.ID, "No time to wait until: "+s.Text+" is not a datetime.", at)
		return
	}
	// Never early: up to the next whole millisecond.
	wake = wake.UTC().Add(time.Millisecond - 1).Truncate(time.Millisecond)
	if wake.Before(at) {
		wake = at
	}
	wake = latest(wake)
	f.emit(at, bySystem, WaitPayload{Step: s.ID, Wake: &wake})
}

// startWaitFor starts a wait for an event; the oldest held event of that name is consumed at once.
func (f *fold) startWaitFor(s *process.Step, at time.Time) {
	p := WaitPayload{Step: s.ID}
	if s.Timeout != nil {
		wake := latest(at.Add(*s.Timeout))
		p.Wake = &wake
	}
	f.emit(at, bySystem, p)
	for i, h := range f.st.Held {
		if h.Name == s.Text {
			f.consume(s, ConsumedPayload{Step: s.ID, Held: i + 1}, h.By, at)
			return
		}
	}
}

// consume completes a wait_for with an event and moves on.
func (f *fold) consume(s *process.Step, p ConsumedPayload, sender string, at time.Time) {
	if f.sentHeld && p.Held == len(f.st.Held) { // the event just sent is the last one held
		f.consumedBy, f.sentHeld = s.ID, false
	}
	f.emitSized(at, sender, p, 64+len(p.Data))
	f.follow(s, s.Next, at)
}

// checkEvent checks the arguments of send_event.
func checkEvent(c SendEvent) []string {
	var issues []string
	if !isStepID(c.Name) {
		issues = append(issues, "name: expected a lower-case letter, then at most 63 of a-z, 0-9, _ and -")
	}
	if len(c.Data) > 0 && (!looksObject(c.Data) || !json.Valid(c.Data)) {
		issues = append(issues, "data: expected object")
	}
	return issues
}

// isStepID says whether s matches ^[a-z][a-z0-9_-]{0,63}$.
func isStepID(s string) bool {
	if len(s) < 1 || len(s) > 64 || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// sendEvent delivers an event (protocol.md 5): to the step that has waited for it the longest, or into the list of
// held events. The cap on run data counts it either way.
func (f *fold) sendEvent(c SendEvent) *Error {
	if !c.Allowed {
		return refuse(Forbidden, "Only an agent or an operator sends events.")
	}
	data, _ := compactObject(c.Data)
	if len(c.Data) == 0 {
		data = nil
	}
	waiting := f.waitsFor(c.Name)
	var n int
	if len(waiting) > 0 {
		n = f.bytesWith(waiting[0], &Record{Output: orEmpty(data), By: c.By, At: f.env.Now})
	} else {
		n = len(f.st.Data(f.doc)) + f.heldBytes() + len(data)
	}
	if limit := f.env.RunDataBytes; limit > 0 && n > limit {
		return refuse(Invalid, "The event's data would make the run data too large.", overCap(n, limit))
	}
	if len(waiting) > 0 {
		s := &f.doc.Steps[waiting[0]]
		f.consumedBy = s.ID
		f.consume(s, ConsumedPayload{Step: s.ID, Data: data}, c.By, f.env.Now)
		return nil
	}
	f.emitSized(f.env.Now, c.By, HeldPayload{Name: c.Name, Data: data}, 64+len(data))
	f.sentHeld = true
	return nil
}

// waitsFor lists the steps that wait for an event of that name: the longest-waiting first, then as the document has
// them.
func (f *fold) waitsFor(name string) []int {
	var waiting []int
	for i := range f.doc.Steps {
		if f.doc.Steps[i].Kind == process.WaitFor && f.doc.Steps[i].Text == name && f.st.Steps[i].State == StepWaiting {
			waiting = append(waiting, i)
		}
	}
	slices.SortStableFunc(waiting, func(a, b int) int {
		return f.st.Steps[a].ReadyAt.Compare(f.st.Steps[b].ReadyAt)
	})
	return waiting
}

// heldBytes is what held events add to the run data's size.
func (f *fold) heldBytes() int {
	n := 0
	for _, h := range f.st.Held {
		n += len(h.Data)
	}
	return n
}

func orEmpty(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return emptyObject
	}
	return data
}
