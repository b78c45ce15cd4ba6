package harness

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// pollInterval is how often a wait looks.
const pollInterval = 100 * time.Millisecond

// Poll calls check, at once and then at intervals, until it returns nil. When that takes too long the error is check's last.
func Poll(ctx context.Context, interval, within time.Duration, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, within, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		// The check that the end of the time cuts short says nothing.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	if err == nil {
		return nil
	}
	if last == nil {
		last = err
	}
	return fmt.Errorf("not within %s: %w", within.Round(time.Millisecond), last)
}

// Eventually calls check until it returns nil, and fails the test with its last error after the time.
func Eventually(t *testing.T, within time.Duration, check func(context.Context) error) {
	t.Helper()
	if err := Poll(t.Context(), pollInterval, within, check); err != nil {
		t.Fatal(err)
	}
}

// AsSoonAs looks at a condition every millisecond, to let the test act in the very middle of what makes it true. It tells
// whether that was within the time.
func AsSoonAs(t *testing.T, within time.Duration, condition func() bool) bool {
	t.Helper()
	return wait.PollUntilContextTimeout(t.Context(), time.Millisecond, within, true, func(context.Context) (bool, error) {
		return condition(), nil
	}) == nil
}

// Always calls check until the time is over, and fails the test at its first error.
func Always(t *testing.T, during time.Duration, check func(context.Context) error) {
	t.Helper()
	over := time.Now().Add(during)
	err := wait.PollUntilContextCancel(t.Context(), pollInterval, true, func(ctx context.Context) (bool, error) {
		return time.Now().After(over), check(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
}
