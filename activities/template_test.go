package activities_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clienttesting "k8s.io/client-go/testing"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
)

// answerDryRuns makes the fake API server answer creates without effect, and counts them.
func (s *stage) answerDryRuns(err error) *int {
	asked := new(int)
	s.kubernetes.PrependReactor("create", "jobs", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create := action.(clienttesting.CreateActionImpl)
		if !slices.Equal(create.CreateOptions.DryRun, []string{metav1.DryRunAll}) {
			return false, nil, nil
		}
		*asked++
		return true, create.GetObject(), err
	})
	return asked
}

func judgeRequest() protocol.WriteStatusRequest {
	next := metav1.NewTime(scheduled)
	return protocol.WriteStatusRequest{
		CronJob: cronJobRef, Judge: true, Status: &ostinatov1.CronJobStatus{ObservedGeneration: 3, NextScheduleTime: &next},
	}
}

func (s *stage) templateValid() *metav1.Condition {
	return meta.FindStatusCondition(s.cronJob().Status.Conditions, ostinatov1.ConditionTemplateValid)
}

func TestTheTemplateIsJudgedByADryRunOfTheNextJob(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "Job"}, "hello-1", field.ErrorList{
		field.NotFound(field.NewPath("spec", "template", "spec", "containers").Index(0).Child("volumeMounts").Index(0).Child("name"), "data"),
	})
	policy := apierrors.NewForbidden(jobs, "hello-1", errors.New("admission webhook \"policy.example.com\" denied the request: no team label"))
	for name, test := range map[string]struct {
		answer error
		want   metav1.ConditionStatus
		says   string
	}{
		"taken":                {nil, metav1.ConditionTrue, ""},
		"there already":        {apierrors.NewAlreadyExists(jobs, "hello-1"), metav1.ConditionTrue, ""},
		"invalid":              {invalid, metav1.ConditionFalse, `volumeMounts[0].name: Not found: "data"`},
		"against a policy":     {policy, metav1.ConditionFalse, "no team label"},
		"quota used up":        {apierrors.NewForbidden(jobs, "x", errors.New("exceeded quota: jobs")), metav1.ConditionTrue, ""},
		"namespace goes":       {terminatingNamespace(), "", ""},
		"webhook without it":   {apierrors.NewBadRequest(`admission webhook "x" does not support dry run`), "", ""},
		"webhook away":         {apierrors.NewInternalError(errors.New("failed calling webhook")), "", ""},
		"overload":             {apierrors.NewTooManyRequests("later", 1), "", ""},
		"not reached":          {errors.New("connection refused"), "", ""},
		"no answer in time":    {context.DeadlineExceeded, "", ""},
		"worker not logged in": {apierrors.NewUnauthorized("token expired"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
			asked := s.answerDryRuns(test.answer)
			result := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, judgeRequest())
			judgement := result.Judgement
			if judgement == nil || judgement.Unknown != (test.want == "") || *asked != 1 {
				t.Fatalf("judgement %+v after %d requests", judgement, *asked)
			}
			if s.cronJob().Status.ObservedGeneration != 3 {
				t.Error("the status was not applied")
			}
			condition := s.templateValid()
			switch {
			case test.want == "":
				if condition != nil {
					t.Errorf("an outage is no judgement: %+v", condition)
				}
			case condition == nil || condition.Status != test.want || condition.ObservedGeneration != 3 || !strings.Contains(condition.Message, test.says):
				t.Errorf("condition %+v", condition)
			}
			events := s.recorded()
			if warned := len(events) == 1 && strings.HasPrefix(events[0], "Warning InvalidTemplate The Job of the next run would be refused: ") &&
				strings.Contains(events[0], test.says); warned != (test.want == metav1.ConditionFalse) || len(events) > 1 {
				t.Errorf("events %v", events)
			}
		})
	}
}

func TestTheDryRunIsOfTheJobOfTheNextRun(t *testing.T) {
	s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
	s.answerDryRuns(nil)
	must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, judgeRequest())
	if writes := s.writes(); writes[0] != "create jobs "+names.ScheduledJob("hello", scheduled) {
		t.Errorf("writes %v", writes)
	}
}

// A run costs no request more.
func TestNothingIsJudgedUnasked(t *testing.T) {
	s := newStage(t, nil, []*ostinatov1.CronJob{helloCronJob()})
	asked := s.answerDryRuns(nil)
	if result := must[protocol.StartRunResult](s, protocol.StartRunActivity, startRequest()); result.Started == nil || *asked != 0 {
		t.Errorf("result %+v after %d requests", result, *asked)
	}
}

func TestATemplateIsNotJudgedWhereTheCronJobGoes(t *testing.T) {
	now := metav1.NewTime(scheduled)
	deleting := helloCronJob()
	deleting.DeletionTimestamp, deleting.Finalizers = &now, []string{"example.com/hold"}
	s := newStage(t, nil, []*ostinatov1.CronJob{deleting})
	asked := s.answerDryRuns(nil)
	if result := must[protocol.WriteStatusResult](s, protocol.WriteStatusActivity, judgeRequest()); result.Judgement != nil || *asked != 0 {
		t.Errorf("being deleted: %+v after %d requests", result.Judgement, *asked)
	}
}
