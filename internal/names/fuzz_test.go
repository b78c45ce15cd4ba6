package names_test

import (
	"testing"

	"ostinato.dev/ostinato/internal/names"
)

// FuzzWorkflowIDs reads anything as the ID of a workflow: what is read makes the same ID again, and no ID is read as
// that of two kinds.
func FuzzWorkflowIDs(f *testing.F) {
	for _, seed := range []string{"", "cronjob/a/b", "batch-cronjob/a/b", "job/a/b", "job/a/b/c", "job//b", "east/job/a/b", "job/a/\xff", "podwatch/0-of-1"} {
		f.Add("", seed)
		f.Add("east", seed)
	}
	f.Fuzz(func(t *testing.T, name, id string) {
		cluster := names.Cluster(name)
		kinds := 0
		for _, kind := range []struct {
			parse func(string) (string, string, bool)
			write func(string, string) string
		}{
			{cluster.ParseCronJobWorkflowID, cluster.CronJobWorkflowID},
			{cluster.ParseNativeCronJobWorkflowID, cluster.NativeCronJobWorkflowID},
			{cluster.ParseJobWorkflowID, cluster.JobWorkflowID},
		} {
			namespace, name, ok := kind.parse(id)
			if !ok {
				continue
			}
			kinds++
			if again := kind.write(namespace, name); again != id {
				t.Errorf("%q is read as %q and %q, whose ID is %q", id, namespace, name, again)
			}
		}
		if kinds > 1 {
			t.Errorf("%q is read as that of %d kinds", id, kinds)
		}
	})
}

// FuzzPodAttempt reads anything as a Pod's name: an attempt that is read makes the same name again.
func FuzzPodAttempt(f *testing.F) {
	f.Add("hello", "uid", names.Pod("hello", "uid", 7))
	f.Add("hello", "uid", names.IndexedPod("hello", "uid", 3, 7))
	f.Add("hello", "uid", "hello-+3-abcde")
	f.Add("hello", "uid", "hello-03-abcde")
	f.Add("", "", "\xff\xff\xff\xff\xff\xff")
	f.Add("hello", "uid", "hello-222a\r")
	f.Add("hello", "uid", "hello-\n\r\n\r\n")
	f.Fuzz(func(t *testing.T, job, uid, pod string) {
		attempt, ok := names.PodAttempt(job, uid, pod)
		if !ok {
			return
		}
		again := names.Pod(job, uid, attempt)
		if len(pod) < 5 || again[len(again)-5:] != pod[len(pod)-5:] {
			t.Errorf("%q of Job %q is attempt %d, whose Pod is %q", pod, job, attempt, again)
		}
	})
}
