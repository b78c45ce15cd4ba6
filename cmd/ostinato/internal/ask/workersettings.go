package ask

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"go.temporal.io/sdk/contrib/envconfig"
)

// settingsName is the ConfigMap of deploy/base whose variables worker and bridge have.
const settingsName = "ostinato-temporal"

// taken are the variables of the workers that serve a person as well. Paths are those of a container, and secrets are the workers'.
var taken = []string{"TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "TEMPORAL_TLS", "TEMPORAL_TLS_SERVER_NAME", "TEMPORAL_TLS_SERVER_CA_CERT_DATA"}

// WorkerSettings are how the workers of a cluster reach Temporal.
type WorkerSettings struct {
	variables variables
	// dial connects to Temporal through the API server; nil where Temporal is outside the cluster.
	dial func(ctx context.Context, address string) (net.Conn, error)
	// tls is how a person is known to a Temporal that asks the API server who may call it; nil where it is another.
	tls *tls.Config
}

// variables are an environment.
type variables map[string]string

// Environ implements envconfig.EnvLookup.
func (v variables) Environ() []string {
	var lines []string
	for name, value := range v {
		lines = append(lines, name+"="+value)
	}
	return lines
}

// LookupEnv implements envconfig.EnvLookup.
func (v variables) LookupEnv(name string) (string, bool) {
	value, found := v[name]
	return value, found
}

var _ envconfig.EnvLookup = variables{}

// WorkerSettings reads how the workers in a namespace reach Temporal. Where that is a Service of the cluster, connections go through the API
// server to one of its Pods.
func (c *Cluster) WorkerSettings(ctx context.Context, namespace string) (WorkerSettings, error) {
	found, err := c.settings(ctx, namespace)
	if err != nil {
		return WorkerSettings{}, err
	}
	address := found.variables["TEMPORAL_ADDRESS"]
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return WorkerSettings{}, fmt.Errorf("ConfigMap %s/%s: TEMPORAL_ADDRESS: %w", namespace, settingsName, err)
	}
	service, err := c.service(ctx, namespace, host)
	if service == nil || err != nil {
		return found, err
	}
	if found.asksAPIServer(service) {
		found.tls, err = c.personalTLS(ctx, service.Namespace, service.Name)
		if err != nil {
			return WorkerSettings{}, err
		}
	}
	found.dial = func(ctx context.Context, _ string) (net.Conn, error) { return c.dialService(ctx, service, port) }
	return found, nil
}

// settings reads what the workers in a namespace are told.
func (c *Cluster) settings(ctx context.Context, namespace string) (WorkerSettings, error) {
	settings, err := c.clients.Kubernetes.CoreV1().ConfigMaps(namespace).Get(ctx, settingsName, metav1.GetOptions{})
	if err != nil {
		return WorkerSettings{}, fmt.Errorf("read how the workers reach Temporal: get ConfigMap %s/%s: %w", namespace, settingsName, err)
	}
	found := WorkerSettings{variables: variables{}}
	for _, name := range taken {
		if value, set := settings.Data[name]; set {
			found.variables[name] = value
		}
	}
	return found, nil
}

// asksAPIServer reports whether a Service may be that of a Temporal that asks the API server who may call it: such a one is dialled
// by TLS. Its authorities alone do not say so, since they stay when its door is taken away.
func (s WorkerSettings) asksAPIServer(service *corev1.Service) bool {
	return service.Name == ownService && s.variables["TEMPORAL_TLS"] == "true"
}

// profile returns a new profile of what the workers' settings say. An address that a cluster names gets nothing that a
// person has set, whatever settings the SDK comes to have: no key, header or certificate, nor the name of a namespace,
// which the person has for another address.
func (s WorkerSettings) profile() (envconfig.ClientConfigProfile, error) {
	workers, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{DisableFile: true, EnvLookup: s.variables})
	if err != nil {
		return envconfig.ClientConfigProfile{}, fmt.Errorf("ConfigMap %s: %w", settingsName, err)
	}
	return envconfig.ClientConfigProfile{Address: workers.Address, Namespace: workers.Namespace, TLS: workers.TLS}, nil
}

// errSends says what a person is to add to settings that say what to send to Temporal.
var errSends = errors.New("the Temporal settings say what to send (API key, TLS, gRPC metadata or authority), which goes " +
	"to no address that a cluster names: name the address too, by TEMPORAL_ADDRESS or --temporal-address")

// sendsNothing returns an error if a person's settings say how to be known to a Temporal, which the person has in mind.
func sendsNothing(person envconfig.ClientConfigProfile, tokenFile string) error {
	if tokenFile != "" || person.APIKey != "" || person.TLS != nil || len(person.GRPCMeta) > 0 || person.Authority != "" {
		return errSends
	}
	return nil
}

// service returns the Service that a host is, as a Pod of a namespace would look it up; nil where it is none.
func (c *Cluster) service(ctx context.Context, namespace, host string) (*corev1.Service, error) {
	if net.ParseIP(host) != nil {
		return nil, nil
	}
	name, rest, _ := strings.Cut(host, ".")
	within, domain, _ := strings.Cut(rest, ".")
	if domain != "" && domain != "svc" && !strings.HasPrefix(domain, "svc.") {
		return nil, nil
	}
	service, err := c.clients.Kubernetes.CoreV1().Services(cmp.Or(within, namespace)).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsInvalid(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reach Temporal at %s, where the workers do: get Service %s/%s: %w", host, cmp.Or(within, namespace), name, err)
	case len(service.Spec.Selector) == 0:
		return nil, nil
	}
	return service, nil
}

// dialService connects to a port of one of a Service's Pods that is ready.
func (c *Cluster) dialService(ctx context.Context, service *corev1.Service, port string) (net.Conn, error) {
	pod, err := c.podOf(ctx, service)
	if err != nil {
		return nil, err
	}
	target, err := targetPort(service, pod, port)
	if err != nil {
		return nil, err
	}
	return c.dialPod(ctx, pod, target)
}

// dialPort connects to a port of one of a Service's Pods that is ready, which the Service need not have.
func (c *Cluster) dialPort(ctx context.Context, service *corev1.Service, port int) (net.Conn, error) {
	pod, err := c.podOf(ctx, service)
	if err != nil {
		return nil, err
	}
	return c.dialPod(ctx, pod, port)
}

// podOf returns one of a Service's Pods that is ready.
func (c *Cluster) podOf(ctx context.Context, service *corev1.Service) (*corev1.Pod, error) {
	pods, err := c.clients.Kubernetes.CoreV1().Pods(service.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(service.Spec.Selector).String()})
	if err != nil {
		return nil, fmt.Errorf("list Pods of Service %s/%s: %w", service.Namespace, service.Name, err)
	}
	for n := range pods.Items {
		if ready(&pods.Items[n]) {
			return &pods.Items[n], nil
		}
	}
	return nil, fmt.Errorf("service %s/%s has no Pod that is ready", service.Namespace, service.Name)
}

func ready(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

// errNoPort says that neither the Service nor its Pod has a port.
var errNoPort = errors.New("it has no such port")

// targetPort returns the port of a Pod that a port of its Service leads to.
func targetPort(service *corev1.Service, pod *corev1.Pod, port string) (int, error) {
	wanted, err := strconv.Atoi(port)
	if err != nil {
		return 0, fmt.Errorf("service %s/%s: port %q: %w", service.Namespace, service.Name, port, errNoPort)
	}
	for _, one := range service.Spec.Ports {
		switch {
		case int(one.Port) != wanted:
			continue
		case service.Spec.ClusterIP == corev1.ClusterIPNone || one.TargetPort == intstr.IntOrString{}:
			return wanted, nil
		case one.TargetPort.Type == intstr.Int:
			return one.TargetPort.IntValue(), nil
		}
		for _, container := range pod.Spec.Containers {
			for _, named := range container.Ports {
				if named.Name == one.TargetPort.StrVal {
					return int(named.ContainerPort), nil
				}
			}
		}
	}
	return 0, fmt.Errorf("service %s/%s: port %s: %w", service.Namespace, service.Name, port, errNoPort)
}
