package controlplane

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
)

// tokenSeconds is how long a service account's token in a kubeconfig is valid: longer than any test or session.
const tokenSeconds = 7 * 24 * 60 * 60

// KubeconfigPath returns the path of the administrator's kubeconfig, the same in every run in the folder.
func (c *ControlPlane) KubeconfigPath() string { return c.layout.admin() }

// KubeconfigPath returns the path of the administrator's kubeconfig of a control plane in the folder.
func KubeconfigPath(dir string) string { return layout{dir: dir}.admin() }

// RESTConfig returns the administrator's client configuration, a copy of its own, without client-side rate limit.
func (c *ControlPlane) RESTConfig() *rest.Config { return rest.CopyConfig(c.admin) }

// EtcdMetrics reads etcd's metrics. The caller closes them.
func (c *ControlPlane) EtcdMetrics(ctx context.Context) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.ports.etcdURL()+"/metrics", nil)
	if err != nil {
		return nil, fmt.Errorf("read etcd's metrics: %w", err)
	}
	response, err := c.etcdClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read etcd's metrics: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("read etcd's metrics: %s", response.Status)
	}
	return response.Body, nil
}

// ClientConfigFor returns the client configuration of a user in groups, by a certificate. RBAC says what it may do.
func (c *ControlPlane) ClientConfigFor(user string, groups ...string) (*rest.Config, error) {
	issued, err := c.authority.client(user, groups)
	if err != nil {
		return nil, fmt.Errorf("client configuration of %s: %w", user, err)
	}
	return &rest.Config{
		Host: c.ports.apiServerURL(),
		TLSClientConfig: rest.TLSClientConfig{
			CAData: c.authority.certificatePEM, CertData: issued.certificate, KeyData: issued.key,
		},
		QPS: -1,
	}, nil
}

// KubeconfigFor writes a kubeconfig for a user in groups and returns its path.
func (c *ControlPlane) KubeconfigFor(user string, groups ...string) (string, error) {
	config, err := c.ClientConfigFor(user, groups...)
	if err != nil {
		return "", err
	}
	path := c.layout.kubeconfig(strings.NewReplacer(":", "-", "/", "-").Replace(user))
	return path, writeKubeconfig(path, config, user)
}

// KubeconfigForServiceAccount writes a kubeconfig that holds a token of the service account, which has to exist, and
// returns its path: what runs with it may do exactly what RBAC gives that account.
func (c *ControlPlane) KubeconfigForServiceAccount(ctx context.Context, namespace, name string) (string, error) {
	client, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		return "", fmt.Errorf("kubeconfig of service account %s/%s: %w", namespace, name, err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](tokenSeconds)}}
	answer, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("request a token for service account %s/%s: %w", namespace, name, err)
	}
	config := &rest.Config{
		Host:            c.ports.apiServerURL(),
		TLSClientConfig: rest.TLSClientConfig{CAData: c.authority.certificatePEM},
		BearerToken:     answer.Status.Token,
	}
	path := c.layout.kubeconfig("serviceaccount-" + namespace + "-" + name)
	return path, writeKubeconfig(path, config, name)
}

// KubeletCredentials writes what a kubelet needs and returns the paths: a kubeconfig as the node's own user, so that the
// Node authorizer rules what it may do, and the certificate authority that the API server's requests to it are signed
// by.
func (c *ControlPlane) KubeletCredentials(node string) (kubeconfig, clientCA string, err error) {
	kubeconfig, err = c.KubeconfigFor("system:node:"+node, "system:nodes")
	return kubeconfig, c.layout.pki(kubeletAuthority + ".crt"), err
}

// kubeconfig renders a client configuration as a kubeconfig with one context.
func kubeconfig(config *rest.Config, user string) *clientcmdapi.Config {
	const cluster = "ostinato"
	rendered := clientcmdapi.NewConfig()
	rendered.Clusters[cluster] = &clientcmdapi.Cluster{
		Server: config.Host, CertificateAuthorityData: config.CAData,
	}
	rendered.AuthInfos[user] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
	}
	rendered.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user}
	rendered.CurrentContext = cluster
	return rendered
}

func writeKubeconfig(path string, config *rest.Config, user string) error {
	data, err := clientcmd.Write(*kubeconfig(config, user))
	if err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", path, err)
	}
	return writeFile(path, data, 0o600)
}
