package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// heartbeats answers whether an attempt was given up.
type heartbeats struct {
	answer error
	asked  int
}

func (h *heartbeats) RecordActivityHeartbeat(ctx context.Context, token []byte, _ ...any) error {
	if _, bounded := ctx.Deadline(); !bounded || len(token) == 0 {
		return errors.New("asked without a deadline or without a token")
	}
	h.asked++
	return h.answer
}

// Temporal gives an attempt up and its worker does not know that yet: nothing is written, as
// another attempt may have made the Job, and a later run may have replaced it.
func TestAnAttemptThatWasGivenUpStartsNothing(t *testing.T) {
	for name, test := range map[string]struct {
		answer error
		starts bool
	}{
		"goes on":      {nil, true},
		"was given up": {errors.New("workflow execution already completed"), false},
	} {
		t.Run(name, func(t *testing.T) {
			beats := &heartbeats{answer: test.answer}
			s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()}, func(o *activities.Options) { o.Heartbeats = beats })
			result, err := run[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest())
			if (err == nil) != test.starts || (result.Started != nil) != test.starts || beats.asked == 0 {
				t.Errorf("asked %d times: %+v, %v", beats.asked, result, err)
			}
			if wrote := len(s.writes()) > 0; wrote != test.starts {
				t.Errorf("writes %v", s.writes())
			}
		})
	}
}

// A local attempt of a workflow task that began too long ago writes nothing: the task may have been given up for another.
func TestALocalAttemptOfAnOldTaskWritesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		age    time.Duration
		writes bool
	}{
		"young":                {time.Second, true},
		"old":                  {6 * time.Second, false},
		"of a clock far ahead": {-6 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()}, func(*activities.Options) {})
			request := ended(helloCronJob())
			request.Task, request.Digest = time.Now().Add(-test.age), schedule.SpecOf(helloCronJob()).Digest()
			_, err := s.environment().ExecuteLocalActivity(s.activities.WriteStatus, request)
			if wrote := len(s.writes()) > 0; wrote != test.writes || (err == nil) != test.writes {
				t.Errorf("writes %v, %v", s.writes(), err)
			}
		})
	}
}
