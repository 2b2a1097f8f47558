package web

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// How many callers a limiter remembers. One that was forgotten begins with a full burst again.
const limitersKept = 8192

// limiters is a rate limit for each of many callers.
type limiters struct {
	perSecond rate.Limit
	burst     int
	callers   *lru.Cache[string, *rate.Limiter]
}

// newLimiters returns limiters of perSecond events and burst at once; perSecond 0 sets no limit.
func newLimiters(perSecond float64, burst int) *limiters {
	callers, err := lru.New[string, *rate.Limiter](limitersKept)
	if err != nil {
		panic(err) // only for a size below one
	}
	if perSecond <= 0 {
		return &limiters{perSecond: rate.Inf, callers: callers}
	}
	return &limiters{perSecond: rate.Limit(perSecond), burst: max(burst, 1), callers: callers}
}

// allow takes one event of a caller; wait is how long until the next one would be allowed.
func (l *limiters) allow(caller string) (wait time.Duration, ok bool) {
	if l.perSecond == rate.Inf {
		return 0, true
	}
	limiter, known := l.callers.Get(caller)
	if !known {
		limiter = rate.NewLimiter(l.perSecond, l.burst)
		if before, existed, _ := l.callers.PeekOrAdd(caller, limiter); existed {
			limiter = before
		}
	}
	r := limiter.Reserve()
	if wait := r.Delay(); wait > 0 {
		r.Cancel()
		return wait, false
	}
	return 0, true
}

// retryAfter sets Retry-After (RFC 9110 10.2.3), in whole seconds, at least one.
func retryAfter(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int((wait+time.Second-1)/time.Second))))
}

// limitConcurrent refuses requests beyond n under way; n 0 sets no limit. What must work while the server is busy, and
// what waits by design, isn't counted.
func limitConcurrent(n int, next http.Handler) http.Handler {
	if n <= 0 {
		return next
	}
	places := make(chan struct{}, n)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/healthz", "/readyz", "/metrics", "/events":
			next.ServeHTTP(w, r)
			return
		}
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			next.ServeHTTP(w, r)
		default:
			retryAfter(w, time.Second)
			http.Error(w, "The server is busy. Try again in a moment.", http.StatusServiceUnavailable)
		}
	})
}

// remoteAddress is the address a request comes from. A proxy on this machine says it in the last entry of
// X-Forwarded-For; what a client wrote before that is not believed.
func remoteAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	if forwarded := r.Header.Values("X-Forwarded-For"); len(forwarded) > 0 && net.ParseIP(host).IsLoopback() {
		last := forwarded[len(forwarded)-1]
		last = strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
		if net.ParseIP(last) != nil {
			return last
		}
	}
	return host
}
