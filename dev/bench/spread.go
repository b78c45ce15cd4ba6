package main

import (
	"math"
	"slices"
)

// spread is what the repeats of a figure tell.
type spread struct{ median, least, most float64 }

// spreadOf returns the spread of the values that are numbers; false where none is.
func spreadOf(values []float64) (spread, bool) {
	numbers := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(numbers) == 0 {
		return spread{}, false
	}
	slices.Sort(numbers)
	middle := len(numbers) / 2
	median := numbers[middle]
	if len(numbers)%2 == 0 {
		median = (numbers[middle-1] + numbers[middle]) / 2
	}
	return spread{median: median, least: numbers[0], most: numbers[len(numbers)-1]}, true
}

// text writes the median, and the least and most in brackets where they look different.
func (s spread) text(write func(float64) string) string {
	median, least, most := write(s.median), write(s.least), write(s.most)
	if least == most {
		return median
	}
	return median + " (" + least + ".." + most + ")"
}

// absent is a figure that a measurement does not have.
var absent = math.NaN()

// ratios divides figures of the same repeats, one by one: what disturbs a repeat disturbs both sides of its ratio. A figure
// that is absent or 0 has none.
func ratios(above, below map[int]float64) []float64 {
	var all []float64
	for repeat, value := range above {
		if ratio := value / below[repeat]; ratio > 0 && !math.IsInf(ratio, 0) {
			all = append(all, ratio)
		}
	}
	slices.Sort(all)
	return all
}
