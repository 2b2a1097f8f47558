package web

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// healthz says that the process answers.
func (h *site) healthz(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte("ok\n"))
}

// readiness is the answer of /readyz.
type readiness struct {
	Ready bool `json:"ready"`
	// Database is "ok" or "not writable"; Issuer "ok", "unreachable" or "none". An issuer that is down stops nobody who
	// is signed in already, so that it is a detail.
	Database string `json:"database"`
	Issuer   string `json:"issuer"`
}

// readyz says whether the server can do its work: 503 when the database can't be written or the server is closing.
func (h *site) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
	defer cancel()
	answer := readiness{Database: "ok", Issuer: h.issuerState(ctx)}
	if h.opts.Ready != nil {
		if err := h.opts.Ready(); err != nil {
			h.log.ErrorContext(ctx, "the database can't be written", "error", err)
			answer.Database = "not writable"
		}
	}
	answer.Ready = answer.Database == "ok" && !h.closing()
	status := http.StatusOK
	if !answer.Ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, answer)
}

func (h *site) issuerState(ctx context.Context) string {
	if h.issuer == nil {
		return "none"
	}
	if err := h.issuer.ping(ctx); err != nil {
		return "unreachable"
	}
	return "ok"
}

// closing says whether the server has begun to shut down.
func (h *site) closing() bool {
	select {
	case <-h.opts.Closing:
		return true
	default:
		return false
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}
