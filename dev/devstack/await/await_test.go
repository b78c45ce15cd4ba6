package await_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"ostinato.dev/ostinato/dev/devstack/await"
)

func TestACheckIsRepeatedUntilItSucceeds(t *testing.T) {
	calls := 0
	err := await.Success(t.Context(), time.Millisecond, func(context.Context) error {
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	assert.NoError(t, err)
	assert.Equal(t, 3, calls)
}

func TestTheEndTellsWhatWasWrongLast(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	calls := 0
	err := await.Success(ctx, time.Millisecond, func(ctx context.Context) error {
		if calls++; calls == 3 {
			cancel(stopped)
			return fmt.Errorf("cut short: %w", ctx.Err())
		}
		return fmt.Errorf("%d Pods are missing", 3-calls)
	})
	assert.EqualError(t, err, "1 Pods are missing (stopped)")
	assert.ErrorIs(t, err, stopped)
}

func TestOneCheckIsMadeEvenAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.NoError(t, await.Success(ctx, time.Hour, func(context.Context) error { return nil }))
	assert.EqualError(t, await.Success(ctx, time.Hour, func(context.Context) error { return errors.New("no") }), "no (context canceled)")
}
