package server

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

func uploadTool() *tool {
	return newTool(tool{
		name: toolUpload,
		description: "Store a file and get its id, for a step whose evidence asks for a file: submit it as {kind: file, ref: id}. " +
			"The file is kept as long as the run's record. describe says how large it may be (maxUploadBytes).",
		args: []arg{
			{name: "fileName", required: true, min: 1, max: 255, help: "The file's name, such as report.pdf."},
			{name: "contentType", required: true, min: 1, max: 160, help: "Its media type, such as application/pdf."},
			{name: "contentBase64", required: true, min: 1, base64: true, help: "Its bytes in standard base64, padded."},
			requestIDArg(),
		},
		call: func(s *Server, ctx context.Context, id Identity, a *arguments) (any, error) {
			return s.storeUpload(ctx, id, a)
		},
	})
}

// UploadArgs are the arguments of upload, with the content decoded.
type UploadArgs struct {
	FileName, ContentType string
	Content               []byte
	RequestID             string
}

// UploadResult is the result of upload.
type UploadResult struct {
	ID     string `json:"id"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// Upload stores a file (an agent or a person).
func (s *Server) Upload(ctx context.Context, id Identity, a UploadArgs) (UploadResult, error) {
	var args members
	args.add("fileName", a.FileName)
	args.add("contentType", a.ContentType)
	args.add("contentBase64", base64.StdEncoding.EncodeToString(a.Content))
	args.add("requestId", a.RequestID)
	return invoke[UploadResult](ctx, s, id, toolUpload, args)
}

// storeUpload keeps the bytes before the row that names them: a row never points at nothing.
func (s *Server) storeUpload(ctx context.Context, id Identity, a *arguments) (UploadResult, error) {
	content, err := s.uploadContent(a)
	if err != nil {
		return UploadResult{}, err
	}
	hash := a.hash()
	requestID := a.text("requestId")
	var req Request
	var again bool
	err = s.store.Read(ctx, func(r Reader) (err error) {
		req, again, err = s.recorded(r, a)
		return err
	})
	if err != nil {
		return UploadResult{}, storeError(err)
	}
	if again {
		return s.replayUpload(a, id, hash, req)
	}
	sum := sha256.Sum256(content)
	now := s.opts.Clock.Now()
	up := Upload{
		ID: s.opts.IDs.New("f_", now), SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(content)),
		FileName: a.text("fileName"), ContentType: a.text("contentType"), By: id.By(), At: now,
	}
	if err := s.files.Put(ctx, up.SHA256, content); err != nil {
		return UploadResult{}, fmt.Errorf("storing an upload: %w", storeError(err))
	}
	result := UploadResult{ID: up.ID, SHA256: up.SHA256, Bytes: up.Bytes}
	ref, err := json.Marshal(result)
	if err != nil {
		return UploadResult{}, fmt.Errorf("encoding the upload's result: %w", err)
	}
	err = s.store.Write(ctx, func(w Writer) (err error) {
		if req, again, err = s.recorded(w, a); again || err != nil {
			return err
		}
		if err := w.PutUpload(up); err != nil {
			return fmt.Errorf("storing the upload: %w", err)
		}
		return w.PutRequest(Request{ID: requestID, Tool: a.tool.name, Args: hash, By: id.By(), At: now, Ref: ref})
	})
	if err != nil {
		return UploadResult{}, storeError(err)
	}
	if again {
		return s.replayUpload(a, id, hash, req)
	}
	return result, nil
}

// uploadContent decodes the content and holds it to the limit.
func (s *Server) uploadContent(a *arguments) ([]byte, error) {
	content, err := base64.StdEncoding.DecodeString(a.text("contentBase64"))
	switch {
	case err != nil:
		return nil, invalid("The file's content isn't base64", "contentBase64: expected standard base64, padded")
	case int64(len(content)) > s.opts.MaxUploadBytes:
		return nil, invalid("The file is too large", fmt.Sprintf("contentBase64: %d bytes, limit %d", len(content), s.opts.MaxUploadBytes))
	}
	return content, nil
}

func (s *Server) replayUpload(a *arguments, id Identity, hash []byte, req Request) (UploadResult, error) {
	if err := sameRequest(a, id, hash, req); err != nil {
		return UploadResult{}, err
	}
	var result UploadResult
	if err := json.Unmarshal(req.Ref, &result); err != nil {
		return UploadResult{}, fmt.Errorf("reading the result of request %q: %w", req.ID, err)
	}
	return result, nil
}

// OpenFile opens an upload whose signed URL (path and query) verifies; the caller closes it. An expired or forged URL is
// forbidden.
func (s *Server) OpenFile(ctx context.Context, fileID, query string) (Upload, io.ReadCloser, error) {
	expires, ok := s.sign.verifyFileURL(fileID, query)
	if !ok {
		return Upload{}, nil, forbidden("This link isn't one that the server made")
	}
	if !s.opts.Clock.Now().Before(expires) {
		return Upload{}, nil, forbidden("This link has expired; open the run again for a new one")
	}
	up, err := s.uploadRow(ctx, fileID)
	if errors.Is(err, ErrNotFound) {
		return Upload{}, nil, notFound("There is no file %q", shown(fileID))
	}
	if err != nil {
		return Upload{}, nil, err
	}
	f, err := s.files.Open(ctx, up.SHA256)
	if errors.Is(err, ErrNotFound) {
		return Upload{}, nil, notFound("The bytes of file %q are gone", shown(fileID))
	}
	if err != nil {
		return Upload{}, nil, fmt.Errorf("opening the file %s: %w", fileID, err)
	}
	return up, f, nil
}
