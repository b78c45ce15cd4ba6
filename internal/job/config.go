package job

import "time"

const (
	// MaxPods is how many Pods one plan counts, creates, removes as surplus or releases at most (parity 2.10).
	MaxPods = 500
	// bulkThreshold is up to how many creates and deletes, or releases, a plan is not bulk work.
	bulkThreshold = 10
	// maxActive bounds the Pods that run at the same time, whatever the parallelism: all have to fit into one payload.
	maxActive = 10_000
	// maxAnnounced is the number of Warnings that are known not to be repeated.
	maxAnnounced = 20
	// maxAttempts is the number of failed Pods whose evidence is kept.
	maxAttempts = 20
	// MaxEnded is the number of those among them that run and are ended for one reason.
	MaxEnded = 5

	// DefaultBackoffBase and DefaultBackoffCap bound the delay of Pods after failures, as upstream does it (parity 2.5).
	DefaultBackoffBase = 10 * time.Second
	DefaultBackoffCap  = 10 * time.Minute
	// retryBase and retryCap bound the delay after a refusal.
	retryBase = time.Second
	retryCap  = time.Minute
	// landsWithin is within which time a create lands that had no answer: the API server ends each after 34 s.
	landsWithin = 40 * time.Second
	// listEvery is how long after a list of the Pods there is another one at the latest.
	listEvery = time.Hour
)

// perPlan is MaxPods, or what a test has set.
var perPlan = MaxPods

// CutPlans has each plan take so many Pods at most in place of MaxPods. Only tests call it, to reach the cut with few Pods; no plan may be
// made meanwhile.
func CutPlans(pods int) { perPlan = pods }

// Bulk reports whether a plan changes or releases many Pods. changes counts creates and deletes.
func Bulk(changes, releases int) bool { return changes > bulkThreshold || releases > bulkThreshold }

// doubled returns base doubled once per count after the first, at most limit; 0 for a count of 0.
func doubled(base, limit time.Duration, count int32) time.Duration {
	if count <= 0 {
		return 0
	}
	for ; count > 1 && base < limit; count-- {
		base *= 2
	}
	return min(base, limit)
}
