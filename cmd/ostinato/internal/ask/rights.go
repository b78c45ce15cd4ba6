package ask

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// Right is something that a person may do in a namespace. The group is empty for the core group; a subresource stands after a slash.
type Right struct{ Verb, Group, Resource string }

// Rights that changes of CronJobs and their runs need.
var (
	// MayRun: a run is a Job.
	MayRun = Right{"create", "batch", "jobs"}
	// MaySteer: to suspend or resume is a patch.
	MaySteer = Right{"patch", ostinatov1.GroupName, "cronjobs"}
	// MayStop: a run is stopped by its Job.
	MayStop = Right{"patch", "batch", "jobs"}
)

// String is the right as a role has it.
func (r Right) String() string {
	if r.Group == "" {
		return r.Verb + " " + r.Resource
	}
	return fmt.Sprintf("%s %s.%s", r.Verb, r.Resource, r.Group)
}

// In returns the API server for objects of one namespace.
func (c *Cluster) In(namespace string) *Cluster {
	within := *c
	within.Namespace = namespace
	return &within
}

// May asks the API server whether the person has a right in a namespace, or in all where it is empty.
func (c *Cluster) May(ctx context.Context, namespace string, right Right) (bool, error) {
	resource, subresource, _ := strings.Cut(right.Resource, "/")
	review, err := c.clients.Kubernetes.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: right.Verb, Group: right.Group, Resource: resource, Subresource: subresource,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask whether you may %s in namespace %s: %w", right, namespace, err)
	}
	return review.Status.Allowed, nil
}
