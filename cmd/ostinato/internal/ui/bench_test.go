package ui_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/internal/testing/fixture/night"
)

const many = 2000

// BenchmarkFirstPaint is what a person waits for after the page has opened: 2,000 CronJobs of ten rows each are listed, and
// those of a screen are made. The API server sends pages that it has made before.
func BenchmarkFirstPaint(b *testing.B) {
	cronJobs := night.CronJobs(now, many)
	for b.Loop() {
		b.StopTimer()
		page := opened(b, cronJobs)
		page.warm()
		b.StartTimer()
		require.Equal(b, http.StatusOK, page.get("/rows?count=50").status)
	}
}

// BenchmarkScroll is a screen of rows that were read before.
func BenchmarkScroll(b *testing.B) {
	page := opened(b, night.CronJobs(now, many))
	page.get("/rows?count=1")
	for b.Loop() {
		require.Equal(b, http.StatusOK, page.get("/rows?from=1000&count=50").status)
	}
}

// BenchmarkFill fills a screen of rows, most of them from a Temporal that takes 100 ms to answer.
func BenchmarkFill(b *testing.B) {
	cronJobs := night.CronJobs(now, many)
	for b.Loop() {
		b.StopTimer()
		page := opened(b, cronJobs)
		page.backend.temporal(func(temporal *temporal) { temporal.slow = 100 * time.Millisecond })
		page.get("/rows?count=50")
		b.StartTimer()
		require.Equal(b, http.StatusOK, page.get("/rows?count=50&fill=1").status)
	}
}

// warm has the API server make its pages.
func (b *browser) warm() {
	_, err := b.backend.CronJobs(b.t.Context())
	require.NoError(b.t, err)
}
