package activities_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	clocktesting "k8s.io/utils/clock/testing"

	"ostinato.dev/ostinato/activities"
)

// watchReports takes the reports of a watch.
type watchReports struct {
	answer error
	count  atomic.Int64
}

func (r *watchReports) RecordActivityHeartbeat(context.Context, []byte, ...any) error {
	r.count.Add(1)
	return r.answer
}

// reports has a watch report for ten seconds, and checks how often it does.
func (r *watchReports) reports(t *testing.T) *watch {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
	s := newStage(t, nil, nil, func(o *activities.Options) { o.Clock, o.Heartbeats = clock, r })
	watching := s.watch(onlyShard, genuine)
	for reported := range int64(6) { // The first is that all is listed.
		for deadline := time.Now().Add(patience); r.count.Load() <= reported; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d reports within %d s", r.count.Load(), 2*reported)
			}
		}
		clock.Step(2 * time.Second)
	}
	return watching
}

// Temporal gives a watch that is silent for ten seconds to another worker, which lists all Pods.
func TestAWatchReportsEveryTwoSeconds(t *testing.T) {
	new(watchReports).reports(t).goesOn(t)
}

func TestAWatchEndsByAnAnswerOnly(t *testing.T) {
	for name, test := range map[string]struct {
		answer error
		over   bool
	}{
		"Temporal is away":                    {serviceerror.NewUnavailable("connection refused"), false},
		"Temporal does not answer":            {context.DeadlineExceeded, false},
		"Temporal has too much to do":         {serviceerror.NewResourceExhausted(0, "later"), false},
		"the watch was given to another one":  {serviceerror.NewNotFound("activity not found"), true},
		"the workflow of the watch has ended": {serviceerror.NewNotFound("workflow execution already completed"), true},
	} {
		t.Run(name, func(t *testing.T) {
			watching := (&watchReports{answer: test.answer}).reports(t)
			watching.goesOn(t)
			// The SDK is asked to report, which ends an attempt that is over.
			select {
			case <-watching.begun:
				if !test.over {
					t.Error("the attempt is taken for lost")
				}
			default:
				if test.over {
					t.Error("the attempt is not taken for lost")
				}
			}
		})
	}
}
