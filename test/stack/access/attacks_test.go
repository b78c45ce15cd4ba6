package access

import (
	"context"
	"testing"

	"go.temporal.io/sdk/client"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/test/stack/access/door"
)

// Whatever an attacker of test/stack/hostile does to workflows is refused to people before it comes to them, whatever RBAC lets them do.
func TestAttacksEndAtTheDoor(t *testing.T) {
	workflow := add(t, "attacked")
	found, err := stack.CronJob(t.Context(), door.Shop, "attacked")
	if err != nil {
		t.Fatal(err)
	}
	held := stack.CreateJob(t, door.Shop, "attacked", harness.JobSpec(harness.RunUntilEnded()))
	cronJob := door.Target{Workflow: workflow, Name: found.Name, UID: string(found.UID)}
	running := door.Target{Workflow: harness.JobWorkflow(door.Shop, held.Name), Name: held.Name, UID: string(held.UID)}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		_, err := stack.WorkflowStatus(ctx, running.Workflow)
		return err
	})
	before := map[string]string{}
	for _, victim := range []string{cronJob.Workflow, running.Workflow, names.Cluster("").PodWatchWorkflowID(0, 1)} {
		before[victim] = door.RunOf(t, stack.Temporal, victim)
	}
	attackers := map[string]client.Client{}
	for _, user := range []string{"viewer", "editor", "stranger"} {
		attackers[user] = people.As(t, user)
	}
	door.RefuseAll(t, door.Attacks(cronJob, running), attackers)
	for victim, run := range before {
		if after := door.RunOf(t, stack.Temporal, victim); after != run {
			t.Errorf("%s was %s, and is %s", victim, run, after)
		}
	}
	for _, workflow := range []string{cronJob.Workflow, running.Workflow} {
		door.ByNoPerson(t, stack.Temporal, workflow)
	}
}
