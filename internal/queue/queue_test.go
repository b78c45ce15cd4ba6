package queue_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"ostinato.dev/ostinato/internal/queue"
)

const (
	first = time.Second
	last  = 4 * time.Second
)

// shares has a key's first letter for its namespace.
var shares = queue.Shares[string]{Namespace: func(key string) string { return key[:1] }}

// shop is a running queue whose handler does what a test tells it.
type shop struct {
	t     *testing.T
	clock *clocktesting.FakeClock
	queue *queue.Queue[string]
	// begun gets every key as its handling begins, which lasts until answers has an answer.
	begun   chan string
	answers chan answer
	stop    context.CancelFunc
	ended   chan struct{}
}

type answer struct {
	again time.Duration
	err   error
}

func open(t *testing.T, workers int) *shop {
	t.Helper()
	s := &shop{
		t: t, clock: clocktesting.NewFakeClock(time.Unix(0, 0)),
		begun: make(chan string, 10), answers: make(chan answer), ended: make(chan struct{}),
	}
	s.queue = queue.New("shop", first, last, shares, s.clock, nil)
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	go func() {
		defer close(s.ended)
		s.queue.Run(ctx, workers, func(_ context.Context, key string) (time.Duration, error) {
			s.begun <- key
			answer := <-s.answers
			return answer.again, answer.err
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-s.ended
	})
	return s
}

// handles waits for the key's handling to begin, and ends it.
func (s *shop) handles(key string, answer answer) {
	s.t.Helper()
	s.begins(key)
	s.answers <- answer
}

func (s *shop) begins(key string) {
	s.t.Helper()
	select {
	case got := <-s.begun:
		require.Equal(s.t, key, got)
	case <-time.After(10 * time.Second):
		require.Fail(s.t, "not handled", key)
	}
}

// waits lets the time pass for which the key must wait before it is handled again.
func (s *shop) waits(wait time.Duration) {
	s.t.Helper()
	// The queue's own heartbeat is the one waiter that is always there.
	require.Eventually(s.t, func() bool { return s.clock.Waiters() > 1 }, 10*time.Second, time.Millisecond, "the key waits")
	s.clock.Step(wait - 1)
	require.Never(s.t, func() bool { return len(s.begun) > 0 }, 20*time.Millisecond, time.Millisecond, "handled too early")
	s.clock.Step(1)
}

func TestKeysThatWaitAreThereOnce(t *testing.T) {
	s := open(t, 1)
	s.queue.Add("a")
	s.begins("a")
	s.queue.Add("b")
	s.queue.Add("b")
	s.queue.Add("c")
	s.answers <- answer{}
	s.handles("b", answer{})
	s.handles("c", answer{})
}

func TestAKeyIsNeverHandledTwiceAtATime(t *testing.T) {
	s := open(t, 2)
	s.queue.Add("a")
	s.begins("a")
	s.queue.Add("a")
	s.queue.Add("b")
	s.begins("b")
	s.answers <- answer{}
	s.answers <- answer{}
	s.handles("a", answer{})
}

func TestAFailureIsTriedAgainAfterAWaitThatDoubles(t *testing.T) {
	s := open(t, 1)
	s.queue.Add("a")
	failed := answer{again: queue.AtOnce, err: errors.New("refused")}
	for failures, wait := range []time.Duration{first, 2 * first, last, last} {
		s.begins("a")
		assert.Equal(t, failures, s.queue.Failures("a"))
		s.answers <- failed
		s.waits(wait)
	}
	s.handles("a", answer{})
	s.queue.Add("a")
	s.begins("a")
	assert.Zero(t, s.queue.Failures("a"), "a success forgets the failures")
	s.answers <- failed
	s.waits(first)
	s.handles("a", answer{})
}

func TestAKeyMayAskToBeHandledAgain(t *testing.T) {
	s := open(t, 1)
	s.queue.Add("a")
	s.handles("a", answer{again: queue.AtOnce})
	s.handles("a", answer{again: time.Minute})
	s.waits(time.Minute)
	s.handles("a", answer{})
	s.queue.AddAfter("b", time.Hour)
	s.waits(time.Hour)
	s.handles("b", answer{})
}

func TestTheEndWaitsForWhatIsUnderWay(t *testing.T) {
	s := open(t, 1)
	s.queue.Add("a")
	s.begins("a")
	s.queue.Add("b")
	s.stop()
	var over atomic.Bool
	go func() { <-s.ended; over.Store(true) }()
	require.Never(t, over.Load, 20*time.Millisecond, time.Millisecond, "a is under way")
	s.answers <- answer{}
	<-s.ended
	assert.Empty(t, s.begun, "b is dropped")
}
