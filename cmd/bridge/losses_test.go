package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/names"
)

const lost = "The databases were set aside: they have the schema a of Temporal. The old ones are in /data/temporal/databases-of-a."

// bridges are two on one cluster, with a Temporal that says the same to both, and what they log.
func bridges(kubernetes kubernetes.Interface, says func() (string, error)) (first, second *losses, log *bytes.Buffer) {
	log = &bytes.Buffer{}
	one := losses{
		kubernetes: kubernetes, namespace: "system", logger: slog.New(slog.NewTextHandler(log, nil)), short: func(bool) {},
		ask: func(context.Context) (map[string]string, error) {
			lost, err := says()
			return map[string]string{names.TemporalLostData: lost}, err
		},
	}
	other := one
	return &one, &other, log
}

func eventsOf(t *testing.T, kubernetes kubernetes.Interface) []corev1.Event {
	t.Helper()
	list, err := kubernetes.CoreV1().Events("system").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

func TestOneEventSaysWhatTemporalHasLost(t *testing.T) {
	cluster, says := fake.NewClientset(), ""
	first, second, log := bridges(cluster, func() (string, error) { return says, nil })
	first.look(t.Context())
	assert.Empty(t, eventsOf(t, cluster), "nothing is lost")

	says = lost
	for range 2 {
		first.look(t.Context())
		second.look(t.Context())
	}
	emitted := eventsOf(t, cluster)
	require.Len(t, emitted, 1, "two bridges, which look twice")
	assert.Equal(t, []string{"Warning", event.TemporalDataLost, "Lease", "ostinato-bridge"},
		[]string{emitted[0].Type, emitted[0].Reason, emitted[0].InvolvedObject.Kind, emitted[0].InvolvedObject.Name})
	assert.Contains(t, emitted[0].Message, "go on from their objects")
	assert.Contains(t, emitted[0].Message, "/data/temporal/databases-of-a")
	assert.Equal(t, 2, strings.Count(log.String(), "level=WARN"), log)

	says = lost + " And again."
	first.look(t.Context())
	assert.Len(t, eventsOf(t, cluster), 2, "another loss is another Event")

	says = strings.Repeat("x", 5000)
	first.look(t.Context())
	for _, one := range eventsOf(t, cluster) {
		assert.LessOrEqual(t, len(one.Message), event.MaxMessage)
	}
}

func TestALossIsToldWhenItCanBe(t *testing.T) {
	cluster := fake.NewClientset()
	failure := errors.New("no answer")
	cluster.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) { return failure != nil, nil, failure })
	asked := errors.New("Temporal is away")
	bridge, _, _ := bridges(cluster, func() (string, error) { return lost, asked })
	bridge.look(t.Context())
	asked = nil
	bridge.look(t.Context())
	assert.Empty(t, eventsOf(t, cluster))
	failure = nil
	bridge.look(t.Context())
	assert.Len(t, eventsOf(t, cluster), 1)
}

func TestWithoutALeaseTheLogAloneTells(t *testing.T) {
	cluster := fake.NewClientset()
	bridge, _, log := bridges(cluster, func() (string, error) { return lost, nil })
	bridge.namespace = ""
	bridge.look(t.Context())
	assert.Empty(t, cluster.Actions())
	assert.Contains(t, log.String(), "databases-of-a")
}

func TestAMetricSaysThatTemporalIsShort(t *testing.T) {
	said, told := map[string]string{names.TemporalShortData: "It has little room."}, []bool(nil)
	bridge, _, _ := bridges(fake.NewClientset(), nil)
	bridge.ask = func(context.Context) (map[string]string, error) { return said, nil }
	bridge.short = func(short bool) { told = append(told, short) }
	bridge.look(t.Context())
	said = nil
	bridge.look(t.Context())
	assert.Equal(t, []bool{true, false}, told)
}
