package web

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Live updates: a stream of server-sent events that says "changed" after something did, and nothing of what. A page
// that hears it asks for itself again, with the rights its person has then.
const (
	// eventsEvery is the least time between two events of a stream.
	eventsEvery = 500 * time.Millisecond
	// heartbeat keeps proxies from closing a quiet stream; the session is looked at as often.
	heartbeat = 20 * time.Second
	// streamsMax is how many streams are open at once.
	streamsMax = 2000
)

// events serves /events to whoever is signed in. It is no use of the session: an open page alone doesn't keep it alive.
func (h *site) events(w http.ResponseWriter, r *http.Request) {
	if _, _, ok := h.person(r); !ok {
		http.Error(w, "Sign in first.", http.StatusUnauthorized)
		return
	}
	select {
	case h.streams <- struct{}{}:
		defer func() { <-h.streams }()
	default:
		retryAfter(w, heartbeat)
		http.Error(w, "Too many open streams.", http.StatusServiceUnavailable)
		return
	}
	h.metrics.streams.Inc()
	defer h.metrics.streams.Dec()
	changed, end := h.srv.Changed()
	defer end()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	h.stream(r.Context(), http.NewResponseController(w), w, changed)
}

func (h *site) stream(ctx context.Context, control *http.ResponseController, w http.ResponseWriter, changed <-chan struct{}) {
	token := h.sessions.Token(ctx)
	beat := time.NewTicker(h.heartbeat)
	defer beat.Stop()
	send := func(text string) bool {
		// The server's write timeout is for answers that end.
		_ = control.SetWriteDeadline(time.Now().Add(heartbeat))
		if _, err := fmt.Fprint(w, text); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	if !send("retry: 3000\n\n") {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.opts.Closing:
			return
		case <-beat.C:
			if !h.stillSignedIn(token) {
				send("event: signed-out\ndata: {}\n\n")
				return
			}
			if !send(": \n\n") {
				return
			}
		case _, open := <-changed:
			if !open || !send("event: changed\ndata: {}\n\n") {
				return
			}
			select { // what changes meanwhile is in the channel, as one
			case <-time.After(eventsEvery):
			case <-ctx.Done():
				return
			case <-h.opts.Closing:
				return
			}
		}
	}
}

// stillSignedIn looks at a session as it is kept now.
func (h *site) stillSignedIn(token string) bool {
	ctx, err := h.sessions.Load(context.Background(), token)
	if err != nil {
		return false
	}
	_, ok := h.sessionLogin(ctx)
	return ok
}
