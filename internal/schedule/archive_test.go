package schedule_test

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/ledger"
	"ostinato.dev/ostinato/internal/schedule"
)

// allRows returns every row that the ledger answers with, oldest first.
func allRows(state schedule.State) []ledger.Row {
	rows := schedule.PageOf(state, ledger.Question{Limit: 1 << 20}).Rows
	slices.Reverse(rows)
	return rows
}

// TestTwoDaysOfTimesStayBehindTheLedger: of a CronJob that runs each five minutes the ledger has a day.
func TestTwoDaysOfTimesStayBehindTheLedger(t *testing.T) {
	c := newCluster(t, cronSpec("*/5 * * * *", limits(0, 0)), at("09:59:30")).at(at("09:59:30"))
	for range 3 * 24 * 12 {
		c.at(c.wake).finish(batchv1.JobComplete, c.now)
	}
	rows := allRows(c.state)
	newest := rows[len(rows)-1].Scheduled
	if span := newest.Sub(rows[0].Scheduled); span < 48*time.Hour || span > 48*time.Hour+5*time.Minute {
		t.Errorf("%d rows of %s", len(rows), span)
	}
	for i, row := range rows[1:] {
		if !row.Scheduled.Equal(rows[i].Scheduled.Add(5*time.Minute)) || row.Outcome != ledger.Started {
			t.Fatalf("row %d is %+v, after %s", i+1, row, rows[i].Scheduled)
		}
	}
	if rows[0].Job != "" || rows[len(rows)-1].Job == "" {
		t.Errorf("the oldest row is %+v, the newest %+v", rows[0], rows[len(rows)-1])
	}
	page := schedule.PageOf(c.state, ledger.Question{Limit: 50, Since: newest.Add(-40 * time.Hour), Until: newest.Add(-40*time.Hour + 45*time.Minute)})
	if len(page.Rows) != 10 || page.Dropped+int64(len(rows)) != 3*24*12 {
		t.Errorf("%d rows of 45 minutes, %d dropped, %d left", len(page.Rows), page.Dropped, len(rows))
	}
}
