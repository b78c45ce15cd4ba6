package answer

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// Clock shows times as a person reads them: in one zone, and beside a present.
type Clock struct {
	Now  time.Time
	Zone *time.Location
}

// Time shows a time to the second, with its zone.
func (c Clock) Time(t time.Time) string { return t.In(c.Zone).Format("2006-01-02 15:04:05 MST") }

// Short shows a time without what it shares with the present: the day, or the year.
func (c Clock) Short(t time.Time) string {
	t, now := t.In(c.Zone), c.Now.In(c.Zone)
	switch {
	case t.IsZero():
		return "-"
	case t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return t.Format("15:04:05")
	case t.Year() == now.Year():
		return t.Format("Mon 02 Jan 15:04")
	}
	return t.Format("2006-01-02 15:04")
}

// Ago shows how long ago a time was, or how far away it is.
func (c Clock) Ago(t time.Time) string {
	if away := t.Sub(c.Now); away > 0 {
		return "in " + Span(away)
	}
	return Span(c.Now.Sub(t)) + " ago"
}

// Span shows a duration in its two largest units, as kubectl does.
func Span(span time.Duration) string {
	span = span.Round(time.Second)
	days := int64(span / (24 * time.Hour))
	parts := []struct {
		n    int64
		unit string
	}{{days, "d"}, {int64(span/time.Hour) % 24, "h"}, {int64(span/time.Minute) % 60, "m"}, {int64(span/time.Second) % 60, "s"}}
	var shown []string
	for _, part := range parts {
		if part.n > 0 && len(shown) < 2 {
			shown = append(shown, fmt.Sprintf("%d%s", part.n, part.unit))
		} else if len(shown) > 0 {
			break
		}
	}
	if len(shown) == 0 {
		return "0s"
	}
	return strings.Join(shown, "")
}

// ZoneOf is the zone in which a person writes times of a CronJob: that in which its schedule is written, if it says so.
func (c Clock) ZoneOf(cronJob *ostinatov1.CronJob) *time.Location {
	if zone, err := time.LoadLocation(ptr.Deref(cronJob.Spec.TimeZone, "")); err == nil && cronJob.Spec.TimeZone != nil {
		return zone
	}
	return c.Zone
}

// timeOf is the time of an optional field; zero where it is not set.
func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
