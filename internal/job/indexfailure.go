package job

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// IndexFailure is the record that delays the next Pod of a completion index after
// failures (backoffLimitPerIndex, parity 2.14).
type IndexFailure struct {
	Index int32
	// Failures counts the failed Pods of the index that count, Ignored those that
	// podFailurePolicy ignores.
	Failures, Ignored int32
	// Last is when the last of them finished.
	Last time.Time
}

// due returns when the next Pod of the index may be created.
func (f IndexFailure) due(config Config) time.Time {
	return f.Last.Add(doubled(config.BackoffBase, config.BackoffCap, f.Failures+f.Ignored))
}

// IndexFailures are the records of the indexes that failed and are to be tried
// again, sorted by index. A Job can have many of them, so they are stored tightly.
type IndexFailures []IndexFailure

func (f IndexFailures) search(index int32) (int, bool) {
	return slices.BinarySearchFunc(f, index, func(record IndexFailure, index int32) int { return cmp.Compare(record.Index, index) })
}

// of returns the record of an index; an empty one when the index did not fail.
func (f IndexFailures) of(index int32) IndexFailure {
	if i, ok := f.search(index); ok {
		return f[i]
	}
	return IndexFailure{Index: index}
}

// after returns the records after a Pod of the index failed. Its annotations say
// how many failed before it, so that two Pods that ran at the same time count once,
// as upstream counts them.
func (f IndexFailures) after(pod Pod, ignored bool, finished time.Time) IndexFailures {
	i, ok := f.search(*pod.Index)
	if !ok {
		f = slices.Insert(f, i, IndexFailure{Index: *pod.Index})
	}
	record := &f[i]
	if ignored {
		record.Ignored = max(record.Ignored, pod.Ignored+1)
		record.Failures = max(record.Failures, pod.Failures)
	} else {
		record.Failures = max(record.Failures, pod.Failures+1)
		record.Ignored = max(record.Ignored, pod.Ignored)
	}
	record.Last = later(record.Last, finished)
	return f
}

// MarshalJSON implements json.Marshaler.
func (f IndexFailures) MarshalJSON() ([]byte, error) {
	var text strings.Builder
	for _, record := range f {
		fmt.Fprintf(&text, "%d:%d:%d:%d ", record.Index, record.Failures, record.Ignored, record.Last.UnixMilli())
	}
	return json.Marshal(strings.TrimSuffix(text.String(), " "))
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *IndexFailures) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("read the failures of indexes: %w", err)
	}
	*f = nil
	for field := range strings.FieldsSeq(text) {
		if len(*f) == maxDecoded {
			return fmt.Errorf("more than %d records of the failures of indexes", maxDecoded)
		}
		var record IndexFailure
		var last int64
		if _, err := fmt.Sscanf(field, "%d:%d:%d:%d", &record.Index, &record.Failures, &record.Ignored, &last); err != nil {
			return fmt.Errorf("read the failures of an index from %q: %w", field, err)
		}
		record.Last = time.UnixMilli(last).UTC()
		*f = append(*f, record)
	}
	return nil
}
