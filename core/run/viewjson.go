package run

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/apserver/ap/core/process"
)

// AppendJSON appends the view as compact JSON. A view is written with every write, and encoding/json would check and copy
// the run data in it twice over.
func (v *View) AppendJSON(b []byte) ([]byte, error) {
	e := encoder{b: b}
	e.open()
	e.key("run")
	e.runInfo(&v.Run)
	e.raw("data", v.Data)
	e.key("steps")
	e.b = append(e.b, '[')
	for i := range v.Steps {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.stepView(&v.Steps[i])
	}
	e.b = append(e.b, ']')
	e.key("workItems")
	e.b = append(e.b, '[')
	for i := range v.WorkItems {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		item, err := v.WorkItems[i].AppendJSON(e.b)
		if err != nil {
			return nil, err
		}
		e.b = item
	}
	e.b = append(e.b, ']')
	e.text("body", v.Body)
	e.close()
	return e.b, nil
}

// MarshalJSON implements json.Marshaler.
func (v *View) MarshalJSON() ([]byte, error) {
	return v.AppendJSON(make([]byte, 0, v.Size()))
}

// Size is about how many bytes the view takes as JSON.
func (v *View) Size() int {
	return 512 + len(v.Data) + len(v.Body) + len(v.Body)/16 + 64*len(v.Steps) + 1024*len(v.WorkItems)
}

// AppendJSON appends the work item as compact JSON.
func (v *ItemView) AppendJSON(b []byte) ([]byte, error) {
	e := encoder{b: b}
	e.open()
	e.text("id", v.ID)
	e.text("stepId", v.StepID)
	e.text("kind", string(v.Kind))
	e.text("text", v.Text)
	if err := e.requirements(v.Output, v.Evidence, v.Next); err != nil {
		return nil, err
	}
	e.key("assignedTo")
	e.open()
	e.str("group", v.AssignedTo.Group)
	e.str("person", v.AssignedTo.Person)
	e.close()
	e.text("snapshot", v.Snapshot)
	e.timeOrNull("due", v.Due)
	e.key("escalation")
	e.noteView(v.Escalation)
	e.key("handoff")
	e.handoff(v.Handoff)
	e.str("mode", string(v.Mode))
	e.key("decide")
	e.open()
	e.text("tool", v.Decide.Tool)
	e.key("arguments")
	e.open()
	e.text("runId", v.Decide.Arguments.RunID)
	e.text("workItemId", v.Decide.Arguments.WorkItemID)
	e.text("snapshot", v.Decide.Arguments.Snapshot)
	e.text("requestId", v.Decide.Arguments.RequestID)
	e.close()
	e.strings("decisions", v.Decide.Decisions)
	e.close()
	e.close()
	return e.b, nil
}

// MarshalJSON implements json.Marshaler.
func (v ItemView) MarshalJSON() ([]byte, error) { return v.AppendJSON(make([]byte, 0, 1024)) }

func (e *encoder) runInfo(r *RunInfo) {
	e.open()
	e.text("id", r.ID)
	e.text("process", r.Process)
	e.key("version")
	e.b = strconv.AppendInt(e.b, int64(r.Version), 10)
	e.text("mode", string(r.Mode))
	e.text("state", string(r.State))
	e.key("outcome")
	e.stringOrNull(r.Outcome)
	e.key("ended")
	if r.Ended == nil {
		e.null()
	} else {
		e.open()
		e.text("by", r.Ended.By)
		e.timeOrNull("at", &r.Ended.At)
		e.key("note")
		e.stringOrNull(r.Ended.Note)
		e.close()
	}
	e.text("startedBy", r.StartedBy)
	e.timeOrNull("startedAt", &r.StartedAt)
	e.timeOrNull("updatedAt", &r.UpdatedAt)
	e.close()
}

func (e *encoder) stepView(s *StepView) {
	e.open()
	e.text("id", s.ID)
	e.text("kind", string(s.Kind))
	e.key("state")
	e.stringOrNull((*string)(s.State))
	e.time("due", (*time.Time)(s.Due))
	if s.Overdue != nil {
		e.key("overdue")
		e.b = strconv.AppendBool(e.b, *s.Overdue)
	}
	e.close()
}

// requirements writes what a step asks for, null where it declares none.
func (e *encoder) requirements(output process.Fields, evidence []string, next []process.Route) error {
	e.key("output")
	if output == nil {
		e.null()
	} else {
		fields, err := output.MarshalJSON()
		if err != nil {
			return err
		}
		e.b = append(e.b, fields...)
	}
	if evidence == nil {
		e.key("evidence")
		e.null()
	} else {
		e.strings("evidence", evidence)
	}
	e.key("next")
	if next == nil {
		e.null()
		return nil
	}
	e.b = append(e.b, '[')
	for i, r := range next {
		if i > 0 {
			e.b = append(e.b, ',')
		}
		e.open()
		e.text("to", r.To)
		e.str("when", r.When)
		e.close()
	}
	e.b = append(e.b, ']')
	return nil
}

func (e *encoder) noteView(n *NoteView) {
	if n == nil {
		e.null()
		return
	}
	e.open()
	e.text("note", n.Note)
	e.text("by", n.By)
	e.timeOrNull("at", &n.At)
	e.close()
}

func (e *encoder) handoff(h *HandoffView) {
	if h == nil {
		e.null()
		return
	}
	e.open()
	e.str("progress", h.Progress)
	if h.Returned != nil {
		e.key("returned")
		e.noteView(h.Returned)
	}
	e.strings("issues", h.Issues)
	e.close()
}

// text writes a string that is there also when it is empty.
func (e *encoder) text(k, v string) {
	e.key(k)
	e.b = appendString(e.b, v)
}

func (e *encoder) null() { e.b = append(e.b, "null"...) }

func (e *encoder) stringOrNull(s *string) {
	if s == nil {
		e.null()
		return
	}
	e.b = appendString(e.b, *s)
}

func (e *encoder) timeOrNull(k string, t *Time) {
	e.key(k)
	if t == nil {
		e.null()
		return
	}
	e.b = appendTime(e.b, time.Time(*t))
}

var (
	_ json.Marshaler = (*View)(nil)
	_ json.Marshaler = ItemView{}
)
