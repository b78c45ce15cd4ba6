package main

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestSpread(t *testing.T) {
	number := func(v float64) string { return fmt.Sprintf("%.1f", v) }
	for _, test := range []struct {
		name   string
		values []float64
		want   string
	}{
		{"one", []float64{3}, "3.0"},
		{"an odd number", []float64{9, 1, 3}, "3.0 (1.0..9.0)"},
		{"an even number has a middle between two", []float64{4, 1, 2, 9}, "3.0 (1.0..9.0)"},
		{"all look the same", []float64{3.01, 3.02}, "3.0"},
		{"what a repeat does not have is left out", []float64{absent, 2, absent}, "2.0"},
	} {
		s, ok := spreadOf(test.values)
		assert.True(t, ok, test.name)
		assert.Equal(t, test.want, s.text(number), test.name)
	}
	for _, values := range [][]float64{nil, {absent}} {
		_, ok := spreadOf(values)
		assert.False(t, ok, "nothing to tell of %v", values)
	}
	values := []float64{3, 1, 2}
	_, _ = spreadOf(values)
	assert.Equal(t, []float64{3, 1, 2}, values, "the argument stays as it is")
}

func TestTheMedianHasAsManyBelowAsAbove(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1000, 1000), 1, 50).Draw(t, "values")
		s, _ := spreadOf(values)
		below, above := 0, 0
		for _, value := range values {
			if value < s.median {
				below++
			}
			if value > s.median {
				above++
			}
			if value < s.least || value > s.most {
				t.Fatalf("%v is not between %v and %v", value, s.least, s.most)
			}
		}
		if half := len(values) / 2; below > half || above > half {
			t.Fatalf("%d below and %d above %v in %v", below, above, s.median, values)
		}
	})
}

func TestRatiosAreThoseOfTheSameRepeat(t *testing.T) {
	for _, test := range []struct {
		name         string
		above, below map[int]float64
		want         []float64
	}{
		{"pairs, not medians", map[int]float64{0: 10, 1: 40, 2: 90}, map[int]float64{0: 5, 1: 10, 2: 30}, []float64{2, 3, 4}},
		{"a repeat that one side lacks", map[int]float64{0: 10, 1: 40}, map[int]float64{1: 10}, []float64{4}},
		{"an absent figure", map[int]float64{0: math.NaN(), 1: 8}, map[int]float64{0: 1, 1: 2}, []float64{4}},
		{"nothing to divide by", map[int]float64{0: 10}, map[int]float64{0: 0}, nil},
		{"nothing", nil, nil, nil},
	} {
		assert.Equal(t, test.want, ratios(test.above, test.below), test.name)
	}
}
