package web

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

// requestInfo is what the log says of a request beside its first line. It is filled in by the request's own goroutine.
type requestInfo struct {
	id string
	by string
}

type requestInfoKey struct{}

// infoOf returns the requestInfo of a context, or one that nobody reads.
func infoOf(ctx context.Context) *requestInfo {
	if info, ok := ctx.Value(requestInfoKey{}).(*requestInfo); ok {
		return info
	}
	return &requestInfo{}
}

// logRequests gives each request an id, logs it once it is answered, and turns a panic into a logged 500. Paths are
// logged without their query: that of a signed file is its key.
func (h *site) logRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := &requestInfo{id: rand.Text()[:16]}
		r = r.WithContext(context.WithValue(r.Context(), requestInfoKey{}, info))
		w.Header().Set("X-Request-Id", info.id)
		sw := &statusWriter{ResponseWriter: w}
		start := time.Now()
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				h.log.ErrorContext(r.Context(), "panic", "request", info.id, "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
				if sw.status == 0 {
					h.internal(sw, r)
				}
			}
			h.metrics.request(routeOf(r.URL.Path), sw.status, time.Since(start))
			if level := requestLevel(r.URL.Path, sw.status); h.log.Enabled(r.Context(), level) {
				h.log.LogAttrs(r.Context(), level, "request",
					slog.String("request", info.id), slog.String("method", r.Method), slog.String("path", r.URL.Path),
					slog.Int("status", sw.status), slog.Duration("duration", time.Since(start)),
					slog.String("by", info.by), slog.String("remote", remoteAddress(r)))
			}
		}()
		next.ServeHTTP(sw, r)
	})
}

// internal answers a request that failed for a reason of ours.
func (h *site) internal(w http.ResponseWriter, r *http.Request) {
	if routeOf(r.URL.Path) == "/mcp" {
		http.Error(w, "internal error, request "+infoOf(r.Context()).id, http.StatusInternalServerError)
		return
	}
	h.fail(w, r, http.StatusInternalServerError, "Something went wrong",
		"The server has logged what happened. Try again; if it happens again, tell your administrator the request number "+infoOf(r.Context()).id+".")
}

// requestLevel is the level at which a request is logged: calls of tools log themselves, probes are noise.
func requestLevel(path string, status int) slog.Level {
	switch {
	case status >= 500:
		return slog.LevelError
	case status >= 400:
		return slog.LevelInfo
	case path == "/mcp" || path == "/healthz" || path == "/readyz" || path == "/metrics" || strings.HasPrefix(path, "/static/"):
		return slog.LevelDebug
	default:
		return slog.LevelInfo
	}
}

// statusWriter remembers the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
