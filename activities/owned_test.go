package activities_test

import (
	"context"
	"errors"
	"testing"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/protocol"
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
