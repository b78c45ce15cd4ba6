package schedule_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/schedule"
)

// A workflow starts from an object whose status does not list a Job that runs: whoever had created it was lost before the status was
// written. It looks before it starts a run that is due by then.
func TestARunThatIsDueAtTheStartWaitsForAJobThatNoStatusLists(t *testing.T) {
	for name, test := range map[string]struct {
		spec    schedule.Spec
		started []string
		deleted int
		running int
	}{
		"Forbid":  {cronSpec("0 * * * *", forbid), nil, 0, 1},
		"Replace": {cronSpec("0 * * * *", replace), []string{"2016-05-19T11:00:00Z"}, 1, 1},
		"Allow":   {cronSpec("0 * * * *"), []string{"2016-05-19T11:00:00Z"}, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			last := metav1.NewTime(at("10:00"))
			c := restored(t, test.spec, at("09:30"), ostinatov1.CronJobStatus{LastScheduleTime: &last}, nil)
			c.running = []schedule.Run{{Name: "hello-24394200", UID: "unlisted", Scheduled: at("10:00"), Started: at("10:00")}}
			c.at(at("11:00:02"))
			wantStrings(t, "started", c.started(), test.started...)
			if len(c.deletes) != test.deleted || len(c.running) != test.running {
				t.Errorf("%d deleted, %d running", len(c.deletes), len(c.running))
			}
		})
	}
}
