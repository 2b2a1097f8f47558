package db

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// commits counts what the writer commits.
type commits struct {
	writes, seconds prometheus.Histogram
}

func newCommits() commits {
	return commits{
		writes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "ap_commit_writes", Help: "Writes that shared a commit.", Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128}}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "ap_commit_seconds", Help: "Time from a commit's first write until it is on disk.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5}}),
	}
}

func (c commits) observe(writes int, start time.Time) {
	c.writes.Observe(float64(writes))
	c.seconds.Observe(time.Since(start).Seconds())
}

// Collectors are the database's metrics: the size and the time of commits, and how many writes wait for one.
func (d *DB) Collectors() []prometheus.Collector {
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ap_writes_waiting", Help: "Writes that wait for the next commit."}, func() float64 { return float64(len(d.writer.queue)) })
	return []prometheus.Collector{d.writer.commits.writes, d.writer.commits.seconds, waiting}
}
