package page_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/page"
	"ostinato.dev/ostinato/internal/ledger"
)

var now = time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)

func clock() answer.Clock { return answer.Clock{Now: now, Zone: time.UTC} }

// at is a time of the day of now.
func at(hour, minute int) time.Time { return time.Date(2026, 3, 2, hour, minute, 0, 0, time.UTC) }

func stamp(t time.Time) metav1.Time { return metav1.NewTime(t) }

// hourly is a CronJob of February that is due each hour.
func hourly(rows ...ostinatov1.RecentRun) *ostinatov1.CronJob {
	cronJob := &ostinatov1.CronJob{}
	cronJob.Namespace, cronJob.Name, cronJob.UID = "shop", "report", "uid-1"
	cronJob.CreationTimestamp = stamp(time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC))
	cronJob.Spec.Schedule, cronJob.Spec.TimeZone = "0 * * * *", ptr.To("UTC")
	cronJob.Status.Workflow = &ostinatov1.WorkflowReference{Namespace: "default", ID: "cronjob/shop/report"}
	cronJob.Status.NextScheduleTime = ptr.To(stamp(at(10, 0)))
	cronJob.Status.RecentRuns = rows
	return cronJob
}

// ran is a row of a run that was created on time and took a time.
func ran(at time.Time, result string, took time.Duration) ostinatov1.RecentRun {
	row := ostinatov1.RecentRun{
		ScheduledTime: stamp(at), Outcome: string(ledger.Started), JobName: "report-" + at.Format("1504"), StartTime: ptr.To(stamp(at)), Result: result,
	}
	if result != "" {
		row.EndTime = ptr.To(stamp(at.Add(took)))
	}
	return row
}

// night are ten rows, one each hour until nine.
func night() []ostinatov1.RecentRun {
	var rows []ostinatov1.RecentRun
	for hour := 9; hour >= 0; hour-- {
		rows = append(rows, ran(at(hour, 0), "Complete", time.Minute))
	}
	return rows
}

// hours are columns of an hour each, from three hours before midnight until two in the afternoon.
func hours() []page.Column {
	var columns []page.Column
	for hour := -3; hour < 14; hour++ {
		columns = append(columns, page.Column{From: at(hour, 0), To: at(hour+1, 0)})
	}
	return columns
}

// drawn shows a row as a line: a sign for each column, a dot where there is nothing, a slash where times have not been read.
func drawn(row page.Row) string {
	var line strings.Builder
	for _, cell := range row.Cells {
		switch {
		case cell.Kind != "":
			line.WriteString(cell.Sign())
		case cell.Unknown:
			line.WriteString("/")
		default:
			line.WriteString(".")
		}
	}
	return line.String()
}

func TestARowHasACellForEachTime(t *testing.T) {
	for name, test := range map[string]struct {
		cronJob *ostinatov1.CronJob
		known   *page.Known
		edit    func(*ostinatov1.CronJob)
		want    string
	}{
		"nothing has run yet": {
			cronJob: hourly(),
			want:    ".............○○○○",
		},
		"what ended, what runs, what waits, and what is to come": {
			cronJob: hourly(
				ostinatov1.RecentRun{ScheduledTime: stamp(at(9, 0)), Outcome: string(ledger.Queued)}, ran(at(8, 0), "", 0),
				ran(at(7, 0), "Failed", time.Minute), ran(at(6, 0), "Deleted", time.Minute), ran(at(5, 0), "Complete", time.Minute),
				ostinatov1.RecentRun{ScheduledTime: stamp(at(4, 0)), Outcome: string(ledger.FailedToCreate)},
				ostinatov1.RecentRun{ScheduledTime: stamp(at(3, 0)), Outcome: string(ledger.SkippedOverlap)},
			),
			want: "......–!✓⌫✗▸…○○○○",
		},
		"rows that the status has no more": {
			cronJob: hourly(night()...),
			want:    "///✓✓✓✓✓✓✓✓✓✓○○○○",
		},
		"no rows before the CronJob was created": {
			cronJob: hourly(night()...),
			edit:    func(cronJob *ostinatov1.CronJob) { cronJob.CreationTimestamp = stamp(at(-1, 30)) },
			want:    "../✓✓✓✓✓✓✓✓✓✓○○○○",
		},
		"a CronJob that no workflow runs yet": {
			cronJob: hourly(night()...),
			edit:    func(cronJob *ostinatov1.CronJob) { cronJob.Status.Workflow = nil },
			want:    "...✓✓✓✓✓✓✓✓✓✓○○○○",
		},
		"all since a time without a row": {
			known: &page.Known{Since: at(-3, 0), Ledger: answer.Ledger{Rows: night()}},
			want:  "...✓✓✓✓✓✓✓✓✓✓○○○○",
		},
		"all since a time that is on the screen": {
			known: &page.Known{Since: at(-1, 0), Ledger: answer.Ledger{Rows: night()}},
			want:  "//.✓✓✓✓✓✓✓✓✓✓○○○○",
		},
		"a stretch fills the columns of its times": {
			cronJob: hourly(ostinatov1.RecentRun{
				ScheduledTime: stamp(at(-9, 0)), Until: ptr.To(stamp(at(4, 0))), Count: 14, Outcome: string(ledger.SkippedSuspended),
			}),
			want: "––––––––.....○○○○",
		},
		"a stretch of another schedule has its ends": {
			cronJob: hourly(ostinatov1.RecentRun{
				ScheduledTime: stamp(at(1, 17)), Until: ptr.To(stamp(at(4, 17))), Count: 4, Outcome: string(ledger.SkippedSuspended),
			}),
			want: "....–..–.....○○○○",
		},
		"a schedule that can't be read": {
			cronJob: hourly(ran(at(2, 0), "Complete", time.Minute)),
			edit: func(cronJob *ostinatov1.CronJob) {
				cronJob.Spec.Schedule, cronJob.Status.NextScheduleTime = "nightly", nil
			},
			want: ".....✓...........",
		},
		"times to come of a CronJob that is suspended": {
			cronJob: hourly(),
			edit: func(cronJob *ostinatov1.CronJob) {
				cronJob.Spec.Suspend, cronJob.Status.NextScheduleTime = ptr.To(true), nil
			},
			want: ".............◌◌◌◌",
		},
		"a time that is overdue": {
			cronJob: hourly(),
			edit:    func(cronJob *ostinatov1.CronJob) { cronJob.Status.NextScheduleTime = ptr.To(stamp(at(9, 0))) },
			want:    "............?○○○○",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cronJob := test.cronJob
			if cronJob == nil {
				cronJob = hourly()
			}
			if test.edit != nil {
				test.edit(cronJob)
			}
			known := page.OfStatus(cronJob)
			if test.known != nil {
				known = *test.known
			}
			row := page.NewRow(clock(), cronJob, known, hours())
			assert.Equal(t, test.want, drawn(row))
			assert.Equal(t, strings.Contains(test.want, "/"), row.Partial, "whether times are missing")
		})
	}
}

func TestACellOfSeveralTimesShowsTheWorstAndCountsAll(t *testing.T) {
	cronJob := hourly(ran(at(8, 40), "Complete", time.Minute), ran(at(8, 20), "Failed", time.Minute), ran(at(8, 0), "Complete", time.Minute))
	cell := page.NewRow(clock(), cronJob, page.OfStatus(cronJob), hours()).Cells[11]
	assert.Equal(t, page.Failed, cell.Kind)
	assert.True(t, cell.Several())
	assert.Equal(t, "08:00:00 to 08:40:00: 1 failed, 2 complete", cell.Label)
	assert.Equal(t, []time.Time{at(8, 0), at(8, 40)}, []time.Time{cell.From.UTC(), cell.To.UTC()})
}

func TestACellSaysInWordsWhatItShows(t *testing.T) {
	failed := ran(at(8, 0), "Failed", time.Minute)
	failed.ResultReason = "BackoffLimitExceeded"
	hostile := ostinatov1.RecentRun{ScheduledTime: stamp(at(7, 0)), Outcome: string(ledger.FailedToCreate), Reason: ledger.Forbidden, Message: "no\x1b[2J\u202equota"}
	cronJob := hourly(failed, hostile)
	cells := page.NewRow(clock(), cronJob, page.OfStatus(cronJob), hours()).Cells
	assert.Equal(t, "08:00:00: Started, Failed, took 1m. BackoffLimitExceeded", cells[11].Label)
	assert.Equal(t, "07:00:00: FailedToCreate. Forbidden: no[2Jquota", cells[10].Label)
	assert.Equal(t, "10:00:00: due in 30m", cells[13].Label)
	cronJob.Spec.Suspend, cronJob.Status.NextScheduleTime = ptr.To(true), nil
	assert.Equal(t, "10:00:00: will not run: suspended", page.NewRow(clock(), cronJob, page.OfStatus(cronJob), hours()).Cells[13].Label)
}

func TestEveryOutcomeHasAShapeOfItsOwn(t *testing.T) {
	shapes := map[string]page.Kind{}
	for _, kind := range page.Kinds {
		assert.NotEmpty(t, kind.Sign(), kind)
		assert.NotContains(t, shapes, kind.Sign(), kind)
		shapes[kind.Sign()] = kind
	}
	for _, outcome := range ledger.Outcomes {
		for _, result := range append([]ledger.Result{""}, ledger.Results...) {
			row := ostinatov1.RecentRun{Outcome: string(outcome), Result: string(result)}
			assert.Equal(t, answer.Sign(row), page.KindOf(row).Sign(), "%s %s is shown as the other commands show it", outcome, result)
		}
	}
}

func TestMarksOfARow(t *testing.T) {
	cronJob := hourly()
	cronJob.Status.ConsecutiveFailures, cronJob.Spec.Suspend = 2, ptr.To(true)
	cronJob.Status.NextScheduleTime, cronJob.Status.Next = nil, "Suspended"
	row := page.NewRow(clock(), cronJob, page.OfStatus(cronJob), hours())
	assert.Equal(t, []page.Mark{
		{Kind: "Failing", Why: "2 runs in a row have failed", Wrong: true}, {Kind: "Suspended", Why: "spec.suspend is set"},
	}, row.Marks)
	assert.Equal(t, "Suspended", row.Next)
	assert.Equal(t, "in 30m", page.NewRow(clock(), hourly(), page.OfStatus(hourly()), hours()).Next)
}

func TestRowsOfTheStatusJoinThoseThatWereRead(t *testing.T) {
	read := page.Known{Since: at(-3, 0), Ledger: answer.Ledger{Rows: append(night(), ran(at(-1, 0), "Failed", time.Minute))}}
	newer := append([]ostinatov1.RecentRun{ran(at(10, 0), "", 0)}, night()[:9]...)
	newer[1].Result = "Failed"

	joined, ok := page.OfStatus(hourly(newer...)).With(read, true)
	assert.True(t, ok)
	assert.Equal(t, read.Since, joined.Since)
	var shown []string
	for _, row := range joined.Rows {
		shown = append(shown, row.ScheduledTime.Format("15:04 ")+answer.Sign(row))
	}
	assert.Equal(t, []string{
		"10:00 ▸", "09:00 ✗", "08:00 ✓", "07:00 ✓", "06:00 ✓", "05:00 ✓", "04:00 ✓", "03:00 ✓", "02:00 ✓", "01:00 ✓", "00:00 ✓", "23:00 ✗",
	}, shown, "what the status says counts, since it is new")

	short := hourly(night()[:3]...)
	joined, ok = page.OfStatus(short).With(read, true)
	assert.True(t, ok && joined.Whole, "a status of fewer than ten rows has them all")
	assert.Len(t, joined.Rows, 3)

	var apart []ostinatov1.RecentRun
	for hour := 30; hour > 20; hour-- {
		apart = append(apart, ran(at(hour, 0), "Complete", time.Minute))
	}
	joined, ok = page.OfStatus(hourly(apart...)).With(read, true)
	assert.False(t, ok, "rows between them are missing")
	assert.Len(t, joined.Rows, 10)

	backfilled := ran(at(-200, 0), "Complete", time.Minute)
	backfilled.Manual = true
	joined, ok = page.OfStatus(hourly(append(night()[:9:9], backfilled)...)).With(read, true)
	assert.True(t, ok, "the last row of the status is of a time before those that were read")
	assert.Len(t, joined.Rows, 12)

	read.Rows[10] = ran(at(-1, 0), "", 0)
	_, ok = page.OfStatus(hourly(newer...)).With(read, true)
	assert.True(t, ok)
	_, ok = page.OfStatus(hourly(newer...)).With(read, false)
	assert.False(t, ok, "a run that was going on may have ended since")
}

func TestFilters(t *testing.T) {
	well, failing, failed, suspended := *hourly(), *hourly(), *hourly(ran(at(3, 0), "Failed", time.Minute)), *hourly()
	well.Namespace, well.Labels = "bank", map[string]string{"team": "billing"}
	failing.Name, failing.Status.ConsecutiveFailures = "failing", 1
	failed.Name = "failed"
	suspended.Name, suspended.Spec.Suspend = "suspended", ptr.To(true)
	all := []ostinatov1.CronJob{well, failing, failed, suspended}
	billing, err := labels.Parse("team=billing")
	require.NoError(t, err)
	for name, test := range map[string]struct {
		filter page.Filter
		since  time.Time
		want   []int
	}{
		"none":                                   {want: []int{0, 1, 2, 3}},
		"a namespace":                            {filter: page.Filter{Namespace: "bank"}, want: []int{0}},
		"a part of a namespace is none":          {filter: page.Filter{Namespace: "ban"}},
		"a part of the name":                     {filter: page.Filter{Text: "Fail"}, want: []int{1, 2}},
		"a namespace with a name":                {filter: page.Filter{Text: "shop/susp"}, want: []int{3}},
		"labels":                                 {filter: page.Filter{Selector: billing}, want: []int{0}},
		"failing now, or in the time shown":      {filter: page.Filter{Failing: true}, since: at(0, 0), want: []int{1, 2}},
		"failed before the time that is shown":   {filter: page.Filter{Failing: true}, since: at(4, 0), want: []int{1}},
		"all of them together narrow the choice": {filter: page.Filter{Namespace: "shop", Text: "ed", Failing: true}, since: at(0, 0), want: []int{2}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, test.filter.Choose(clock(), all, test.since)) })
	}
	assert.Equal(t, []string{"bank", "shop"}, page.Namespaces(all))
	assert.Equal(t, "2 shown of 4 CronJobs, 2 as they should be, 1 failing, 1 suspended", page.Count(clock(), all, 2))
}
