package activities_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"ostinato.dev/ostinato/activities"
	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/protocol"
)

func serving(namespaces ...string) option {
	return func(options *activities.Options) { options.Namespaces = namespaces }
}

// elsewhere asks every activity that is about one object for something of the
// default namespace.
var elsewhere = map[string]any{
	protocol.StartRunActivity:       protocol.StartRunRequest{CronJob: cronJobRef, Start: *start()},
	protocol.WriteStatusActivity:    protocol.WriteStatusRequest{CronJob: cronJobRef, Status: &ostinatov1.CronJobStatus{}},
	protocol.FindRunsActivity:       protocol.FindRunsRequest{CronJob: cronJobRef, All: true},
	protocol.CarryOutActivity:       protocol.JobRequest{Job: jobRef},
	protocol.ReleaseOrphansActivity: protocol.ReleaseOrphansRequest{Job: jobRef},
	protocol.ListPodsActivity:       protocol.ListPodsRequest{Job: jobRef},
	protocol.TerminatePodsActivity:  protocol.TerminatePodsRequest{Job: jobRef, Termination: job.TerminateForVerdict},
	protocol.SetSuspendActivity:     protocol.SetSuspendRequest{Kind: "Job", Object: jobRef, Wish: protocol.Wish{Suspend: true}},
}

func TestObjectsOutsideTheNamespacesServedAreRefused(t *testing.T) {
	for name, request := range elsewhere {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, []runtime.Object{helloJob(), helloPod("a", corev1.PodRunning).Pod}, []*ostinatov1.CronJob{helloCronJob()}, serving("shop", "billing"))
			_, err := run[any](s, name, request)
			var refused *temporal.ApplicationError
			if !errors.As(err, &refused) || refused.Type() != activities.NotServedErrorType || !refused.NonRetryable() {
				t.Fatalf("error %v", err)
			}
			if got := s.metric(requestsRefused, name, activities.NotServedErrorType); got != 1 {
				t.Errorf("counted %v times", got)
			}
			for _, want := range []string{`"default"`, "shop, billing", "--namespaces"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %v does not say %s", err, want)
				}
			}
			if asked := len(s.kubernetes.Actions()) + len(s.cronJobs.Actions()); asked > 0 {
				t.Errorf("%d requests to the API server", asked)
			}
		})
	}
}

func TestObjectsInTheNamespacesServedAreTheirs(t *testing.T) {
	s := newStage(t, []runtime.Object{helloJob()}, nil, serving("shop", namespace))
	if result := must[protocol.JobResult](s, protocol.CarryOutActivity, protocol.JobRequest{Job: jobRef}); result.Gone {
		t.Error("the Job is not found")
	}
}

// registered collects the names of activities.
type registered map[string]bool

func (r registered) RegisterActivityWithOptions(_ any, options activity.RegisterOptions) {
	r[options.Name] = true
}

func TestEveryActivityButTheWatchIsAboutOneObject(t *testing.T) {
	all := registered{}
	s := newStage(t, nil, nil)
	s.activities.RegisterControl(all)
	s.activities.RegisterBulk(all)
	s.activities.RegisterWatch(all)
	asked := append(slices.Collect(maps.Keys(elsewhere)), protocol.WatchPodsActivity)
	slices.Sort(asked)
	if names := slices.Sorted(maps.Keys(all)); !slices.Equal(names, asked) {
		t.Errorf("registered are %v, asked for another namespace %v", names, asked)
	}
}
