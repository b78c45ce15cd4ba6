package lease_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ostinato.dev/ostinato/internal/lease"
)

const timeout = 3 * time.Second

var errGivenUp = errors.New("the attempt was given up")

func TestOwned(t *testing.T) {
	for name, test := range map[string]struct {
		// reported is whether the attempt has reported, later how much later it writes; answer is Temporal's to a question then.
		reported bool
		later    time.Duration
		answer   error
		asks     bool
		err      error
		// lasts is how long the write may take.
		lasts time.Duration
	}{
		"a new attempt asks":                     {asks: true, lasts: timeout * 9 / 10},
		"one that has just reported does not":    {reported: true, lasts: timeout * 9 / 10},
		"one that has reported has what is left": {reported: true, later: timeout / 2, lasts: timeout * 4 / 10},
		"one that has little left asks":          {reported: true, later: timeout * 8 / 10, asks: true, lasts: timeout * 9 / 10},
		"one that was given up writes nothing":   {asks: true, answer: errGivenUp, err: errGivenUp},
		"nor does one that was given up since":   {reported: true, later: timeout, asks: true, answer: errGivenUp, err: errGivenUp},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked bool
				var answer error
				held := lease.New(timeout, func(context.Context) error {
					asked = true
					return answer
				})
				if test.reported {
					time.Sleep(time.Second)
					held.Report(t.Context(), func() { t.Error("lost") })
				}
				time.Sleep(test.later)
				asked, answer = false, test.answer
				owned, release, err := held.Owned(t.Context())
				if asked != test.asks || !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
					t.Fatalf("asked %v, error %v", asked, err)
				}
				if err != nil {
					return
				}
				defer release()
				begun := time.Now()
				<-owned.Done()
				if lasted := time.Since(begun); lasted != test.lasts {
					t.Errorf("the write may take %s, want %s", lasted, test.lasts)
				}
			})
		})
	}
}

func TestManyWritesAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports atomic.Int32
		held := lease.New(timeout, func(context.Context) error {
			reports.Add(1)
			time.Sleep(timeout / 4)
			return nil
		})
		for range 32 {
			go func() {
				_, release, err := held.Owned(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				release()
			}()
		}
		time.Sleep(timeout / 2)
		if asked := reports.Load(); asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	})
}

// An attempt may reach its worker late: Temporal's clock tells, and the worker's may differ from it.
func TestAWriteEndsBeforeTemporalGivesTheAttemptUp(t *testing.T) {
	for late := time.Duration(0); late < timeout; late += timeout / 10 {
		synctest.Test(t, func(t *testing.T) {
			givenUp := time.Now().Add(timeout)
			time.Sleep(late)
			held := lease.New(timeout, func(context.Context) error {
				givenUp = time.Now().Add(timeout)
				return nil
			})
			owned, release, err := held.Owned(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			<-owned.Done()
			if beyond := time.Since(givenUp); beyond > 0 {
				t.Errorf("delivered after %s: the write may end %s after Temporal has given the attempt up", late, beyond)
			}
		})
	}
}

// A write may last as long as reports are answered, and ends with the lease when they are not.
func TestAWriteLastsAsLongAsTheAttemptIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Bool
		var lost atomic.Int32
		held := lease.New(timeout, func(context.Context) error {
			if gone.Load() {
				return errGivenUp
			}
			return nil
		})
		keeping, stop := context.WithCancel(t.Context())
		defer stop()
		go held.Keep(keeping, func() { lost.Add(1) })
		owned, release, err := held.Owned(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		time.Sleep(time.Minute)
		if owned.Err() != nil {
			t.Fatal("the write ended while all reports were answered")
		}
		gone.Store(true)
		time.Sleep(timeout)
		if owned.Err() == nil || lost.Load() == 0 {
			t.Errorf("the write goes on (%v), or nobody was told (%d times)", owned.Err(), lost.Load())
		}
	})
}

func TestAnEndedAttemptReportsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports atomic.Int32
		held := lease.New(timeout, func(context.Context) error { reports.Add(1); return nil })
		keeping, stop := context.WithCancel(t.Context())
		go held.Keep(keeping, func() { t.Error("lost") })
		time.Sleep(timeout/2 - time.Millisecond)
		stop()
		time.Sleep(time.Minute)
		if reports.Load() != 0 {
			t.Errorf("%d reports of an attempt that was over before the first was due", reports.Load())
		}
	})
}

// A server that is busy answers in the end; until then nothing is written.
func TestAnAttemptWaitsForAnAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		answers, patience time.Duration
		writes            bool
	}{
		"that comes":          {10 * timeout, 20 * timeout, true},
		"that comes too late": {20 * timeout, 10 * timeout, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				held := lease.New(timeout, func(ctx context.Context) error {
					if time.Since(begun) >= test.answers {
						return nil
					}
					<-ctx.Done()
					return ctx.Err()
				})
				ctx, cancel := context.WithTimeout(t.Context(), test.patience)
				defer cancel()
				owned, release, err := held.Owned(ctx)
				if (err == nil) != test.writes || time.Since(begun) < min(test.answers, test.patience) {
					t.Fatalf("after %s: %v", time.Since(begun), err)
				}
				if err == nil {
					release()
					<-owned.Done()
				}
			})
		})
	}
}

// Somebody who may write to Temporal asks for any timeout.
func TestAShortTimeoutNeitherFloodsNorWrites(t *testing.T) {
	for _, short := range []time.Duration{-time.Hour, 0, 1, time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			var reports atomic.Int32
			held := lease.New(short, func(context.Context) error { reports.Add(1); return nil })
			if _, _, err := held.Owned(t.Context()); err == nil {
				t.Errorf("a timeout of %s: it writes", short)
			}
			keeping, stop := context.WithCancel(t.Context())
			go held.Keep(keeping, func() {})
			time.Sleep(10 * time.Second)
			stop()
			if count := reports.Load(); count > 20 {
				t.Errorf("a timeout of %s: %d reports in 10 s", short, count)
			}
		})
	}
}

// Somebody reports besides: neither does so when the other just has.
func TestReportsFollowEachOtherAtADistance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports atomic.Int32
		held := lease.New(timeout, func(context.Context) error { reports.Add(1); return nil })
		report := func() int32 {
			held.Report(t.Context(), func() { t.Error("lost") })
			return reports.Load()
		}
		if report() != 0 {
			t.Error("an attempt reports that has just begun")
		}
		time.Sleep(time.Second)
		report()
		if again := report(); again != 1 {
			t.Errorf("%d reports, want 1", again)
		}
		keeping, stop := context.WithCancel(t.Context())
		defer stop()
		go held.Keep(keeping, func() { t.Error("lost") })
		time.Sleep(timeout / 2)
		report()
		time.Sleep(timeout / 2)
		if reports.Load() != 2 {
			t.Errorf("%d reports, want 2: the next one counts from that which somebody else has made", reports.Load())
		}
	})
}
