package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/apserver/ap/web"
)

func newServeCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the MCP endpoint and the inbox",
		Long: `Serve runs the process server on the data directory: /mcp for agents, the inbox for people. It prints "ap: serving URL" on
stderr when it is ready, and finishes what is under way when it is told to stop (SIGTERM or Ctrl-C).

Every flag can also be a variable (AP_ADDR) or a key of ap.yaml (addr); docs/configuration.md lists them all.`,
		Example: "  ap serve --dev\n  ap serve --addr :8080 --base-url https://ap.example.com --oidc-issuer https://login.example.com --oidc-client-id ap",
		GroupID: groupServer,
		Args:    nArgs(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.settings()
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal ends the program at once
			log := newLogger(a.err, s)
			site, err := listen(ctx, s, log)
			if err != nil {
				return err
			}
			defer site.close()
			fmt.Fprintf(a.err, "ap: serving %s\n", site.url)
			a.serveHints(site)
			return site.serve(ctx)
		},
	}
	addSettingFlags(cmd.Flags())
	return cmd
}

// serveHints says what an admin should know about how the server was started.
func (a *app) serveHints(site *site) {
	s := site.settings
	switch {
	case a.quiet:
	case s.Dev:
		fmt.Fprintf(a.err, "ap: development mode: anyone on this machine can sign in as anyone; open %s/inbox\n", site.url)
	case s.OIDCIssuer == "":
		fmt.Fprintln(a.err, "ap: nobody can sign in, for there is no identity provider; set oidc-issuer (docs/sign-in.md), or try --dev")
	}
}

// Limits of a connection: how long a request's headers and then its body may take to arrive, how long the whole exchange
// may take (streams of events lengthen theirs), how long a connection may idle.
const (
	headerTimeout  = 10 * time.Second
	requestTimeout = 2 * time.Minute
	answerTimeout  = 5 * time.Minute
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
)

// site is a server that listens, on an open data directory that is its alone to serve.
type site struct {
	*backend
	url      string
	listener net.Listener
	// unlock lets another server have the data directory.
	unlock func()
	http   *http.Server
	// closing is closed when the server begins to shut down.
	closing chan struct{}
	// endRequests ends what is still under way.
	endRequests context.CancelFunc
}

// listen opens the data directory, claims it, and listens; nothing is served yet. The caller closes the site.
func listen(ctx context.Context, s *settings, log *slog.Logger) (*site, error) {
	b, err := openData(ctx, s, createData, log)
	if err != nil {
		return nil, err
	}
	site := &site{backend: b, closing: make(chan struct{})}
	if err := site.start(ctx); err != nil {
		site.close()
		return nil, err
	}
	return site, nil
}

func (x *site) start(ctx context.Context) error {
	s := x.settings
	if moved := x.clock.Offset(); moved != 0 && !s.Dev {
		return refused("the clock of %s was moved by %s in development mode, and runs in it lie in the future; "+
			"serve it with --dev, or another directory with --data", s.Data, moved)
	}
	var err error
	if x.listener, err = net.Listen("tcp", s.Addr); err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			// Where it is a server of this very directory that listens there, say so: it is no other program.
			unlock, err := x.db.LockServe(s.BaseURL)
			if err != nil {
				return err
			}
			unlock()
			return usage("%s is in use by another program; stop it, or choose another address with --addr (port 0 takes a free one)", s.Addr)
		}
		return usage("%v; choose another address with --addr", err)
	}
	x.url = s.BaseURL
	if x.url == "" {
		x.url = "http://" + reachable(x.listener.Addr())
	}
	if x.unlock, err = x.db.LockServe(x.url); err != nil {
		return err
	}
	x.serveAt(x.url)

	var devClock web.DevClock
	if s.Dev {
		devClock = x.clock
	}
	web.RoomyHeap()
	handler, err := web.Handler(x.srv, web.Options{
		BaseURL: x.url,
		Logger:  x.log,
		OIDC: web.OIDCOptions{
			Issuer: s.OIDCIssuer, ClientID: s.OIDCClientID, ClientSecret: s.OIDCClientSecret, Scopes: s.OIDCScopes,
			GroupsClaim: s.OIDCGroupsClaim, Audience: s.OIDCAudience, RequireEmailVerified: s.OIDCRequireVerified,
			DecideMaxAge: s.DecideMaxAge,
		},
		Dev:             s.Dev,
		DevClock:        devClock,
		PeopleOverMCP:   s.PeopleOverMCP,
		Sessions:        x.db.Sessions(),
		SessionLifetime: s.SessionLifetime,
		SessionIdle:     s.SessionIdle,
		RateLimit:       s.RateLimit,
		Burst:           s.RateBurst,
		MaxConcurrent:   s.MaxConcurrent,
		Ready:           x.db.Writable,
		Version:         version(),
		DevSecret:       x.db.Secret(),
		Closing:         x.closing,
		Collectors:      x.db.Collectors(),
	})
	if err != nil {
		return err
	}
	requests, endRequests := context.WithCancel(context.WithoutCancel(ctx))
	x.endRequests = endRequests
	x.http = &http.Server{
		Handler:           arriveWithin(requestTimeout, handler),
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          slog.NewLogLogger(x.log.Handler(), slog.LevelDebug),
	}
	return nil
}

// serve serves until ctx ends, then lets requests under way finish.
func (x *site) serve(ctx context.Context) error {
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error { return x.srv.Run(inner) })
	group.Go(func() error {
		if err := x.http.Serve(x.listener); !errors.Is(err, http.ErrServerClosed) {
			return failed("serving", err)
		}
		return nil
	})
	group.Go(func() error {
		<-inner.Done()
		return x.drain()
	})
	err := group.Wait()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// drain stops listening and waits for requests under way; those that are still there after the shutdown timeout are
// ended.
func (x *site) drain() error {
	close(x.closing)
	ctx, cancel := context.WithTimeout(context.Background(), x.settings.ShutdownTimeout)
	defer cancel()
	err := x.http.Shutdown(ctx)
	x.endRequests()
	if errors.Is(err, context.DeadlineExceeded) {
		x.log.Warn("requests under way were ended at the shutdown timeout", "timeout", x.settings.ShutdownTimeout)
		return x.http.Close()
	}
	return err
}

func (x *site) close() {
	if x.endRequests != nil {
		x.endRequests()
	}
	if x.listener != nil {
		x.listener.Close()
	}
	if x.unlock != nil {
		x.unlock()
	}
	x.backend.close()
}

// reachable is the host and port at which a listener can be reached from this machine.
func reachable(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

// arriveWithin ends requests whose body doesn't arrive in time. Unlike http.Server.ReadTimeout, it leaves alone the
// streams that a handler answers with.
func arriveWithin(timeout time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			control := http.NewResponseController(w)
			if err := control.SetReadDeadline(time.Now().Add(timeout)); err == nil {
				r.Body = &timedBody{ReadCloser: r.Body, arrived: func() { _ = control.SetReadDeadline(time.Time{}) }}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// timedBody calls arrived once the body was read to its end.
type timedBody struct {
	io.ReadCloser
	arrived func()
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && b.arrived != nil {
		b.arrived()
		b.arrived = nil
	}
	return n, err
}
