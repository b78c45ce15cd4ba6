package order

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The weights that Temporal takes.
const (
	MinWeight = 0.001
	MaxWeight = 1000
)

// maxNamespace is the longest name of a namespace. Temporal takes fairness keys of 64 bytes.
const maxNamespace = 63

// Weights are the shares of Kubernetes namespaces; that of one that is not named is 1. The zero value names none.
type Weights struct{ named map[string]float64 }

// Of returns the weight of a namespace.
func (w Weights) Of(namespace string) float64 {
	if weight, named := w.named[namespace]; named {
		return weight
	}
	return 1
}

// Namespaces returns those that are named, in order.
func (w Weights) Namespaces() []string { return slices.Sorted(maps.Keys(w.named)) }

// String, Type and Set make *Weights a flag: a comma-separated list of namespace=weight.
func (w *Weights) String() string {
	var pairs []string
	for _, namespace := range w.Namespaces() {
		pairs = append(pairs, namespace+"="+strconv.FormatFloat(w.named[namespace], 'g', -1, 64))
	}
	return strings.Join(pairs, ",")
}

// Type is what help calls the value.
func (w *Weights) Type() string { return "namespace=weight" }

// Set reads the list; the last one given counts.
func (w *Weights) Set(list string) error {
	read := map[string]float64{}
	for pair := range strings.SplitSeq(list, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		namespace, text, found := strings.Cut(pair, "=")
		if !found || namespace == "" || len(namespace) > maxNamespace {
			return fmt.Errorf("%q is not namespace=weight; write shop=5,billing=0.5, say", pair)
		}
		weight, err := strconv.ParseFloat(text, 64)
		if err != nil || !(weight >= MinWeight && weight <= MaxWeight) {
			return fmt.Errorf("the weight of %s is %q; set it between %v and %v, where a namespace that is not named has 1", namespace, text, MinWeight, MaxWeight)
		}
		if _, twice := read[namespace]; twice {
			return fmt.Errorf("%s is there twice; name it once", namespace)
		}
		read[namespace] = weight
	}
	w.named = read
	return nil
}
