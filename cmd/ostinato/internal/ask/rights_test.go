package ask_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/testing/fixture/night"
)

var now = time.Date(2026, 3, 2, 9, 32, 0, 0, time.UTC)

// cluster is an API server with some CronJobs, as a person without a namespace of his own reaches it.
func cluster(t *testing.T) (*night.Server, *ask.Cluster) {
	t.Helper()
	server := night.NewServer(night.CronJobs(now, 3))
	t.Cleanup(server.Close)
	reached, err := ask.NewCluster(server.Config(), "", "")
	require.NoError(t, err)
	return server, reached
}

func TestRightsAreThoseOfThePerson(t *testing.T) {
	server, reached := cluster(t)
	for _, viewer := range []bool{false, true} {
		server.OnlyViewers(viewer)
		for _, right := range []ask.Right{ask.MayRun, ask.MaySteer} {
			may, err := reached.May(t.Context(), "team-00", right)
			require.NoError(t, err)
			assert.Equal(t, !viewer, may, right)
		}
	}
	server.Close()
	_, err := reached.May(t.Context(), "team-00", ask.MaySteer)
	assert.ErrorContains(t, err, "ask whether you may patch cronjobs.batch.ostinato.dev in namespace team-00")
}

func TestANamespaceIsChosenForOneQuestion(t *testing.T) {
	_, reached := cluster(t)
	found, err := reached.In("team-00").CronJob(t.Context(), "mail-0000")
	require.NoError(t, err)
	assert.Equal(t, "mail-0000", found.Name)
	_, err = reached.CronJob(t.Context(), "mail-0000")
	assert.ErrorContains(t, err, "may be in any namespace", "the next one has none again")
}

func TestADryRunOfASuspendChangesNothing(t *testing.T) {
	server, reached := cluster(t)
	cronJob, err := reached.In("team-00").CronJob(t.Context(), "mail-0000")
	require.NoError(t, err)
	require.NoError(t, reached.Suspend(t.Context(), cronJob, ask.Suspension{Suspend: true, DryRun: true}))
	assert.Equal(t, 1, server.DryRuns())
	assert.False(t, *server.Stored("team-00", "mail-0000").Spec.Suspend)
	require.NoError(t, reached.Suspend(t.Context(), cronJob, ask.Suspension{Suspend: true}))
	assert.True(t, *server.Stored("team-00", "mail-0000").Spec.Suspend)
}

func TestWhichErrorsAreOfTemporalAsAWhole(t *testing.T) {
	for err, whole := range map[error]bool{
		fmt.Errorf("read: %w", context.DeadlineExceeded):                 true,
		fmt.Errorf("read: %w", serviceerror.NewUnavailable("no")):        true,
		fmt.Errorf("read: %w", serviceerror.NewDeadlineExceeded("slow")): true,
		fmt.Errorf("read: %w", serviceerror.NewNotFound("no workflow")):  false,
		fmt.Errorf("read: %w", serviceerror.NewPermissionDenied("", "")): false,
		errors.New("something else"):                                     false,
	} {
		assert.Equal(t, whole, ask.Unreachable(err), err)
	}
	assert.False(t, ask.Unreachable(nil))
}

func TestWithoutTemporalALedgerIsUnreachable(t *testing.T) {
	_, reached := cluster(t)
	cronJob, err := reached.In("team-00").CronJob(t.Context(), "mail-0000")
	require.NoError(t, err)
	workflows, err := ask.NewWorkflows(ask.Settings{Address: "127.0.0.1:1"})
	require.NoError(t, err)
	defer workflows.Keep().Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, _, err = workflows.Ledger(ctx, cronJob, protocol.LedgerQuestion{Limit: 1})
	assert.ErrorContains(t, err, "reach Temporal at 127.0.0.1:1")
	assert.True(t, ask.Unreachable(err))
}
