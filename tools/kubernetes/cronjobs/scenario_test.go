package cronjobs

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
)

// scenario is what test/parity/cronjobs writes as JSON; see there.
type scenario struct {
	Name    string           `json:"name"`
	CronJob *batchv1.CronJob `json:"cronJob"`
	Jobs    []batchv1.Job    `json:"jobs"`
	Begin   time.Time        `json:"begin"`
	Steps   []step           `json:"steps"`
	End     time.Time        `json:"end"`
}

type step struct {
	At        time.Time                `json:"at"`
	Action    string                   `json:"action"`
	Job       *batchv1.Job             `json:"job"`
	Name      string                   `json:"name"`
	Condition batchv1.JobConditionType `json:"condition"`
	CronJob   *batchv1.CronJob         `json:"cronJob"`
}

// line is something that the controller did.
type line struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}
