package histories

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

// forges has a writer of Temporal, who has taken the workflow's place, write a status by which root has suspended the CronJob, if it is
// suspended. No worker that believes headers meets that: its Temporal takes such a place from people.
type forges struct{}

func (forges) String() string { return "a writer of Temporal forges a status that names root" }
func (forges) trait() trait   { return trait{requests: true, forgets: true} }

func (forges) plan(w *world, at time.Time) {
	w.agenda.Plan(at, func() {
		stored := w.cluster.peek()
		status := stored.Status.DeepCopy()
		condition := meta.FindStatusCondition(status.Conditions, ostinatov1.ConditionSuspended)
		if w.run == nil || condition == nil || condition.Status != metav1.ConditionTrue {
			return
		}
		// The words of before are not kept for another time.
		condition.Message, condition.LastTransitionTime = "by root at 2026-01-02T03:04:00Z through signal", metav1.NewTime(condition.LastTransitionTime.Add(time.Second))
		request := protocol.WriteStatusRequest{
			CronJob: w.reference(stored), Digest: schedule.SpecOf(stored).Digest(), Basis: schedule.Basis{Revision: status.Revision}, Status: status,
			Suspender: schedule.Suspender{User: "root"},
		}
		// The workflow begins anew, as after a restore.
		w.record.forgot = append(w.record.forgot, time.Now().UTC())
		w.losesNames(time.Now())
		forger := w.process
		w.beside.Go(func() { forger.attempt(protocol.WriteStatusActivity, []any{request}, false)(forger.alive) })
	})
}

// called are scenarios in which the name of a user was lost or exchanged once, or may be.
func called() []scenario {
	often := cron("*/10 * * * *", batchv1.AllowConcurrent)
	failing := often
	failing.PauseAfterFailures = ptr.To[int32](1)
	of := func(user, claims string) sender { return sender{user: user, claims: claims, noted: true} }
	silent := func(user, claims string) sender { return sender{user: user, claims: claims} }
	from := func(at time.Duration, does string, who sender) step { return step{At: at, Does: does, From: who} }
	return []scenario{
		{
			Name: "two users who claim one name suspend", Spec: often, Believes: true, Begins: at("00:00:30"), Lasts: 25 * time.Minute,
			Steps: []step{
				from(11*time.Minute, "suspend", of(ada, oncall)), from(13*time.Minute, "suspend", of(bob, oncall)), from(15*time.Minute, "trigger", of(ada, bob)),
			},
		},
		{
			Name: "Temporal forgets the suspend of a user who has claimed another name", Spec: often, Believes: true, Begins: at("00:00:30"), Lasts: 25 * time.Minute,
			Steps: []step{
				from(11*time.Minute, "suspend", of(ada, bob)), faulty(15*time.Minute, temporalRestored{5 * time.Minute}), from(17*time.Minute, "trigger", of(bob, ada)),
			},
		},
		{
			Name: "a writer of Temporal forges a status of a CronJob whose run is under way", Spec: often, Begins: at("00:00:30"), Lasts: 25 * time.Minute,
			Courses: []course{{Takes: 12 * time.Minute}},
			Steps:   []step{from(11*time.Minute, "suspend", of(ada, oncall)), faulty(13*time.Minute, forges{}), from(14*time.Minute, "trigger", of(bob, ""))},
		},
		{
			Name: "a writer of Temporal forges a status of a CronJob that failures have suspended", Spec: failing, Begins: at("00:00:30"), Lasts: 25 * time.Minute,
			Courses: []course{{Takes: 20 * time.Second, Fails: true}}, Steps: []step{faulty(13*time.Minute, forges{}), from(14*time.Minute, "trigger", of(bob, ""))},
		},
		{
			Name: "Temporal forgets triggers of users whom the status names", Spec: often, Believes: true, Begins: at("00:00:30"), Lasts: 25 * time.Minute,
			Steps: []step{
				from(11*time.Minute, "trigger", of(ada, oncall)), from(12*time.Minute, "trigger", of(bob, oncall)), from(13*time.Minute, "trigger update", of(ada, "")),
				faulty(15*time.Minute, temporalRestored{5 * time.Minute}), from(17*time.Minute, "trigger", of(bob, "")),
			},
		},
		{
			Name: "triggers of two users come while a Job is created", Spec: often, Believes: true, Begins: at("00:00:30"), Lasts: 12 * time.Minute,
			Steps: []step{
				faulty(10*time.Minute, slow{Kind: "create jobs", Of: 1, Takes: 2 * time.Second, Lasts: 2 * time.Minute}),
				from(11*time.Minute, "trigger", of(ada, oncall)), from(11*time.Minute+time.Second, "trigger", of(bob, oncall)),
				from(11*time.Minute+time.Second, "trigger update", of(bob, ada)), from(11*time.Minute+time.Second, "trigger", sender{claims: oncall}),
				from(11*time.Minute+time.Second, "trigger update", of(ada, oncall)), from(11*time.Minute+time.Second, "trigger", of(ada, bob)),
			},
		},
		{
			Name: "the Job of a trigger is found before its create is answered", Spec: often, Believes: true, Begins: at("00:00:30"), Lasts: 25 * time.Minute,
			Courses: []course{{Takes: 5 * time.Minute}},
			Steps: []step{
				faulty(11*time.Minute-time.Second, slow{Kind: "create jobs", Of: 1, Takes: 40 * time.Second, Lasts: 2 * time.Minute, Lands: true}),
				from(11*time.Minute, "trigger", of(ada, oncall)), from(12*time.Minute+15*time.Second, "suspend", of(bob, "")),
				from(13*time.Minute+15*time.Second, "resume", of(bob, "")),
			},
		},
		{
			Name: "a user resumes what another has suspended, who suspends again", Spec: often, Believes: true, Begins: at("00:00:30"), Lasts: 25 * time.Minute,
			Steps: []step{
				from(11*time.Minute, "suspend", of(ada, oncall)), from(13*time.Minute, "resume", of(bob, oncall)), from(13*time.Minute+2*time.Second, "suspend", of(bob, oncall)),
				from(15*time.Minute, "trigger", of(ada, "")),
			},
		},
		{
			Name: "Temporal forgets the suspend of a user who has claimed the same as the one before", Spec: often, Believes: true,
			Begins: at("00:00:30"), Lasts: 25 * time.Minute,
			Steps: []step{
				from(11*time.Minute, "suspend", silent(ada, oncall)),
				faulty(13*time.Minute-time.Second, slow{Kind: "update cronjobs/status", Of: 1, Takes: 40 * time.Second, Lasts: 20 * time.Second}),
				from(13*time.Minute, "resume", silent(bob, oncall)), from(13*time.Minute+2*time.Second, "suspend", silent(bob, oncall)),
				faulty(13*time.Minute+10*time.Second, temporalRestored{time.Minute}), from(15*time.Minute, "trigger", of(ada, "")),
			},
		},
		{
			Name: "etcd forgets the suspension of a user, and has that of another", Spec: often, Believes: true, Begins: at("00:00:30"), Lasts: 25 * time.Minute,
			Steps: []step{
				from(2*time.Minute, "suspend", of(ada, oncall)), from(5*time.Minute, "resume", of(ada, "")), from(7*time.Minute, "suspend", of(bob, oncall)),
				faulty(11*time.Minute, etcdRestored{7 * time.Minute}), from(15*time.Minute, "trigger", of(ada, "")),
			},
		},
		{
			Name: "a user suspends what is to be suspended after failures", Spec: failing, Believes: true, Begins: at("00:00:30"), Lasts: 25 * time.Minute,
			Courses: []course{{Takes: 20 * time.Second, Fails: true}},
			Steps: []step{
				resuming(12 * time.Minute).silent(), from(12*time.Minute+10*time.Second, "suspend", of(ada, oncall)), from(15*time.Minute, "trigger", of(bob, "")),
			},
		},
	}
}

// forged reports whether a status is forged.
func (o outcome) forged() bool {
	return slices.ContainsFunc(o.scenario.Steps, func(one step) bool {
		_, forges := one.Fault.(forges)
		return forges
	})
}
