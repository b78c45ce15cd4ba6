package job_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"ostinato.dev/ostinato/internal/clip"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
)

// stop says on the Job that ada ends it.
func (c *cluster) stop() *cluster {
	c.edit(func(spec *job.Spec) { spec.Stop = &job.Stop{By: "ada", Note: "it hangs"} })
	return c
}

func TestAStopEndsTheJobAsAVerdictDoes(t *testing.T) {
	stopped := []string{"FailureTarget/Stopped", "Failed/Stopped"}
	for name, test := range map[string]struct {
		spec       func(*job.Spec)
		before     func(*cluster)
		conditions []string
		failed     int32
		creates    int
	}{
		"of Pods that run":     {conditions: stopped, failed: 2, creates: 2},
		"before the first Pod": {spec: func(spec *job.Spec) { spec.Stop = &job.Stop{} }, conditions: stopped},
		"while it is suspended": {
			before: func(c *cluster) {
				c.edit(func(spec *job.Spec) { spec.Suspend = true })
				c.settle().drain().deliver().settle()
			},
			conditions: append([]string{"Suspended/JobSuspended"}, stopped...), creates: 2,
		},
		"while the Pods of a suspension end": {
			before:     func(c *cluster) { c.edit(func(spec *job.Spec) { spec.Suspend = true }); c.settle() },
			conditions: append([]string{"Suspended/JobSuspended"}, stopped...), creates: 2,
		},
		"of a Job that is suspended in the same edit": {
			before: func(c *cluster) { c.edit(func(spec *job.Spec) { spec.Suspend = true }) }, conditions: stopped, failed: 2, creates: 2,
		},
		"while a Pod waits for its back-off": {
			before: func(c *cluster) { c.exit(c.pods[0]); c.deliver().settle() }, conditions: stopped, failed: 2, creates: 2,
		},
		"after some Pods have succeeded": {
			before: func(c *cluster) { c.endWell(c.pods[0]); c.deliver().settle() }, conditions: stopped, failed: 1, creates: 2,
		},
		"after all have, before that is counted": {
			before:     func(c *cluster) { c.endWell(c.pods[0]); c.endWell(c.pods[1]); c.deliver() },
			conditions: []string{"SuccessCriteriaMet/CompletionsReached", "Complete/CompletionsReached"}, creates: 2,
		},
		"after it has failed by itself": {
			spec: func(spec *job.Spec) { spec.BackoffLimit = 0 }, before: func(c *cluster) { c.exit(c.pods[0]); c.deliver() },
			conditions: []string{"FailureTarget/BackoffLimitExceeded", "Failed/BackoffLimitExceeded"}, failed: 2, creates: 2,
		},
		"after its deadline": {
			spec:       func(spec *job.Spec) { spec.ActiveDeadlineSeconds = pointer[int64](30) },
			before:     func(c *cluster) { c.pass(time.Minute) },
			conditions: []string{"FailureTarget/DeadlineExceeded", "Failed/DeadlineExceeded"}, failed: 2, creates: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(2, 2)
			if test.spec != nil {
				test.spec(&spec)
			}
			c := newCluster(t, spec).settle()
			if spec.Stop == nil {
				c.run(2).deliver().settle()
				if test.before != nil {
					test.before(c)
				}
				c.stop().settle()
			}
			c.drain().pass(time.Minute).deliver().settle()
			equal(t, "conditions", conditionsOf(c.status), test.conditions)
			equal(t, "failed", c.status.Failed, test.failed)
			equal(t, "Pods created", len(c.creates), test.creates)
			equal(t, "finished", c.finished != nil, true)
		})
	}
}

// Nothing takes a stop back once it is recorded, and until then whoever stopped the Job may.
func TestAStopThatIsTakenBack(t *testing.T) {
	d := newDesk(t, specOf(2, 2))
	d.edit(func(spec *job.Spec) { spec.Stop = &job.Stop{Note: "it hangs"} })
	goOn := func() { d.edit(func(spec *job.Spec) { spec.Stop = nil }) }
	goOn()
	d.listed()
	equal(t, "terminates, taken back before", d.decide().Terminate, job.Termination(""))
	d.edit(func(spec *job.Spec) { spec.Stop = &job.Stop{Note: "it hangs"} })
	d.listed()
	plan := d.decide()
	equal(t, "terminates", plan.Terminate, job.TerminateForVerdict)
	d.state = plan.Asked()
	goOn()
	d.listed()
	d.terminate(d.decide())
	plan = d.decide()
	equal(t, "conditions", conditionsOf(*plan.Status), []string{"FailureTarget/Stopped"})
	equal(t, "message", plan.Status.Conditions[0].Message, "Job was stopped: it hangs")
}

func TestWhatTheAnnotationSays(t *testing.T) {
	long := strings.Repeat("é", 5000)
	for name, test := range map[string]struct {
		value   *string
		want    *job.Stop
		message string
	}{
		"nothing":               {},
		"an empty text":         {value: pointer(""), want: &job.Stop{}, message: "Job was stopped"},
		"text":                  {value: pointer(" it hangs\n"), want: &job.Stop{Note: "it hangs"}, message: "Job was stopped: it hangs"},
		"who and why":           {value: pointer(`{"by":"ada","note":"it hangs"}`), want: &job.Stop{By: "ada", Note: "it hangs"}, message: "Job was stopped by ada (claimed): it hangs"},
		"who":                   {value: pointer(`{"by":"ada"}`), want: &job.Stop{By: "ada"}, message: "Job was stopped by ada (claimed)"},
		"fields of others":      {value: pointer(`{"by":"ada","ticket":7}`), want: &job.Stop{By: "ada"}, message: "Job was stopped by ada (claimed)"},
		"an object that is not": {value: pointer(`{"by":`), want: &job.Stop{Note: `{"by":`}, message: `Job was stopped: {"by":`},
		"of another type":       {value: pointer(`{"by":7}`), want: &job.Stop{Note: `{"by":7}`}, message: `Job was stopped: {"by":7}`},
		"null":                  {value: pointer("null"), want: &job.Stop{Note: "null"}, message: "Job was stopped: null"},
		"a text that moves the cursor": {value: pointer("it\x1b[2J hangs\x00\xff"), want: &job.Stop{Note: "it[2J hangs"},
			message: "Job was stopped: it[2J hangs"},
	} {
		var object batchv1.Job
		if test.value != nil {
			object.Annotations = map[string]string{names.StopAnnotation: *test.value}
		}
		// A Pod template's annotation is no stop.
		object.Spec.Template.Annotations = map[string]string{names.StopAnnotation: "of the template"}
		spec := job.SpecOf(&object)
		assert.Equal(t, test.want, spec.Stop, name)
		assert.NoError(t, spec.Validate(), name)
		if spec.Stop != nil {
			assert.Equal(t, test.message, spec.Stop.String(), name)
			assert.Equal(t, spec.Stop, job.StopOf(map[string]string{names.StopAnnotation: spec.Stop.Annotation()}), name)
		}
	}
	stop := job.StopOf(map[string]string{names.StopAnnotation: job.Stop{By: long, Note: long}.Annotation()})
	assert.LessOrEqual(t, len(stop.String()), job.MaxConditionText)
	assert.NoError(t, job.Spec{Stop: stop}.Validate())
	assert.Error(t, job.Spec{Stop: &job.Stop{By: long}}.Validate())
	assert.Error(t, job.Spec{Stop: &job.Stop{Note: long}}.Validate())
}

// Whose name a verdict has, the Job says, and no request.
func TestAVerdictQuotesTheJobsOwnStop(t *testing.T) {
	said := job.Stop{By: "ada", Note: "it hangs"}
	failing := func(message string) batchv1.JobStatus {
		return batchv1.JobStatus{Conditions: []batchv1.JobCondition{
			{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: "Stopped", Message: message},
		}}
	}
	for name, test := range map[string]struct {
		annotation *job.Stop
		status     batchv1.JobStatus
		message    string
		misquoted  bool
	}{
		"as the annotation says":                       {annotation: &said, message: said.String()},
		"in another's name":                            {annotation: &said, message: "Job was stopped by bob (claimed): it hangs", misquoted: true},
		"without an annotation":                        {message: said.String(), misquoted: true},
		"as the status says, the annotation is edited": {annotation: &job.Stop{}, status: failing(said.String()), message: said.String()},
		"as the status says, the annotation is gone":   {status: failing(said.String()), message: said.String()},
		"unlike both":                                  {annotation: &said, status: failing("Job was stopped"), message: "by bob", misquoted: true},
		"by a reason of the status that is no stop":    {status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobFailureTarget, Status: corev1.ConditionTrue, Reason: "DeadlineExceeded", Message: "x"}}}, message: "x", misquoted: true},
	} {
		object := &batchv1.Job{Status: test.status}
		if test.annotation != nil {
			object.Annotations = map[string]string{names.StopAnnotation: test.annotation.Annotation()}
		}
		verdict := job.Verdict{Interim: batchv1.JobFailureTarget, Reason: "Stopped", Message: test.message}
		if test.message != "" {
			assert.Equal(t, test.misquoted, job.Misquoted(object, verdict) != "", name)
			assert.Equal(t, test.misquoted, job.Unfounded(object, failing(test.message), nil, nil) != "", name)
		}
		verdict.Reason = batchv1.JobReasonBackoffLimitExceeded
		decided := len(test.status.Conditions) > 0
		assert.Equal(t, decided, job.Misquoted(object, verdict) != "", "%s: no other verdict takes the place of the one that the status has", name)
	}
}

// A stop is a reason for a verdict where the Job has one, and only there.
func TestAStopThatTheJobDoesNotHaveFoundsNoVerdict(t *testing.T) {
	object := &batchv1.Job{}
	assert.NotEmpty(t, job.UnfoundedVerdict(object, batchv1.JobStatus{}, "Stopped", nil, start))
	object.Annotations = map[string]string{names.StopAnnotation: ""}
	assert.Empty(t, job.UnfoundedVerdict(object, batchv1.JobStatus{}, "Stopped", nil, start))
}

// However long the name is that is claimed, a row of the ledger says that it is claimed.
func TestANameThatIsClaimedIsSaidToBe(t *testing.T) {
	stop := job.StopOf(map[string]string{names.StopAnnotation: job.Stop{By: "root@example.com: " + strings.Repeat("it hangs ", 50)}.Annotation()})
	assert.Contains(t, clip.Message(stop.String()), "(claimed)")
}
