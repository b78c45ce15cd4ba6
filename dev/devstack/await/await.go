// Package await repeats a check until it succeeds.
package await

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Success calls check, at once and then at the interval, until it returns nil or ctx ends. The error then is the last
// one of check, and wraps that of ctx.
func Success(ctx context.Context, interval time.Duration, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		// The check that the end of ctx cuts short says nothing.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w (%w)", last, context.Cause(ctx))
}
