package protocol_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/names"
	"ostinato.dev/ostinato/internal/protocol"
	"ostinato.dev/ostinato/internal/schedule"
)

func reference(change ...func(*protocol.ObjectReference)) protocol.ObjectReference {
	reference := protocol.ObjectReference{Namespace: "default", Name: "hello", UID: "0b7a4b8e-5f0f-4f6c-9a44-0a1d2c3b4e5f"}
	for _, apply := range change {
		apply(&reference)
	}
	return reference
}

func inNamespace(namespace string) func(*protocol.ObjectReference) {
	return func(reference *protocol.ObjectReference) { reference.Namespace = namespace }
}

func named(name string) func(*protocol.ObjectReference) {
	return func(reference *protocol.ObjectReference) { reference.Name = name }
}

func identified(uid string) func(*protocol.ObjectReference) {
	return func(reference *protocol.ObjectReference) { reference.UID = uid }
}

func native(reference *protocol.ObjectReference) { reference.Native = true }

// One object has one workflow, and CronJobs of the two groups may have one name. What says
// nothing of the group is of batch.ostinato.dev, as all that older histories hold.
func TestCronJobsOfBothGroupsHaveTheirOwnWorkflows(t *testing.T) {
	for want, object := range map[string]protocol.ObjectReference{"cronjob/default/hello": reference(), "batch-cronjob/default/hello": reference(native)} {
		if got := object.CronJobWorkflowID(""); got != want {
			t.Errorf("workflow ID %q, want %q", got, want)
		}
	}
	data, err := json.Marshal(reference())
	if err != nil || strings.Contains(string(data), "native") {
		t.Errorf("encoded as %s: %v", data, err)
	}
}

// TestValidate: anybody who may write to Temporal may have sent any of this. The error
// names what is wrong.
func TestValidate(t *testing.T) {
	cronSpec := schedule.Spec{Schedule: "* * * * *", ConcurrencyPolicy: batchv1.AllowConcurrent}
	tests := map[string]struct {
		value interface{ Validate() error }
		want  string
	}{
		"a reference":                    {reference(), ""},
		"a name with dots":               {reference(named("hello.world-1")), ""},
		"no namespace":                   {reference(inNamespace("")), "namespace"},
		"a path for a namespace":         {reference(inNamespace("../kube-system")), "namespace"},
		"a namespace with dots":          {reference(inNamespace("a.b")), "namespace"},
		"no name":                        {reference(named("")), "name"},
		"a path for a name":              {reference(named("hello/log")), "name"},
		"a name with a query":            {reference(named("hello?x=y")), "name"},
		"a long name":                    {reference(named(strings.Repeat("x", 254))), "name"},
		"no uid":                         {reference(identified("")), "uid"},
		"a long uid":                     {reference(identified(strings.Repeat("x", 129))), "uid"},
		"a Job":                          {protocol.JobInput{Job: reference()}, ""},
		"a Job with its state":           {protocol.JobInput{Job: reference(), State: &job.State{}}, ""},
		"a Job without a uid":            {protocol.JobInput{Job: reference(identified(""))}, "job: uid"},
		"a Job with a negative spec":     {protocol.JobInput{Job: reference(), Spec: job.Spec{Parallelism: -1}}, "spec: parallelism is -1"},
		"a Job with a negative state":    {protocol.JobInput{Job: reference(), State: &job.State{Failed: -1}}, "state: failed is -1"},
		"a Job of batch/v1's CronJobs":   {protocol.JobInput{Job: reference(native)}, "job: native"},
		"a CronJob of batch/v1":          {protocol.CronJobInput{CronJob: reference(native), Spec: cronSpec}, ""},
		"a CronJob":                      {protocol.CronJobInput{CronJob: reference(), Spec: cronSpec}, ""},
		"a CronJob with its state":       {protocol.CronJobInput{CronJob: reference(), Spec: cronSpec, State: &schedule.State{}}, ""},
		"a CronJob without a uid":        {protocol.CronJobInput{CronJob: reference(identified("")), Spec: cronSpec}, "cronJob: uid"},
		"a CronJob without a policy":     {protocol.CronJobInput{CronJob: reference()}, "spec: concurrencyPolicy"},
		"a CronJob with a bad state":     {protocol.CronJobInput{CronJob: reference(), Spec: cronSpec, State: &schedule.State{Prune: schedule.Backoff{Attempts: -1}}}, "state: a back-off"},
		"a CronJob's spec":               {protocol.CronJobSpec{CronJob: reference(), Spec: cronSpec}, ""},
		"a CronJob's spec without":       {protocol.CronJobSpec{CronJob: reference()}, "spec: concurrencyPolicy"},
		"a Job's wishes":                 {protocol.JobInput{Job: reference(), Wishes: make([]protocol.Wish, protocol.MaxWishes)}, ""},
		"a Job's many wishes":            {protocol.JobInput{Job: reference(), Wishes: make([]protocol.Wish, protocol.MaxWishes+1)}, "wishes: 11, want 10"},
		"a CronJob's many wishes":        {protocol.CronJobInput{CronJob: reference(), Spec: cronSpec, Wishes: make([]protocol.Wish, protocol.MaxWishes+1)}, "wishes: 11"},
		"a CronJob's long wish":          {protocol.CronJobInput{CronJob: reference(), Spec: cronSpec, Wishes: []protocol.Wish{{Reason: strings.Repeat("x", 1025)}}}, "wishes: a text of 1025 bytes"},
		"a CronJob's triggers":           {protocol.CronJobInput{CronJob: reference(), Spec: cronSpec, Triggers: make([]schedule.TriggerRequest, schedule.MaxTriggers)}, ""},
		"a CronJob's many triggers":      {protocol.CronJobInput{CronJob: reference(), Spec: cronSpec, Triggers: make([]schedule.TriggerRequest, schedule.MaxTriggers+1)}, "triggers: 101, want 100"},
		"a CronJob's long trigger":       {protocol.CronJobInput{CronJob: reference(), Spec: cronSpec, Triggers: []schedule.TriggerRequest{{Note: strings.Repeat("x", 1025)}}}, "a trigger has a text of 1025 bytes"},
		"a CronJob's trigger to nowhere": {protocol.CronJobInput{CronJob: reference(), Spec: cronSpec, Triggers: []schedule.TriggerRequest{{Overlap: "Sometimes"}}}, "a trigger's overlap"},
		"the last shard":                 {protocol.PodWatchInput{Shard: 3, Shards: 4}, ""},
		"a shard beyond":                 {protocol.PodWatchInput{Shard: 4, Shards: 4}, "watch shard 4 of 4"},
		"a negative shard":               {protocol.PodWatchInput{Shard: -1, Shards: 4}, "watch shard -1 of 4"},
		"no shards":                      {protocol.PodWatchInput{}, "watch shard 0 of 0"},
		"more shards than buckets":       {protocol.PodWatchInput{Shards: names.WatchBuckets + 1}, "watch shard 0 of"},
		"facts":                          {protocol.PodFacts{JobUID: "uid", Facts: []job.PodFact{{Name: "a", UID: "a-uid"}}}, ""},
		"facts of no Job":                {protocol.PodFacts{}, "no Job's uid"},
		"facts of a Job with a long uid": {protocol.PodFacts{JobUID: strings.Repeat("x", 129)}, "no Job's uid"},
		"many facts":                     {protocol.PodFacts{JobUID: "uid", Facts: make([]job.PodFact, protocol.MaxFactsPerSignal+1)}, "pods, want"},
		"a fact with a negative index":   {protocol.PodFacts{JobUID: "uid", Facts: []job.PodFact{{Name: "a", Index: ptr.To(int32(-1))}}}, `pod "a" has a negative number`},
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		test := tests[name]
		t.Run(name, func(t *testing.T) {
			err := test.value.Validate()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if err != nil && len(err.Error()) > 500 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}
