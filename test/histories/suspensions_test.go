package histories

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/k8s"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// Field managers of people.
const (
	creator = "kubectl-create"
	editor  = "kubectl-edit"
)

// suspension is one that is in force by the object: what the write says that began it.
type suspension struct {
	at time.Time
	// manager is the field manager of the write. heard, claims and note are the annotations of one that Ostinato has made.
	manager             string
	heard, claims, note string
}

// writtenBy are the managed fields of an object whose spec.suspend a field manager has written.
func writtenBy(manager string) []metav1.ManagedFieldsEntry {
	now := metav1.NewTime(time.Now().UTC().Truncate(time.Second))
	return []metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: ostinatov1.GroupVersion.String(), Time: &now,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:suspend":{}}}`),
	}}
}

// suspendedBy notes who changes spec.suspend, as the API server does in the managed fields: a write of the same value is none.
func (c *cluster) suspendedBy(before, after *ostinatov1.CronJob, manager string) {
	was, is := ptr.Deref(before.Spec.Suspend, false), ptr.Deref(after.Spec.Suspend, false)
	if was == is {
		return
	}
	after.ManagedFields, c.suspension = writtenBy(manager), nil
	if !is {
		return
	}
	c.suspension = &suspension{at: time.Now().UTC(), manager: manager}
	if manager == k8s.CronJobFieldManager {
		c.suspension.heard = after.Annotations[names.SuspendedAtAnnotation]
		c.suspension.claims, c.suspension.note = after.Annotations[names.SuspendedByAnnotation], after.Annotations[names.SuspendNoteAnnotation]
	}
}

// said is what a status says about the suspension that was in force when it was written; that is nil if none was.
type said struct {
	at      time.Time
	message string
	inForce *suspension
}

// says notes whom a status names that was written.
func (c *cluster) says(status ostinatov1.CronJobStatus) {
	for _, recent := range status.RecentRuns {
		c.rows[rowOf(recent)] = true
	}
	condition := meta.FindStatusCondition(status.Conditions, ostinatov1.ConditionSuspended)
	if condition != nil && condition.Status == metav1.ConditionTrue {
		c.said = append(c.said, said{time.Now().UTC(), condition.Message, c.suspension})
	}
}

// whoSaid parts the message of the condition Suspended: the name in it, and the rest without a time.
var whoSaid = regexp.MustCompile(`^(?:by (.*?) )?(?:at [-0-9]{10}T[:0-9]{8}Z )?(through .*)$`)

// suspenders finds statuses that say another has suspended the CronJob than who has.
func (o outcome) suspenders() (wrong []string) {
	for i, one := range o.said {
		if why := o.wronglySaid(one, o.said[:i]); why != "" {
			wrong = append(wrong, fmt.Sprintf("the status says at %s suspended %q, but %s", one.at.Format(time.TimeOnly), one.message, why))
		}
	}
	return slices.Compact(wrong)
}

// throughFailures is the name that Ostinato claims on an object that it suspends after failures.
const throughFailures = "pauseAfterFailures"

func (o outcome) wronglySaid(one said, before []said) string {
	who, rest := "", ""
	if parts := whoSaid.FindStringSubmatch(one.message); parts != nil {
		who, rest = parts[1], parts[2]
	} else if one.message != "" {
		return "it can't be read"
	}
	by := one.inForce
	switch {
	case by == nil:
		return "the CronJob was not suspended"
	case one.message == "" && (o.forged() || o.hasBroughtBack(*by, one)):
		// A worker that remembers the CronJob can't tell, and no status says that it is the same suspension.
		return ""
	case by.manager != k8s.CronJobFieldManager:
		if who != "" || rest != "through "+by.manager {
			return "that was " + by.manager
		}
		return ""
	case by.claims == throughFailures:
		if who != "" && who != throughFailures+" (claimed)" || !strings.Contains(rest, by.note) {
			return "failures have suspended it"
		}
		return ""
	}
	var may []string
	for _, sent := range o.suspendersOf(*by) {
		may = append(may, sent.who(o.scenario.Believes))
		if o.mayHaveLost(*by, one, before) || o.hasBroughtBack(*by, one) {
			may = append(may, sent.claimed(o.scenario.Believes))
		}
	}
	want := "through signal"
	if by.note != "" {
		want += ": " + by.note
	}
	if !slices.Contains(may, who) || rest != want {
		return fmt.Sprintf("the suspension of %s is by %q %s", by.at.Format(time.TimeOnly), may, want)
	}
	return ""
}

// suspendersOf are the signals that may have brought about a suspension, by claim and note: those that are to be heard when it was, or
// else all that had been sent before, as one that is heard again after a reset.
func (o outcome) suspendersOf(by suspension) (may []request) {
	var before []request
	heard, err := time.Parse(time.RFC3339Nano, by.heard)
	must(err)
	for _, sent := range o.requests {
		claims := sent.claims
		if claims == "" && o.scenario.Believes {
			claims = sent.user
		}
		switch {
		case sent.name != protocol.SuspendSignal || sent.note != by.note || claims != by.claims || sent.at.After(heard):
		case heard.After(o.patience(sent.at)):
			before = append(before, sent)
		default:
			may = append(may, sent)
		}
	}
	if len(may) > 0 {
		return may
	}
	return before
}

// mayHaveLost reports whether Ostinato may know of a suspension no more than the object says: Temporal has forgotten the signal before a
// status has named its sender. A restore of etcd takes back what a status has said.
func (o outcome) mayHaveLost(by suspension, now said, before []said) bool {
	return slices.ContainsFunc(o.forgot, func(at time.Time) bool {
		return !at.Before(by.at) && !at.After(now.at) && !slices.ContainsFunc(before, func(earlier said) bool {
			return earlier.inForce != nil && *earlier.inForce == by && !earlier.at.After(at) && !o.undone(earlier.at)
		})
	})
}

// hasBroughtBack reports whether a restore of etcd may have brought back a suspension, whose sender was forgotten when it ended.
func (o outcome) hasBroughtBack(by suspension, now said) bool {
	return slices.ContainsFunc(o.restores(), func(one stretch) bool { return !one.to.Before(by.at) && !one.to.After(now.at) })
}
