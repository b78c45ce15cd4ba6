package harness

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestPoll(t *testing.T) {
	notYet := errors.New("not yet")
	for name, test := range map[string]struct {
		check func(ctx context.Context, after time.Duration) error
		want  string
		took  time.Duration
	}{
		"true at once": {func(context.Context, time.Duration) error { return nil }, "", 0},
		"true in time": {func(_ context.Context, after time.Duration) error {
			if after < 3*time.Second {
				return notYet
			}
			return nil
		}, "", 3 * time.Second},
		"never true": {func(context.Context, time.Duration) error { return notYet }, "not within 5s: not yet", 5 * time.Second},
		"a check that the end cuts short says nothing": {func(ctx context.Context, after time.Duration) error {
			if after < time.Second {
				return notYet
			}
			<-ctx.Done()
			return ctx.Err()
		}, "not within 5s: not yet", 5 * time.Second},
		"only a check that the end cuts short": {func(ctx context.Context, _ time.Duration) error {
			<-ctx.Done()
			return ctx.Err()
		}, "not within 5s: context deadline exceeded", 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := Poll(t.Context(), time.Second, 5*time.Second, func(ctx context.Context) error {
					return test.check(ctx, time.Since(began))
				})
				if got := text(err); got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
				if took := time.Since(began); took != test.took {
					t.Errorf("took %s, want %s", took, test.took)
				}
			})
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
