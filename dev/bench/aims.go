package main

import (
	"fmt"
	"time"
)

// aim is a bound that is set for Ostinato alone.
type aim struct {
	scenario string
	// size is the least that counts; 0 for any.
	size  int
	name  string
	of    func(measurement) float64
	write func(float64) string
	below float64
}

// aims are those of the project's issue on speed, and the memory that the first version aimed at.
var aims = []aim{
	{scenarioCronJobs, 1000, "due time to Job created, p99", func(m measurement) float64 { return float64(percentile(m.spans.fromStart, 0.99)) }, span, float64(2500 * time.Millisecond)},
	{scenarioCronJobs, 0, "processor time of a run, all processes", func(m measurement) float64 {
		return measuredUsage(m.usage).cpuSeconds / float64(m.size) * float64(time.Second)
	}, span, float64(50 * time.Millisecond)},
	{scenarioCronJobs, 0, "Pod ended to Job Complete, p50", func(m measurement) float64 { return float64(percentile(m.spans.toComplete, 0.5)) }, span, float64(150 * time.Millisecond)},
	{scenarioCronJobs, 1000, "peak memory of worker and bridge", func(m measurement) float64 { return ownMemory(m.usage) }, megabytes, 300e6},
	{scenarioIdle, 10000, "peak memory of worker and bridge", func(m measurement) float64 {
		return max(ownMemory(m.usage), ownMemory(m.steady.usage))
	}, megabytes, 500e6},
	{scenarioIdle, 10000, "API requests of worker and bridge a second", func(m measurement) float64 { return m.steady.own.sum() / m.steady.elapsed.Seconds() }, hundredths, 1},
	{scenarioIdle, 10000, "all taken over after a cold start", func(m measurement) float64 { return taken(m.armed) }, span, float64(time.Minute)},
}

// ownMemory is the peak of worker and bridge together.
func ownMemory(usage []processUsage) float64 {
	return float64(usageNamed(usage, "worker", "bridge").peakBytes)
}

// aims sets the bounds beside what was measured.
func (r report) aims() table {
	t := table{title: "Ostinato against its aims", header: []string{"", "Ostinato", "aim"}}
	for _, a := range aims {
		for _, size := range r.sizes(a.scenario) {
			own := groupNamed(groups(r.results, a.scenario, size), ostinatoColumn)
			if own != nil && size >= a.size {
				t.add(r.options.title(a.scenario, size)+": "+a.name, own.cell(a.of, a.write), fmt.Sprintf("under %s", a.write(a.below)))
			}
		}
	}
	return t
}
