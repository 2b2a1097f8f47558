package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

func testWork(t *testing.T, open Open) {
	t.Run("ListsReadyStepsOldestFirst", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		minutes := []int{5, 3, 3, 8, 1, 3}
		for i, minute := range minutes {
			process := []string{"supplier", "hiring"}[i%2]
			p := newRun(fmt.Sprint("r_", i), process, epoch)
			p.Ready = []server.ReadyRow{{RunID: p.Run.ID, StepID: "b", Process: process, Since: at(minute)},
				{RunID: p.Run.ID, StepID: "a", Process: process, Since: at(minute)}}
			b.start(p)
		}
		list := func(q server.ReadyQuery) []string {
			if q.Limit == 0 {
				q.Limit = 100
			}
			return ids(read(b, func(r server.Reader) ([]server.ReadyRow, error) { return r.Ready(q) }),
				func(r server.ReadyRow) string { return r.RunID + r.StepID })
		}
		all := []string{"r_4a", "r_4b", "r_1a", "r_1b", "r_2a", "r_2b", "r_5a", "r_5b", "r_0a", "r_0b", "r_3a", "r_3b"}
		hiring := []string{"r_1a", "r_1b", "r_5a", "r_5b", "r_3a", "r_3b"}
		require.Equal(t, all, list(server.ReadyQuery{}))
		require.Equal(t, hiring, list(server.ReadyQuery{Process: "hiring"}))
		require.Equal(t, all, list(server.ReadyQuery{Processes: []string{"supplier", "hiring", "supplier", "nothing"}}))
		require.Equal(t, hiring, list(server.ReadyQuery{Processes: []string{"hiring"}}))
		require.Equal(t, hiring, list(server.ReadyQuery{Process: "hiring", Processes: []string{"hiring", "supplier"}}))
		require.Empty(t, list(server.ReadyQuery{Process: "hiring", Processes: []string{"supplier"}}))
		require.Empty(t, list(server.ReadyQuery{Processes: []string{}}))

		for _, q := range []server.ReadyQuery{{}, {Processes: []string{"supplier", "hiring"}}} {
			var got []string
			q.Limit = 5
			for {
				page := read(b, func(r server.Reader) ([]server.ReadyRow, error) { return r.Ready(q) })
				if len(page) == 0 {
					break
				}
				got = append(got, ids(page, func(r server.ReadyRow) string { return r.RunID + r.StepID })...)
				q.After = page[len(page)-1]
			}
			require.Equal(t, all, got)
		}
	})

	t.Run("ListsReadyStepsOfManyProcesses", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		var processes, want []string
		for i := range 50 {
			name := fmt.Sprintf("process-%02d", i)
			processes = append(processes, name)
			p := newRun(fmt.Sprintf("r_%02d", i), "supplier", epoch)
			p.Ready = []server.ReadyRow{{RunID: p.Run.ID, StepID: "a", Process: name, Since: at(50 - i)}}
			b.start(p)
			want = append(want, p.Run.ID)
		}
		slices.Reverse(want)
		got := read(b, func(r server.Reader) ([]server.ReadyRow, error) {
			return r.Ready(server.ReadyQuery{Processes: processes, Limit: 20})
		})
		require.Equal(t, want[:20], ids(got, func(r server.ReadyRow) string { return r.RunID }))
	})

	t.Run("ListsThePersonsItemsOldestFirst", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		items := itemFixtures(b)
		for name, c := range map[string]struct {
			q    server.ItemQuery
			want func(server.ItemRow) bool
		}{
			"a person's":            {server.ItemQuery{Person: "mira@example.com"}, func(i server.ItemRow) bool { return i.Person == "mira@example.com" }},
			"a group's":             {server.ItemQuery{Groups: []string{"finance"}}, func(i server.ItemRow) bool { return i.Group == "finance" }},
			"a group named twice":   {server.ItemQuery{Groups: []string{"finance", "finance"}}, func(i server.ItemRow) bool { return i.Group == "finance" }},
			"a person and groups":   {everyone, func(i server.ItemRow) bool { return i.Person != "bo@example.com" }},
			"nobody's":              {server.ItemQuery{}, func(server.ItemRow) bool { return false }},
			"a group like a person": {server.ItemQuery{Groups: []string{"mira@example.com"}}, func(server.ItemRow) bool { return false }},
		} {
			c.q.Limit = 1000
			want := ids(slices.DeleteFunc(slices.Clone(items), func(i server.ItemRow) bool { return !c.want(i) }), itemID)
			got := ids(read(b, func(r server.Reader) ([]server.ItemRow, error) { return r.Items(c.q) }), itemID)
			require.Equal(t, want, got, name)
		}
	})

	t.Run("FiltersItems", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		items := itemFixtures(b)
		n := 0
		for _, process := range []string{"", "supplier"} {
			for _, overdue := range []bool{false, true} {
				for _, mode := range []run.Mode{"", run.Live, run.Test} {
					for _, search := range []string{"", "Invoice", "invoice  nine", "nothing"} {
						q := everyone
						q.Process, q.Mode, q.Search, q.Limit = process, mode, search, 1000
						now := at(20)
						if overdue {
							q.Overdue = &now
						}
						want := ids(slices.DeleteFunc(slices.Clone(items), func(i server.ItemRow) bool {
							return i.Person == "bo@example.com" || process != "" && i.Process != process ||
								overdue && (i.Due == nil || i.Due.After(now)) || mode != "" && i.Test != (mode == run.Test) ||
								search == "Invoice" && i.Search == "" || search == "invoice  nine" && i.Search != "invoice number nine" ||
								search == "nothing"
						}), itemID)
						got := ids(read(b, func(r server.Reader) ([]server.ItemRow, error) { return r.Items(q) }), itemID)
						require.Equal(t, want, got, "%+v", q)
						n += len(got)

						var paged []string
						q.Limit = 7
						for {
							page := read(b, func(r server.Reader) ([]server.ItemRow, error) { return r.Items(q) })
							if len(page) == 0 {
								break
							}
							paged = append(paged, ids(page, itemID)...)
							q.AfterOpened, q.AfterID = page[len(page)-1].OpenedAt, page[len(page)-1].ID
						}
						require.ElementsMatch(t, want, paged, "%+v", q)
						require.True(t, slices.Equal(want, paged), "%+v", q)
					}
				}
			}
		}
		require.Greater(t, n, 100)
	})

	t.Run("ListsItemsOfManyGroups", func(t *testing.T) {
		t.Parallel()
		b := setup(t, open)
		q := server.ItemQuery{Person: "mira@example.com", Limit: 30}
		p := newRun("r_1", "supplier", epoch)
		for i := range 100 {
			group := fmt.Sprintf("group-%02d", i)
			q.Groups = append(q.Groups, group)
			p.Items = append(p.Items, server.ItemRow{ID: fmt.Sprintf("w_%02d", i), RunID: "r_1", StepID: "s", Process: "supplier",
				Group: group, OpenedAt: at(i * 7 % 100)})
		}
		b.start(p)
		sorted := slices.SortedFunc(slices.Values(p.Items), func(a, b server.ItemRow) int { return a.OpenedAt.Compare(b.OpenedAt) })
		got := read(b, func(r server.Reader) ([]server.ItemRow, error) { return r.Items(q) })
		require.Equal(t, sorted[:30], got)
	})
}

var everyone = server.ItemQuery{Person: "mira@example.com", Groups: []string{"finance", "legal", "empty"}}

func itemID(i server.ItemRow) string { return i.ID }

// itemFixtures opens sixty items and returns them in the order of the inbox.
func itemFixtures(b *bundle) []server.ItemRow {
	var items []server.ItemRow
	for i := range 60 {
		process := []string{"supplier", "hiring"}[i/2%2]
		p := newRun(fmt.Sprintf("r_%02d", i), process, epoch)
		item := server.ItemRow{ID: fmt.Sprintf("w_%02d", i), RunID: p.Run.ID, StepID: "approve", Process: process, OpenedAt: at(i * 11 % 30),
			Test: i%3 == 0, Escalated: i%5 == 0}
		switch i % 4 {
		case 0:
			item.Person = "mira@example.com"
		case 1:
			item.Person = "bo@example.com"
		case 2:
			item.Group = "finance"
		case 3:
			item.Group = "legal"
		}
		if i%7 < 4 {
			item.Due = ptr(at(i))
		}
		if i%6 < 4 {
			item.Search = "invoice number " + []string{"nine", "ten"}[i%2]
		}
		p.Items = []server.ItemRow{item}
		b.start(p)
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b server.ItemRow) int {
		if c := a.OpenedAt.Compare(b.OpenedAt); c != 0 {
			return c
		}
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return items
}
