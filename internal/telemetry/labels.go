package telemetry

import (
	"sync"

	"go.temporal.io/sdk/client"
)

const (
	// otherValue stands for the values of a label that make no series of their own.
	otherValue = "other"
	// noneValue is what the SDK says where a label does not apply.
	noneValue = "none"
	// mostValues bounds the values of a label that no closed set is known of. The SDK gives
	// such labels to what the process itself has chosen: its queues and operations.
	mostValues = 100
)

// LabelValues keeps the values of a metric's labels few. The zero value lets each label have
// 100, those that were asked for first; others count as "other".
type LabelValues struct {
	closed map[string]map[string]bool
	mutex  sync.RWMutex
	seen   map[string]map[string]bool
}

// Labels are the values that labels of the SDK's metrics may have, by label. The SDK
// labels a task with the type that it names, before it looks whether there is one, and
// a metric keeps each series for as long as the process lives: a type that is not listed
// here counts as "other".
type Labels map[string][]string

// boundedLabels is a MetricsHandler whose labels have values out of bounded sets.
type boundedLabels struct {
	client.MetricsHandler
	values *LabelValues
}

// boundLabels returns a handler that passes on what the labels' sets hold.
func boundLabels(handler client.MetricsHandler, labels Labels) client.MetricsHandler {
	values := &LabelValues{closed: map[string]map[string]bool{}}
	for label, known := range labels {
		values.closed[label] = map[string]bool{noneValue: true, otherValue: true}
		for _, value := range known {
			values.closed[label][value] = true
		}
	}
	return boundedLabels{handler, values}
}

// WithTags implements client.MetricsHandler.
func (h boundedLabels) WithTags(tags map[string]string) client.MetricsHandler {
	bounded := make(map[string]string, len(tags))
	for label, value := range tags {
		bounded[label] = h.values.Of(label, value)
	}
	return boundedLabels{h.MetricsHandler.WithTags(bounded), h.values}
}

// Of returns the value that the label gets for one that was asked for.
func (v *LabelValues) Of(label, value string) string {
	if known, closed := v.closed[label]; closed {
		if known[value] {
			return value
		}
		return otherValue
	}
	v.mutex.RLock()
	seen := v.seen[label][value]
	v.mutex.RUnlock()
	if seen {
		return value
	}
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.seen == nil {
		v.seen = map[string]map[string]bool{}
	}
	if v.seen[label] == nil {
		v.seen[label] = map[string]bool{}
	}
	if len(v.seen[label]) >= mostValues && !v.seen[label][value] {
		return otherValue
	}
	v.seen[label][value] = true
	return value
}
