package web

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/templates"
)

// processes lists the processes of the server.
func (h *site) processes(w http.ResponseWriter, r *http.Request) {
	infos, err := h.srv.Processes(r.Context())
	if err != nil {
		h.refused(w, r, err, "listing processes")
		return
	}
	cards := make([]templates.ProcessCard, len(infos))
	for i, info := range infos {
		doc := shownDocument(&info)
		cards[i] = templates.ProcessCard{
			Name: info.Row.Name, Description: doc.Description, Latest: info.Row.Latest, Requires: doc.Requires, Steps: len(doc.Steps),
		}
		for _, s := range doc.Steps {
			if s.Person != "" {
				cards[i].People++
			}
		}
	}
	h.render(w, r, http.StatusOK, templates.ProcessesPage(h.chrome(r, "Processes", "processes"), cards))
}

// shownDocument is the version that new runs take, or the draft where nothing is published.
func shownDocument(info *server.ProcessInfo) *process.Document {
	if info.Latest != nil {
		return info.Latest
	}
	return info.Draft
}

// process shows one process.
func (h *site) process(w http.ResponseWriter, r *http.Request) {
	info, err := h.srv.Process(r.Context(), r.PathValue("name"))
	if err != nil {
		h.refused(w, r, err, "reading a process")
		return
	}
	groups, err := h.srv.Groups(r.Context())
	if err != nil {
		h.refused(w, r, err, "listing groups")
		return
	}
	doc := shownDocument(info)
	view := templates.Process{
		Name: doc.Name, Description: doc.Description, Latest: info.Row.Latest, Hash: doc.Hash,
		Draft: info.Latest != nil && info.Draft.Hash != info.Latest.Hash,
		Map:   process.SVG(doc, process.MapOptions{Embedded: true}), Body: h.markdown(doc),
		Inputs: doc.Inputs, Requires: doc.Requires, Steps: doc.Steps, Profiles: doc.Profiles(),
	}
	for _, role := range doc.Roles() {
		group := info.Roles[role]
		view.Roles = append(view.Roles, templates.RoleBinding{Role: role, Group: group, Members: len(groups[group])})
	}
	for i, v := range info.Versions {
		row := versionRow(v)
		if i+1 < len(info.Versions) {
			row.Before = info.Versions[i+1].Number
		}
		view.Versions = append(view.Versions, row)
	}
	c := h.chrome(r, templates.Words(doc.Name), "processes")
	c.Map = true
	h.render(w, r, http.StatusOK, templates.ProcessPage(c, view))
}

func versionRow(v server.Version) templates.VersionRow {
	return templates.VersionRow{Number: v.Number, Hash: v.Hash, At: v.PublishedAt, By: v.PublishedBy}
}

// version shows one version's source, or with ?from=N what changed since another.
func (h *site) version(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	number, err := strconv.Atoi(r.PathValue("number"))
	if err != nil || number < 1 {
		h.fail(w, r, http.StatusNotFound, "There is no such version", "Versions are numbered from 1. The page of the process lists them.")
		return
	}
	v, _, err := h.srv.VersionSource(r.Context(), name, number)
	if err != nil {
		h.refused(w, r, err, "reading a version")
		return
	}
	var diff *templates.VersionDiff
	if from, err := strconv.Atoi(r.URL.Query().Get("from")); err == nil && from > 0 && from != number {
		before, _, err := h.srv.VersionSource(r.Context(), name, from)
		if err != nil {
			h.refused(w, r, err, "reading a version")
			return
		}
		diff = versionDiff(before, v)
	}
	c := h.chrome(r, templates.Words(name)+" · Version "+strconv.Itoa(number), "processes")
	h.render(w, r, http.StatusOK, templates.VersionPage(c, name, versionRow(v), string(v.Source), diff))
}

const (
	diffContext = 3
	// diffMax is how many lines of difference are shown.
	diffMax = 4000
)

// versionDiff compares two versions line by line.
func versionDiff(from, to server.Version) *templates.VersionDiff {
	d := &templates.VersionDiff{Process: to.Process, From: from.Number, To: to.Number}
	before, after := string(from.Source), string(to.Source)
	unified, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), diffContext)
	if err != nil {
		d.TooLarge = true
		return d
	}
	shown := 0
	for _, hunk := range unified.Hunks {
		if shown += len(hunk.Lines); shown > diffMax {
			d.TooLarge = true
			return d
		}
		old, now := hunk.FromLine, hunk.ToLine
		var h templates.DiffHunk
		for _, line := range hunk.Lines {
			l := templates.DiffLine{Op: "=", Text: strings.TrimRight(line.Content, "\r\n")}
			switch line.Kind {
			case udiff.Delete:
				l.Op, l.Old = "-", old
				old++
			case udiff.Insert:
				l.Op, l.New = "+", now
				now++
			default:
				l.Old, l.New = old, now
				old++
				now++
			}
			h.Lines = append(h.Lines, l)
		}
		d.Hunks = append(d.Hunks, h)
	}
	return d
}
