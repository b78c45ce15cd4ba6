package parity

import (
	"context"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/internal/names"
)

// controllers are those that are compared, by their managedBy. The first is the measure.
var controllers = []struct {
	name      string
	managedBy *string
}{
	{"builtin", nil},
	{"ostinato", ostinatoManager()},
}

func ostinatoManager() *string {
	return ptr.To(names.JobController)
}

// ground is a namespace in which one of the controllers is looked at.
type ground struct {
	namespace string
	managedBy *string
	record    *harness.Record
	jobs      batchlisters.JobNamespaceLister
	pods      corelisters.PodNamespaceLister
}

// grounds makes one for each controller.
func grounds(t *testing.T) []*ground {
	t.Helper()
	var result []*ground
	for n, controller := range controllers {
		if n > 0 && *builtinOnly {
			break
		}
		result = append(result, newGround(t, controller.managedBy))
	}
	return result
}

func newGround(t *testing.T, managedBy *string) *ground {
	t.Helper()
	namespace := stack.Namespace(t)
	g := &ground{namespace: namespace, managedBy: managedBy, record: stack.Record(t, namespace)}
	factory := informers.NewSharedInformerFactoryWithOptions(stack.Kubernetes, 0, informers.WithNamespace(namespace))
	g.jobs = factory.Batch().V1().Jobs().Lister().Jobs(namespace)
	g.pods = factory.Core().V1().Pods().Lister().Pods(namespace)
	stop := make(chan struct{})
	t.Cleanup(func() {
		close(stop)
		factory.Shutdown()
	})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	return g
}

// glance is observe from a watch: it costs the API server nothing and may be late.
func (g *ground) glance(name string) subject {
	job, err := g.jobs.Get(name)
	if err != nil {
		job = nil
	}
	pods, err := g.pods.List(labels.SelectorFromSet(labels.Set{batchv1.JobNameLabel: name}))
	if err != nil {
		pods = nil
	}
	return g.subject(name, job, pods)
}

// observe reads the Job and its Pods as they are now.
func (g *ground) observe(ctx context.Context, name string) (subject, error) {
	job, err := stack.Kubernetes.BatchV1().Jobs(g.namespace).Get(ctx, name, metav1.GetOptions{})
	if ignoreNotFound(err) != nil {
		return subject{}, err
	}
	if err != nil {
		job = nil
	}
	list, err := stack.PodsOf(ctx, g.namespace, name)
	if err != nil {
		return subject{}, err
	}
	var pods []*corev1.Pod
	for i := range list {
		pods = append(pods, &list[i])
	}
	return g.subject(name, job, pods), nil
}
