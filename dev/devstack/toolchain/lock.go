package toolchain

import (
	"context"
	"fmt"
	"time"

	"ostinato.dev/ostinato/dev/devstack/process"
)

// lock takes the lock of the file, waiting for its holder; waiting is called once if that is necessary.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for told := false; ; {
		unlock, ok, err := process.TryLock(path)
		if ok || err != nil {
			return unlock, err
		}
		if !told {
			waiting()
			told = true
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the lock %s: %w", path, ctx.Err())
		case <-ticker.C:
		}
	}
}
