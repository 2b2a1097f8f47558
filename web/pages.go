package web

import "net/http"

// registerPages registers the inbox, items, runs, processes and static files.
func (h *site) registerPages(mux *http.ServeMux) {}
