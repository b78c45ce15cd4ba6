package job

import "time"

// MaxPods is how many Pods one plan creates, deletes or releases at most (parity 2.10).
const MaxPods = 500

// bulkThreshold is up to how many creates and deletes, or releases, a plan is not bulk work.
const bulkThreshold = 10

// Bulk reports whether a plan changes or releases many Pods. changes counts creates and deletes.
func Bulk(changes, releases int) bool { return changes > bulkThreshold || releases > bulkThreshold }

// Config holds the planner's constants; DefaultConfig has upstream's (parity 2.5).
type Config struct {
	// BackoffBase and BackoffCap bound the delay of Pods after failures.
	BackoffBase, BackoffCap time.Duration
	// RetryBase and RetryCap bound the delay after the API server refused.
	RetryBase, RetryCap time.Duration
	// MaxPods is the number of Pods that one plan creates, removes as surplus or releases at most.
	MaxPods int
	// MaxActive bounds the Pods that run at the same time, whatever the parallelism:
	// all of them have to fit into one payload of Temporal.
	MaxActive int32
	// MaxAttempts is the number of failed Pods whose evidence is kept.
	MaxAttempts int
	// ListBase and ListCap bound the silence after which the Pods are listed.
	ListBase, ListCap time.Duration
	// ListLetGo is how long that silence may be while a Pod terminates that was released.
	ListLetGo time.Duration
}

// DefaultConfig returns upstream's constants.
func DefaultConfig() Config {
	return Config{
		BackoffBase: 10 * time.Second,
		BackoffCap:  10 * time.Minute,
		RetryBase:   time.Second,
		RetryCap:    time.Minute,
		MaxPods:     MaxPods,
		MaxActive:   10_000,
		MaxAttempts: 20,
		ListBase:    30 * time.Minute,
		ListCap:     6 * time.Hour,
		ListLetGo:   time.Minute,
	}
}

// podRetryCap bounds the delay of what fails for a single Pod, whose trouble may last.
func (c Config) podRetryCap() time.Duration { return max(c.RetryCap, c.BackoffCap) }

// doubled returns base doubled once per count after the first, at most limit; 0 for a count of 0.
func doubled(base, limit time.Duration, count int32) time.Duration {
	if count <= 0 {
		return 0
	}
	delay := base
	for range count - 1 {
		if delay >= limit {
			break
		}
		delay *= 2
	}
	return min(delay, limit)
}
