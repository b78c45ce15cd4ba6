package jobs

import (
	"context"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// inTurn is a client whose requests about Pods, which are made side by side, come in an order that follows from the Pods' names. So a
// history is the same whenever it is played. A list takes its time.
type inTurn struct {
	kubernetes.Interface
	cluster *cluster
}

func (c inTurn) CoreV1() typedv1.CoreV1Interface { return coreInTurn{c.Interface.CoreV1(), c.cluster} }

type coreInTurn struct {
	typedv1.CoreV1Interface
	cluster *cluster
}

func (c coreInTurn) Pods(namespace string) typedv1.PodInterface {
	return podsInTurn{c.CoreV1Interface.Pods(namespace), c.cluster}
}

type podsInTurn struct {
	typedv1.PodInterface
	cluster *cluster
}

// wait waits for the turn of a Pod.
func (p podsInTurn) wait(name string) {
	sum := fnv.New32()
	sum.Write([]byte(name))
	time.Sleep(p.cluster.takes + time.Duration(sum.Sum32()%997)*time.Microsecond)
}

func (p podsInTurn) Create(ctx context.Context, pod *corev1.Pod, options metav1.CreateOptions) (*corev1.Pod, error) {
	p.wait(pod.Name)
	if p.cluster.hangs != nil {
		time.Sleep(p.cluster.hangs(pod.Name))
	}
	return p.PodInterface.Create(ctx, pod, options)
}

func (p podsInTurn) Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Pod, error) {
	p.wait(name)
	return p.PodInterface.Get(ctx, name, options)
}

func (p podsInTurn) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*corev1.Pod, error) {
	p.wait(name)
	return p.PodInterface.Patch(ctx, name, kind, data, options, subresources...)
}

func (p podsInTurn) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	p.wait(name)
	return p.PodInterface.Delete(ctx, name, options)
}

// List answers with the Pods that there were when it was asked. What the activities look at before they create is answered at once.
func (p podsInTurn) List(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
	list, err := p.PodInterface.List(ctx, options)
	if options.FieldSelector == "" {
		var takes time.Duration
		p.cluster.do(func() { takes = p.cluster.lists })
		time.Sleep(takes)
	}
	return list, err
}
