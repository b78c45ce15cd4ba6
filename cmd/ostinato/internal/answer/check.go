package answer

import (
	"fmt"
	"strings"
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/times"
)

// Checked is what is known of a CronJob of a file.
type Checked struct {
	Namespace string `json:"namespace"`
	CronJob   string `json:"cronJob"`
	// Problems are what is to be corrected, one each; Next are the first times of the schedule.
	Problems []string    `json:"problems,omitempty"`
	Next     []time.Time `json:"next,omitempty"`
}

// shownNext is how many times of a schedule a check shows.
const shownNext = 3

// Check says what of a CronJob can be known without the API server. refused is the API server's answer to a dry run; nil
// where it takes the object.
func Check(cronJob *ostinatov1.CronJob, now time.Time, refused error) Checked {
	checked := Checked{Namespace: cronJob.Namespace, CronJob: cronJob.Name}
	if refused != nil {
		checked.Problems = append(checked.Problems, "the API server refuses it: "+refused.Error())
	}
	calculator, problem := times.Parse(cronJob.Spec.Schedule, zoneOf(cronJob))
	if problem != nil {
		checked.Problems = append(checked.Problems, string(problem.Reason)+": "+problem.Message)
		return checked
	}
	for t := calculator.Next(now); len(checked.Next) < shownNext && !t.IsZero(); t = calculator.Next(t) {
		checked.Next = append(checked.Next, t)
	}
	return checked
}

// String is a line for each problem, or one with the first times.
func (c Checked) String() string {
	var text strings.Builder
	for _, problem := range c.Problems {
		fmt.Fprintf(&text, "%s/%s: %s\n", c.Namespace, c.CronJob, Printable(problem))
	}
	if len(c.Problems) > 0 {
		return text.String()
	}
	var next []string
	for _, t := range c.Next {
		next = append(next, t.Format("2006-01-02 15:04:05 MST"))
	}
	return fmt.Sprintf("%s/%s: good; due at %s\n", c.Namespace, c.CronJob, strings.Join(next, ", "))
}
