//go:build linux

package installed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"go.temporal.io/sdk/client"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/steering"
	"ostinato.dev/ostinato/test/stack/access/door"
)

const yearly = `
apiVersion: batch.ostinato.dev/v1
kind: CronJob
metadata: {name: %s}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "busybox:1.28", command: [date]}]}}}}
`

const held = `
apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec:
  managedBy: ostinato.dev/job-controller
  template: {spec: {restartPolicy: Never, terminationGracePeriodSeconds: 0, containers: [{name: main, image: "busybox:1.28", command: [sleep, "3600"]}]}}
`

// peopleComeToTemporal, by its own command and its page: RBAC decides what each may do to a CronJob's workflow, ostinato why names who has
// done it, and every attack is refused.
func peopleComeToTemporal(t *testing.T) {
	v := newVisit(t)
	tokens, clients := map[string]string{}, map[string]client.Client{}
	for user := range v.kubeconfigs {
		tokens[user] = v.run(t, user, "ostinato", "token")
		clients[user] = v.Dial(t, nil, tokens[user])
	}
	t.Run("attacks", func(t *testing.T) { v.areRefused(t, clients) })
	for name, way := range map[string]func(t *testing.T, user string) send{
		"by-command": func(t *testing.T, user string) send { return v.byCommand(t, tokens[user]) },
		"by-page":    v.byPage,
	} {
		t.Run(name, func(t *testing.T) {
			workflow := v.make(t, clients["viewer"], cronJobs, yearly, name).Workflow
			for _, user := range []string{"viewer", "stranger"} {
				do := way(t, user)
				for _, message := range []string{steering.Suspend, steering.Resume, steering.Trigger, steering.Backfill} {
					if err := do(workflow, signal, message, `{}`); err == nil || !strings.Contains(err.Error(), "does not let them") {
						t.Errorf("%s sends %s: %v", user, message, err)
					}
				}
			}
			v.areNamed(t, way(t, "editor"), name, workflow)
		})
	}
	t.Run("a ServiceAccount", func(t *testing.T) {
		const robot = "system:serviceaccount:shop:robot"
		v.Grant(t, robot, door.Writers)
		v.Token(t, "robot") // makes the account
		token := v.run(t, root, "kubectl", "create", "token", "robot", "--namespace="+door.Shop, "--audience=ostinato-temporal")
		if err := v.byCommand(t, token)(harness.CronJobWorkflow(door.Shop, "by-command"), signal, steering.Suspend, `{"note":"nightly"}`); err != nil {
			t.Fatal(err)
		}
		v.why(t, "by-command", "2100-01-01 00:00", "by "+robot+" at", "through signal: nightly")
	})
}

// areRefused has each of the people try the attacks on a CronJob and a Job.
func (v *visit) areRefused(t *testing.T, people map[string]client.Client) {
	reader := people["viewer"]
	cronJob, running := v.make(t, reader, cronJobs, yearly, "attacked"), v.make(t, reader, jobs, held, "attacked")
	before := map[string]string{}
	for _, victim := range []door.Target{cronJob, running} {
		before[victim.Workflow] = door.RunOf(t, reader, victim.Workflow)
	}
	door.RefuseAll(t, door.Attacks(cronJob, running), people)
	for workflow, run := range before {
		if after := door.RunOf(t, reader, workflow); after != run {
			t.Errorf("%s was %s, and is %s", workflow, run, after)
		}
		door.ByNoPerson(t, reader, workflow)
	}
}

// make makes an object and waits until a reader of its workflow finds that.
func (v *visit) make(t *testing.T, reader client.Client, resource schema.GroupVersionResource, text, name string) door.Target {
	t.Helper()
	made, err := cluster.client.Resource(resource).Namespace(door.Shop).Create(t.Context(), decode(t, fmt.Sprintf(text, name)), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	target := door.Target{Workflow: harness.CronJobWorkflow(door.Shop, name), Name: name, UID: string(made.GetUID())}
	if resource == jobs {
		target.Workflow = harness.JobWorkflow(door.Shop, name)
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		_, err := reader.DescribeWorkflowExecution(ctx, target.Workflow, "")
		return err
	})
	return target
}

// areNamed has the editor suspend, resume, trigger and backfill a CronJob.
func (v *visit) areNamed(t *testing.T, do send, name, workflow string) {
	t.Helper()
	editor := func(kind, message, argument string) {
		t.Helper()
		if err := do(workflow, kind, message, argument); err != nil {
			t.Fatal(err)
		}
	}
	editor(signal, steering.Suspend, `{"note":"an upgrade"}`)
	v.why(t, name, "2100-01-01 00:00", "by editor at", "through signal: an upgrade")
	editor(signal, steering.Resume, `{}`)
	harness.Eventually(t, harness.Prompt, func(context.Context) error {
		if suspended, _, _ := unstructured.NestedBool(v.cronJob(t, name), "spec", "suspend"); suspended {
			return errors.New("it is suspended")
		}
		return nil
	})
	editor(signal, steering.Trigger, `{}`)
	v.why(t, name, v.started(t, name, signal), "asked for by editor through signal")
	editor(update, steering.Backfill, `{"from":"2020-01-01T00:00:00Z","to":"2020-01-01T00:00:00Z"}`)
	v.why(t, name, v.started(t, name, update), "asked for by editor through update")
}

// why waits until ostinato why has the texts about a time of a CronJob.
func (v *visit) why(t *testing.T, name, at string, texts ...string) {
	t.Helper()
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		// The exit code says whether it ran.
		answer, _ := v.command(ctx, "editor", "ostinato", "--namespace="+door.Shop, "--utc", "why", name, at).CombinedOutput()
		for _, text := range texts {
			if !strings.Contains(string(answer), text) {
				return fmt.Errorf("why %s %q: %s\nwant %q", name, at, answer, text)
			}
		}
		return nil
	})
}

// started waits for a run that was asked for through a signal or an update, and returns its time.
func (v *visit) started(t *testing.T, name, through string) (at string) {
	t.Helper()
	harness.Eventually(t, harness.Prompt, func(context.Context) error {
		rows, _, _ := unstructured.NestedSlice(v.cronJob(t, name), "status", "recentRuns")
		for _, row := range rows {
			fields := row.(map[string]any)
			if fields["through"] == through && fields["jobName"] != nil {
				at = strings.NewReplacer("T", " ", "Z", "").Replace(fmt.Sprint(fields["scheduledTime"]))
				return nil
			}
		}
		return fmt.Errorf("no run through a %s: %v", through, rows)
	})
	return at
}

func (v *visit) cronJob(t *testing.T, name string) map[string]any {
	t.Helper()
	found, err := cluster.client.Resource(cronJobs).Namespace(door.Shop).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found.Object
}
