package server

import (
	"context"
	"time"

	"github.com/apserver/ap/core/run"
)

func getRunTool() *tool {
	return newTool(tool{
		name: toolGetRun,
		description: "The run view: the run's state, all run data, each step's state, the open work items with their exact decide calls, and the process's text. " +
			"Files in it carry a url that works for a few minutes.",
		args: []arg{runIDArg()},
		call: func(s *Server, ctx context.Context, id Identity, a *arguments) (any, error) {
			return s.GetRun(ctx, id, a.text("runId"))
		},
	})
}

// GetRun returns the run view (anyone).
func (s *Server) GetRun(ctx context.Context, id Identity, runID string) (*run.View, error) {
	if id.Kind == Nobody {
		return nil, errNobody
	}
	var c current
	err := s.store.Read(ctx, func(r Reader) (err error) {
		c, err = s.advanced(r, runID)
		return err
	})
	if err != nil {
		return nil, storeError(err)
	}
	return run.NewView(c.doc, c.state, s.viewNow(c.now)), nil
}

// viewNow are the options of a view as of now.
func (s *Server) viewNow(now time.Time) run.ViewOptions {
	return s.view(now, s.opts.BaseURL, s.opts.FileURLTTL)
}

// view are the options of a view at some time, its signed URLs beginning with base and working for ttl.
func (s *Server) view(now time.Time, base string, ttl time.Duration) run.ViewOptions {
	return run.ViewOptions{
		Now:     now,
		FileURL: func(ref string, now time.Time) string { return base + s.sign.fileURL(ref, now.Add(ttl)) },
	}
}
