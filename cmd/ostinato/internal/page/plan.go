package page

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/internal/protocol"
)

// Plan is what an action would do, for a person to confirm.
type Plan struct {
	Title string
	// Says are what would happen, a sentence each.
	Says []string
	// Refused says why it would not be done; empty where it can be confirmed.
	Refused string
	// Does labels the button that confirms it.
	Does string
}

// printable returns the plan with texts in one line each that move no cursor.
func (p Plan) printable() Plan {
	for n := range p.Says {
		p.Says[n] = answer.Printable(p.Says[n])
	}
	p.Title, p.Refused = answer.Printable(p.Title), answer.Printable(p.Refused)
	return p
}

// Asker is who asks, as the object or the ledger will say, and why.
type Asker struct{ By, Why string }

func (a Asker) String() string {
	text := "by " + a.By + " (claimed)"
	if a.By == "" {
		text = "without a name"
	}
	if a.Why != "" {
		text += ", “" + a.Why + "”"
	}
	return text
}

// PlanRun says what a run now would do. beside is whether it may start beside runs that are active.
func PlanRun(cronJob *ostinatov1.CronJob, asker Asker, beside bool) Plan {
	plan := Plan{
		Title: fmt.Sprintf("Run %s/%s now", cronJob.Namespace, cronJob.Name), Does: "Run it now",
		Says: []string{
			"A Job is created from the template as it is now, with your own rights in Kubernetes.",
			fmt.Sprintf("The ledger will show that it was asked for %s.", Asker{By: asker.By}),
		},
	}
	switch count := cronJob.Status.ActiveCount; {
	case count == 0:
		plan.Says = append(plan.Says, "No run is active.")
	case answer.Beside(cronJob) == "":
		plan.Says = append(plan.Says, fmt.Sprintf("It starts beside %s, which concurrencyPolicy allows.", runs(int(count))))
	case beside:
		plan.Says = append(plan.Says, fmt.Sprintf("It starts beside %s, although concurrencyPolicy is %s.", runs(int(count)), cronJob.Spec.ConcurrencyPolicy))
	default:
		plan.Refused = fmt.Sprintf("%s, and concurrencyPolicy is %s: wait for the end, or choose to start beside it.", active(cronJob), cronJob.Spec.ConcurrencyPolicy)
	}
	if ptr.Deref(cronJob.Spec.Suspend, false) {
		plan.Says = append(plan.Says, "The CronJob is suspended, and stays so: this run starts all the same.")
	}
	return plan.printable()
}

// PlanStop says what a stop of a run would do.
func PlanStop(job *batchv1.Job, asker Asker) Plan {
	plan := Plan{
		Title: fmt.Sprintf("Stop %s/%s", job.Namespace, job.Name), Does: "Stop it",
		Says: []string{
			fmt.Sprintf("Its Pods are deleted, %d of which are active, and the Job is Failed with the reason Stopped. Nothing takes that back.", job.Status.Active),
			fmt.Sprintf("The Job and the ledger will say that it was stopped %s.", asker),
		},
	}
	if why := answer.NotStopped(job); why != "" {
		plan.Refused = "The run is left as it is: " + why + "."
	}
	return plan.printable()
}

func runs(count int) string {
	if count == 1 {
		return "1 active run"
	}
	return fmt.Sprintf("%d active runs", count)
}

func active(cronJob *ostinatov1.CronJob) string {
	return fmt.Sprintf("Run %s is active", cronJob.Status.Active[len(cronJob.Status.Active)-1].Name)
}

// missed says what becomes of the times that pass during a suspension.
var missed = map[ostinatov1.CatchUpPolicy]string{
	ostinatov1.CatchUpNone:   "Times that pass while it is suspended are not run afterwards: catchUp is none.",
	ostinatov1.CatchUpLatest: "Of the times that pass while it is suspended the latest is run after it is resumed: catchUp is latest.",
	ostinatov1.CatchUpAll:    "The times that pass while it is suspended are run after it is resumed: catchUp is all.",
}

// PlanSuspend says what a suspend would do.
func PlanSuspend(clock answer.Clock, cronJob *ostinatov1.CronJob, asker Asker) Plan {
	plan := Plan{Title: fmt.Sprintf("Suspend %s/%s", cronJob.Namespace, cronJob.Name), Does: "Suspend it"}
	if ptr.Deref(cronJob.Spec.Suspend, false) {
		plan.Refused = "It is suspended already."
		return plan.printable()
	}
	plan.Says = append(plan.Says, "No scheduled run starts until it is resumed.")
	if due := cronJob.Status.NextScheduleTime; due != nil {
		plan.Says[0] += fmt.Sprintf(" The next one would be %s, %s.", clock.Time(due.Time), clock.Ago(due.Time))
	}
	if count := cronJob.Status.ActiveCount; count > 0 {
		plan.Says = append(plan.Says, strings.ToUpper(runs(int(count))[:1])+runs(int(count))[1:]+" will go on.")
	}
	plan.Says = append(plan.Says, missed[catchUp(cronJob)], fmt.Sprintf("The object will say that it was suspended %s.", asker))
	return plan.printable()
}

// PlanResume says what a resume would do.
func PlanResume(cronJob *ostinatov1.CronJob) Plan {
	plan := Plan{Title: fmt.Sprintf("Resume %s/%s", cronJob.Namespace, cronJob.Name), Does: "Resume it"}
	if !ptr.Deref(cronJob.Spec.Suspend, false) {
		plan.Refused = "It is not suspended."
		return plan.printable()
	}
	plan.Says = append(plan.Says, "Scheduled runs start again.", missed[catchUp(cronJob)])
	if suspended := meta.FindStatusCondition(cronJob.Status.Conditions, ostinatov1.ConditionSuspended); suspended != nil && suspended.Message != "" {
		plan.Says = append(plan.Says, "It was suspended "+strings.TrimSuffix(suspended.Message, ".")+".")
	}
	return plan.printable()
}

// PlanBackfill says what a backfill would do, as the workflow has answered to a dry run.
func PlanBackfill(clock answer.Clock, cronJob *ostinatov1.CronJob, tried protocol.BackfillAnswer, overlap batchv1.ConcurrencyPolicy, asker Asker) Plan {
	plan := Plan{Title: fmt.Sprintf("Backfill %s/%s", cronJob.Namespace, cronJob.Name), Does: fmt.Sprintf("Start %d runs", tried.Runs)}
	if tried.Runs == 0 {
		plan.Refused = answer.Backfill(clock, tried)
		return plan.printable()
	}
	if tried.Runs == 1 {
		plan.Does = "Start 1 run"
	}
	policy := "its own concurrencyPolicy, " + string(cronJob.Spec.ConcurrencyPolicy)
	if overlap != "" {
		policy = "concurrencyPolicy " + string(overlap) + " in place of its own"
	}
	plan.Says = []string{
		answer.Backfill(clock, tried), "Active runs count by " + policy + ", and no two of these run at the same time.",
		fmt.Sprintf("The ledger will show that each was asked for %s.", asker),
	}
	if tried.Runs > 1 {
		var times []string
		for _, at := range tried.Times {
			times = append(times, clock.Short(at))
		}
		text := "The times are " + strings.Join(times, ", ")
		if len(times) < tried.Runs {
			text += fmt.Sprintf(" and %d more", tried.Runs-len(times))
		}
		plan.Says = append(plan.Says, text+".")
	}
	return plan.printable()
}
