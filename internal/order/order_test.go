package order_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"ostinato.dev/ostinato/internal/order"
)

func weights(t interface{ Fatal(...any) }, list string) (w order.Weights) {
	if err := w.Set(list); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestWhatTemporalIsTold(t *testing.T) {
	named := weights(t, "shop=5,batch=0.5")
	for _, test := range []struct {
		name  string
		place order.Place
		want  temporal.Priority
	}{
		{"runs that are due go first", order.Place{Work: order.Due, Namespace: "shop"}, temporal.Priority{PriorityKey: 1, FairnessKey: "shop", FairnessWeight: 5}},
		{"then what somebody waits for", order.Place{Work: order.Asked, Namespace: "batch"}, temporal.Priority{PriorityKey: 2, FairnessKey: "batch", FairnessWeight: 0.5}},
		{"then runs in progress", order.Place{Work: order.Running, Namespace: "other"}, temporal.Priority{PriorityKey: 3, FairnessKey: "other", FairnessWeight: 1}},
		{"then status", order.Place{Work: order.Told, Namespace: "other"}, temporal.Priority{PriorityKey: 4, FairnessKey: "other", FairnessWeight: 1}},
		{"last what is over", order.Place{Work: order.Over, Namespace: "other"}, temporal.Priority{PriorityKey: 5, FairnessKey: "other", FairnessWeight: 1}},
		{"the watch of Pods is for no namespace", order.Place{Work: order.Due}, temporal.Priority{PriorityKey: 1}},
	} {
		t.Run(test.name, func(t *testing.T) { assert.Equal(t, test.want, named.Priority(test.place)) })
	}
}

func TestWeightsAreAFlag(t *testing.T) {
	w := weights(t, " shop=5, batch=0.5,")
	assert.Equal(t, "batch=0.5,shop=5", w.String())
	assert.Equal(t, []string{"batch", "shop"}, w.Namespaces())
	require.NoError(t, w.Set("other=2"))
	assert.Equal(t, "other=2", w.String(), "the last one given counts")
	assert.Equal(t, 1.0, w.Of("shop"))
}

func TestMistakesInWeightsSayWhatToChange(t *testing.T) {
	for _, test := range []struct{ list, want string }{
		{"shop", `"shop" is not namespace=weight`},
		{"=2", "is not namespace=weight"},
		{strings.Repeat("a", 64) + "=2", "is not namespace=weight"},
		{"shop=much", `the weight of shop is "much"`},
		{"shop=0", "between 0.001 and 1000"},
		{"shop=-1", "between 0.001 and 1000"},
		{"shop=1001", "between 0.001 and 1000"},
		{"shop=NaN", "between 0.001 and 1000"},
		{"shop=1,shop=2", "twice"},
	} {
		t.Run(test.list, func(t *testing.T) {
			var w order.Weights
			assert.ErrorContains(t, w.Set(test.list), test.want)
		})
	}
}
