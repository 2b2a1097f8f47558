package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/apserver/ap/core/server"
)

// metrics are the numbers behind /metrics.
type metrics struct {
	registry *prometheus.Registry
	calls    *prometheus.CounterVec   // tool, code
	latency  *prometheus.HistogramVec // tool
	requests *prometheus.CounterVec   // route, status
	seconds  *prometheus.HistogramVec // route
	signIns  *prometheus.CounterVec   // result
	streams  prometheus.Gauge
}

func newMetrics(s *server.Server, more []prometheus.Collector) (*metrics, error) {
	buckets := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ap_tool_calls_total", Help: "Calls of tools over MCP, by tool and error code (ok when there was none)."}, []string{"tool", "code"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ap_tool_call_seconds", Help: "Time a call of a tool took.", Buckets: buckets}, []string{"tool"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ap_http_requests_total", Help: "HTTP requests, by route and status."}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ap_http_request_seconds", Help: "Time a request took, by route.", Buckets: buckets}, []string{"route"}),
		signIns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ap_sign_ins_total", Help: "Sign-ins in the browser and bearer tokens, by result."}, []string{"kind", "result"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ap_event_streams", Help: "Open streams of live updates."}),
	}
	all := append([]prometheus.Collector{m.calls, m.latency, m.requests, m.seconds, m.signIns, m.streams, newCounts(s),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})}, more...)
	for _, c := range all {
		if err := m.registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// call counts a call of a tool.
func (m *metrics) call(tool, code string, took time.Duration) {
	m.calls.WithLabelValues(tool, code).Inc()
	m.latency.WithLabelValues(tool).Observe(took.Seconds())
}

func (m *metrics) request(route string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	if route != "/events" {
		m.seconds.WithLabelValues(route).Observe(took.Seconds())
	}
}

// routes are the first parts of the paths served: anything else is one label, so that a stranger can't make new ones.
var routes = map[string]bool{
	"/mcp": true, "/inbox": true, "/items": true, "/runs": true, "/processes": true, "/login": true, "/auth": true, "/logout": true,
	"/files": true, "/events": true, "/healthz": true, "/readyz": true, "/metrics": true, "/static": true, "/dev": true, "/.well-known": true,
}

func routeOf(path string) string {
	first := path
	if len(path) > 1 {
		if i := strings.IndexByte(path[1:], '/'); i >= 0 {
			first = path[:i+1]
		}
	}
	if routes[first] {
		return first
	}
	return "other"
}

// counts reads the gauges of open work from the store when they are asked for.
type counts struct {
	srv                              *server.Server
	items, ready, active, lag, works *prometheus.Desc
}

func newCounts(s *server.Server) *counts {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }
	return &counts{
		srv:    s,
		items:  desc("ap_open_items", "Work items that wait for a person."),
		ready:  desc("ap_ready_steps", "Agent steps that can be claimed."),
		active: desc("ap_active_runs", "Runs that have not ended."),
		lag:    desc("ap_timer_lag_seconds", "How long the next timer has been past due."),
		works:  desc("ap_store_up", "1 when the database answers."),
	}
}

// Describe implements prometheus.Collector.
func (c *counts) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.items, c.ready, c.active, c.lag, c.works} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *counts) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	counts, err := c.srv.Counts(ctx)
	if err != nil {
		gauge(c.works, 0)
		return
	}
	gauge(c.works, 1)
	gauge(c.items, float64(counts.OpenItems))
	gauge(c.ready, float64(counts.ReadySteps))
	gauge(c.active, float64(counts.ActiveRuns))
	if lag, err := c.srv.TimerLag(ctx); err == nil {
		gauge(c.lag, lag.Seconds())
	}
}
