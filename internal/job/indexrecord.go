package job

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// IndexRecord is what is kept of a completion index that is not over and whose Pods have ended.
type IndexRecord struct {
	Index int32
	// Attempts is the number of the last Pod of the index that has ended or was removed.
	Attempts int64
	// Failures counts the failed Pods of the index that count, Ignored those that
	// podFailurePolicy ignores (backoffLimitPerIndex, parity 2.14).
	Failures, Ignored int32
	// Last is when the last of them finished.
	Last time.Time
}

// backoff returns the record that delays new Pods of the index.
func (r IndexRecord) backoff() Backoff {
	return Backoff{Failures: r.Failures + r.Ignored, Last: r.Last}
}

// IndexRecords are sorted by index. A Job can have many of them, so they are stored tightly.
type IndexRecords []IndexRecord

func (r IndexRecords) search(index int32) (int, bool) {
	return slices.BinarySearchFunc(r, index, func(record IndexRecord, index int32) int { return cmp.Compare(record.Index, index) })
}

// of returns the record of an index; an empty one when no Pod of it has ended.
func (r IndexRecords) of(index int32) IndexRecord {
	if i, ok := r.search(index); ok {
		return r[i]
	}
	return IndexRecord{Index: index}
}

// at returns the records with one of the index, and its place.
func (r IndexRecords) at(index int32) (IndexRecords, int) {
	i, ok := r.search(index)
	if !ok {
		r = slices.Insert(r, i, IndexRecord{Index: index})
	}
	return r, i
}

// used returns the records after a Pod of an index has ended: no other Pod gets its number.
func (r IndexRecords) used(pod Pod) IndexRecords {
	r, i := r.at(*pod.Index)
	r[i].Attempts = max(r[i].Attempts, pod.Attempt)
	return r
}

// failed returns the records after a Pod of the index failed. Its annotations say how many failed
// before it, so two Pods that ran at the same time count once, as with upstream.
func (r IndexRecords) failed(pod Pod, ignored bool, finished time.Time) IndexRecords {
	r, i := r.at(*pod.Index)
	if ignored {
		pod.Ignored++
	} else {
		pod.Failures++
	}
	record := &r[i]
	record.Failures, record.Ignored = max(record.Failures, pod.Failures), max(record.Ignored, pod.Ignored)
	record.Last = later(record.Last, finished)
	return r
}

// numbers returns the records without the failures.
func (r IndexRecords) numbers() IndexRecords {
	var numbers IndexRecords
	for _, record := range r {
		if record.Attempts > 0 {
			numbers = append(numbers, IndexRecord{Index: record.Index, Attempts: record.Attempts})
		}
	}
	return numbers
}

// MarshalJSON implements json.Marshaler.
func (r IndexRecords) MarshalJSON() ([]byte, error) {
	var text strings.Builder
	for _, record := range r {
		fmt.Fprintf(&text, "%d:%d", record.Index, record.Attempts)
		if record.Failures != 0 || record.Ignored != 0 || !record.Last.IsZero() {
			fmt.Fprintf(&text, ":%d:%d:%d", record.Failures, record.Ignored, record.Last.UnixMilli())
		}
		text.WriteByte(' ')
	}
	return json.Marshal(strings.TrimSuffix(text.String(), " "))
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *IndexRecords) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("read the records of indexes: %w", err)
	}
	*r = nil
	for field := range strings.FieldsSeq(text) {
		if len(*r) == maxDecoded {
			return fmt.Errorf("more than %d records of indexes", maxDecoded)
		}
		record, err := parseIndexRecord(field)
		if err != nil {
			return fmt.Errorf("read the record of an index from %q: %w", field, err)
		}
		*r = append(*r, record)
	}
	return nil
}

func parseIndexRecord(text string) (record IndexRecord, err error) {
	if strings.Count(text, ":") == 1 {
		_, err = fmt.Sscanf(text, "%d:%d", &record.Index, &record.Attempts)
		return record, err
	}
	var last int64
	_, err = fmt.Sscanf(text, "%d:%d:%d:%d:%d", &record.Index, &record.Attempts, &record.Failures, &record.Ignored, &last)
	record.Last = time.UnixMilli(last).UTC()
	return record, err
}

// Dropped says that a lower spec.completions has dropped indexes that had Pods.
type Dropped struct {
	// From is the first index that was dropped.
	From int32 `json:"from"`
	// Attempts is the highest number of a Pod then, from which on Pods of such an index, should it return, are numbered.
	Attempts int64 `json:"attempts"`
}

// with returns what was dropped after indexes from one on were.
func (d Dropped) with(from int32, attempts int64) Dropped {
	if d.Attempts > 0 {
		from = min(d.From, from)
	}
	return Dropped{From: from, Attempts: attempts}
}

// of returns the number from which on the Pods of an index are numbered.
func (d Dropped) of(index int32) int64 {
	if index < d.From {
		return 0
	}
	return d.Attempts
}
