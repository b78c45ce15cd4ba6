package histories

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// scenario is what happens to a CronJob.
type scenario struct {
	Name string
	// Begins is when the CronJob is created, Lasts how long the scenario lasts. Steps happen at times since the beginning.
	Begins time.Time
	Lasts  time.Duration
	Spec   ostinatov1.CronJobSpec
	// Lead is how long before its time a run is prepared.
	Lead  time.Duration
	Steps []step
	// Courses are those of the Jobs, in the order in which they are created; the last one is that of all others too.
	Courses []course
}

// course is how a Job goes.
type course struct {
	Takes time.Duration
	Fails bool
}

func (s scenario) course(n int) course {
	if len(s.Courses) == 0 {
		return course{Takes: 20 * time.Second}
	}
	return s.Courses[min(n, len(s.Courses)-1)]
}

// step is what somebody does.
type step struct {
	At time.Duration
	// Does is edit; suspend, resume or trigger, which are signals; refuse, outage or accept, which the API server does with
	// creates of Jobs; delete, of the Job that runs and was created last; anew, where the workflow starts anew; or restore, where
	// Temporal is what it was Ago.
	Does string
	// Edit changes the CronJob. The workflow hears of it Heard later, or by itself where that is negative. Within says that it comes
	// between what an activity reads and its next write of the status.
	Edit   func(*ostinatov1.CronJobSpec)
	Called string
	Heard  time.Duration
	Within bool
	Ago    time.Duration
}

func (s step) String() string {
	text := fmt.Sprintf("+%s %s", s.At, s.Does)
	switch {
	case s.Edit != nil && s.Heard < 0:
		text += " " + s.Called + ", which nobody announces"
	case s.Edit != nil:
		text += fmt.Sprintf(" %s, heard %s later", s.Called, s.Heard)
	}
	switch {
	case s.Within:
		text += ", before the next write of the status"
	case s.Ago != 0:
		text += fmt.Sprintf(" of %s ago", s.Ago)
	}
	return text
}

func (s scenario) String() string {
	var text strings.Builder
	spec := s.Spec
	fmt.Fprintf(&text, "%s\nfrom %s for %s, lead %s: schedule %q policy %q catchUp %q", s.Name, s.Begins.Format(time.RFC3339), s.Lasts, s.Lead, spec.Schedule, spec.ConcurrencyPolicy, spec.CatchUp)
	if spec.StartingDeadlineSeconds != nil {
		fmt.Fprintf(&text, " deadline %d s", *spec.StartingDeadlineSeconds)
	}
	fmt.Fprintf(&text, " limits %d %d\n", ptr.Deref(spec.SuccessfulJobsHistoryLimit, 3), ptr.Deref(spec.FailedJobsHistoryLimit, 1))
	for _, step := range s.Steps {
		fmt.Fprintf(&text, "  %s\n", step)
	}
	fmt.Fprintf(&text, "  Jobs %v\n", s.Courses)
	return text.String()
}

// perform does a step.
func (w *world) perform(s step) {
	switch s.Does {
	case "edit":
		tell := func() {
			if s.Heard >= 0 {
				w.agenda.Plan(time.Now().Add(s.Heard), w.tellSpec)
			}
		}
		if s.Within {
			w.cluster.editMeanwhile(s.Edit, tell)
			return
		}
		w.cluster.edit(s.Edit)
		tell()
	case "trigger":
		w.triggers++
		w.tell(message{kind: s.Does})
	case "suspend", "resume":
		w.tell(message{kind: s.Does})
	case "refuse":
		w.cluster.answers(cpuQuota)
	case "outage":
		w.cluster.answers(outage)
	case "accept":
		w.cluster.answers(nil)
	case "delete":
		if running := w.running(); len(running) > 0 {
			last := running[len(running)-1]
			w.cluster.remove(last.Name)
			w.ended(&last)
		}
	case "anew":
		panic(anew{})
	case "restore":
		panic(restored{time.Now().Add(-s.Ago)})
	default:
		panic("no such step: " + s.Does)
	}
}

// Edits.

func suspend(to bool) func(*ostinatov1.CronJobSpec) {
	return func(spec *ostinatov1.CronJobSpec) { spec.Suspend = ptr.To(to) }
}

func edit(at time.Duration, called string, change func(*ostinatov1.CronJobSpec)) step {
	return step{At: at, Does: "edit", Called: called, Edit: change}
}

func suspending(at time.Duration) step { return edit(at, "suspend", suspend(true)) }
func resuming(at time.Duration) step   { return edit(at, "resume", suspend(false)) }

func rescheduled(at time.Duration, to string) step {
	return edit(at, fmt.Sprintf("schedule %q", to), func(spec *ostinatov1.CronJobSpec) { spec.Schedule = to })
}

func repolicied(at time.Duration, to batchv1.ConcurrencyPolicy) step {
	return edit(at, "policy "+string(to), func(spec *ostinatov1.CronJobSpec) { spec.ConcurrencyPolicy = to })
}

func templated(at time.Duration) step {
	return edit(at, "template", func(spec *ostinatov1.CronJobSpec) { spec.JobTemplate.Spec.Template.Spec.Containers[0].Image += "x" })
}

// heard is the step where the workflow hears of it later, silent where nobody tells it.
func (s step) heard(later time.Duration) step { s.Heard = later; return s }
func (s step) silent() step                   { return s.heard(-1) }

// within is the step where it comes while an activity is about to write the status.
func (s step) within() step { s.Within = true; return s }
