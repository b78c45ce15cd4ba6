package k8s_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/k8s"
)

func TestCountersByOthers(t *testing.T) {
	entry := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const builtIn, both = "kube-controller-manager", `{"f:status":{"f:succeeded":{},"f:failed":{}}}`
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    job.ByOthers
	}{
		"nobody's": {nil, job.ByOthers{}},
		"ours":     {[]metav1.ManagedFieldsEntry{entry(k8s.JobFieldManager, "status", both)}, job.ByOthers{}},
		"the built-in controller's": {
			[]metav1.ManagedFieldsEntry{entry(builtIn, "status", both)}, job.ByOthers{Succeeded: true, Failed: true},
		},
		"one each": {
			[]metav1.ManagedFieldsEntry{entry(builtIn, "status", `{"f:status":{"f:succeeded":{}}}`), entry(k8s.JobFieldManager, "status", `{"f:status":{"f:failed":{}}}`)},
			job.ByOthers{Succeeded: true},
		},
		"of both, by an apply of the same value": {
			[]metav1.ManagedFieldsEntry{entry(builtIn, "status", both), entry(k8s.JobFieldManager, "status", both)}, job.ByOthers{},
		},
		"not of the status":   {[]metav1.ManagedFieldsEntry{entry(builtIn, "", both)}, job.ByOthers{}},
		"another field":       {[]metav1.ManagedFieldsEntry{entry(builtIn, "status", `{"f:status":{"f:active":{}}}`)}, job.ByOthers{}},
		"no JSON":             {[]metav1.ManagedFieldsEntry{entry(builtIn, "status", `{`)}, job.ByOthers{}},
		"a status of no kind": {[]metav1.ManagedFieldsEntry{entry(builtIn, "status", `{"f:status":[1]}`)}, job.ByOthers{}},
		"no fields":           {[]metav1.ManagedFieldsEntry{{Manager: builtIn, Subresource: "status"}}, job.ByOthers{}},
	} {
		t.Run(name, func(t *testing.T) {
			object := &batchv1.Job{}
			object.ManagedFields = test.entries
			if got := k8s.CountersByOthers(object); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}
