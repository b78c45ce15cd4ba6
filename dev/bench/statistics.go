package main

import (
	"math"
	"slices"
	"time"
)

// percentile returns the smallest of the values that at least the fraction (0 to 1) of them do not exceed (nearest
// rank); 0 without values.
func percentile(values []time.Duration, fraction float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(fraction * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
