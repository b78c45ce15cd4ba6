package order_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/order"
)

// served serves everybody who waits.
func served(line *order.Line[string]) (all []string) {
	for {
		who, ok := line.Next()
		if !ok {
			return all
		}
		all = append(all, who)
	}
}

func join(line *order.Line[string], namespace string, n int) {
	for i := range n {
		line.Join(namespace, fmt.Sprintf("%s-%d", namespace, i))
	}
}

func TestALineIsSharedByNamespaces(t *testing.T) {
	for _, test := range []struct {
		name    string
		weights string
		fill    func(*order.Line[string])
		want    []string
	}{
		{"one alone is served in its order", "", func(l *order.Line[string]) { join(l, "a", 3) }, []string{"a-0", "a-1", "a-2"}},
		{"one of another namespace is the next but one", "", func(l *order.Line[string]) { join(l, "a", 4); join(l, "b", 1) },
			[]string{"a-0", "b-0", "a-1", "a-2", "a-3"}},
		{"a weight of two is two of three", "a=2", func(l *order.Line[string]) { join(l, "b", 3); join(l, "a", 4) },
			[]string{"b-0", "a-0", "a-1", "b-1", "a-2", "a-3", "b-2"}},
		{"who was served before waits longer", "", func(l *order.Line[string]) {
			join(l, "a", 3)
			l.Next()
			l.Next()
			join(l, "b", 2)
		}, []string{"b-0", "a-2", "b-1"}},
		{"what was not taken can't be claimed later", "", func(l *order.Line[string]) {
			join(l, "b", 1)
			l.Next()
			join(l, "a", 6)
			for range 4 {
				l.Next()
			}
			join(l, "b", 3)
		}, []string{"b-0", "a-4", "b-1", "a-5", "b-2"}},
		{"who has left is not served, nor does he cost anything", "", func(l *order.Line[string]) {
			join(l, "a", 4)
			join(l, "b", 1)
			l.Leave("a", "a-0")
			l.Leave("a", "a-2")
		}, []string{"a-1", "b-0", "a-3"}},
		{"nor can what one got while another might not be served", "", func(l *order.Line[string]) {
			join(l, "a", 6)
			join(l, "b", 3)
			for range 4 {
				l.NextOf(func(namespace string) bool { return namespace != "b" })
			}
		}, []string{"b-0", "a-4", "b-1", "a-5", "b-2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			line := &order.Line[string]{Weights: weights(t, test.weights)}
			test.fill(line)
			assert.Equal(t, test.want, served(line))
			assert.Zero(t, line.Len())
		})
	}
}

func TestWhoDoesNotWaitCannotLeave(t *testing.T) {
	line := &order.Line[string]{}
	join(line, "a", 1)
	assert.False(t, line.Leave("a", "a-1"))
	assert.False(t, line.Leave("b", "a-0"))
	assert.True(t, line.Leave("a", "a-0"))
	assert.False(t, line.Leave("a", "a-0"))
}

func TestALineForgetsOnlyWhenItIsEmpty(t *testing.T) {
	line := &order.Line[string]{}
	join(line, "a", 3)
	line.Next()
	line.Forget()
	join(line, "b", 2)
	assert.Equal(t, []string{"b-0", "a-1", "b-1", "a-2"}, served(line))
	line.Forget()
	join(line, "a", 1)
	join(line, "b", 1)
	assert.Equal(t, []string{"a-0", "b-0"}, served(line))
}

// Whatever joins, leaves and may not be served for a while: nobody is lost or served twice, a namespace's own are served in their
// order, and as long as two namespaces both wait and may be served, what they get differs by their weights and one turn of each
// at most.
func TestALineIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c"}
		w := weights(t, fmt.Sprintf("a=%v,b=%v", rapid.SampledFrom([]float64{0.25, 1, 4}).Draw(t, "a"), rapid.SampledFrom([]float64{0.5, 1, 3}).Draw(t, "b")))
		line := &order.Line[int]{Weights: w}
		waiting := map[string][]int{}
		// got is the service of each namespace since both of a pair wait.
		got := map[[2]string][2]float64{}
		barred := map[string]bool{}
		next := 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch namespace := rapid.SampledFrom(names).Draw(t, "namespace"); rapid.IntRange(0, 5).Draw(t, "step") {
			case 5:
				barred[namespace] = !barred[namespace]
			case 0, 1:
				line.Join(namespace, next)
				waiting[namespace] = append(waiting[namespace], next)
				next++
			case 2:
				if own := waiting[namespace]; len(own) > 0 {
					i := rapid.IntRange(0, len(own)-1).Draw(t, "who leaves")
					if !line.Leave(namespace, own[i]) {
						t.Fatalf("%d of %s could not leave", own[i], namespace)
					}
					waiting[namespace] = slices.Delete(own, i, i+1)
				}
			default:
				may := func(name string) bool { return !barred[name] }
				who, ok := line.NextOf(may)
				of := ""
				for _, name := range slices.DeleteFunc(slices.Clone(names), func(name string) bool { return barred[name] }) {
					if len(waiting[name]) > 0 && waiting[name][0] == who {
						of = name
					}
				}
				if ok != (of != "") {
					t.Fatalf("served %d, %v, while %v wait", who, ok, waiting)
				}
				if !ok {
					continue
				}
				for i, one := range names {
					for _, other := range names[i+1:] {
						pair := [2]string{one, other}
						sum := got[pair]
						switch of {
						case one:
							sum[0] += 1 / w.Of(one)
						case other:
							sum[1] += 1 / w.Of(other)
						}
						if got[pair] = sum; len(waiting[one]) > 0 && len(waiting[other]) > 0 && may(one) && may(other) && math.Abs(sum[0]-sum[1]) > 1/w.Of(one)+1/w.Of(other)+1e-9 {
							t.Fatalf("%s and %s both wait and got %v", one, other, sum)
						}
					}
				}
				waiting[of] = waiting[of][1:]
			}
			for pair := range got {
				if len(waiting[pair[0]]) == 0 || len(waiting[pair[1]]) == 0 || barred[pair[0]] || barred[pair[1]] {
					delete(got, pair)
				}
			}
			if sum := len(waiting["a"]) + len(waiting["b"]) + len(waiting["c"]); line.Len() != sum {
				t.Fatalf("%d wait, want %d", line.Len(), sum)
			}
		}
	})
}
