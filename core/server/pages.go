package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// RunPage is what the run page and the item page show beyond the run view.
type RunPage struct {
	View     *run.View
	State    *run.State
	Document *process.Document
	// Entries are the run's journal, oldest first.
	Entries []run.Entry
	// Uploads are the files its evidence names, by id.
	Uploads map[string]Upload
	Now     time.Time
}

// RunPage returns everything known about a run (anyone signed in).
func (s *Server) RunPage(ctx context.Context, id Identity, runID string) (*RunPage, error) {
	if id.Kind == Nobody {
		return nil, errNobody
	}
	var page *RunPage
	err := s.store.Read(ctx, func(r Reader) (err error) {
		page, err = s.runPage(r, runID)
		return err
	})
	return page, storeError(err)
}

func (s *Server) runPage(r Reader, runID string) (*RunPage, error) {
	c, err := s.advanced(r, runID)
	if err != nil {
		return nil, err
	}
	entries, err := r.Entries(runID, 0, c.row.Seq)
	if err != nil {
		return nil, fmt.Errorf("reading the journal of run %s: %w", runID, err)
	}
	page := &RunPage{
		View: run.NewView(c.doc, c.state, s.viewNow(c.now)), State: c.state, Document: c.doc,
		Entries: append(entries, run.Seal(runID, c.row.Seq, c.row.Head, c.fired)...),
		Uploads: map[string]Upload{}, Now: c.now,
	}
	for _, ref := range fileRefs(c.state) {
		up, err := r.Upload(ref)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the upload %s: %w", ref, err)
		}
		page.Uploads[ref] = up
	}
	return page, nil
}

// fileRefs lists the uploads that a run's evidence names.
func fileRefs(st *run.State) []string {
	var refs []string
	add := func(r *run.Record) {
		if r == nil {
			return
		}
		for _, e := range r.Evidence {
			if e.Kind == "file" {
				refs = append(refs, e.Ref)
			}
		}
	}
	for _, step := range st.Steps {
		add(step.Current)
		for _, r := range step.History {
			add(r)
		}
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// ItemPage is a work item with its run. View is the open item's, and nil once it was decided or removed.
type ItemPage struct {
	RunPage
	Item run.Item
	Open *run.ItemView
	// Mine says whether the caller may decide it.
	Mine bool
}

// ItemPage returns a work item, open or not.
func (s *Server) ItemPage(ctx context.Context, id Identity, itemID string) (*ItemPage, error) {
	if id.Kind == Nobody {
		return nil, errNobody
	}
	unknown := notFound("There is no work item %q", shown(itemID))
	runID, ok := run.ItemRun(itemID)
	if !ok {
		return nil, unknown
	}
	var page *ItemPage
	err := s.store.Read(ctx, func(r Reader) error {
		rp, err := s.runPage(r, runID)
		if refused := (*Error)(nil); errors.As(err, &refused) && refused.Code == run.NotFound {
			return unknown
		}
		if err != nil {
			return err
		}
		item, ok := rp.State.FindItem(itemID)
		if !ok {
			return unknown
		}
		page = &ItemPage{RunPage: *rp, Item: item}
		if item.Open() {
			view := run.NewItemView(rp.Document, rp.State, item, s.viewNow(rp.Now))
			page.Open, page.Mine = &view, assigned(id, item)
		}
		return nil
	})
	return page, storeError(err)
}

// assigned says whether a caller is inside an item's assignment.
func assigned(id Identity, item run.Item) bool {
	if id.Kind != Person {
		return false
	}
	if item.Group != "" {
		return id.In(item.Group)
	}
	return NormalEmail(item.Person) == id.Name
}

// InboxQuery selects work items for the inbox.
type InboxQuery struct {
	Process string
	// Group restricts to one of the person's groups, or to "me".
	Group   string
	Overdue bool
	Mode    run.Mode
	Search  string
	Cursor  string
	Limit   int
}

// InboxItem is one row of the inbox.
type InboxItem struct {
	Item    run.ItemView
	RunID   string
	Process string
	Version int
	// Inputs and StartedBy are the run's: they tell two items of the same step apart.
	Inputs    json.RawMessage
	StartedBy string
	OpenedAt  time.Time
	Mode      run.Mode
	Overdue   bool
}

// InboxPage is a page of the inbox.
type InboxPage struct {
	Items      []InboxItem
	NextCursor string
	Now        time.Time
}

// Inbox lists the open work items assigned to a person, oldest first.
func (s *Server) Inbox(ctx context.Context, id Identity, q InboxQuery) (*InboxPage, error) {
	if id.Kind != Person {
		return nil, forbidden("Only a person has an inbox")
	}
	now := s.Now()
	page := &InboxPage{Now: now}
	query := ItemQuery{Person: id.Name, Groups: id.Groups, Process: q.Process, Mode: q.Mode, Limit: q.Limit,
		Search: strings.ToLower(strings.TrimSpace(q.Search))}
	switch {
	case q.Group == "me":
		query.Groups = nil
	case q.Group != "" && !id.In(q.Group):
		return page, nil
	case q.Group != "":
		query.Person, query.Groups = "", []string{q.Group}
	}
	if q.Overdue {
		query.Overdue = &now
	}
	if query.Limit <= 0 || query.Limit > maxLimit {
		query.Limit = defaultLimit
	}
	items, next, err := s.openItems(ctx, q.Cursor, query)
	if err != nil {
		return nil, err
	}
	if next != nil {
		page.NextCursor = *next
	}
	for _, it := range items {
		page.Items = append(page.Items, InboxItem{
			Item: it.view, RunID: it.state.ID, Process: it.state.Process, Version: it.state.Version,
			Inputs: it.state.Inputs, StartedBy: it.state.StartedBy,
			OpenedAt: it.item.OpenedAt, Mode: it.state.Mode,
			Overdue: it.view.Due != nil && !time.Time(*it.view.Due).After(it.now),
		})
	}
	return page, nil
}

// waitingMax is how many open items Waiting counts to.
const waitingMax = 99

// Waiting counts the open work items assigned to a person, up to 99; more says that there are more. It reads an index
// alone, so that every page can show it.
func (s *Server) Waiting(ctx context.Context, id Identity) (n int, more bool, err error) {
	if id.Kind != Person {
		return 0, false, nil
	}
	err = s.store.Read(ctx, func(r Reader) error {
		rows, err := r.Items(ItemQuery{Person: id.Name, Groups: id.Groups, Limit: waitingMax + 1})
		n, more = min(len(rows), waitingMax), len(rows) > waitingMax
		return err
	})
	return n, more, storeError(err)
}

// ProcessNames lists the names of all processes, for choosing one.
func (s *Server) ProcessNames(ctx context.Context) ([]string, error) {
	var names []string
	err := s.store.Read(ctx, func(r Reader) (err error) {
		names, err = r.ProcessNames(false)
		return err
	})
	return names, storeError(err)
}

// Notices lists what a person and their groups were notified of, newest first, at most limit (1 to 100).
func (s *Server) Notices(ctx context.Context, id Identity, limit int) ([]NoticeRow, error) {
	if id.Kind != Person {
		return nil, forbidden("Only a person has notices")
	}
	var notices []NoticeRow
	err := s.store.Read(ctx, func(r Reader) (err error) {
		notices, err = r.Notices(NoticeQuery{Person: id.Name, Groups: id.Groups, Limit: min(max(limit, 1), maxLimit)})
		return err
	})
	return notices, storeError(err)
}

// Now is the server's time.
func (s *Server) Now() time.Time { return s.opts.Clock.Now() }

// Operators is the operators' group.
func (s *Server) Operators() string { return s.opts.Operators }

// Changed returns a channel that receives after anything changed, and a function that ends the subscription.
func (s *Server) Changed() (<-chan struct{}, func()) { return s.store.Changes() }
