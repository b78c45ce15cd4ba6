package job_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/internal/job"
)

// evidence is a State with the evidence of failed Pods. Each has a log of the given size in bytes.
func evidence(attempts, log int) job.State {
	state := job.State{}.Of("default", "hello", "uid")
	for range attempts {
		state.Evidence = append(state.Evidence, job.Attempt{Pod: "p", UID: "u", Log: strings.Repeat("x", log)})
	}
	return state
}

// TestTheEvidenceOfAStateHasRoomInAResult: Temporal takes no payload of more than 2 MiB, and a workflow that can't return its
// result repeats its last task for ever.
func TestTheEvidenceOfAStateHasRoomInAResult(t *testing.T) {
	const log = 64 << 10
	largest := evidence(20, log)
	require.NoError(t, largest.Validate())
	result, err := json.Marshal(largest.ResultSoFar())
	require.NoError(t, err)
	assert.Less(t, len(result), 2<<20)
	assert.Error(t, evidence(21, 1).Validate())
	assert.Error(t, evidence(1, log+1).Validate())
}
