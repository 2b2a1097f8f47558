package web

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/templates"
)

// inboxRows is how many work items a page of the inbox shows.
const inboxRows = 50

func inboxQuery(q url.Values) server.InboxQuery {
	query := server.InboxQuery{
		Process: q.Get("process"), Group: q.Get("group"), Overdue: q.Get("overdue") != "",
		Search: q.Get("q"), Cursor: q.Get("cursor"), Limit: inboxRows,
	}
	if mode := run.Mode(q.Get("mode")); mode == run.Live || mode == run.Test {
		query.Mode = mode
	}
	return query
}

// newsRows is how many notices the inbox shows.
const newsRows = 20

// news are the latest notices of a person. What they are told for several of their groups is one line.
func (h *site) news(r *http.Request, id server.Identity) ([]templates.Notice, error) {
	notices, err := h.srv.Notices(r.Context(), id, 2*newsRows)
	if err != nil {
		return nil, err
	}
	var news []templates.Notice
	for _, n := range notices {
		line := templates.Notice{
			Kind: n.Kind, Process: n.Process, Step: n.StepID, State: string(n.State), Outcome: n.Outcome,
			URL: "/runs/" + n.RunID, At: n.At,
		}
		if n.Open {
			line.URL = "/items/" + n.ItemID
		}
		if !slices.Contains(news, line) && len(news) < newsRows {
			news = append(news, line)
		}
	}
	return news, nil
}

// filterURL is the address of a list with its filter, and nothing that filters nothing.
func filterURL(path string, q url.Values, cursor string, names ...string) string {
	kept := url.Values{}
	for _, name := range names {
		if v := q.Get(name); v != "" {
			kept.Set(name, v)
		}
	}
	if cursor != "" {
		kept.Set("cursor", cursor)
	}
	if len(kept) == 0 {
		return path
	}
	return path + "?" + kept.Encode()
}

// pushURL tells a script that filters a list which address to show.
func pushURL(w http.ResponseWriter, url string) { w.Header().Set("HX-Push-Url", url) }

var inboxFilters = []string{"q", "process", "group", "mode", "overdue"}

// inbox shows what waits for the person.
func (h *site) inbox(w http.ResponseWriter, r *http.Request) {
	id, _, _ := h.person(r)
	q := r.URL.Query()
	query := inboxQuery(q)
	page, err := h.srv.Inbox(r.Context(), id, query)
	if err != nil {
		h.refused(w, r, err, "reading the inbox")
		return
	}
	names, err := h.srv.ProcessNames(r.Context())
	if err != nil {
		h.refused(w, r, err, "listing processes")
		return
	}
	// The inbox is read before the news: reading it settles what is due by now.
	news, err := h.news(r, id)
	if err != nil {
		h.refused(w, r, err, "reading the news")
		return
	}
	view := templates.Inbox{
		News: news,
		Filter: templates.InboxFilter{
			Process: query.Process, Group: query.Group, Mode: string(query.Mode), Search: query.Search, Overdue: query.Overdue,
		},
		Processes: names, Groups: slices.Sorted(slices.Values(id.Groups)), Later: query.Cursor != "",
	}
	for _, item := range page.Items {
		row := inboxRow(item, id)
		if row.EscalatedBy != "" {
			view.Escalations = append(view.Escalations, row)
		} else {
			view.Rows = append(view.Rows, row)
		}
	}
	if page.NextCursor != "" {
		view.Next = filterURL("/inbox", q, page.NextCursor, inboxFilters...)
	}
	c := h.chrome(r, "Inbox", "inbox")
	c.Now = page.Now
	c.Live = filterURL("/inbox/now", q, query.Cursor, inboxFilters...)
	c.Said = h.said(r)
	pushURL(w, filterURL("/inbox", q, query.Cursor, inboxFilters...))
	h.render(w, r, http.StatusOK, templates.InboxPage(c, view))
}

func inboxRow(item server.InboxItem, id server.Identity) templates.InboxRow {
	v := item.Item
	row := templates.InboxRow{
		ID: v.ID, Process: item.Process, Step: v.StepID, Kind: v.Kind, Ask: v.Text,
		Subject: templates.Subject(item.Inputs), Group: v.AssignedTo.Group, Person: v.AssignedTo.Person,
		Me:        server.NormalEmail(v.AssignedTo.Person) == id.Name,
		StartedBy: item.StartedBy, OpenedAt: item.OpenedAt, Overdue: item.Overdue, Test: item.Mode == run.Test,
		Due: timeOf(v.Due),
	}
	if v.Escalation != nil {
		row.Escalation, row.EscalatedBy = v.Escalation.Note, v.Escalation.By
	}
	return row
}

func timeOf(t *run.Time) *time.Time {
	if t == nil {
		return nil
	}
	at := time.Time(*t)
	return &at
}

// inboxNow says which items a page of the inbox would list now, so that the page can tell what is new and what is gone
// without moving anything.
func (h *site) inboxNow(w http.ResponseWriter, r *http.Request) {
	id, _, _ := h.person(r)
	page, err := h.srv.Inbox(r.Context(), id, inboxQuery(r.URL.Query()))
	if err != nil {
		h.refused(w, r, err, "reading the inbox")
		return
	}
	waiting, more, err := h.srv.Waiting(r.Context(), id)
	if err != nil {
		h.refused(w, r, err, "counting what waits")
		return
	}
	items := make([]string, len(page.Items))
	for i, item := range page.Items {
		items[i] = item.Item.ID
	}
	writeJSON(w, http.StatusOK, map[string]any{"items": items, "full": page.NextCursor != "", "waiting": waiting, "more": more})
}

// nextItem is the oldest other item that waits for a person, or nil.
func (h *site) nextItem(r *http.Request, id server.Identity, not string) *templates.InboxRow {
	page, err := h.srv.Inbox(r.Context(), id, server.InboxQuery{Limit: 2})
	if err != nil {
		h.log.ErrorContext(r.Context(), "looking for the next item", "person", id.Name, "error", err)
		return nil
	}
	for _, item := range page.Items {
		if item.Item.ID != not {
			row := inboxRow(item, id)
			return &row
		}
	}
	return nil
}
