package ask

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/internal/claim"
	"ostinato.dev/ostinato/internal/names"
)

// Installed lists the Deployments of Ostinato: those of the whole cluster where the person may list them, else those of a namespace.
func (c *Cluster) Installed(ctx context.Context, namespace string) ([]appsv1.Deployment, error) {
	everywhere, err := c.Deployments(ctx, metav1.NamespaceAll)
	if err == nil || !apierrors.IsForbidden(err) {
		return everywhere, err
	}
	return c.Deployments(ctx, namespace)
}

// Policies returns the names of the admission policies of the cluster, and of those that a binding enforces by denial.
func (c *Cluster) Policies(ctx context.Context) (policies, enforced []string, err error) {
	client := c.clients.Kubernetes.AdmissionregistrationV1()
	found, err := client.ValidatingAdmissionPolicies().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("list ValidatingAdmissionPolicies: %w", err)
	}
	for _, policy := range found.Items {
		policies = append(policies, policy.Name)
	}
	bindings, err := client.ValidatingAdmissionPolicyBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, fmt.Errorf("list ValidatingAdmissionPolicyBindings: %w", err)
	}
	for _, binding := range bindings.Items {
		if slices.Contains(binding.Spec.ValidationActions, admissionv1.Deny) {
			enforced = append(enforced, binding.Spec.PolicyName)
		}
	}
	return policies, enforced, nil
}

// JobsUnderWay are the names of the Jobs that are marked as Ostinato's and have not ended, with their namespaces.
func (c *Cluster) JobsUnderWay(ctx context.Context) ([]string, error) {
	var found []string
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := c.clients.Kubernetes.BatchV1().Jobs(c.Namespace).List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list Jobs: %w", err)
		}
		for n := range page.Items {
			job := &page.Items[n]
			if ptr.Deref(job.Spec.ManagedBy, "") == names.JobController && claim.Finished(job) == nil {
				found = append(found, job.Namespace+"/"+job.Name)
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return found, nil
		}
	}
}

// Ahead is how far this machine's clock is ahead of the API server's, as the latest answer told; known is false where none has told.
func (c *Cluster) Ahead() (ahead time.Duration, known bool) {
	c.dates.mutex.Lock()
	defer c.dates.mutex.Unlock()
	return c.dates.ahead, c.dates.known
}

// dates compares the dates of answers with the clock of this machine.
type dates struct {
	mutex sync.Mutex
	ahead time.Duration
	known bool
}

// wrap notes the date of each answer that comes through.
func (d *dates) wrap(next http.RoundTripper) http.RoundTripper { return dated{next, d} }

type dated struct {
	next  http.RoundTripper
	dates *dates
}

func (d dated) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := time.Now()
	response, err := d.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	// The headers come when the answer begins, and the date is cut to a second.
	between := sent.Add(time.Since(sent) / 2)
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		d.dates.mutex.Lock()
		d.dates.ahead, d.dates.known = between.Sub(date.Add(time.Second/2)), true
		d.dates.mutex.Unlock()
	}
	return response, nil
}
