package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/dev/devstack/process"
)

// sleeper is a process that does nothing.
func sleeper(t *testing.T, name string) *process.Process {
	t.Helper()
	path, err := exec.LookPath("sleep")
	require.NoError(t, err)
	p, err := process.Start(t.Context(), process.Spec{Name: name, Path: path, Args: []string{"600"}, LogFile: filepath.Join(t.TempDir(), "log")})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Kill()) })
	return p
}

func TestWhatAProcessUsedBeforeItWasKilledCounts(t *testing.T) {
	before := sleeper(t, "worker-1")
	meter, err := startUsage([]*process.Process{before})
	require.NoError(t, err)
	require.NoError(t, meter.leave([]*process.Process{before}))
	require.NoError(t, before.Kill())
	meter.left[0].cpuSeconds, meter.left[0].peakBytes = 100, 1<<40
	meter.join([]*process.Process{sleeper(t, "worker-3")})
	usage, err := meter.read()
	require.NoError(t, err)
	worker := usageNamed(usage, "worker")
	assert.GreaterOrEqual(t, worker.cpuSeconds, 100.0)
	assert.Equal(t, uint64(1<<40), worker.peakBytes, "the larger of two lives, not their sum")
}

func TestAPeakThatTheKernelForgetsIsKept(t *testing.T) {
	p := sleeper(t, "worker-1")
	meter, err := startUsage([]*process.Process{p})
	require.NoError(t, err)
	require.NoError(t, meter.keepPeaks())
	assert.Positive(t, meter.members[0].peak)
	meter.members[0].peak = 1 << 40
	usage, err := meter.read()
	require.NoError(t, err)
	assert.Equal(t, uint64(1<<40), usageNamed(usage, "worker").peakBytes)
}
