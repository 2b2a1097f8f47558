package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
	"github.com/apserver/ap/core/server"
	"github.com/apserver/ap/core/server/servertest"
)

const twoRoles = `---
name: two-roles
description: Two people decide.
steps:
  - {id: first, approve: First?, person: finance-approver}
  - {id: second, approve: Second?, person: "head of sales", next: done}
  - {id: done, finish: done}
---
`

// Every role must be bound to a group before publication (protocol.md 1.8), and the refusal says how.
func TestUnboundRolesAreRefusedAtPublicationAllAtOnce(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	imported(t, f, twoRoles)
	_, err := f.Server.Publish(t.Context(), "two-roles")
	e := refusedError(t, err, run.Invalid)
	require.Equal(t, []string{
		"role finance-approver: not bound to a group; bind it with `ap bind two-roles finance-approver=GROUP`",
		"role head of sales: not bound to a group; bind it with `ap bind two-roles 'head of sales'=GROUP`",
	}, e.Issues)
	require.NoError(t, f.Bind(t.Context(), "two-roles", map[string]string{"finance-approver": "Finance"}))
	_, err = f.Server.Publish(t.Context(), "two-roles")
	require.Len(t, refusedError(t, err, run.Invalid).Issues, 1)
	require.NoError(t, f.Bind(t.Context(), "two-roles", map[string]string{"head of sales": "Sales heads"}))
	v, err := f.Server.Publish(t.Context(), "two-roles")
	require.NoError(t, err)
	require.Equal(t, 1, v.Number)
	info, err := f.Process(t.Context(), "two-roles")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"finance-approver": "Finance", "head of sales": "Sales heads"}, info.Roles)
}

// A profile that is not offered is refused at publication (protocol.md 1.8), by name.
func TestAProfileThatIsNotOfferedIsRefusedAtPublication(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	imported(t, f, strings.Replace(review, "    output:\n      title", "    check: Is it polite?\n    output:\n      title", 1))
	require.NoError(t, f.Bind(t.Context(), "review", map[string]string{"editor": "editors"}))
	_, err := f.Server.Publish(t.Context(), "review")
	require.Equal(t, []string{"profile check-1: the process uses it and this server doesn't offer it"}, refusedError(t, err, run.Invalid).Issues)

	fork := "---\nname: fork\ndescription: Two at once.\nsteps:\n- {id: both, parallel: [a, b], next: done}\n- {id: a, agent: A., next: join}\n- {id: b, agent: B., next: join}\n- {id: done, finish: done}\n---\n"
	f.Publish(fork, nil)
	none := servertest.New(t, func(o *server.Options) { o.Profiles = []string{} })
	imported(t, none, fork)
	_, err = none.Server.Publish(t.Context(), "fork")
	require.Equal(t, []string{"profile parallel-1: the process uses it and this server doesn't offer it"}, refusedError(t, err, run.Invalid).Issues)
	require.Contains(t, string(none.Call(worker, "describe", args{}).Data), `"profiles":[]`)
}

// Publishing unchanged content returns the existing version; a version never changes; runs pin theirs (protocol.md 1.8).
func TestVersionsAreNumberedAndPinned(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	first := f.Publish(review, nil)
	require.Equal(t, first, f.Publish(review, nil))
	old := f.Begin(editor, "review", args{"topic": "x"})
	changed := strings.Replace(review, "Write the report.", "Write a better report.", 1)
	second := f.Publish(changed, nil)
	require.Equal(t, []int{1, 2}, []int{first.Number, second.Number})
	require.Equal(t, 3, f.Publish(review, nil).Number, "going back is a version of its own")
	require.Equal(t, "Write the report.", f.Take(worker, old.Run.ID, "write").Step.Instructions)
	chosen := servertest.Into[servertest.View](t, f.Write(editor, "start_run", args{"process": "review", "version": 2, "inputs": args{"topic": "x"}}))
	require.Equal(t, "Write a better report.", f.Take(worker, chosen.Run.ID, "write").Step.Instructions)
	require.Equal(t, 3, f.Begin(editor, "review", args{"topic": "x"}).Run.Version)

	v, doc, err := f.VersionSource(t.Context(), "review", 2)
	require.NoError(t, err)
	require.Equal(t, changed, string(v.Source))
	require.Equal(t, v.Hash, doc.Hash)
	v, _, err = f.VersionSource(t.Context(), "review", 0)
	require.NoError(t, err)
	require.Equal(t, 3, v.Number)
	_, _, err = f.VersionSource(t.Context(), "review", 4)
	require.Contains(t, refusedError(t, err, run.NotFound).Message, "its latest is 3")
	info, err := f.Process(t.Context(), "review")
	require.NoError(t, err)
	require.Len(t, info.Versions, 3)
}

func TestUnknownNamesAreRefusedWithTheNearest(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	imported(t, f, twoRoles)
	_, err := f.Process(t.Context(), "revue")
	require.Contains(t, refusedError(t, err, run.NotFound).Message, `There is no process "revue"; did you mean review?`)
	_, err = f.Server.Publish(t.Context(), "something else entirely")
	require.NotContains(t, refusedError(t, err, run.NotFound).Message, "did you mean")
	_, _, err = f.VersionSource(t.Context(), "revew", 0)
	require.Contains(t, refusedError(t, err, run.NotFound).Message, "did you mean review?")
	_, _, err = f.VersionSource(t.Context(), "two-roles", 0)
	require.Contains(t, refusedError(t, err, run.NotFound).Message, "ap publish two-roles")
	err = f.Bind(t.Context(), "two-roles", map[string]string{"finance-aprover": "x", "initiator": "x", "head of sales": " "})
	require.Equal(t, []string{
		"finance-aprover: no such role in two-roles; did you mean finance-approver?",
		"head of sales: the group's name is blank",
		"initiator: is the person who started the run; it isn't bound",
	}, refusedError(t, err, run.Invalid).Issues)
	info, err := f.Process(t.Context(), "two-roles")
	require.NoError(t, err)
	require.Equal(t, "", info.Roles["head of sales"], "nothing was bound")
	refused(t, f.Write(editor, "start_run", args{"process": "two-roles", "inputs": args{}}), run.NotFound)
	all, err := f.Processes(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Nil(t, all[1].Latest)
}

// A new binding takes effect in runs that go on: an item opened afterwards goes to the new group, an open one stays.
func TestABindingTakesEffectAtOnce(t *testing.T) {
	t.Parallel()
	f := servertest.New(t)
	f.Publish(review, nil)
	item := func() servertest.Item {
		v := f.Begin(editor, "review", args{"topic": "x"})
		return f.Finish(worker, f.Take(worker, v.Run.ID, "write").Token, args{"title": "x"}).WorkItems[0]
	}
	before := item()
	// Another process binds: this server's caches know nothing of it.
	require.NoError(t, f.Again().Bind(t.Context(), "review", map[string]string{"editor": "reviewers"}))
	require.Equal(t, "reviewers", item().AssignedTo.Group)
	require.Equal(t, "editor", before.AssignedTo.Group)
	require.True(t, f.DecideItem(editor, before, "approved", nil).OK)
}

// Every published process can be published here, but for the profile that isn't offered.
func TestThePublicProcessesCanBePublished(t *testing.T) {
	t.Parallel()
	dir, ok := servertest.Upstream()
	if !ok {
		t.Skip("the public processes aren't at ../shared/upstream")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "PROCESS.md"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			f := servertest.New(t)
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			doc, issues := process.Parse(source, process.Options{Folder: filepath.Base(filepath.Dir(file))})
			require.NotNil(t, doc, "%v", issues)
			if strings.Contains(file, "vendor-check") {
				imported(t, f, string(source))
				_, err := f.Server.Publish(t.Context(), doc.Name)
				require.Contains(t, strings.Join(refusedError(t, err, run.Invalid).Issues, "\n"), "profile check-1")
				return
			}
			require.Equal(t, doc.Hash, f.Publish(string(source), nil).Hash)
			require.True(t, f.Call(worker, "list_processes", args{}).OK)
		})
	}
}
