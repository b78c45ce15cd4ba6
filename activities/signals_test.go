package activities_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
	"ostinato.dev/ostinato/internal/steering"
)

// An object says by annotation which signals it takes from Temporal, and the worker by a
// flag; what is refused is answered by an Event, since Temporal tells the sender nothing.
func TestSignalsThatAreNotAccepted(t *testing.T) {
	suspend := protocol.SetSuspendRequest{Kind: protocol.CronJobKind, Object: cronJobRef, Wish: protocol.Wish{Suspend: true, At: scheduled}}
	resume := suspend
	resume.Suspend = false
	job := suspend
	job.Kind, job.Object = protocol.JobKind, jobRef
	trigger := schedule.Start{Name: names.TriggeredJob("hello", "cron-uid", 1), Scheduled: scheduled, Manual: true, Sequence: 1}
	replacing := trigger
	replacing.Overlap = "Replace"
	backfill := schedule.Start{Name: names.BackfilledJob("hello", "cron-uid", 1, scheduled), Scheduled: scheduled, Manual: true, Sequence: 1, Backfill: 1}
	nothing := func(options *activities.Options) { options.AcceptSignals = steering.Signals{} }
	for name, test := range map[string]struct {
		annotation string
		with       []option
		request    any
		refused    bool
	}{
		"suspend where all are":          {"", nil, suspend, false},
		"suspend where it is named":      {"suspend", nil, suspend, false},
		"suspend where only trigger is":  {"trigger", nil, suspend, true},
		"resume where only suspend is":   {"suspend", nil, resume, true},
		"suspend of a Job":               {"none", nil, job, true},
		"trigger where it is named":      {"trigger", nil, trigger, false},
		"trigger where only suspend is":  {"suspend", nil, trigger, true},
		"suspend that no worker accepts": {"suspend", []option{nothing}, suspend, true},
		"trigger that no worker accepts": {"", []option{nothing}, trigger, true},
		"backfill where it is named":     {"backfill", nil, backfill, false},
		"backfill where only trigger is": {"trigger", nil, backfill, true},
		"backfill no worker accepts":     {"", []option{nothing}, backfill, true},
		"trigger that replaces":          {"trigger", nil, replacing, false},
		"replacing where none is taken":  {"suspend", nil, replacing, true},
	} {
		t.Run(name, func(t *testing.T) {
			cronJob, owner := helloCronJob(), helloJob()
			if test.annotation != "" {
				cronJob.Annotations = map[string]string{names.AcceptSignalsAnnotation: test.annotation}
				owner.Annotations = cronJob.Annotations
			}
			s := newStage(t, []runtime.Object{owner}, []*ostinatov1.CronJob{cronJob}, test.with...)
			var refused bool
			if start, ok := test.request.(schedule.Start); ok {
				result := must[protocol.StartRunResult](s, protocol.StartRunActivity, protocol.StartRunRequest{CronJob: cronJobRef, Start: start})
				refused = result.Refused != nil && result.Refused.Reason == ledger.SignalRefused && result.Started == nil
			} else {
				_, err := run[protocol.SetSuspendResult](s, protocol.SetSuspendActivity, test.request)
				refused = err != nil
			}
			told := slices.ContainsFunc(s.recorded(), func(event string) bool { return strings.HasPrefix(event, "Warning SignalRefused ") })
			if refused != test.refused || told != test.refused {
				t.Errorf("refused: %v, told: %v, want %v", refused, told, test.refused)
			}
			if wrote := len(s.writes()) > 0; wrote == test.refused {
				t.Errorf("writes %v", s.writes())
			}
		})
	}
}

// Who asks for many runs is told at once whether the object takes that.
func TestWhetherABackfillIsAcceptedCanBeAsked(t *testing.T) {
	for annotation, refused := range map[string]bool{"backfill": false, "suspend,trigger": true, "none": true} {
		t.Run(annotation, func(t *testing.T) {
			cronJob := helloCronJob()
			cronJob.Annotations = map[string]string{names.AcceptSignalsAnnotation: annotation}
			s := newStage(t, nil, []*ostinatov1.CronJob{cronJob})
			result := must[protocol.FindRunsResult](s, protocol.FindRunsActivity, protocol.FindRunsRequest{CronJob: cronJobRef, Backfill: true})
			if (result.Refused != "") != refused || len(s.writes()) != 0 || len(s.recorded()) != 0 {
				t.Errorf("result %+v, writes %v, events %v", result, s.writes(), s.recorded())
			}
		})
	}
}
