package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/apserver/ap/core/process"
	"github.com/apserver/ap/core/run"
)

// maxVersion is the largest integer that every JSON reader holds exactly.
const maxVersion = 1<<53 - 1

func startRunTool() *tool {
	return newTool(tool{
		name: toolStartRun,
		description: "Start a run of a published process. inputs must have exactly the fields that list_processes shows for it, with their types; every problem comes back at once. " +
			"With mode test nothing real may happen: rehearse with it. Returns the run view.",
		args: []arg{
			{name: "process", required: true, help: "The process's name, as list_processes shows it."},
			{name: "version", kind: integer, min: 1, max: maxVersion, help: "The version to run. Default: the latest."},
			{name: "inputs", kind: object, required: true, help: "The inputs by field name; {} for a process without inputs."},
			{name: "mode", enum: []string{string(run.Live), string(run.Test)}, fallback: "live", help: "test for a rehearsal without real effects."},
			requestIDArg(),
		},
		call: func(s *Server, ctx context.Context, id Identity, a *arguments) (any, error) {
			return s.startRun(ctx, id, a)
		},
	})
}

// StartRunArgs are the arguments of start_run. Mode "" is live; Version 0 the latest.
type StartRunArgs struct {
	Process   string
	Version   int
	Inputs    json.RawMessage
	Mode      run.Mode
	RequestID string
}

// StartRun starts a run (an agent, a person or the admin).
func (s *Server) StartRun(ctx context.Context, id Identity, a StartRunArgs) (*run.View, error) {
	var args members
	args.add("process", a.Process)
	if a.Version != 0 {
		args.add("version", a.Version)
	}
	if len(a.Inputs) == 0 {
		a.Inputs = json.RawMessage("{}")
	}
	args.add("inputs", a.Inputs)
	if a.Mode != "" {
		args.add("mode", a.Mode)
	}
	args.add("requestId", a.RequestID)
	return invoke[*run.View](ctx, s, id, toolStartRun, args)
}

func (s *Server) startRun(ctx context.Context, id Identity, a *arguments) (*run.View, error) {
	var doc *process.Document
	var version int
	err := s.store.Read(ctx, func(r Reader) (err error) {
		doc, version, err = s.startable(r, id, a.text("process"), a.number("version", 0))
		return err
	})
	if refused := (*Error)(nil); errors.As(err, &refused) {
		again, err := s.unlessReplayed(ctx, id, a, refused)
		if err != nil {
			return nil, err
		}
		return s.runView(again), nil
	} else if err != nil {
		return nil, storeError(err)
	}
	runID := s.opts.IDs.New("r_", s.opts.Clock.Now())
	done, err := s.write(ctx, write{args: a, id: id, runID: runID, document: doc, command: run.Start{
		RunID: runID, Process: doc.Name, Version: version,
		Test:   a.text("mode") == string(run.Test),
		Inputs: a.raw("inputs"),
		By:     id.By(), Human: id.Kind == Person,
	}})
	if err != nil {
		return nil, err
	}
	return s.runView(done), nil
}

// startable finds the version of a process that a caller may start.
func (s *Server) startable(r Reader, id Identity, name string, version int) (*process.Document, int, error) {
	latest, err := r.Latest(name)
	if errors.Is(err, ErrNotFound) || err == nil && latest == 0 {
		return nil, 0, s.unknownProcess(r, name, true)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading process %s: %w", name, err)
	}
	if id.Kind == Agent && !id.MayWork(name) {
		return nil, 0, forbidden("This agent isn't open to the process %s", name)
	}
	if version == 0 {
		version = latest
	}
	doc, number, err := s.document(r, name, version)
	if errors.Is(err, ErrNotFound) {
		return nil, 0, notFound("The process %s has no version %d; its latest is %d", name, version, latest)
	}
	return doc, number, err
}
