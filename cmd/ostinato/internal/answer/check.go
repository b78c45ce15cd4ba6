package answer

import (
	"fmt"
	"strings"
	"time"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/times"
)

// Checked is what is known of a CronJob of a file, or of the cluster.
type Checked struct {
	Namespace string `json:"namespace"`
	CronJob   string `json:"cronJob"`
	// Problems are what is to be corrected, one each; Next are the first times of the schedule.
	Problems []string    `json:"problems,omitempty"`
	Next     []time.Time `json:"next,omitempty"`
}

// shownNext is how many times of a schedule a check shows.
const shownNext = 3

// shownLost is how many lost fields a problem names.
const shownLost = 6

// Check says what of a CronJob of a file can be known without the API server. refused is the API server's answer to a dry run, nil where it
// takes the object; lost are the fields that kustomize has dropped, or left as the base has them.
func Check(cronJob *ostinatov1.CronJob, now time.Time, refused error, lost []string) Checked {
	checked := Checked{Namespace: cronJob.Namespace, CronJob: cronJob.Name}
	if refused != nil {
		checked.Problems = append(checked.Problems, "the API server refuses it: "+refused.Error())
	}
	if len(lost) > 0 {
		shown := strings.Join(lost[:min(len(lost), shownLost)], ", ")
		if more := len(lost) - shownLost; more > 0 {
			shown += fmt.Sprintf(" and %d more", more)
		}
		checked.Problems = append(checked.Problems, "kustomize drops or leaves unpatched "+shown+
			": it knows the fields of batch/v1 alone; keep that apiVersion, and change it in a last overlay (docs/move.md, Under kustomize)")
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

// CheckPresent says what is to be corrected of a CronJob that the cluster has.
func CheckPresent(cronJob *ostinatov1.CronJob, now time.Time) Checked {
	checked := Check(cronJob, now, nil, nil)
	if condition := conditionIs(cronJob, ostinatov1.ConditionStalled); condition != nil && len(checked.Problems) == 0 {
		checked.Problems = append(checked.Problems, condition.Reason+": "+condition.Message)
	}
	if condition := conditionIs(cronJob, ostinatov1.ConditionNativeCronJobActive); condition != nil {
		checked.Problems = append(checked.Problems, condition.Reason+": "+condition.Message)
	}
	return checked
}

// NeedCorrection counts those with problems.
func NeedCorrection(all []Checked) (wrong int) {
	for _, checked := range all {
		if len(checked.Problems) > 0 {
			wrong++
		}
	}
	return wrong
}

// String is a line for each problem, or one with the first times.
func (c Checked) String() string {
	var text strings.Builder
	name := Printable(c.Namespace + "/" + c.CronJob)
	for _, problem := range c.Problems {
		fmt.Fprintf(&text, "%s: %s\n", name, Printable(problem))
	}
	if len(c.Problems) > 0 {
		return text.String()
	}
	var next []string
	for _, t := range c.Next {
		next = append(next, t.Format("2006-01-02 15:04:05 MST"))
	}
	return fmt.Sprintf("%s: good; due at %s\n", name, strings.Join(next, ", "))
}
