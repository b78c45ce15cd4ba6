package temporal

import (
	"strings"
	"testing"
)

// Whoever wants to see a timer lost hears that there was none.
func TestATimerThatIsNotThereCantBeLost(t *testing.T) {
	_, err := Start(t.Context(), Options{DataDir: t.TempDir(), LoseTimersOf: "nobody"})
	if err == nil || !strings.Contains(err.Error(), "lose the timers of workflow nobody: it has none") {
		t.Errorf("error %v", err)
	}
}
