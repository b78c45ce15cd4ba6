package page_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/page"
)

func TestColumnsOfEveryZoomHoldItsTime(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Paris", "Asia/Kathmandu", "America/St_Johns"} {
		location, err := time.LoadLocation(zone)
		require.NoError(t, err)
		for _, zoom := range page.Zooms {
			for _, present := range []time.Time{now, at(0, 0), at(23, 59), time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC)} {
				columns := zoom.Columns(answer.Clock{Now: present, Zone: location})
				assert.False(t, columns[0].From.After(present.Add(-zoom.Past)), "%s in %s begins early enough", zoom.Name, zone)
				assert.False(t, columns[len(columns)-1].To.Before(present.Add(zoom.Future)), "%s in %s ends late enough", zoom.Name, zone)
				assert.LessOrEqual(t, len(columns), 80, "a screen has room for them")
				marked := 0
				for n, column := range columns {
					if n > 0 {
						assert.Equal(t, columns[n-1].To, column.From, "no time is between columns")
					}
					if column.Now {
						marked++
						assert.False(t, present.Before(column.From) || !present.Before(column.To))
					}
				}
				assert.Equal(t, 1, marked, "one column has the present")
			}
		}
	}
}

func TestColumnsStayWhereTheyAre(t *testing.T) {
	zoom := page.ZoomOf("12h")
	first, later := zoom.Columns(clock()), zoom.Columns(answer.Clock{Now: now.Add(14 * time.Minute), Zone: time.UTC})
	assert.Equal(t, first[0].From, later[0].From)
	assert.Equal(t, at(-3, 30).Add(0), first[0].From.UTC())
	assert.Equal(t, first[1].From, zoom.Columns(answer.Clock{Now: now.Add(15 * time.Minute), Zone: time.UTC})[0].From)
}

func TestLabelsOfColumns(t *testing.T) {
	for name, want := range map[string][]string{
		"1h":  {"08:30", "08:40", "08:50", "09:00", "09:10", "09:20", "09:30"},
		"12h": {"22:00", "Mon 2", "02:00", "04:00", "06:00", "08:00", "10:00"},
		"7d":  {"Tue 24", "Wed 25", "Thu 26", "Fri 27", "Sat 28", "Sun 1", "Mon 2", "Tue 3"},
	} {
		var shown []string
		for _, column := range page.ZoomOf(name).Columns(clock()) {
			if column.Label != "" {
				shown = append(shown, column.Label)
			}
		}
		assert.Equal(t, want, shown, name)
	}
	assert.Equal(t, "12h", page.ZoomOf("").Name)
	assert.Equal(t, "12h", page.ZoomOf("a year").Name)
}
