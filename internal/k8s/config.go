package k8s

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ClientOptions says how to reach the API server.
type ClientOptions struct {
	// Kubeconfig is the path of a kubeconfig file. When it is empty, KUBECONFIG is
	// used, then ~/.kube/config, then the service account of the Pod.
	Kubeconfig string
	// Context is the kubeconfig context; empty means the current one.
	Context string
	// UserAgent names the process in the API server's audit log; empty means the
	// program's name and version.
	UserAgent string
	// QPS and Burst limit this process's requests a second. A negative QPS means
	// no limit of our own, which is the default: requests are already bounded by
	// the number of workers, and the API server's Priority and Fairness, which
	// sees all clients, is the better judge of what it can take. It answers 429
	// with Retry-After, which client-go and the activities honour.
	QPS   float32
	Burst int
}

// DefaultClientOptions returns options without a client-side rate limit.
func DefaultClientOptions(userAgent string) ClientOptions {
	return ClientOptions{UserAgent: userAgent, QPS: -1}
}

// RESTConfig loads the configuration that the options describe.
func (o ClientOptions) RESTConfig() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.Context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("load Kubernetes client configuration: %w", err)
	}
	return o.apply(config), nil
}

// apply sets what does not come from a kubeconfig.
func (o ClientOptions) apply(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = o.QPS, o.Burst
	if o.UserAgent != "" {
		config.UserAgent = o.UserAgent
	}
	return config
}

// protobufConfig returns the configuration for Kubernetes' own types, which
// protobuf encodes at a fraction of JSON's CPU and size.
func protobufConfig(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}
