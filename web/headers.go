package web

import (
	"net/http"
	"strings"
)

// pagePolicy is the Content-Security-Policy of the pages: nothing inline, nothing from elsewhere. Signed files may be
// shown in frames; the pages may not.
var pagePolicy = strings.Join([]string{
	"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "font-src 'self'",
	"connect-src 'self'", "manifest-src 'self'", "frame-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'",
}, "; ")

// secureHeaders sets the headers that keep a page to itself. A handler may set its own instead.
func secureHeaders(https bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		set := w.Header().Set
		set("X-Content-Type-Options", "nosniff")
		set("Cache-Control", "no-store")
		if https {
			set("Strict-Transport-Security", "max-age=31536000")
		}
		if r.URL.Path != "/mcp" {
			set("Content-Security-Policy", pagePolicy)
			set("X-Frame-Options", "DENY")
			set("Referrer-Policy", "same-origin")
			set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
			set("Cross-Origin-Opener-Policy", "same-origin")
			set("Cross-Origin-Resource-Policy", "same-origin")
		}
		next.ServeHTTP(w, r)
	})
}
