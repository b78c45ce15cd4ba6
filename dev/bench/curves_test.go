package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestACurveRisesFromNoneToAll(t *testing.T) {
	assert.Equal(t, [][2]float64{{0, 0}, {0.5, 1}, {1, 2}, {2, 3}}, cumulated([]time.Duration{2 * time.Second, 500 * time.Millisecond, time.Second}))
	assert.Equal(t, [][2]float64{{0, 0}}, cumulated(nil))
	var many []time.Duration
	for n := range 1001 {
		many = append(many, time.Duration(n)*time.Second)
	}
	points := cumulated(many)
	assert.LessOrEqual(t, len(points), maxPoints+2)
	assert.Equal(t, [2]float64{3, 4}, points[1], "every fourth")
	assert.Equal(t, [2]float64{1000, 1001}, points[len(points)-1], "and the last")
}

func TestDrawing(t *testing.T) {
	var results []measurement
	for repeat, all := range []time.Duration{9 * time.Second, 5 * time.Second, 7 * time.Second} {
		m := measured(columns[2], scenarioCronJobs, all)
		m.repeat, m.spans.toEnd = repeat, []time.Duration{all}
		results = append(results, m)
	}
	large := largeJob(columns[1], 10*time.Second, nil)
	large.one.created, large.one.ended = []time.Duration{time.Second}, []time.Duration{2 * time.Second}
	idle := measured(columns[2], scenarioIdle, 0)
	idle.spans = spans{}
	r := report{options: options{parallelism: 500}, results: append(results, large, idle)}
	assert.Equal(t, drawing{Panels: []panel{
		{Title: "300 CronJobs due in the same minute", X: "seconds after the due time", Y: "Jobs", Curves: []curve{
			{Name: "Ostinato: created", Dashed: true, Points: [][2]float64{{0, 0}, {3.5, 1}}},
			{Name: "Ostinato: Complete", Points: [][2]float64{{0, 0}, {7, 1}}},
		}},
		{Title: "one Indexed Job, completions 1000, parallelism 500", X: "seconds", Y: "Pods", Curves: []curve{
			{Name: "built-in, limits removed: created", Dashed: true, Points: [][2]float64{{0, 0}, {1, 1}}},
			{Name: "built-in, limits removed: ended", Points: [][2]float64{{0, 0}, {2, 1}}},
		}},
	}}, r.drawing(), "the repeat with the median end; nothing of what has no runs")
}
