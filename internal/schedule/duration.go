package schedule

import (
	"slices"
	"time"

	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
)

const (
	// maxTaken is how many runs a median is of, and minTaken how many it needs.
	maxTaken, minTaken = 20, 10
	// usualTimes is how many times the median a run is expected to take at most.
	usualTimes = 3
	// leastExpected is the least that is expected where nothing says how long a run may take.
	leastExpected = time.Minute
)

// medianSeconds is the median of how long the last runs took that completed; 0 for too few. Rows are oldest first.
func medianSeconds(rows []ledger.Entry) int64 {
	var taken []int64
	for _, row := range slices.Backward(rows) {
		if row.Result != ledger.Complete || row.Recorded.IsZero() || row.Ended.Before(row.Recorded) {
			continue
		}
		if taken = append(taken, int64(row.Ended.Sub(row.Recorded)/time.Second)); len(taken) == maxTaken {
			break
		}
	}
	if len(taken) < minTaken {
		return 0
	}
	slices.Sort(taken)
	return max(taken[len(taken)/2], 1)
}

// ExpectedAtMost is how long a run may take of which nothing is known.
const ExpectedAtMost = 24 * time.Hour

// Expected is how long a run of the CronJob is expected to take at most.
func Expected(cronJob *ostinatov1.CronJob) time.Duration {
	if seconds := ptr.Deref(cronJob.Spec.ExpectedDurationSeconds, 0); seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	median := time.Duration(min(max(cronJob.Status.MedianDurationSeconds, 0), maxSeconds)) * time.Second
	if median == 0 {
		return ExpectedAtMost
	}
	return max(usualTimes*median, leastExpected)
}

// maxSeconds is a year.
const maxSeconds = 365 * 24 * 60 * 60
