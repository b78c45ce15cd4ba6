package losetimers_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"ostinato.dev/ostinato/dev/harness/losetimers"
	"ostinato.dev/ostinato/internal/temporalserver"
	"ostinato.dev/ostinato/internal/temporalserver/sqlite"
	"ostinato.dev/ostinato/internal/temporalserver/store"
)

// A test that wants a timer lost hears that there was none.
func TestATimerThatIsNotThereCantBeLost(t *testing.T) {
	data := t.TempDir()
	server, err := temporalserver.Start(t.Context(), temporalserver.Options{Open: func(ctx context.Context) (store.Databases, error) {
		return sqlite.Open(ctx, sqlite.Options{Dir: data, Synchronous: sqlite.SynchronousOff, Logger: slog.New(slog.DiscardHandler)})
	}})
	if err == nil {
		err = server.Stop()
	}
	if err != nil {
		t.Fatal(err)
	}
	err = losetimers.Of(t.Context(), data, "absent")
	if err == nil || !strings.Contains(err.Error(), "lose the timers of workflow absent: it has none") {
		t.Errorf("error %v", err)
	}
}
