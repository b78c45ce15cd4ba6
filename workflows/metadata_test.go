package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/testsuite"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/job"
)

// metadataOf asks what Temporal's UI asks, and returns each definition with whether it is described.
func metadataOf(t *testing.T, environment *testsuite.TestWorkflowEnvironment) (signals, updates, queries []string) {
	t.Helper()
	value, err := environment.QueryWorkflow("__temporal_workflow_metadata")
	require.NoError(t, err)
	var metadata sdkpb.WorkflowMetadata
	require.NoError(t, value.Get(&metadata))
	names := func(definitions []*sdkpb.WorkflowInteractionDefinition) (names []string) {
		for _, one := range definitions {
			if strings.HasPrefix(one.GetName(), "__") {
				continue
			}
			names = append(names, one.GetName())
			assert.NotEmpty(t, one.GetDescription(), one.GetName())
		}
		return names
	}
	definition := metadata.GetDefinition()
	return names(definition.GetSignalDefinitions()), names(definition.GetUpdateDefinitions()), names(definition.GetQueryDefinitions())
}

// TestTheMetadataOffersWhatPeopleMaySend, before any of it has come: Temporal's UI lists what a workflow's metadata has.
func TestTheMetadataOffersWhatPeopleMaySend(t *testing.T) {
	k := newCronJobKube(t)
	k.after(time.Minute, func() {
		signals, updates, queries := metadataOf(t, k.environment)
		assert.Equal(t, []string{"resume", "suspend", "trigger"}, signals)
		assert.Equal(t, []string{"backfill", "restore-ledger", "trigger"}, updates)
		assert.Equal(t, []string{"describe", "ledger"}, queries)
	})
	k.runUntil(2*time.Minute, cron("* * * * *", allow))
}

func TestTheMetadataOfAJobOffersWhatPeopleMaySend(t *testing.T) {
	kube := newJobKube(t)
	kube.after(time.Minute, func() {
		signals, updates, queries := metadataOf(t, kube.environment)
		assert.Equal(t, []string{"resume", "stop", "suspend"}, signals)
		assert.Empty(t, updates)
		assert.Equal(t, []string{"describe"}, queries)
		kube.end(1, corev1.PodSucceeded)
	})
	kube.mustEnd(jobSpec(1, 1), job.Complete)
}
