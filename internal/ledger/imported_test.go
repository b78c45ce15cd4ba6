package ledger_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ostinato.dev/ostinato/internal/ledger"
)

// all admits every row.
func all(row ledger.Entry) (ledger.Entry, bool) { return row, true }

func manual(clock string, sequence int64, job string) ledger.Entry {
	row := ledger.Entry{Scheduled: at(clock), Recorded: at(clock), Outcome: ledger.SkippedOverlap, Reason: ledger.ReasonJobAlreadyActive, Manual: true, Sequence: sequence}
	if job != "" {
		row.Outcome, row.Reason, row.Job = ledger.Started, "", job
	}
	return row
}

func stretch(from, until string) ledger.Entry {
	row := skipped(from)
	row.Until, row.Count = at(until), 2
	return row
}

// One run has one row, and so has one time.
func TestWhichRowsOfAnExportALedgerHas(t *testing.T) {
	for name, test := range map[string]struct {
		own, row ledger.Entry
		has      bool
	}{
		"the same run":                                  {started("10:00", "a"), started("10:00", "a"), true},
		"the same run, of another time":                 {started("10:00", "a"), started("11:00", "a"), true},
		"another run":                                   {started("10:00", "a"), started("11:00", "b"), false},
		"another run of the time":                       {started("10:00", "a"), started("10:00", "b"), true},
		"a run of a time that was skipped":              {skipped("10:00"), started("10:00", "a"), true},
		"a time that has run":                           {started("10:00", "a"), skipped("10:00"), true},
		"a stretch with a time that has run":            {started("11:00", "a"), stretch("10:00", "12:00"), true},
		"a stretch that begins in another":              {stretch("10:00", "12:00"), stretch("11:00", "13:00"), true},
		"a stretch that begins after another":           {stretch("10:00", "12:00"), stretch("12:01", "13:00"), false},
		"a manual run at a time of the schedule":        {started("10:00", "a"), manual("10:00", 1, "b"), false},
		"another manual run of the second":              {manual("10:00", 1, "a"), manual("10:00", 2, "b"), false},
		"a trigger that was skipped":                    {manual("10:00", 1, ""), manual("10:00", 1, ""), true},
		"another trigger of the second":                 {manual("10:00", 1, ""), manual("10:00", 2, ""), false},
		"a trigger, in a row from a status":             {manual("10:00", 0, ""), manual("10:00", 2, ""), true},
		"a run of the second, in a row from a status":   {manual("10:00", 0, "a"), manual("10:00", 2, ""), false},
		"the run of a trigger that is said to be gone":  {manual("10:00", 1, "a"), manual("10:00", 1, ""), true},
		"another time of a backfill":                    {manual("10:00", 1, "a"), manual("11:00", 1, "b"), false},
		"what was left of a backfill after its first":   {manual("10:00", 1, "a"), manual("11:00", 1, ""), false},
		"a run by hand with the name of a run":          {started("10:00", "a"), manual("11:00", 0, "a"), true},
		"a trigger of a second in which a run was made": {manual("10:00", 1, "a"), manual("10:00", 2, ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			own := ledger.Ledger{}.Record(test.own, closed)
			imported, taken, known := own.Import([]ledger.Entry{test.row}, all)
			assert.Equal(t, test.has, known == 1)
			assert.Equal(t, test.has, taken == 0)
			assert.Equal(t, test.has, len(imported.Imported) == 0)
			twice, taken, known := ledger.Ledger{}.Import([]ledger.Entry{test.own, test.row}, all)
			assert.Equal(t, test.has, len(twice.Imported) == 1, "nor twice in an export")
			assert.Equal(t, 2, taken+known)
		})
	}
}

// A row says that it was imported. Whom it calls a user is claimed.
func TestARowOfAnExportIsMarked(t *testing.T) {
	row := manual("10:00", 1, "a")
	row.By, row.User, row.Through, row.Message = "ada", "root", "someone", strings.Repeat("x", 1000)
	imported, _, _ := ledger.Ledger{}.Import([]ledger.Entry{row}, all)
	got := imported.Page(ledger.Question{Limit: 1}, nil).Rows[0]
	assert.True(t, got.Imported)
	assert.Equal(t, ledger.Asked{By: "root"}, got.Asked)
	assert.Len(t, got.Message, 256)
}

// Of one second the imported rows are the older ones, in the order in which they were asked for.
func TestRowsOfOneSecondKeepTheirOrder(t *testing.T) {
	own := ledger.Ledger{}.Record(manual("10:00", 3, "a"), closed)
	imported, _, _ := own.Import([]ledger.Entry{manual("10:00", 2, "b"), manual("10:00", 1, "c")}, all)
	var jobs []string
	for _, row := range imported.Page(ledger.Question{Limit: 5}, nil).Rows {
		jobs = append(jobs, row.Job)
	}
	assert.Equal(t, []string{"a", "b", "c"}, jobs)
}

// What is asked of a ledger to decide by is asked of its own rows.
func TestNothingIsDecidedByRowsOfAnExport(t *testing.T) {
	imported, taken, _ := ledger.Ledger{}.Import([]ledger.Entry{started("10:00", "a"), skipped("11:00")}, all)
	require.Equal(t, 2, taken)
	assert.False(t, imported.Has("a"))
	assert.False(t, imported.HasRunOf(at("10:00")))
	assert.Empty(t, imported.Conclude("a", ledger.End{Result: ledger.Failed}).Imported[0].Result)
	assert.Empty(t, ledger.RecentRuns(imported.Entries))
	own := imported.Record(skipped("12:00"), closed)
	assert.Len(t, own.Imported, 2)
	assert.EqualValues(t, 1, own.Entries[0].Times(), "it joins none of them")
	own = own.Record(started("10:00", "a"), closed)
	assert.Len(t, own.Imported, 1, "the ledger's own row of a run takes the place of the imported one")
	assert.True(t, own.Has("a"))
}

// rowsOf draws rows of runs, skipped times and triggers in some days, as exports have them and as they do not.
func rowsOf(t *rapid.T, label string, length int) []ledger.Entry {
	minute := rapid.IntRange(0, 3*24*60)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ledger.Entry {
		begin := minute.Draw(t, "minute")
		row := ledger.Entry{Scheduled: at("10:00").Add(time.Duration(begin) * time.Minute), Sequence: rapid.Int64Range(0, 3).Draw(t, "sequence")}
		row.Manual = rapid.Bool().Draw(t, "manual")
		if rapid.Bool().Draw(t, "known when") {
			row.Recorded = row.Scheduled.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "later")) * time.Second)
		}
		if rapid.IntRange(0, 2).Draw(t, "ran") > 0 {
			row.Outcome, row.Job = ledger.Started, fmt.Sprintf("hello-%d", begin)
			return row
		}
		row.Outcome, row.Reason = ledger.SkippedSuperseded, ledger.ReasonOutage
		if count := rapid.IntRange(1, 30).Draw(t, "times"); count > 1 {
			row.Until, row.Count = row.Scheduled.Add(time.Duration(count-1)*time.Minute), int64(count)
		}
		row.Message = strings.Repeat("x", rapid.SampledFrom([]int{0, 10, 1000}).Draw(t, "message"))
		return row
	}), 0, length).Draw(t, label)
}

// Whatever is imported: the ledger keeps its own rows as they are, has one row for a run or time, in order, and the newest it has room
// for; and importing it again changes nothing.
func TestAnImportIsIdempotentOrderedAndBounded(t *testing.T) {
	var owned []ledger.Ledger
	for _, count := range []int{0, 5, 290, 1490, 1600} {
		// They are of the second day.
		minute := 24 * 60
		owned = append(owned, recorded(count, time.Minute, func(row *ledger.Entry) {
			row.Scheduled, row.Job = at("10:00").Add(time.Duration(minute)*time.Minute), fmt.Sprintf("hello-%d", minute)
			row.Recorded = row.Scheduled
			minute++
		}))
	}
	rapid.Check(t, func(t *rapid.T) {
		own := owned[rapid.IntRange(0, len(owned)-1).Draw(t, "own")]
		rows := rowsOf(t, "export", 150)
		imported, taken, had := own.Import(rows, all)
		if got, want := imported.Entries, own.Entries; !slices.Equal(got, want) || imported.Dropped != own.Dropped {
			t.Fatalf("its own rows have changed: %d, were %d; dropped %d", len(got), len(want), imported.Dropped)
		}
		if taken != len(imported.Imported) || taken+had > len(rows) {
			t.Fatalf("took %d, has %d of %d", taken, had, len(rows))
		}
		again, taken, _ := imported.Import(rows, all)
		if taken != 0 || !slices.Equal(again.Imported, imported.Imported) {
			t.Fatalf("a second import takes %d", taken)
		}
		// An export has the newest first.
		slices.SortStableFunc(rows, func(a, b ledger.Entry) int { return known(b).Compare(known(a)) })
		once := inParts(own, rows)
		if !slices.Equal(inParts(once, rows).Imported, once.Imported) {
			t.Fatalf("a second import in parts changes it")
		}
		page := imported.Page(ledger.Question{Limit: 5000}, nil)
		checkRows(t, page.Rows)
	})
}

// inParts imports rows as two messages bring them.
func inParts(own ledger.Ledger, rows []ledger.Entry) ledger.Ledger {
	own, _, _ = own.Import(rows[:len(rows)/2], all)
	own, _, _ = own.Import(rows[len(rows)/2:], all)
	return own
}

// known is when the outcome of a row was known.
func known(row ledger.Entry) time.Time {
	if row.Recorded.IsZero() {
		return row.Last()
	}
	return row.Recorded
}

func checkRows(t *rapid.T, rows []ledger.Row) {
	text := 0
	jobs, times := map[string]bool{}, map[time.Time]bool{}
	var before time.Time
	for _, row := range slices.Backward(rows) {
		text += len(row.Message) + len(row.Job)
		if row.Job != "" && jobs[row.Job] {
			t.Fatalf("two rows of Job %s", row.Job)
		}
		jobs[row.Job] = true
		for at := row.Scheduled; !row.Manual && !at.After(row.Last()); at = at.Add(time.Minute) {
			if times[at] {
				t.Fatalf("two rows of %s", at)
			}
			times[at] = true
		}
		if row.Imported && known(row.Entry).Before(before) {
			t.Fatalf("the imported row of %s is after that of %s", known(row.Entry), before)
		}
		before = known(row.Entry)
	}
	if len(rows) > 1500 || text > 128<<10 {
		t.Fatalf("%d rows with %d bytes", len(rows), text)
	}
}

// A ledger that is full takes nothing older, and what it has imported goes before its own rows.
func TestImportedRowsGoFirst(t *testing.T) {
	own := recorded(1500, time.Minute, nil)
	full, taken, _ := own.Import([]ledger.Entry{started("09:00", "a")}, all)
	assert.Zero(t, taken)
	assert.Empty(t, full.Imported)

	few := recorded(299, time.Hour, nil)
	few, taken, _ = few.Import([]ledger.Entry{started("08:00", "a"), started("09:00", "b")}, all)
	assert.Equal(t, 1, taken, "the newest")
	assert.Equal(t, "b", few.Imported[0].Job)
	few = few.Record(ledger.Entry{Scheduled: at("10:00").AddDate(1, 0, 0), Recorded: at("10:00").AddDate(1, 0, 0), Outcome: ledger.Started, Job: "c"}, closed)
	assert.Empty(t, few.Imported)
	assert.Len(t, few.Entries, 300)
	assert.EqualValues(t, 1, few.Dropped)
}
