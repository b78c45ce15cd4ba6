// Package k8s holds Ostinato's dealings with the Kubernetes API: clients, the rendering of Jobs and
// Pods from their templates, the reading of Pods into facts, the Pod informer, writes of status.
//
// Rendering and reading are pure functions. What runs is always rendered from an
// object read from the API server, never from a workflow's input.
package k8s

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
)

// CronJobsGetter gives access to the CronJobs of batch.ostinato.dev/v1.
type CronJobsGetter interface {
	// CronJobs returns the client of a namespace; "" reads all namespaces.
	CronJobs(namespace string) CronJobInterface
}

// CronJobInterface is the typed client of one namespace's CronJobs, with the methods of a generated client.
type CronJobInterface interface {
	Create(ctx context.Context, cronJob *ostinatov1.CronJob, options metav1.CreateOptions) (*ostinatov1.CronJob, error)
	Update(ctx context.Context, cronJob *ostinatov1.CronJob, options metav1.UpdateOptions) (*ostinatov1.CronJob, error)
	UpdateStatus(ctx context.Context, cronJob *ostinatov1.CronJob, options metav1.UpdateOptions) (*ostinatov1.CronJob, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
	Get(ctx context.Context, name string, options metav1.GetOptions) (*ostinatov1.CronJob, error)
	List(ctx context.Context, options metav1.ListOptions) (*ostinatov1.CronJobList, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
	Patch(ctx context.Context, name string, patch types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (*ostinatov1.CronJob, error)
}

// Clients are the API clients of one process. They share one HTTP transport.
type Clients struct {
	Kubernetes kubernetes.Interface
	CronJobs   CronJobsGetter
}

// NewClients returns clients for a configuration, which it does not change.
func NewClients(config *rest.Config) (*Clients, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make Kubernetes HTTP client: %w", err)
	}
	// Protobuf encodes Kubernetes' own types at a fraction of JSON's CPU and size.
	protobuf := rest.CopyConfig(config)
	protobuf.ContentType = runtime.ContentTypeProtobuf
	protobuf.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	native, err := kubernetes.NewForConfigAndClient(protobuf, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make Kubernetes client: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := ostinatov1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register %s: %w", ostinatov1.GroupVersion, err)
	}
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	custom := rest.CopyConfig(config)
	custom.GroupVersion = &ostinatov1.GroupVersion
	custom.APIPath = "/apis"
	custom.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientForConfigAndClient(custom, httpClient)
	if err != nil {
		return nil, fmt.Errorf("make %s client: %w", ostinatov1.GroupVersion, err)
	}
	return &Clients{
		Kubernetes: native,
		CronJobs:   &cronJobs{client: client, codec: runtime.NewParameterCodec(scheme)},
	}, nil
}

type cronJobs struct {
	client rest.Interface
	codec  runtime.ParameterCodec
}

func (c *cronJobs) CronJobs(namespace string) CronJobInterface {
	return gentype.NewClientWithList(
		"cronjobs", c.client, c.codec, namespace,
		func() *ostinatov1.CronJob { return &ostinatov1.CronJob{} },
		func() *ostinatov1.CronJobList { return &ostinatov1.CronJobList{} },
	)
}
