package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
)

func newProcessesCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "processes [NAME]",
		Short:   "List processes, or show one with its versions and roles",
		GroupID: groupAdmin,
		Args:    nArgs(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := a.open(cmd.Context(), existingData)
			if err != nil {
				return err
			}
			defer b.close()
			if len(args) == 1 {
				info, err := b.srv.Process(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.showProcess(info)
			}
			all, err := b.srv.Processes(cmd.Context())
			if err != nil {
				return err
			}
			return a.listProcesses(all)
		},
	}
}

// processJSON is a process in the JSON of `ap processes`: as list_processes returns it, and what an admin sees beyond.
type processJSON struct {
	Name        string             `json:"name"`
	Description string             `json:"description"`
	Version     *int               `json:"version"`
	Draft       string             `json:"draftHash"`
	Roles       map[string]*string `json:"roles"`
	Requires    *requires          `json:"requires"`
	Inputs      process.Fields     `json:"inputs"`
	Versions    []versionJSON      `json:"versions,omitempty"`
}

type versionJSON struct {
	Version     int      `json:"version"`
	ContentHash string   `json:"contentHash"`
	PublishedAt run.Time `json:"publishedAt"`
	PublishedBy string   `json:"publishedBy"`
}

func newProcessJSON(info *server.ProcessInfo) processJSON {
	doc := current(info)
	p := processJSON{
		Name: info.Row.Name, Description: doc.Description, Draft: info.Row.DraftHash,
		Roles: map[string]*string{}, Requires: requiresOf(doc), Inputs: doc.Inputs,
	}
	if info.Row.Latest > 0 {
		p.Version = &info.Row.Latest
	}
	for role, group := range info.Roles {
		p.Roles[role] = nil
		if group != "" {
			p.Roles[role] = &group
		}
	}
	for _, v := range info.Versions {
		p.Versions = append(p.Versions, versionJSON{v.Number, v.Hash, run.Time(v.PublishedAt), v.PublishedBy})
	}
	return p
}

// current is the document that speaks for a process: its latest version, or its draft before the first.
func current(info *server.ProcessInfo) *process.Document {
	if info.Latest != nil {
		return info.Latest
	}
	return info.Draft
}

func (a *app) listProcesses(all []server.ProcessInfo) error {
	if a.json {
		list := make([]processJSON, len(all))
		for i := range all {
			list[i] = newProcessJSON(&all[i])
			list[i].Versions = nil
		}
		return a.printJSON(map[string]any{"items": list})
	}
	if len(all) == 0 {
		a.say("There are no processes yet. Import one with `ap import PATH`.")
		return nil
	}
	var rows [][]string
	for i := range all {
		info := &all[i]
		rows = append(rows, []string{info.Row.Name, versionState(info), shorten(current(info).Description, 70)})
	}
	a.table([]string{"NAME", "VERSION", "DESCRIPTION"}, rows)
	return nil
}

// versionState says in a word or two what of a process is published.
func versionState(info *server.ProcessInfo) string {
	latest := info.Row.Latest
	switch {
	case latest == 0:
		return "draft"
	case len(info.Versions) > 0 && info.Versions[0].Hash != info.Row.DraftHash:
		return fmt.Sprintf("%d, newer draft", latest)
	}
	return strconv.Itoa(latest)
}

func (a *app) showProcess(info *server.ProcessInfo) error {
	if a.json {
		return a.printJSON(newProcessJSON(info))
	}
	doc := current(info)
	a.print("%s", printable(info.Row.Name))
	a.print("  %s", printable(doc.Description))
	if len(doc.Requires) > 0 {
		a.print("  requires: %s", printable(strings.Join(doc.Requires, ", ")))
	}
	for _, f := range doc.Inputs {
		a.print("  input %s: %s%s", printable(f.Name), f.Type, fieldNotes(f))
	}
	for _, role := range info.Draft.Roles() {
		group := info.Roles[role]
		if group == "" {
			group = "not bound; bind with `ap bind " + info.Row.Name + " " + role + "=GROUP`"
		}
		a.print("  role %s: %s", printable(role), printable(group))
	}
	if state := versionState(info); info.Row.Latest == 0 || strings.Contains(state, "draft") {
		a.print("  draft %s, imported %s; publish with `ap publish %s`", info.Row.DraftHash[:12], when(info.Row.DraftAt), info.Row.Name)
	}
	for _, v := range info.Versions {
		a.print("  version %d %s, published %s", v.Number, v.Hash[:12], when(v.PublishedAt))
	}
	return nil
}

func fieldNotes(f process.Field) string {
	notes := ""
	if f.Optional {
		notes += ", optional"
	}
	if len(f.OneOf) > 0 {
		values := make([]string, len(f.OneOf))
		for i, v := range f.OneOf {
			values[i] = string(v)
		}
		notes += ", one of " + strings.Join(values, ", ")
	}
	if f.Description != "" {
		notes += " (" + f.Description + ")"
	}
	return printable(notes)
}

// when is a time as a table shows it.
func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") + " UTC" }

// shorten cuts text to about n characters.
func shorten(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
