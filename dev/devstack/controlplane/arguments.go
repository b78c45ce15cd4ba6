package controlplane

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// serviceRange is where Services get their addresses from. Nothing but a real node routes it, for its Pods.
const serviceRange = "10.96.0.0/16"

// layout is where things are under the control plane's folder.
type layout struct{ dir string }

func (l layout) lock() string           { return filepath.Join(l.dir, ".lock") }
func (l layout) pki(name string) string { return filepath.Join(l.dir, "pki", name) }
func (l layout) etcd() string           { return filepath.Join(l.dir, "etcd") }
func (l layout) log(name string) string { return filepath.Join(l.dir, "logs", name+".log") }
func (l layout) pid(name string) string { return filepath.Join(l.dir, "pids", name) }
func (l layout) ports() string          { return filepath.Join(l.dir, "ports.json") }
func (l layout) admin() string          { return filepath.Join(l.dir, "kubeconfig") }
func (l layout) kubeconfig(name string) string {
	return filepath.Join(l.dir, "kubeconfigs", name+".kubeconfig")
}

func (p ports) etcdURL() string      { return fmt.Sprintf("https://127.0.0.1:%d", p.EtcdClient) }
func (p ports) etcdPeerURL() string  { return fmt.Sprintf("https://127.0.0.1:%d", p.EtcdPeer) }
func (p ports) apiServerURL() string { return fmt.Sprintf("https://127.0.0.1:%d", p.APIServer) }

// etcdArguments starts etcd with one member. In data that an earlier version has written, the member's peer URL begins with
// http and stays so, whatever is advertised now. Only another member would use it.
func etcdArguments(l layout, p ports, fsync bool) []string {
	arguments := []string{
		"--name=ostinato",
		"--data-dir=" + l.etcd(),
		"--listen-client-urls=" + p.etcdURL(),
		"--advertise-client-urls=" + p.etcdURL(),
		"--listen-peer-urls=" + p.etcdPeerURL(),
		"--initial-advertise-peer-urls=" + p.etcdPeerURL(),
		"--initial-cluster=ostinato=" + p.etcdPeerURL(),
		// What is written to etcd passes no admission: a Pod may be root on the node, which can be this machine.
		"--client-cert-auth",
		"--trusted-ca-file=" + l.pki(etcdAuthority+".crt"),
		"--cert-file=" + l.pki("etcd/server.crt"),
		"--key-file=" + l.pki("etcd/server.key"),
		"--peer-client-cert-auth",
		"--peer-trusted-ca-file=" + l.pki(etcdAuthority+".crt"),
		"--peer-cert-file=" + l.pki("etcd/peer.crt"),
		"--peer-key-file=" + l.pki("etcd/peer.key"),
		"--enable-grpc-gateway=false",
	}
	if !fsync {
		arguments = append(arguments, "--unsafe-no-fsync")
	}
	return arguments
}

func apiServerArguments(l layout, p ports, serviceAccounts bool, flags []string) []string {
	arguments := []string{
		"--etcd-servers=" + p.etcdURL(),
		"--etcd-cafile=" + l.pki(etcdAuthority+".crt"),
		"--etcd-certfile=" + l.pki("apiserver-etcd-client.crt"),
		"--etcd-keyfile=" + l.pki("apiserver-etcd-client.key"),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(p.APIServer),
		// A loopback address cannot be an endpoint of the Service kubernetes: nothing is to be kept up to date.
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=" + serviceRange,
		"--tls-cert-file=" + l.pki("server.crt"),
		"--tls-private-key-file=" + l.pki("server.key"),
		"--client-ca-file=" + l.pki("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + l.pki("service-account.key"),
		"--service-account-signing-key-file=" + l.pki("service-account.key"),
		"--authorization-mode=Node,RBAC",
		"--allow-privileged=true",
		"--kubelet-client-certificate=" + l.pki("apiserver-kubelet-client.crt"),
		"--kubelet-client-key=" + l.pki("apiserver-kubelet-client.key"),
		"--kubelet-preferred-address-types=ExternalIP,InternalIP",
	}
	if !serviceAccounts {
		// No controller makes the service accounts that this plugin would have every Pod wait for.
		arguments = append(arguments, "--disable-admission-plugins=ServiceAccount")
	}
	return append(arguments, flags...)
}

func controllerManagerArguments(l layout, p ports, o ControllerManagerOptions) []string {
	kubeconfig := l.kubeconfig("kube-controller-manager")
	arguments := []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(p.ControllerManager),
		"--tls-cert-file=" + l.pki("server.crt"),
		"--tls-private-key-file=" + l.pki("server.key"),
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + l.pki("service-account.key"),
		"--root-ca-file=" + l.pki("ca.crt"),
		"--cluster-signing-cert-file=" + l.pki("ca.crt"),
		"--cluster-signing-key-file=" + l.pki("ca.key"),
		// The default is a folder of the machine's, which would be made.
		"--flex-volume-plugin-dir=" + filepath.Join(l.dir, "volume-plugins"),
		"--controllers=" + o.controllers(),
	}
	if o.QPS != 0 {
		arguments = append(arguments, "--kube-api-qps="+strconv.FormatFloat(float64(o.QPS), 'f', -1, 32))
	}
	if o.Burst != 0 {
		arguments = append(arguments, "--kube-api-burst="+strconv.Itoa(o.Burst))
	}
	return append(arguments, o.Flags...)
}

func schedulerArguments(l layout, p ports) []string {
	kubeconfig := l.kubeconfig("kube-scheduler")
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(p.Scheduler),
		"--tls-cert-file=" + l.pki("server.crt"),
		"--tls-private-key-file=" + l.pki("server.key"),
		"--leader-elect=false",
	}
}
