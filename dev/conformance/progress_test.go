package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// output is Ginkgo's, of several processes and verbose.
const output = `Will run 3 of 3206 specs
Running in parallel across 8 processes
------------------------------
[SynchronizedBeforeSuite] PASSED [0.051 seconds]
[SynchronizedBeforeSuite] 
k8s.io/kubernetes@v1.37.0/test/e2e/e2e.go:69
------------------------------
• [2.145 seconds]
[sig-apps] Job should apply changes to a job status [Conformance] [sig-apps, Conformance]
k8s.io/kubernetes@v1.37.0/test/e2e/apps/job.go:1219
  STEP: Creating a job @ 11/21/26 12:24:01.001
------------------------------
• [FAILED] [30.231 seconds]
[sig-apps] Job [It] should create Workload [FeatureGate:GenericWorkload] [sig-apps, FeatureGate:GenericWorkload, Beta]
k8s.io/kubernetes@v1.37.0/test/e2e/apps/job.go:1533
------------------------------
S [SKIPPED] [0.021 seconds]
[sig-apps] Job [It] should do what is not here [sig-apps]
`

func TestProgressTellsEachSpecThatEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "suite.log")
	var told strings.Builder
	f := &follower{path: path, log: &told, elapsed: func() time.Duration { return 61 * time.Second }}
	// The log grows, and not line by line.
	for end := 0; end < len(output); end += 37 {
		require.NoError(t, os.WriteFile(path, []byte(output[:end]), 0o644))
		require.NoError(t, f.poll())
	}
	require.NoError(t, os.WriteFile(path, []byte(output), 0o644))
	require.NoError(t, f.poll())
	assert.Equal(t, `suite: 1m1s [1/3] [sig-apps] Job should apply changes to a job status [Conformance]: passed after 2.145 s
suite: 1m1s [2/3] [sig-apps] Job should create Workload [FeatureGate:GenericWorkload]: failed after 30.231 s
suite: 1m1s [3/3] [sig-apps] Job should do what is not here: skipped after 0.021 s
`, told.String())
}
