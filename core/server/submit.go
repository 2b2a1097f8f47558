package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apserver/ap/core/run"
)

// errBadToken says that a token is not one of ours (protocol.md 3).
var errBadToken = refusal(run.Invalid, "The token doesn't verify: pass it exactly as claim or renew returned it", "token: does not verify")

func evidenceArg() arg {
	return arg{name: "evidence", kind: evidence, help: "What proves the work: files that you uploaded and links. Every kind that the step asks for must be there."}
}

// submissionArgs are the arguments that submit and decide share, output apart.
func submissionArgs() []arg {
	return []arg{
		evidenceArg(),
		{name: "summary", max: 2000, help: "What was done, what was found and what was left undone, in a few sentences. Approvers read it."},
		{name: "next", help: "The route taken, one of the step's next; only where it has any."},
		{name: "reason", max: 4000, help: "Why this route; required with next."},
	}
}

func submitTool() *tool {
	args := append([]arg{
		tokenArg(),
		{name: "output", kind: object, required: true, help: "The step's output fields by name, with the types that claim showed; {} where it declares none."},
	}, submissionArgs()...)
	args[3].required = true // an agent's summary
	return newTool(tool{
		name: toolSubmit,
		description: "Hand in the work of a claimed step. When everything the step asks for is there, the step is done and the run goes on; the run view comes back. " +
			"not_accepted: nothing changed and your claim stands; issues lists everything to mend, mend it and submit again. stale: the claim ended, stop and call get_work.",
		args: append(args, requestIDArg()),
		call: func(s *Server, ctx context.Context, id Identity, a *arguments) (any, error) {
			done, err := s.writeWithToken(ctx, id, a, func(ref run.ClaimRef) run.Command {
				return run.Submit{Ref: ref, By: id.By(), Submission: submission(a)}
			})
			if err != nil {
				return nil, err
			}
			return s.runView(done), nil
		},
	})
}

func escalateTool() *tool {
	return newTool(tool{
		name: toolEscalate,
		description: "Hand a claimed step that you can't finish to a person, with a note that says why and what they need to know. " +
			"Your claim ends and your token is dead; the run view comes back. Escalate rather than guess.",
		args: []arg{
			tokenArg(),
			{name: "note", required: true, max: 4000, nonBlank: true, help: "Why you can't finish, and what the person needs to know."},
			requestIDArg(),
		},
		call: func(s *Server, ctx context.Context, id Identity, a *arguments) (any, error) {
			done, err := s.writeWithToken(ctx, id, a, func(ref run.ClaimRef) run.Command {
				return run.Escalate{Ref: ref, By: id.By(), Note: a.text("note")}
			})
			if err != nil {
				return nil, err
			}
			return s.runView(done), nil
		},
	})
}

func submission(a *arguments) run.Submission {
	return run.Submission{
		Output:   a.raw("output"),
		Evidence: a.evidence("evidence"),
		Summary:  a.optional("summary"),
		Next:     a.optional("next"),
		Reason:   a.optional("reason"),
	}
}

// writeWithToken carries out a write to the run that a token names. The token is verified after a replay was looked for
// and before anything else (protocol.md 6, 7); whether it is current is the command's to decide.
func (s *Server) writeWithToken(ctx context.Context, id Identity, a *arguments, command func(run.ClaimRef) run.Command) (written, error) {
	runID, ref, ok := s.sign.verifyToken(a.text("token"))
	if !ok {
		return s.unlessReplayed(ctx, id, a, errBadToken)
	}
	return s.write(ctx, write{args: a, id: id, runID: runID, command: command(ref)})
}

// namesFiles says whether a call's evidence names uploads.
func (a *arguments) namesFiles() bool {
	return a.tool.position("evidence") >= 0 && slices.ContainsFunc(a.evidence("evidence"), func(e run.Evidence) bool { return e.Kind == "file" })
}

// evidenceFiles hashes again the files that a submission names, outside the writer (protocol.md 3).
func (s *Server) evidenceFiles(ctx context.Context, a *arguments) (map[string]run.File, error) {
	files := map[string]run.File{}
	hashed := map[string]bool{} // by recorded hash: whether the bytes still match
	for _, e := range a.evidence("evidence") {
		if _, done := files[e.Ref]; done || e.Kind != "file" {
			continue
		}
		f, err := s.checkFile(ctx, e.Ref, hashed)
		if err != nil {
			return nil, err
		}
		files[e.Ref] = f
	}
	return files, nil
}

func (s *Server) checkFile(ctx context.Context, ref string, hashed map[string]bool) (run.File, error) {
	up, err := s.uploadRow(ctx, ref)
	if errors.Is(err, ErrNotFound) {
		return run.File{}, nil
	}
	if err != nil {
		return run.File{}, err
	}
	same, known := hashed[up.SHA256]
	if !known {
		sum, err := s.hashFile(ctx, up.SHA256)
		if err != nil {
			return run.File{}, fmt.Errorf("hashing the file %s: %w", ref, err)
		}
		same = sum == up.SHA256
		hashed[up.SHA256] = same
	}
	return run.File{Found: true, Changed: !same, SHA256: up.SHA256}, nil
}

// uploadRow reads the row of an upload.
func (s *Server) uploadRow(ctx context.Context, id string) (up Upload, err error) {
	err = s.store.Read(ctx, func(r Reader) (err error) {
		up, err = r.Upload(id)
		return err
	})
	return up, storeError(err)
}

// hashFile returns the SHA-256 of stored bytes in hex; "" when they are gone, which is a change too.
func (s *Server) hashFile(ctx context.Context, sum string) (string, error) {
	f, err := s.files.Open(ctx, sum)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
