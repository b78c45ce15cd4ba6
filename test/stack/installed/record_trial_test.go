//go:build linux && trial

package installed

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"ostinato.dev/ostinato/dev/harness"
)

// jobRecord remembers every Job that was ever seen of the CronJobs, by scheduled time.
type jobRecord struct {
	mutex sync.Mutex
	runs  map[time.Time]map[string]map[types.UID]*unstructured.Unstructured
}

// record watches the Jobs until the test ends.
func record(t *testing.T) *jobRecord {
	t.Helper()
	book := &jobRecord{runs: map[time.Time]map[string]map[types.UID]*unstructured.Unstructured{}}
	informers := dynamicinformer.NewFilteredDynamicSharedInformerFactory(cluster.client, 0, losers, nil)
	_, err := informers.ForResource(jobs).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { book.note(object.(*unstructured.Unstructured)) },
		UpdateFunc: func(_, object any) { book.note(object.(*unstructured.Unstructured)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	informers.Start(t.Context().Done())
	informers.WaitForCacheSync(t.Context().Done())
	return book
}

func (r *jobRecord) note(job *unstructured.Unstructured) {
	at, err := time.Parse(time.RFC3339, job.GetAnnotations()["batch.kubernetes.io/cronjob-scheduled-timestamp"])
	owner := metav1.GetControllerOf(job)
	if err != nil || owner == nil {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	at = at.UTC()
	if r.runs[at] == nil {
		r.runs[at] = map[string]map[types.UID]*unstructured.Unstructured{}
	}
	if r.runs[at][owner.Name] == nil {
		r.runs[at][owner.Name] = map[types.UID]*unstructured.Unstructured{}
	}
	r.runs[at][owner.Name][job.GetUID()] = job
}

// awaitAll waits until a Job of every CronJob is Complete for each minute from the first to one after a time, and returns that.
func (r *jobRecord) awaitAll(t *testing.T, first, after time.Time) (last time.Time) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Log(r.unfinished(last))
		}
	}()
	harness.Eventually(t, recovered, func(context.Context) error {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		for last = first; ; last = last.Add(time.Minute) {
			done := 0
			for _, all := range r.runs[last] {
				if completed(all) {
					done++
				}
			}
			if done < loserCount {
				return fmt.Errorf("at %s %d of %d CronJobs have a Complete Job", last.Format(time.TimeOnly), done, loserCount)
			}
			if last.After(after) {
				return nil
			}
		}
	})
	return last
}

// unfinished says what there is of the CronJobs without a Complete Job for a minute, and what the programs have logged.
func (r *jobRecord) unfinished(at time.Time) string {
	var text strings.Builder
	ctx, cancel := context.WithTimeout(context.Background(), harness.Prompt)
	defer cancel()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for n := range loserCount {
		name := fmt.Sprintf("loser-%03d", n)
		if completed(r.runs[at][name]) {
			continue
		}
		cronJob, err := cluster.client.Resource(cronJobs).Namespace(losers).Get(ctx, name, metav1.GetOptions{})
		fmt.Fprintf(&text, "%s: %v\n%s\n", name, err, object(cronJob))
		for _, job := range r.runs[at][name] {
			fmt.Fprintf(&text, "its Job as seen last:\n%s\n", object(job))
		}
		found, err := cluster.client.Resource(jobs).Namespace(losers).List(ctx, metav1.ListOptions{})
		fmt.Fprintf(&text, "its Jobs: %v\n", err)
		for _, job := range found.Items {
			if owner := metav1.GetControllerOf(&job); owner != nil && owner.Name == name {
				fmt.Fprintln(&text, object(&job))
			}
		}
		found, err = cluster.client.Resource(pods).Namespace(losers).List(ctx, metav1.ListOptions{})
		fmt.Fprintf(&text, "its Pods: %v\n", err)
		for _, pod := range found.Items {
			if strings.HasPrefix(pod.GetName(), name) {
				fmt.Fprintln(&text, object(&pod))
			}
		}
	}
	return text.String()
}

func object(found *unstructured.Unstructured) string {
	if found == nil {
		return "none"
	}
	unstructured.RemoveNestedField(found.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(found.Object, "spec")
	text, err := yaml.Marshal(found.Object)
	return cmp.Or(string(text), fmt.Sprint(err))
}

func completed(all map[types.UID]*unstructured.Unstructured) bool {
	for _, job := range all {
		if hasCondition(job, "Complete") {
			return true
		}
	}
	return false
}

// account fails the test for each minute of a CronJob without a Job, or with two, and says how late runs were from a time on.
func (r *jobRecord) account(t *testing.T, first, last, since time.Time) string {
	t.Helper()
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var latest time.Duration
	minutes, runs := 0, 0
	for at := first; !at.After(last); at = at.Add(time.Minute) {
		minutes++
		for n := range loserCount {
			name := fmt.Sprintf("loser-%03d", n)
			all := r.runs[at][name]
			if len(all) != 1 {
				t.Errorf("%s at %s has %d Jobs", name, at.Format(time.TimeOnly), len(all))
			}
			for _, job := range all {
				runs++
				if late := job.GetCreationTimestamp().Sub(at); !at.Before(since.Add(-time.Minute)) {
					latest = max(latest, late)
				}
			}
		}
	}
	return fmt.Sprintf("%d CronJobs, %d minutes each from %s to %s: %d Jobs; the latest start was %s after its time",
		loserCount, minutes, first.Format(time.TimeOnly), last.Format(time.TimeOnly), runs, latest)
}

// productPods are the Pods of a part of the product, by name, with their UIDs.
func productPods(t *testing.T, name string) map[string]types.UID {
	t.Helper()
	list, err := cluster.client.Resource(pods).Namespace(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]types.UID{}
	for _, pod := range list.Items {
		found[pod.GetName()] = pod.GetUID()
	}
	return found
}

// awaitProduct waits for a Pod of a part of the product that is ready and is none of those before.
func awaitProduct(t *testing.T, name string, before map[string]types.UID) {
	t.Helper()
	harness.Eventually(t, recovered, func(ctx context.Context) error {
		list, err := cluster.client.Resource(pods).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + name})
		if err != nil {
			return err
		}
		for _, pod := range list.Items {
			if before[pod.GetName()] != pod.GetUID() && hasCondition(&pod, "Ready") {
				return nil
			}
		}
		return fmt.Errorf("no new Pod of %s is ready", name)
	})
}
