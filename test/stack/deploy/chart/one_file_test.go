package chart

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTheOneFileIsTaken: kubectl applies install.yaml to an empty cluster at once, and again.
func TestTheOneFileIsTaken(t *testing.T) {
	const theirs = "ostinato-system"
	rendered, err := run(t, "../../../../dev/install.sh", binaries[helmTool])
	if err != nil {
		t.Fatalf("%v: %s", err, rendered)
	}
	file := filepath.Join(t.TempDir(), "install.yaml")
	if err := os.WriteFile(file, []byte(rendered), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		kubectl(t, "apply", "--server-side", "--filename="+file)
	}
	for _, name := range []string{"ostinato-worker", "ostinato-bridge"} {
		get(t, deployments, theirs, name)
	}
	get(t, statefulSets, theirs, "ostinato-temporal")
	createCronJob(t, "applied")

	// No controller here ends a namespace: what is in it goes by name.
	kubectl(t, "delete", "--wait=false", "--filename="+file)
	kubectl(t, "wait", "--for=delete", "--timeout=1m", "crd/cronjobs.batch.ostinato.dev")
}

func kubectl(t *testing.T, arguments ...string) {
	t.Helper()
	if printed, err := run(t, binaries["kubectl"], arguments...); err != nil {
		t.Fatalf("kubectl %v: %v: %s", arguments, err, printed)
	}
}
