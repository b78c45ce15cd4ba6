package parity

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
)

// testCase is a Job and what happens to it.
type testCase struct {
	// name is the Job's, too.
	name        string
	spec        batchv1.JobSpec
	labels      map[string]string
	annotations map[string]string
	finalizers  []string
	// prepare is done in the namespace before the Job is created.
	prepare func(t *testing.T, on *ground, name string)
	// alone asks for a namespace of the case's own.
	alone bool
	steps []step
}

// job is the case's Job for one of the controllers.
func (c testCase) job(on *ground) *batchv1.Job {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: on.namespace, Name: c.name, Labels: c.labels, Annotations: c.annotations, Finalizers: c.finalizers,
		},
		Spec: *c.spec.DeepCopy(),
	}
	job.Spec.ManagedBy = on.managedBy
	return job
}

// step waits for a state of the Job, in which both are compared, and then does
// something to it.
type step struct {
	name   string
	checks []check
	// lasts is how long the Job has to stay in the state.
	lasts time.Duration
	// difference is why the state is not compared; empty where it is.
	difference string
	do         act
}

// check returns nil when the Job has come to a state, else why it has not. The
// states are such that a controller stays in them until something is done.
type check func(subject) error

// act does something to a Job or its Pods.
type act func(context.Context, subject) error

func (s step) reached(now subject) error {
	for _, check := range s.checks {
		if err := check(now); err != nil {
			return err
		}
	}
	return nil
}

// and adds checks to the state.
func (s step) and(checks ...check) step {
	s.checks = append(slices.Clone(s.checks), checks...)
	return s
}

// lasting asks that the Job stays in the state: for what must not happen.
func (s step) lasting(duration time.Duration) step {
	s.lasts = duration
	return s
}

// differs says that the controllers are meant to differ in the state, and why.
func (s step) differs(reason string) step {
	s.difference = reason
	return s
}

// then says what is done, in this order, when the state is reached.
func (s step) then(acts ...act) step {
	s.do = func(ctx context.Context, now subject) error {
		for _, act := range acts {
			if err := act(ctx, now); err != nil {
				return err
			}
		}
		return nil
	}
	return s
}

func newCase(name string, spec batchv1.JobSpec, steps ...step) testCase {
	return testCase{name: name, spec: spec, steps: steps}
}

// prepared adds what is done in the namespace before the Job is created.
func (c testCase) prepared(prepare func(t *testing.T, on *ground, name string)) testCase {
	c.prepare = prepare
	return c
}

// onItsOwn runs the case in a namespace of its own.
func (c testCase) onItsOwn() testCase {
	c.alone = true
	return c
}

// endless builds the spec of a Job whose Pods run until a case ends them.
func endless(options ...harness.JobOption) batchv1.JobSpec {
	return harness.JobSpec(append([]harness.JobOption{harness.RunSeconds(3600)}, options...)...)
}

func steps(steps ...step) []step { return steps }

// state is a step for a Job that exists.
func state(name string, checks ...check) step {
	exists := func(s subject) error {
		if s.job == nil {
			return fmt.Errorf("the Job is gone")
		}
		return nil
	}
	return step{name: name, checks: append([]check{exists}, checks...)}
}

var testCases = slices.Concat(
	plainCases, lifeCases, suspendedCases, deletionCases, podCases, ownershipCases, refusedPodCases,
	indexedCases, perIndexCases, failurePolicyCases, successPolicyCases,
)

// names of the test cases double as Job names: a duplicate would test one twice.
func TestCaseNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, test := range testCases {
		if seen[test.name] {
			t.Errorf("two cases are named %s", test.name)
		}
		seen[test.name] = true
	}
}
