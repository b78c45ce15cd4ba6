package controlplane

import (
	"crypto/x509"
	"errors"
	"flag"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s\nwant:\n%s", path, got, want)
	}
}

func TestArguments(t *testing.T) {
	l := layout{dir: "/stack"}
	p := ports{EtcdClient: 1, EtcdPeer: 2, APIServer: 3, ControllerManager: 4, Scheduler: 5}
	limits := ControllerManagerOptions{Enabled: true, Controllers: TakeOver, QPS: 2000, Burst: 4000, Flags: []string{"--concurrent-job-syncs=50"}}
	for name, arguments := range map[string][]string{
		"etcd.golden":                          etcdArguments(l, p, false),
		"etcd-fsync.golden":                    etcdArguments(l, p, true),
		"kube-apiserver.golden":                apiServerArguments(l, p, true, []string{"--audit-log-path=/x"}),
		"kube-apiserver-alone.golden":          apiServerArguments(l, p, false, nil),
		"kube-controller-manager.golden":       controllerManagerArguments(l, p, ControllerManagerOptions{Enabled: true}),
		"kube-controller-manager-tuned.golden": controllerManagerArguments(l, p, limits),
		"kube-scheduler.golden":                schedulerArguments(l, p),
	} {
		golden(t, name, strings.Join(arguments, "\n")+"\n")
	}
}

func TestEverythingListensOnTheLoopbackAddressOnly(t *testing.T) {
	l, p := layout{dir: "/stack"}, ports{}
	for name, arguments := range map[string][]string{
		"kube-apiserver":          apiServerArguments(l, p, true, nil),
		"kube-controller-manager": controllerManagerArguments(l, p, ControllerManagerOptions{}),
		"kube-scheduler":          schedulerArguments(l, p),
	} {
		if !slices.Contains(arguments, "--bind-address=127.0.0.1") {
			t.Errorf("%s is not bound to the loopback address", name)
		}
	}
	for _, argument := range etcdArguments(l, p, false) {
		if strings.Contains(argument, "://") && !strings.Contains(argument, "https://127.0.0.1:") {
			t.Errorf("etcd: %s", argument)
		}
	}
}

// prepared returns a control plane that has its keys and certificates, and has not started.
func prepared(t *testing.T, dir string) *ControlPlane {
	t.Helper()
	c := &ControlPlane{layout: layout{dir: dir}, ports: ports{EtcdClient: 2379, APIServer: 6443}}
	if err := c.prepareAccess(); err != nil {
		t.Fatal(err)
	}
	return c
}

// pool is the authorities of a file.
func pool(t *testing.T, path string) *x509.CertPool {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data) {
		t.Fatalf("%s holds no certificate", path)
	}
	return roots
}

// kube-controller-manager signs requests of the cluster's users with the cluster's authority. None of them is a client
// of etcd or of the kubelet.
func TestEtcdAndTheKubeletTrustAuthoritiesOfTheirOwn(t *testing.T) {
	c := prepared(t, t.TempDir())
	client := x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	server := x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSName: "127.0.0.1"}
	_, kubeletAuthority, err := c.KubeletCredentials("node")
	if err != nil {
		t.Fatal(err)
	}
	cluster, etcd, kubelet := pool(t, c.layout.pki("ca.crt")), pool(t, c.layout.pki("etcd/ca.crt")), pool(t, kubeletAuthority)
	jane, err := c.authority.client("jane", []string{"system:masters"})
	if err == nil {
		err = writeFile(c.layout.pki("jane.crt"), jane.certificate, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		file  string
		roots *x509.CertPool
		as    x509.VerifyOptions
		good  bool
	}{
		{"apiserver-etcd-client", etcd, client, true},
		{"etcd/stack-client", etcd, client, true},
		{"etcd/server", etcd, server, true},
		{"etcd/peer", etcd, server, true},
		{"etcd/peer", etcd, client, true},
		{"etcd/server", etcd, client, false},
		{"apiserver-kubelet-client", kubelet, client, true},

		{"jane", cluster, client, true},
		{"jane", etcd, client, false},
		{"jane", kubelet, client, false},
		{"apiserver-etcd-client", kubelet, client, false},
		{"apiserver-kubelet-client", etcd, client, false},
		{"apiserver-etcd-client", cluster, client, false},
		{"apiserver-kubelet-client", cluster, client, false},
	} {
		data, err := os.ReadFile(c.layout.pki(test.file + ".crt"))
		if err != nil {
			t.Fatal(err)
		}
		certificate, err := parseCertificate(data)
		if err != nil {
			t.Fatal(err)
		}
		test.as.Roots = test.roots
		if _, err := certificate.Verify(test.as); (err == nil) != test.good {
			t.Errorf("%s as %v: got %v, want good: %t", test.file, test.as.KeyUsages, err, test.good)
		}
	}
}

func TestEtcdAsksEveryClientForACertificate(t *testing.T) {
	l := layout{dir: "/stack"}
	arguments := etcdArguments(l, ports{}, false)
	for _, want := range []string{
		"--client-cert-auth", "--trusted-ca-file=" + l.pki("etcd/ca.crt"),
		"--peer-client-cert-auth", "--peer-trusted-ca-file=" + l.pki("etcd/ca.crt"),
		"--enable-grpc-gateway=false",
	} {
		if !slices.Contains(arguments, want) {
			t.Errorf("etcd has no argument %s", want)
		}
	}
}

func TestServiceAccountsNeedTheirControllers(t *testing.T) {
	for name, test := range map[string]struct {
		options ControllerManagerOptions
		want    bool
	}{
		"no controller manager":       {ControllerManagerOptions{}, false},
		"all controllers":             {ControllerManagerOptions{Enabled: true}, true},
		"take-over":                   {ControllerManagerOptions{Enabled: true, Controllers: TakeOver}, true},
		"a few, without":              {ControllerManagerOptions{Enabled: true, Controllers: "job-controller"}, false},
		"a few, with":                 {ControllerManagerOptions{Enabled: true, Controllers: "serviceaccount-controller,root-ca-certificate-publisher-controller"}, true},
		"all but service accounts":    {ControllerManagerOptions{Enabled: true, Controllers: "*,-serviceaccount-controller"}, false},
		"all but the root CA's maker": {ControllerManagerOptions{Enabled: true, Controllers: "*,-root-ca-certificate-publisher-controller"}, false},
	} {
		if got := test.options.serviceAccounts(); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestWhatIsMissingIsSaidBeforeAnythingStarts(t *testing.T) {
	binaries := map[string]string{"etcd": "/e", "kube-apiserver": "/a"}
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"folder":             {Options{Binaries: binaries}, "no folder"},
		"etcd":               {Options{Dir: "/d"}, "etcd"},
		"controller manager": {Options{Dir: "/d", Binaries: binaries, ControllerManager: ControllerManagerOptions{Enabled: true}}, "kube-controller-manager"},
		"scheduler":          {Options{Dir: "/d", Binaries: binaries, Scheduler: true}, "kube-scheduler"},
	} {
		if _, err := Start(t.Context(), test.options); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestPortsAreKeptWhereTheyAreFree(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ports.json")
	first, err := choosePorts(t.Context(), file, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	again, err := choosePorts(t.Context(), file, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if again != first {
		t.Errorf("the second start has %+v, the first had %+v", again, first)
	}
	listener, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(first.APIServer)))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	moved, err := choosePorts(t.Context(), file, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if moved.APIServer == first.APIServer {
		t.Errorf("port %d is taken and was chosen", first.APIServer)
	}
	moved.APIServer = first.APIServer
	if moved != first {
		t.Errorf("more than the taken port changed: %+v, before %+v", moved, first)
	}
}

func TestCertificates(t *testing.T) {
	l := layout{dir: t.TempDir()}
	authority, err := loadAuthority(l, clusterAuthority, clusterAuthorityName)
	if err != nil {
		t.Fatal(err)
	}
	reloaded, err := loadAuthority(l, clusterAuthority, clusterAuthorityName)
	if err != nil {
		t.Fatal(err)
	}
	if !reloaded.certificate.Equal(authority.certificate) {
		t.Fatal("the second start has another authority")
	}
	roots := x509.NewCertPool()
	roots.AddCert(authority.certificate)

	client, err := reloaded.client("jane", []string{"devs", "ops"})
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := parseCertificate(client.certificate)
	if err != nil {
		t.Fatal(err)
	}
	if certificate.Subject.CommonName != "jane" || !slices.Equal(slices.Sorted(slices.Values(certificate.Subject.Organization)), []string{"devs", "ops"}) {
		t.Errorf("the client is %s", certificate.Subject)
	}
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("the client's certificate: %v", err)
	}
	if _, err := certificate.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err == nil {
		t.Error("the client's certificate is good for a server")
	}

	server, err := authority.server()
	if err != nil {
		t.Fatal(err)
	}
	if certificate, err = parseCertificate(server.certificate); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"127.0.0.1", "localhost"} {
		if _, err := certificate.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Errorf("the server's certificate for %s: %v", name, err)
		}
	}
}

func TestKeysAreForTheOwnerOnly(t *testing.T) {
	c := prepared(t, t.TempDir())
	l := c.layout
	var secrets []string
	err := filepath.WalkDir(l.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) == ".crt" {
			return err
		}
		secrets = append(secrets, path)
		info, err := entry.Info()
		if err == nil && info.Mode() != 0o600 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{l.pki("ca.key"), l.pki("etcd/ca.key"), l.pki("apiserver-etcd-client.key"), l.pki("service-account.key"), l.admin()} {
		if !slices.Contains(secrets, want) {
			t.Errorf("there is no %s", want)
		}
	}
	before, err := os.ReadFile(l.pki("service-account.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := ensureServiceAccountKey(l); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(l.pki("service-account.key")); err != nil || string(after) != string(before) {
		t.Errorf("the second start has another service account key (%v): tokens would be void", err)
	}
}

func TestKubeconfigsGiveTheSameAccess(t *testing.T) {
	l := layout{dir: t.TempDir()}
	authority, err := loadAuthority(l, clusterAuthority, clusterAuthorityName)
	if err != nil {
		t.Fatal(err)
	}
	c := &ControlPlane{layout: l, authority: authority, ports: ports{APIServer: 6443}}
	path, err := c.KubeconfigFor("system:node:n/1", "system:nodes")
	if err != nil {
		t.Fatal(err)
	}
	if want := l.kubeconfig("system-node-n-1"); path != want {
		t.Errorf("it is %s, want %s", path, want)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://127.0.0.1:6443" || string(config.CAData) != string(authority.certificatePEM) || len(config.CertData) == 0 || len(config.KeyData) == 0 {
		t.Errorf("it leads to %s with %d, %d and %d bytes", config.Host, len(config.CAData), len(config.CertData), len(config.KeyData))
	}
	config, err = c.ClientConfigFor("jane")
	if err != nil {
		t.Fatal(err)
	}
	if config.QPS >= 0 {
		t.Errorf("the client is limited to %v requests a second", config.QPS)
	}
}

func TestAHalfWrittenFileIsNeverSeen(t *testing.T) {
	dir := t.TempDir()
	if err := writeFile(filepath.Join(dir, "a", "b"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a", "b.unfinished")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the unfinished file is left: %v", err)
	}
}
