package alerts

import (
	"reflect"
	"testing"
)

func TestSelectorsOfAnExpression(t *testing.T) {
	none := map[string][]string{}
	for expr, want := range map[string][]Selector{
		`up`: {{Metric: "up", Values: none}},
		`sum by (a, b) (increase(x_total{c=~"1|2", d!="3"}[5m])) > 0.5`: {
			{Metric: "x_total", Labels: []string{"a", "b", "c", "d"}, Values: map[string][]string{"c": {"1", "2"}, "d": {"3"}}},
		},
		`histogram_quantile(0.9, sum by (le) (rate(x_bucket[10m]))) > 30`: {{Metric: "x_bucket", Labels: []string{"le"}, Values: none}},
		`(sum(x) or vector(0)) == 0`:                                      {{Metric: "x", Values: none}},
		"sum by (a) (x)\nand\nmax(y offset 5m) / on (a) z":                {{Metric: "x", Labels: []string{"a"}, Values: none}, {Metric: "y", Values: none}, {Metric: "z", Values: none}},
		`sum by (a) (max by (a, b) (x)) - y`:                              {{Metric: "x", Labels: []string{"a", "b"}, Values: none}, {Metric: "y", Values: none}},
	} {
		if got := Selectors(expr); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", expr, got, want)
		}
	}
}
