package web

import (
	"cmp"
	"encoding/json"
	"mime"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/templates"
)

// teller puts a run into words for people.
type teller struct {
	doc  *process.Document
	st   *run.State
	page *server.RunPage
	// urls are the signed addresses of the files that run data names.
	urls map[string]string
}

func newTeller(p *server.RunPage) teller {
	return teller{doc: p.Document, st: p.State, page: p, urls: fileURLs(p.View.Data)}
}

// fileURLs finds the signed url of each file in run data, as a path of this site: a browser may know the server by
// another name than its base URL.
func fileURLs(data json.RawMessage) map[string]string {
	type record struct {
		Evidence []struct{ Kind, Ref, URL string }
		History  []struct {
			Evidence []struct{ Kind, Ref, URL string }
		}
	}
	var read struct{ Steps map[string]record }
	urls := map[string]string{}
	if json.Unmarshal(data, &read) != nil {
		return urls
	}
	keep := func(items []struct{ Kind, Ref, URL string }) {
		for _, e := range items {
			if u, err := url.Parse(e.URL); e.Kind == "file" && err == nil && u.Path != "" {
				urls[e.Ref] = u.RequestURI()
			}
		}
	}
	for _, r := range read.Steps {
		keep(r.Evidence)
		for _, past := range r.History {
			keep(past.Evidence)
		}
	}
	return urls
}

// record tells one completion of a step. before is the completion it is compared with, or nil.
func (t teller) record(step int, r, before *run.Record) templates.Record {
	s := &t.doc.Steps[step]
	told := templates.Record{
		Step: s.ID, Kind: s.Kind, By: r.By, At: r.At,
		Summary: r.Summary, Reason: r.Reason, Note: r.Note, Decision: r.Decision, Next: r.Next,
		Evidence: t.evidence(r.Evidence),
	}
	if before != nil {
		was := before.Output
		if was == nil {
			was = json.RawMessage("{}")
		}
		told.Fields = templates.Fields(s.Output, r.Output, was)
	} else {
		told.Fields = templates.Fields(s.Output, r.Output, nil)
	}
	for _, route := range s.Routes {
		if route.To == r.Next {
			told.When = route.When
		}
	}
	return told
}

func (t teller) evidence(items []run.FileEvidence) []templates.EvidenceItem {
	told := make([]templates.EvidenceItem, 0, len(items))
	for _, e := range items {
		item := templates.EvidenceItem{Kind: e.Kind, Ref: e.Ref, SHA256: e.SHA256}
		if e.Kind == "file" {
			up := t.page.Uploads[e.Ref]
			item.Name, item.Size, item.URL = up.FileName, up.Bytes, t.urls[e.Ref]
			item.Type = mediaType(up.ContentType)
			item.Again = "/runs/" + url.PathEscape(t.st.ID) + "/files/" + url.PathEscape(e.Ref)
			if item.URL != "" && previewed(item.Type) {
				item.PreviewURL = item.Again + "/preview"
			}
		}
		told = append(told, item)
	}
	return told
}

func mediaType(contentType string) string {
	base, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return ""
	}
	return base
}

func (t teller) inputs() []templates.Member {
	return templates.Fields(t.doc.Inputs, t.st.Inputs, nil)
}

// telling says whether a step's record is worth telling: a wait's is not.
func telling(k process.Kind) bool {
	return k == process.Agent || k == process.Task || k == process.Approve || k == process.WaitFor
}

// before finds the steps whose records led to a step: those just before it in the process, through waits and forks, and
// what an approval before it approved.
func (t teller) before(step int) []int {
	var found []int
	seen := map[int]bool{step: true}
	var walk func(to int)
	walk = func(to int) {
		for i := range t.doc.Steps {
			if seen[i] || !t.leadsTo(i, to) {
				continue
			}
			seen[i] = true
			told := t.st.Steps[i].Current != nil && telling(t.doc.Steps[i].Kind)
			if told {
				found = append(found, i)
			}
			if !told || t.doc.Steps[i].Kind == process.Approve {
				walk(i)
			}
		}
	}
	walk(step)
	return found
}

// leadsTo says whether the run can have come from step i to step j directly.
func (t teller) leadsTo(i, j int) bool {
	from, to := &t.doc.Steps[i], &t.doc.Steps[j]
	if from.Kind == process.Finish {
		return false
	}
	target := func(id string) bool {
		if id == process.Join && from.Fork != "" {
			fork := t.doc.Step(from.Fork)
			return fork != nil && fork.Next == to.ID
		}
		return id == to.ID
	}
	if from.Kind == process.Parallel {
		return slices.Contains(from.Branches, to.ID)
	}
	if rec := t.st.Steps[i].Current; rec != nil && rec.Next != "" {
		return target(rec.Next)
	}
	if from.Routes != nil {
		return slices.ContainsFunc(from.Routes, func(r process.Route) bool { return target(r.To) })
	}
	return target(from.Next) || from.OnTimeout != "" && target(from.OnTimeout)
}

// current tells the current record of a step, what changed since its round before marked.
func (t teller) current(step int) templates.Record {
	s := t.st.Steps[step]
	var before *run.Record
	if len(s.History) > 0 {
		before = s.History[len(s.History)-1]
	}
	return t.record(step, s.Current, before)
}

// rejection is the rejection that the present round at a step answers: of the approval itself, or of one that sends
// back to the step; nil in a first round.
func (t teller) rejection(step int) *templates.Record {
	var latest *run.Record
	at := -1
	for i := range t.doc.Steps {
		rec := t.st.Steps[i].Current
		concerns := i == step || t.doc.Steps[i].OnReject == t.doc.Steps[step].ID
		if concerns && rec != nil && rec.Decision == "rejected" && (latest == nil || rec.Seq > latest.Seq) {
			latest, at = rec, i
		}
	}
	if latest == nil {
		return nil
	}
	told := t.record(at, latest, nil)
	return &told
}

// said splits what is on record between the steps just before one and everything earlier, each newest first. A
// rejection that is being worked on belongs to the rounds.
func (t teller) said(step int) (said, earlier []templates.Record) {
	direct := t.before(step)
	var order []int
	for i := range t.doc.Steps {
		rec := t.st.Steps[i].Current
		if i != step && rec != nil && telling(t.doc.Steps[i].Kind) && rec.Decision != "rejected" {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Compare(t.st.Steps[b].Current.Seq, t.st.Steps[a].Current.Seq)
	})
	for _, i := range order {
		if slices.Contains(direct, i) {
			said = append(said, t.current(i))
		} else {
			earlier = append(earlier, t.current(i))
		}
	}
	return said, earlier
}

// rounds tells every completion that rework replaced, newest first, with the rejections that asked for it.
func (t teller) rounds() []templates.Record {
	type past struct {
		step int
		rec  *run.Record
	}
	var all []past
	for i := range t.doc.Steps {
		if !telling(t.doc.Steps[i].Kind) {
			continue
		}
		for _, rec := range t.st.Steps[i].History {
			all = append(all, past{i, rec})
		}
		if rec := t.st.Steps[i].Current; rec != nil && rec.Decision == "rejected" && !t.st.Over() {
			all = append(all, past{i, rec})
		}
	}
	slices.SortFunc(all, func(a, b past) int { return cmp.Compare(b.rec.Seq, a.rec.Seq) })
	told := make([]templates.Record, len(all))
	for i, p := range all {
		told[i] = t.record(p.step, p.rec, nil)
	}
	return told
}

// mapMarks are the states of the steps, for the map.
func (t teller) mapMarks() map[string]string {
	marks := map[string]string{}
	for _, s := range t.page.View.Steps {
		if s.State != nil {
			marks[s.ID] = string(*s.State)
		}
	}
	return marks
}

func (t teller) processMap(current string) string {
	return process.SVG(t.doc, process.MapOptions{Marks: t.mapMarks(), Current: current, Embedded: true})
}

// brief says how the run stands.
func (t teller) brief() templates.RunBrief {
	b := templates.RunBrief{State: string(t.st.State), Outcome: t.st.Outcome, Ended: t.ended()}
	if t.st.Over() {
		return b
	}
	for i := range t.doc.Steps {
		if words := t.waits(i); words != "" {
			b.Waits = append(b.Waits, templates.Words(t.doc.Steps[i].ID)+": "+words)
		}
	}
	return b
}

// waits says what a step waits for; empty when it waits for nothing.
func (t teller) waits(step int) string {
	s, kind := t.st.Steps[step], t.doc.Steps[step].Kind
	switch s.State {
	case run.StepReady:
		return "ready for an agent"
	case run.StepClaimed:
		return "an agent is on it"
	case run.StepWaiting:
		switch {
		case s.Item >= 0 && s.Item < len(t.st.Items):
			item := t.st.Items[s.Item]
			return "waits for " + cmp.Or(item.Group, item.Person)
		case kind == process.WaitFor:
			return "waits for the event " + t.doc.Steps[step].Text
		case s.WakeAt != nil:
			return "waits until " + templates.Exact(*s.WakeAt)
		}
		return "waits"
	}
	return ""
}

func (t teller) ended() *templates.Note {
	e := t.st.Ended
	if e == nil {
		return nil
	}
	n := &templates.Note{By: e.By, At: e.At}
	if e.Note != nil {
		n.Text = *e.Note
	}
	return n
}

func noteOf(n *run.Note) *templates.Note {
	if n == nil {
		return nil
	}
	return &templates.Note{Text: n.Note, By: n.By, At: n.At}
}

// changes tells what changed in run data, grouped by step.
func (t teller) changes(list []server.Change, known bool) *templates.Changes {
	told := &templates.Changes{Known: known}
	for _, c := range list {
		last := len(told.Steps) - 1
		if last < 0 || told.Steps[last].Step != c.StepID {
			told.Steps = append(told.Steps, templates.StepChanges{Step: c.StepID, By: c.By, At: c.At})
			last++
		}
		told.Steps[last].Fields = append(told.Steps[last].Fields, t.fieldChanges(c)...)
	}
	return told
}

// fieldChanges tells one change; a record that came or went is told field by field.
func (t teller) fieldChanges(c server.Change) []templates.FieldChange {
	if c.Field != "" {
		return []templates.FieldChange{{
			Field: c.Field, Type: t.typeOf(c.StepID, c.Field),
			Before: templates.ReadValue(c.Before), After: templates.ReadValue(c.After),
		}}
	}
	var told []templates.FieldChange
	for _, m := range templates.Fields(nil, c.Before, nil) {
		told = append(told, templates.FieldChange{Field: m.Name, Before: m.Value, Type: t.typeOf(c.StepID, m.Name)})
	}
	for _, m := range templates.Fields(nil, c.After, nil) {
		told = append(told, templates.FieldChange{Field: m.Name, After: m.Value, Type: t.typeOf(c.StepID, m.Name)})
	}
	return told
}

func (t teller) typeOf(stepID, field string) process.Type {
	name, ok := strings.CutPrefix(field, "output.")
	step := t.doc.Step(stepID)
	if !ok || step == nil {
		return ""
	}
	f, _ := step.Output.Find(name)
	return f.Type
}

func pastDue(due *time.Time, now time.Time) bool { return due != nil && !due.After(now) }
