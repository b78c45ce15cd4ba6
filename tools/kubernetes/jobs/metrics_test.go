package job

import (
	"fmt"
	"slices"
	"strings"

	basemetrics "k8s.io/component-base/metrics"
	"k8s.io/kubernetes/pkg/controller/job/metrics"
)

// counts are the counters of all workers and bridges so far, those included that have ended. A key is the name, a space and each label as
// name=value, by name.
type counts map[string]float64

// before is what was counted before the suite last reset its metrics.
var before counts

// labels are the names of the labels of upstream's counters, in their order; the counters do not tell.
var labels = map[*basemetrics.CounterVec][]string{
	metrics.JobFinishedNum:                       {"completion_mode", "result", "reason"},
	metrics.JobPodsFinished:                      {"completion_mode", "result"},
	metrics.JobFinishedIndexesTotal:              {"status", "backoffLimit"},
	metrics.JobPodsCreationTotal:                 {"reason", "status"},
	metrics.PodFailuresHandledByFailurePolicy:    {"action"},
	metrics.JobByExternalControllerTotal:         {"controller_name"},
	metrics.TerminatedPodsTrackingFinalizerTotal: {"event"},
}

func resetMetrics() {
	read, err := readCounts()
	if err != nil {
		panic(err)
	}
	before = read
}

// counted returns what worker and bridge have added to the counter of the same name since resetMetrics.
func counted(vec *basemetrics.CounterVec, values []string) (float64, error) {
	names, ok := labels[vec]
	if !ok || len(names) != len(values) {
		return 0, fmt.Errorf("%s has other labels", vec.FQName())
	}
	read, err := readCounts()
	if err != nil {
		return 0, err
	}
	pairs := make([]string, len(names))
	for i, name := range names {
		pairs[i] = name + "=" + values[i]
	}
	slices.Sort(pairs)
	key := strings.Join(slices.Insert(pairs, 0, vec.FQName()), " ")
	return read[key] - before[key], nil
}

func readCounts() (counts, error) {
	var names []string
	for vec := range labels {
		names = append(names, vec.FQName())
	}
	read := counts{}
	return read, ask("/counters", names, &read)
}
