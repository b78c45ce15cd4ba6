package histories

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/test/histories/play"
)

// scenario is what happens to a CronJob.
type scenario struct {
	Name string
	// Begins is when the CronJob is created, Lasts how long the scenario lasts. Steps happen at times since the beginning.
	Begins time.Time
	Lasts  time.Duration
	Spec   ostinatov1.CronJobSpec
	// Native says that it is one of batch/v1.
	Native bool
	// Believes says that the worker believes the header that names a caller.
	Believes bool
	// Notes are the CronJob's annotations.
	Notes map[string]string
	// Runs are times for which a Job is to be created.
	Runs []time.Time
	// Prompt is how late a scheduled run may start, where no run may hold another one back; 0 for any time.
	Prompt time.Duration
	// Lead is how long before its time a run is prepared.
	Lead  time.Duration
	Steps []step
	// Losses are the writes after which the process is lost where that is not each, in thousandths of all.
	Losses []int
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
	// Does is edit; suspend, resume or trigger, which are signals; trigger update; refuse, outage or accept, which the API server does with
	// creates of Jobs; delete, of the Job that runs and was created last; by hand, where a Job is made by hand for the
	// scheduled time that has come last; or continue, where the workflow is to continue as new.
	Does string
	// Fault is what goes wrong; nil where the step does something else.
	Fault fault
	// From is who sends a signal or update.
	From sender
	// Edit changes the CronJob. The workflow hears of it Heard later, or by itself where that is negative. Within says that it comes
	// between what an activity reads and its next write of the status.
	Edit   func(*ostinatov1.CronJobSpec)
	Called string
	Heard  time.Duration
	Within bool
}

func (s step) String() string {
	if s.Fault != nil {
		return fmt.Sprintf("+%s %s", s.At, s.Fault)
	}
	text := fmt.Sprintf("+%s %s%s", s.At, s.Does, s.From)
	switch {
	case s.Edit != nil && s.Heard < 0:
		text += " " + s.Called + ", which nobody announces"
	case s.Edit != nil:
		text += fmt.Sprintf(" %s, heard %s later", s.Called, s.Heard)
	}
	if s.Within {
		text += ", before the next write of the status"
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
	if s.Native {
		text.WriteString(" of batch/v1")
	}
	if s.Believes {
		text.WriteString(", callers are believed")
	}
	for _, bound := range []struct {
		name  string
		value *int32
	}{{"maxConcurrent", spec.MaxConcurrent}, {"queueLimit", spec.QueueLimit}, {"catchUpLimit", spec.CatchUpLimit}, {"pauseAfterFailures", spec.PauseAfterFailures}} {
		if bound.value != nil {
			fmt.Fprintf(&text, " %s %d", bound.name, *bound.value)
		}
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
				w.agenda.Plan(time.Now().Add(s.Heard), func() { w.bridge.tells(false) })
			}
		}
		if s.Within {
			w.cluster.editMeanwhile(s.Edit, tell)
			return
		}
		w.cluster.edit(s.Edit)
		if s.Heard < 0 {
			w.bridge.silent = w.cluster.peek().Generation
		}
		tell()
	case "trigger":
		w.signals(protocol.TriggerSignal, s.From, nil)
	case "trigger update":
		w.triggers(s.From)
	case "trigger often":
		// The status has no room for so many rows.
		from := s.From
		for n := range 12 {
			trigger := step{Does: "trigger", From: from}
			w.agenda.Plan(time.Now().Add(time.Duration(n)*100*time.Millisecond), func() { w.perform(trigger) })
			from = from.other()
		}
	case "suspend", "resume":
		w.signals(s.Does, s.From, nil)
	case "continue":
		w.tell(play.Signal{})
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
			w.jobEnded(&last)
		}
	case "by hand":
		w.madeByHand()
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

// faulty is a step where something goes wrong.
func faulty(at time.Duration, what fault) step { return step{At: at, Fault: what} }
