package bridge

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedbatchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"
)

// jobProbe is a suspended Job, which the built-in job controller gives a condition.
type jobProbe struct {
	client    typedbatchv1.JobInterface
	namespace string
}

func (p *jobProbe) words() probeWords {
	return probeWords{
		kind: "Job", objects: "Jobs", controller: "job controller", flag: "jobs",
		did: "a status, which the controller of unmarked Jobs alone does",
	}
}

func (p *jobProbe) create(ctx context.Context, name string) (metav1.Object, error) {
	probe, err := p.client.Create(ctx, probeJob(p.namespace, name), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return p.client.Get(ctx, name, metav1.GetOptions{})
	}
	return probe, err
}

func (p *jobProbe) look(ctx context.Context, name string) (metav1.Object, string, error) {
	live, err := p.client.Get(ctx, name, metav1.GetOptions{})
	switch {
	case err != nil:
		return nil, "", err
	case live.Spec.ManagedBy != nil:
		return nil, "", fmt.Errorf("%w to %s: Job %s/%s", errHandedOver, *live.Spec.ManagedBy, live.Namespace, live.Name)
	}
	return live, rivalOf(live), nil
}

func (p *jobProbe) list(ctx context.Context) ([]metav1.Object, error) {
	list, err := p.client.List(ctx, metav1.ListOptions{LabelSelector: probeLabel})
	if err != nil {
		return nil, err
	}
	probes := make([]metav1.Object, 0, len(list.Items))
	for i := range list.Items {
		probes = append(probes, &list.Items[i])
	}
	return probes, nil
}

func (p *jobProbe) delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return p.client.Delete(ctx, name, options)
}
