package bridge

import (
	"context"
	"encoding/json"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedbatchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"
)

// probeManager is the field manager of the status that a bridge gives its own probe.
const probeManager = "ostinato-takeover-probe"

// cronJobProbe is a suspended CronJob whose status names a Job that does not exist, as
// active. The built-in cronjob controller takes such a name out of every CronJob's
// status, the suspended included (parity 1.6, step 4), and does nothing else to it.
type cronJobProbe struct {
	client    typedbatchv1.CronJobInterface
	namespace string
	// armed: the status names the Job.
	armed bool
}

func (p *cronJobProbe) words() probeWords {
	return probeWords{
		kind: "CronJob", objects: "CronJobs", controller: "cronjob controller", flag: "cronjobs",
		did: "another status, which the controller of batch/v1 CronJobs alone does",
	}
}

func (p *cronJobProbe) create(ctx context.Context, name string) (metav1.Object, error) {
	probe, err := p.client.Create(ctx, probeCronJob(p.namespace, name), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return p.client.Get(ctx, name, metav1.GetOptions{})
	}
	return probe, err
}

func (p *cronJobProbe) look(ctx context.Context, name string) (metav1.Object, string, error) {
	if !p.armed {
		return p.arm(ctx, name)
	}
	live, err := p.client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, "", err
	}
	return live, cronJobRivalOf(live), nil
}

// arm gives the probe its status.
func (p *cronJobProbe) arm(ctx context.Context, name string) (metav1.Object, string, error) {
	patch, err := json.Marshal(map[string]any{"status": batchv1.CronJobStatus{Active: probeActive(p.namespace, name)}})
	if err != nil {
		return nil, "", fmt.Errorf("encode the probe's status: %w", err)
	}
	live, err := p.client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: probeManager}, "status")
	if err != nil {
		return nil, "", err
	}
	p.armed = true
	return live, "", nil
}

func (p *cronJobProbe) list(ctx context.Context) ([]metav1.Object, error) {
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

func (p *cronJobProbe) delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	return p.client.Delete(ctx, name, options)
}
