package moving_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/moving"
	"ostinato.dev/ostinato/internal/names"
)

// at is a time of the tables' day.
func at(text string) time.Time {
	parsed, err := time.Parse("15:04:05", text)
	if err != nil {
		panic(err)
	}
	return time.Date(2026, 3, 2, parsed.Hour(), parsed.Minute(), parsed.Second(), 0, time.UTC)
}

// native is the minutely CronJob report of batch/v1, which has run up to 10:00.
func native(options ...func(*batchv1.CronJob)) *batchv1.CronJob {
	cronJob := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "report", UID: "native-uid", CreationTimestamp: metav1.NewTime(at("09:00:00"))},
		Spec:       batchv1.CronJobSpec{Schedule: "* * * * *", ConcurrencyPolicy: batchv1.ForbidConcurrent, Suspend: ptr.To(false)},
		Status:     batchv1.CronJobStatus{LastScheduleTime: ptr.To(metav1.NewTime(at("10:00:00")))},
	}
	for _, option := range options {
		option(cronJob)
	}
	return cronJob
}

// ours is the same as the move makes it, and as its workflow has seen it.
func ours(options ...func(*ostinatov1.CronJob)) *ostinatov1.CronJob {
	cronJob := moving.ToOurs(native(), at("10:00:00"), at("09:30:00"))
	cronJob.UID, cronJob.Generation, cronJob.CreationTimestamp = "ours-uid", 1, metav1.NewTime(at("09:30:00"))
	cronJob.Status.ObservedGeneration, cronJob.Status.LastScheduleTime = 1, ptr.To(metav1.NewTime(at("10:00:00")))
	for _, option := range options {
		option(cronJob)
	}
	return cronJob
}

// returned is what a move back makes of ours at a time.
func returned(created string, options ...func(*batchv1.CronJob)) *batchv1.CronJob {
	cronJob, err := moving.ToNative(ours(), at(created))
	if err != nil {
		panic(err)
	}
	cronJob.UID, cronJob.CreationTimestamp = "returned-uid", metav1.NewTime(at(created))
	for _, option := range options {
		option(cronJob)
	}
	return cronJob
}

func annotate(meta *metav1.ObjectMeta, key, value string) {
	if meta.Annotations == nil {
		meta.Annotations = map[string]string{}
	}
	meta.Annotations[key] = value
}

// held and heldOurs are what a suspension by a move leaves; started takes it back.
func held(cronJob *batchv1.CronJob) {
	cronJob.Spec.Suspend = ptr.To(true)
	annotate(&cronJob.ObjectMeta, names.SuspendedForMoveAnnotation, at("10:00:10").Format(time.RFC3339Nano))
}

func heldOurs(cronJob *ostinatov1.CronJob) {
	cronJob.Spec.Suspend = ptr.To(true)
	annotate(&cronJob.ObjectMeta, names.SuspendedForMoveAnnotation, at("10:00:10").Format(time.RFC3339Nano))
}

func started(cronJob *batchv1.CronJob) {
	cronJob.Spec.Suspend = ptr.To(false)
	delete(cronJob.Annotations, names.SuspendedForMoveAnnotation)
}

func suspended(cronJob *batchv1.CronJob)        { cronJob.Spec.Suspend = ptr.To(true) }
func suspendedOurs(cronJob *ostinatov1.CronJob) { cronJob.Spec.Suspend = ptr.To(true) }
func neverRan(cronJob *batchv1.CronJob)         { cronJob.Status.LastScheduleTime = nil }
func unseen(cronJob *ostinatov1.CronJob)        { cronJob.Status.ObservedGeneration = 0 }
func deleting(cronJob *batchv1.CronJob) {
	cronJob.DeletionTimestamp = ptr.To(metav1.NewTime(at("10:00:11")))
}
func deletingOurs(cronJob *ostinatov1.CronJob) {
	cronJob.DeletionTimestamp = ptr.To(metav1.NewTime(at("10:00:11")))
}
func another(cronJob *batchv1.CronJob)    { cronJob.UID = "another-uid" }
func unmoved(cronJob *ostinatov1.CronJob) { cronJob.Annotations = nil }
func never(cronJob *batchv1.CronJob)      { cronJob.Spec.Schedule = "0 0 30 2 *" }
func lastRun(text string) func(*batchv1.CronJob) {
	return func(cronJob *batchv1.CronJob) { cronJob.Status.LastScheduleTime = ptr.To(metav1.NewTime(at(text))) }
}
func runsUnder(policy batchv1.ConcurrencyPolicy) func(*batchv1.CronJob) {
	return func(cronJob *batchv1.CronJob) { cronJob.Spec.ConcurrencyPolicy = policy }
}
func oursUnder(policy batchv1.ConcurrencyPolicy) func(*ostinatov1.CronJob) {
	return func(cronJob *ostinatov1.CronJob) { cronJob.Spec.ConcurrencyPolicy = policy }
}
func by(schedule string) func(*batchv1.CronJob) {
	return func(cronJob *batchv1.CronJob) { cronJob.Spec.Schedule = schedule }
}

// job is the Job of a time, of the CronJob with a UID.
func job(scheduled, owner string, conditions ...batchv1.JobConditionType) batchv1.Job {
	made := batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: names.ScheduledJob("report", at(scheduled)),
		Annotations:     map[string]string{names.ScheduledTimestampAnnotation: at(scheduled).Format(time.RFC3339)},
		OwnerReferences: []metav1.OwnerReference{{Kind: "CronJob", Name: "report", UID: types.UID(owner), Controller: ptr.To(true)}},
	}}
	for _, condition := range conditions {
		made.Status.Conditions = append(made.Status.Conditions, batchv1.JobCondition{Type: condition, Status: "True"})
	}
	return made
}

type situation struct {
	native *batchv1.CronJob
	ours   *ostinatov1.CronJob
	jobs   []batchv1.Job
	now    string
	delete bool
	want   moving.Action
	why    string
}

func (s situation) next(undo bool) moving.Step {
	view := moving.View{Name: "report", Undo: undo, Delete: s.delete, Jobs: map[string]bool{}}
	for _, job := range s.jobs {
		view.Jobs[job.Name] = true
	}
	view.From, view.To = moving.Native(s.native, s.jobs), moving.Ours(s.ours, s.jobs)
	if undo {
		view.From, view.To = view.To, view.From
	}
	return view.Next(at(s.now))
}

func TestTheNextStepOfAMove(t *testing.T) {
	active, complete := job("10:00:00", "native-uid"), job("10:00:00", "native-uid", batchv1.JobComplete)
	for name, test := range map[string]situation{
		"in a gap it is suspended":                       {native: native(), now: "10:00:10", want: moving.SuspendFrom},
		"exactly 5 s before the next time":               {native: native(), now: "10:00:55", want: moving.SuspendFrom},
		"less than 5 s before the next time":             {native: native(), now: "10:00:56", want: moving.Wait, why: "2026-03-02T10:01:00Z is less than 5s away"},
		"at a time, before its Job":                      {native: native(lastRun("09:59:00")), now: "10:00:00", want: moving.Wait, why: "the Job of 2026-03-02T10:00:00Z is not there yet"},
		"the Job is there before the status":             {native: native(lastRun("09:59:00")), jobs: []batchv1.Job{complete}, now: "10:00:01", want: moving.SuspendFrom},
		"a Job that does not come is no hindrance":       {native: native(lastRun("09:59:00")), now: "10:00:30", want: moving.SuspendFrom},
		"a run that Forbid holds back will be ours":      {native: native(lastRun("09:59:00")), jobs: []batchv1.Job{job("09:59:00", "native-uid")}, now: "10:00:10", want: moving.SuspendFrom},
		"under Allow the Job of the time is awaited":     {native: native(lastRun("09:59:00"), runsUnder(batchv1.AllowConcurrent)), jobs: []batchv1.Job{job("09:59:00", "native-uid")}, now: "10:00:10", want: moving.Wait, why: "not there yet"},
		"a schedule that names no time has gaps only":    {native: native(never), now: "10:00:59", want: moving.SuspendFrom},
		"one that never ran, before its first time":      {native: native(neverRan, by("30 10 * * *")), now: "10:00:00", want: moving.SuspendFrom},
		"one that never ran waits for its first Job":     {native: native(neverRan), now: "10:00:01", want: moving.Wait, why: "not there yet"},
		"suspended, with a run":                          {native: native(held), jobs: []batchv1.Job{active}, now: "10:00:11", want: moving.Wait, why: "run report-29540760 is active"},
		"suspended, with two runs":                       {native: native(held), jobs: []batchv1.Job{active, job("09:59:00", "native-uid")}, now: "10:00:11", want: moving.Wait, why: "and 1 more are active"},
		"suspended, with a run of somebody else":         {native: native(held), jobs: []batchv1.Job{job("10:00:00", "other-uid")}, now: "10:00:11", want: moving.CreateTo},
		"suspended, with a run under Allow":              {native: native(held, runsUnder(batchv1.AllowConcurrent)), jobs: []batchv1.Job{active}, now: "10:00:11", want: moving.CreateTo},
		"suspended, the run has ended":                   {native: native(held), jobs: []batchv1.Job{complete}, now: "10:00:11", want: moving.CreateTo},
		"suspended, a time comes":                        {native: native(held), now: "10:00:59", want: moving.CreateTo},
		"suspended by a person, at any moment":           {native: native(suspended), now: "10:00:59", want: moving.CreateTo},
		"ours is not seen yet":                           {native: native(held), ours: ours(unseen), now: "10:00:12", want: moving.Wait, why: "are bridge, worker and Temporal running?"},
		"ours is seen":                                   {native: native(held), ours: ours(), now: "10:00:12", want: moving.Done},
		"ours is seen, and the other is to go":           {native: native(held), ours: ours(), now: "10:00:12", delete: true, want: moving.DeleteFrom},
		"the other is not deleted before ours is seen":   {native: native(held), ours: ours(unseen), now: "10:00:12", delete: true, want: moving.Wait},
		"the other's runs under Allow end first":         {native: native(held, runsUnder(batchv1.AllowConcurrent)), ours: ours(), jobs: []batchv1.Job{active}, now: "10:00:12", delete: true, want: moving.Wait, why: "is active"},
		"the other goes":                                 {native: native(held, deleting), ours: ours(), now: "10:00:12", want: moving.Wait, why: "being deleted"},
		"ours goes":                                      {native: native(held), ours: ours(deletingOurs), now: "10:00:12", want: moving.Wait, why: "being deleted"},
		"the other is gone":                              {ours: ours(), now: "10:00:12", want: moving.Done},
		"somebody resumed the other":                     {native: native(), ours: ours(), now: "10:00:12", want: moving.SuspendFrom},
		"somebody resumed the other, just before a time": {native: native(), ours: ours(), now: "10:00:58", want: moving.Wait},
		"nothing is there":                               {now: "10:00:12", want: moving.Refuse, why: "there is no batch/v1 CronJob"},
		"ours alone, which was not moved":                {ours: ours(unmoved), now: "10:00:12", want: moving.Refuse, why: "there is no batch/v1 CronJob"},
		"one of ours that nobody moved":                  {native: native(), ours: ours(unmoved), now: "10:00:12", want: moving.Refuse, why: "was not made from it"},
		"one of ours that comes from another":            {native: native(another), ours: ours(), now: "10:00:12", want: moving.Refuse, why: "was not made from it"},
		"what a move back has left goes first":           {native: returned("10:00:11", started), ours: ours(heldOurs), now: "10:00:30", want: moving.DeleteTo},
		"a move back that got as far as suspending":      {ours: ours(heldOurs), now: "10:00:30", want: moving.ResumeTo},
		"a move back that got as far as creating":        {native: returned("10:00:11"), ours: ours(heldOurs), now: "10:00:30", want: moving.DeleteFrom},
	} {
		t.Run(name, func(t *testing.T) {
			step := test.next(false)
			assert.Equal(t, test.want, step.Do, step.Why)
			assert.Contains(t, step.Why, test.why)
		})
	}
}

func TestTheNextStepOfAMoveBack(t *testing.T) {
	active, complete := job("10:00:00", "ours-uid"), job("10:00:00", "ours-uid", batchv1.JobComplete)
	for name, test := range map[string]situation{
		"what the move has left goes first":           {native: native(held), ours: ours(), now: "10:00:58", want: moving.DeleteTo},
		"in a gap ours is suspended":                  {ours: ours(), now: "10:00:10", want: moving.SuspendFrom},
		"less than 5 s before the next time":          {ours: ours(), now: "10:00:56", want: moving.Wait, why: "less than 5s away"},
		"at a time, before its Job":                   {ours: ours(), now: "10:01:00", want: moving.Wait, why: "not there yet"},
		"a run that Forbid holds back is waited for":  {ours: ours(), jobs: []batchv1.Job{active}, now: "10:01:10", want: moving.Wait, why: "the Job of 2026-03-02T10:01:00Z is not there yet"},
		"a Job that comes late is waited for":         {ours: ours(), now: "10:01:40", want: moving.Wait, why: "not there yet"},
		"a time that the workflow is done with":       {ours: ours(func(c *ostinatov1.CronJob) { c.Status.NextScheduleTime = ptr.To(metav1.NewTime(at("10:02:00"))) }), now: "10:01:10", want: moving.SuspendFrom},
		"one whose turn has come":                     {ours: ours(func(c *ostinatov1.CronJob) { c.Status.NextScheduleTime = ptr.To(metav1.NewTime(at("10:01:00"))) }), now: "10:01:10", want: moving.Wait},
		"a time that was skipped is no hindrance":     {ours: ours(func(c *ostinatov1.CronJob) { c.Status.AccountedUntil = ptr.To(metav1.NewTime(at("10:01:00"))) }), now: "10:01:01", want: moving.SuspendFrom},
		"once ours is suspended the other is created": {ours: ours(heldOurs), now: "10:00:11", want: moving.CreateTo},
		"even with a run":                             {ours: ours(heldOurs), jobs: []batchv1.Job{active}, now: "10:00:11", want: moving.CreateTo},
		"a time came before that":                     {ours: ours(heldOurs), now: "10:01:00", want: moving.ResumeFrom, why: "2026-03-02T10:01:00Z came meanwhile"},
		"a time came before it was there":             {native: returned("10:01:00"), ours: ours(heldOurs), now: "10:01:01", want: moving.DeleteTo, why: "10:01:00Z came before it was there"},
		"a time came after it was there":              {native: returned("10:00:59"), ours: ours(heldOurs), now: "10:01:01", want: moving.ResumeTo},
		"it waits for the run of ours":                {native: returned("10:00:11"), ours: ours(heldOurs), jobs: []batchv1.Job{active}, now: "10:00:12", want: moving.Wait, why: "is active"},
		"under Allow it does not":                     {native: returned("10:00:11"), ours: ours(heldOurs, oursUnder(batchv1.AllowConcurrent)), jobs: []batchv1.Job{active}, now: "10:00:12", want: moving.ResumeTo},
		"the run has ended":                           {native: returned("10:00:11"), ours: ours(heldOurs), jobs: []batchv1.Job{complete}, now: "10:00:12", want: moving.ResumeTo},
		"it runs":                                     {native: returned("10:00:11", started), ours: ours(heldOurs), now: "10:00:13", want: moving.Done},
		"it runs, and ours is to go":                  {native: returned("10:00:11", started), ours: ours(heldOurs), now: "10:00:13", delete: true, want: moving.DeleteFrom},
		"it runs, and ours has a run under Allow":     {native: returned("10:00:11", started), ours: ours(heldOurs, oursUnder(batchv1.AllowConcurrent)), jobs: []batchv1.Job{active}, now: "10:00:13", delete: true, want: moving.Wait},
		"ours was suspended by a person":              {ours: ours(suspendedOurs), now: "10:05:00", want: moving.CreateTo},
		"and stays so":                                {native: returned("10:00:11", suspended, func(c *batchv1.CronJob) { delete(c.Annotations, names.SuspendedForMoveAnnotation) }), ours: ours(suspendedOurs), now: "10:05:00", want: moving.Done},
		"somebody resumed ours meanwhile":             {native: returned("10:00:11"), ours: ours(), now: "10:00:13", want: moving.DeleteTo, why: "was resumed meanwhile"},
		"somebody resumed ours afterwards":            {native: returned("10:00:11", started), ours: ours(), now: "10:00:13", want: moving.SuspendFrom},
		"one of batch/v1 that nobody moved":           {native: native(), ours: ours(), now: "10:00:13", want: moving.Refuse, why: "no move has left"},
		"one that a person has suspended":             {native: native(suspended), ours: ours(), now: "10:00:13", want: moving.Refuse, why: "no move has left"},
		"one goes":                                    {native: native(held, deleting), ours: ours(), now: "10:00:13", want: moving.Wait, why: "being deleted"},
		"nothing is there":                            {now: "10:00:13", want: moving.Refuse, why: "there is no CronJob"},
		"the other alone":                             {native: native(), now: "10:00:13", want: moving.Done},
		"a move that got as far as suspending":        {native: native(held), now: "10:00:13", want: moving.ResumeTo},
		"a move that got as far, and a time came":     {native: native(held), now: "10:01:13", want: moving.ResumeTo},
		"ours ran the last time, and is gone":         {native: native(held), jobs: []batchv1.Job{job("10:01:00", "ours-uid", batchv1.JobComplete)}, now: "10:01:13", want: moving.Refuse, why: "--cascade=orphan"},
	} {
		t.Run(name, func(t *testing.T) {
			step := test.next(true)
			assert.Equal(t, test.want, step.Do, step.Why)
			assert.Contains(t, step.Why, test.why)
			assert.Equal(t, step.Do == moving.SuspendFrom, step.AtOnce, "nobody runs the CronJob until the other is there")
		})
	}
}

func TestTheTimeThatOursCountsFrom(t *testing.T) {
	for name, test := range map[string]struct {
		native *batchv1.CronJob
		jobs   []batchv1.Job
		want   time.Time
	}{
		"the status": {native: native(), want: at("10:00:00")},
		"a Job that the status does not know yet":     {native: native(), jobs: []batchv1.Job{job("10:01:00", "native-uid")}, want: at("10:01:00")},
		"a Job of another":                            {native: native(), jobs: []batchv1.Job{job("10:01:00", "other-uid")}, want: at("10:00:00")},
		"none, and a time has come":                   {native: native(neverRan), want: at("09:00:00")},
		"none, and no time has come":                  {native: native(neverRan, by("30 10 * * *"))},
		"none, and times count from the creation":     {native: native(neverRan, by("@every 5h")), want: at("09:00:00")},
		"none, and the schedule names nothing at all": {native: native(neverRan, never)},
	} {
		t.Run(name, func(t *testing.T) {
			view := moving.View{Name: "report", From: moving.Native(test.native, test.jobs)}
			assert.Equal(t, test.want, view.LastScheduleTime(at("10:01:30")))
		})
	}
}

func TestWhereAMoveStands(t *testing.T) {
	for want, view := range map[string]moving.View{
		"it runs as before": {From: moving.Native(native(), nil)},
		"run the command again to go on, or with --undo":        {From: moving.Native(native(held), nil)},
		"run the command again to go on, or without --undo":     {From: moving.Ours(ours(heldOurs), nil), To: moving.Native(returned("10:00:11"), nil), Undo: true},
		"the new CronJob is there; run the command again to fi": {From: moving.Native(native(held), nil), To: moving.Ours(ours(), nil)},
	} {
		assert.Contains(t, view.Stands(), want)
	}
}

// Whoever may write the object may write anything into its annotations.
func TestNotesOfAMoveThatCanNotBeRead(t *testing.T) {
	for name, value := range map[string]string{"no time": "yesterday", "nothing": "", "bytes": "\xff\x00"} {
		cronJob := native(suspended)
		annotate(&cronJob.ObjectMeta, names.SuspendedForMoveAnnotation, value)
		assert.True(t, moving.Native(cronJob, nil).HeldAt.IsZero(), name)
	}
	for value, want := range map[string]string{
		"batch/v1/uid": "uid", "batch.ostinato.dev/v1/uid": "", "uid": "", "": "", "batch/v1/": "", "v1/uid": "",
	} {
		cronJob := ours()
		annotate(&cronJob.ObjectMeta, names.MovedFromAnnotation, value)
		assert.Equal(t, want, moving.Ours(cronJob, nil).From, value)
	}
}
