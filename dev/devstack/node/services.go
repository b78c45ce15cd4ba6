package node

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	discoveryv1apply "k8s.io/client-go/applyconfigurations/discovery/v1"
	rbacv1apply "k8s.io/client-go/applyconfigurations/rbac/v1"
	"k8s.io/client-go/kubernetes"
)

// Who asks the API server for the Pods' network. RBAC has rules for kube-proxy of its own.
const (
	proxyUser = "system:kube-proxy"
	dnsUser   = "ostinato:dns"
)

// networkObjects are what the API server has to hold for Pods to find it and one another by name.
type networkObjects struct {
	Role    *rbacv1apply.ClusterRoleApplyConfiguration
	Binding *rbacv1apply.ClusterRoleBindingApplyConfiguration
	DNS     *corev1apply.ServiceApplyConfiguration
	// Slices lead to the API server and to CoreDNS, which no selector finds.
	Slices []*discoveryv1apply.EndpointSliceApplyConfiguration
}

// newNetworkObjects makes them for an API server that the node reaches at a port of its own address.
func newNetworkObjects(apiPort int32) networkObjects {
	return networkObjects{
		Role: rbacv1apply.ClusterRole(dnsUser).WithRules(
			rbacv1apply.PolicyRule().WithAPIGroups("").WithResources("services", "namespaces").WithVerbs("list", "watch"),
			rbacv1apply.PolicyRule().WithAPIGroups(discoveryv1.GroupName).WithResources("endpointslices").WithVerbs("list", "watch"),
		),
		Binding: rbacv1apply.ClusterRoleBinding(dnsUser).
			WithRoleRef(rbacv1apply.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("ClusterRole").WithName(dnsUser)).
			WithSubjects(rbacv1apply.Subject().WithAPIGroup(rbacv1.GroupName).WithKind(rbacv1.UserKind).WithName(dnsUser)),
		DNS: corev1apply.Service("kube-dns", metav1.NamespaceSystem).WithLabels(map[string]string{"k8s-app": "kube-dns"}).
			WithSpec(corev1apply.ServiceSpec().WithClusterIP(dnsAddress).WithPorts(
				corev1apply.ServicePort().WithName("dns").WithProtocol(corev1.ProtocolUDP).WithPort(53),
				corev1apply.ServicePort().WithName("dns-tcp").WithProtocol(corev1.ProtocolTCP).WithPort(53),
			)),
		Slices: []*discoveryv1apply.EndpointSliceApplyConfiguration{
			slice("kubernetes", metav1.NamespaceDefault, port("https", corev1.ProtocolTCP, apiPort)),
			slice("kube-dns", metav1.NamespaceSystem, port("dns", corev1.ProtocolUDP, 53), port("dns-tcp", corev1.ProtocolTCP, 53)),
		},
	}
}

// slice leads from a Service to ports of the node.
func slice(service, namespace string, ports ...*discoveryv1apply.EndpointPortApplyConfiguration) *discoveryv1apply.EndpointSliceApplyConfiguration {
	return discoveryv1apply.EndpointSlice(service, namespace).
		WithLabels(map[string]string{discoveryv1.LabelServiceName: service}).
		WithAddressType(discoveryv1.AddressTypeIPv4).
		WithEndpoints(discoveryv1apply.Endpoint().WithAddresses(nodeAddress).
			WithConditions(discoveryv1apply.EndpointConditions().WithReady(true))).
		WithPorts(ports...)
}

func port(name string, protocol corev1.Protocol, number int32) *discoveryv1apply.EndpointPortApplyConfiguration {
	return discoveryv1apply.EndpointPort().WithName(name).WithProtocol(protocol).WithPort(number)
}

// apply writes the objects, which may be there from an earlier start.
func (o networkObjects) apply(ctx context.Context, client kubernetes.Interface) error {
	options := metav1.ApplyOptions{FieldManager: "devstack", Force: true}
	if _, err := client.RbacV1().ClusterRoles().Apply(ctx, o.Role, options); err != nil {
		return fmt.Errorf("apply the ClusterRole of CoreDNS: %w", err)
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Apply(ctx, o.Binding, options); err != nil {
		return fmt.Errorf("apply the ClusterRoleBinding of CoreDNS: %w", err)
	}
	if _, err := client.CoreV1().Services(*o.DNS.Namespace).Apply(ctx, o.DNS, options); err != nil {
		return fmt.Errorf("apply the Service of CoreDNS: %w", err)
	}
	for _, slice := range o.Slices {
		if _, err := client.DiscoveryV1().EndpointSlices(*slice.Namespace).Apply(ctx, slice, options); err != nil {
			return fmt.Errorf("apply the EndpointSlice of Service %s: %w", *slice.Name, err)
		}
	}
	return nil
}
