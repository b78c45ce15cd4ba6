//go:build trial

// Package slowlists runs Jobs while each list of Pods takes the API server eight seconds: longer than any heartbeat, or any
// attempt inside a workflow task, may take.
package slowlists

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/harness"
)

// listTakes is how long the API server takes for a list of Pods.
const listTakes = 8 * time.Second

var (
	stack *harness.Harness
	// slowed is how many lists were.
	slowed atomic.Int64
)

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, devstack.Options{Access: behindProxy}, func(h *harness.Harness) { stack = h }))
}

// behindProxy gives the worker an API server whose lists of Pods take their time.
func behindProxy(_ context.Context, s *devstack.Stack) (worker, bridge string, err error) {
	config, err := clientcmd.BuildConfigFromFlags("", s.KubeconfigPath())
	if err != nil {
		return "", "", err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return "", "", err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return "", "", err
	}
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
	}
	// It ends with the process, as the stack does.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/pods") && r.URL.Query().Get("watch") == "" {
			slowed.Add(1)
			select {
			case <-time.After(listTakes):
			case <-r.Context().Done():
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	kubeconfig := api.NewConfig()
	kubeconfig.Clusters["slow"] = &api.Cluster{Server: server.URL}
	kubeconfig.Contexts["slow"] = &api.Context{Cluster: "slow"}
	kubeconfig.CurrentContext = "slow"
	worker = filepath.Join(filepath.Dir(s.KubeconfigPath()), "slow.kubeconfig")
	return worker, s.KubeconfigPath(), clientcmd.WriteToFile(*kubeconfig, worker)
}

// soon is what a list and a few writes take.
const soon = 3*listTakes + harness.Slack

const parallelism = 20

// busy makes a Job whose Pods all run.
func busy(t *testing.T, options ...harness.JobOption) (namespace string) {
	t.Helper()
	namespace = stack.Namespace(t)
	options = append([]harness.JobOption{harness.Parallelism(parallelism), harness.Completions(parallelism), harness.RunUntilEnded()}, options...)
	stack.CreateJob(t, namespace, "busy", harness.JobSpec(options...))
	harness.Eventually(t, soon, func(ctx context.Context) error {
		return stack.PodsAre(ctx, namespace, "busy", corev1.PodRunning, parallelism)
	})
	return namespace
}

// becomes waits for a state of the Job, and checks that as many lists as it is told were slow meanwhile.
func becomes(t *testing.T, namespace, what string, check func(batchv1.JobStatus) bool, lists int64) {
	t.Helper()
	before, began := slowed.Load(), time.Now()
	harness.Eventually(t, soon, func(ctx context.Context) error {
		job, err := stack.Kubernetes.BatchV1().Jobs(namespace).Get(ctx, "busy", metav1.GetOptions{})
		if err == nil && !check(job.Status) {
			err = fmt.Errorf("not %s: %+v", what, job.Status)
		}
		return err
	})
	t.Logf("%s after %s", what, time.Since(began).Round(100*time.Millisecond))
	if got := slowed.Load() - before; got < lists {
		t.Errorf("%d lists were slow, want %d: the test does not show what it is for", got, lists)
	}
}

func patch(t *testing.T, namespace, change string) {
	t.Helper()
	if _, err := stack.Kubernetes.BatchV1().Jobs(namespace).Patch(t.Context(), "busy", types.MergePatchType, []byte(change), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func ended(kind batchv1.JobConditionType) func(batchv1.JobStatus) bool {
	return func(status batchv1.JobStatus) bool {
		for _, condition := range status.Conditions {
			if condition.Type == kind && condition.Status == corev1.ConditionTrue {
				return true
			}
		}
		return false
	}
}

func TestAJobIsSuspended(t *testing.T) {
	namespace := busy(t)
	patch(t, namespace, `{"spec":{"suspend":true}}`)
	becomes(t, namespace, "suspended", func(s batchv1.JobStatus) bool { return s.Active == 0 && ended(batchv1.JobSuspended)(s) }, 1)
}

func TestAJobFails(t *testing.T) {
	namespace := busy(t)
	patch(t, namespace, `{"spec":{"activeDeadlineSeconds":1}}`)
	becomes(t, namespace, "failed", func(s batchv1.JobStatus) bool { return s.Active == 0 && ended(batchv1.JobFailed)(s) }, 0)
}

func TestAJobIsRebuilt(t *testing.T) {
	namespace := busy(t)
	if err := stack.Temporal.TerminateWorkflow(t.Context(), harness.JobWorkflow(namespace, "busy"), "", "rebuild"); err != nil {
		t.Fatal(err)
	}
	before := slowed.Load()
	harness.Eventually(t, harness.Bulk, func(context.Context) error {
		if slowed.Load() == before {
			return fmt.Errorf("the Pods were not listed again")
		}
		return nil
	})
	stack.End(t, namespace, "busy", parallelism)
	becomes(t, namespace, "complete", func(s batchv1.JobStatus) bool { return s.Succeeded == parallelism && ended(batchv1.JobComplete)(s) }, 0)
}
