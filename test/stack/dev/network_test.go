//go:build linux

package dev

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"ostinato.dev/ostinato/dev/devstack/node"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/dev/harness"
)

// server is a Pod with a Service of its name, asked by others.
const server = "answers"

// asked are the names that a Pod reaches: the API server, and another Pod by its Service.
var asked = []string{"https://kubernetes.default.svc/readyz", "http://" + server + "/"}

// Pods of a real node reach the API server and one another by name, also after the stack was killed, and nothing of the machine.
// The machine's network stays as it is: a browser takes an interface that comes or goes for another network, and aborts its
// requests.
func TestPodsReachTheAPIServerAndOneAnotherByName(t *testing.T) {
	if possible, missing := node.CanRunReal(); !possible {
		t.Skip(missing)
	}
	if possible, missing := toolchain.CanHaveNft(); !possible {
		t.Skip(missing)
	}
	program, dir := build(t), filepath.Join(t.TempDir(), "state")
	buildProbe(t, filepath.Join(dir, "node", "var-lib", "probe"))
	forwards := forwarding(t)
	unchanged := watchInterfaces(t)

	first := start(t, program, dir, "real", nil)
	first.awaitUp(t)
	client := clientOf(t, dir)
	serve(t, client)
	first.await(t, client, "first", append([]string{"ask"}, asked...)...)
	first.await(t, client, "stranger", append([]string{"miss"}, listenOnAll(t)...)...)
	if err := first.command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := first.awaitEnd(t); err == nil {
		t.Error("devstack dev was killed, and ended without an error")
	}

	second := start(t, program, dir, "real", nil)
	second.awaitUp(t)
	second.await(t, client, "second", append([]string{"ask"}, asked...)...)
	second.stop(t)
	unchanged()
	if now := forwarding(t); now != forwards {
		t.Errorf("the host's net.ipv4.ip_forward was %s and is %s", forwards, now)
	}
}

// buildProbe builds the program of this test's Pods into a folder that the node shows them.
func buildProbe(t *testing.T, folder string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("go", "build", "-o", folder, "./probe")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func forwarding(t *testing.T) string {
	t.Helper()
	setting, err := os.ReadFile("/proc/sys/net/ipv4/ip_forward")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(setting))
}

// watchInterfaces looks for interfaces of the host that come or go, until the returned function is called.
func watchInterfaces(t *testing.T) (unchanged func()) {
	t.Helper()
	before := interfaces(t)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			if now := interfaces(t); !slices.Equal(now, before) {
				t.Errorf("the host's interfaces are %q, they were %q", now, before)
				return
			}
			select {
			case <-quit:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

func interfaces(t *testing.T) (names []string) {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Error(err)
	}
	for _, each := range all {
		names = append(names, each.Name)
	}
	slices.Sort(names)
	return names
}

func clientOf(t *testing.T, dir string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubernetes", "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// probe is a Pod that runs the probe.
func probe(name string, arguments ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To(int64(0)),
			Containers: []corev1.Container{{
				Name: "probe", Image: "busybox:1.28", Command: append([]string{"/probe/probe"}, arguments...),
				VolumeMounts: []corev1.VolumeMount{{Name: "probe", MountPath: "/probe", ReadOnly: true}},
			}},
			Volumes: []corev1.Volume{{
				Name: "probe", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/probe"}},
			}},
		},
	}
}

// serve creates the Pod that is asked, and its Service.
func serve(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), probe(server, "serve"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: server},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": server},
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
	if _, err := client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// listenOnAll listens on every address of the machine, and returns those.
func listenOnAll(t *testing.T) (addresses []string) {
	t.Helper()
	listener, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range all {
		if prefix, err := netip.ParsePrefix(each.String()); err == nil && prefix.Addr().Is4() {
			addresses = append(addresses, net.JoinHostPort(prefix.Addr().String(), port))
		}
	}
	return addresses
}

// await waits until a Pod that runs the probe has succeeded. What serves names may still be being built.
func (d *dev) await(t *testing.T, client kubernetes.Interface, name string, arguments ...string) {
	t.Helper()
	pod := probe(name, arguments...)
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	since := time.Now()
	phase := corev1.PodPending
	harness.Eventually(t, startPatience, func(ctx context.Context) error {
		select {
		case <-d.ended:
			t.Fatalf("devstack dev ended: %v", d.err)
		default:
		}
		found, err := client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if phase = found.Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
			return fmt.Errorf("the Pod %s is %s", name, phase)
		}
		return nil
	})
	log, err := client.CoreV1().Pods("default").GetLogs(name, &corev1.PodLogOptions{}).DoRaw(t.Context())
	t.Logf("after %s the Pod %s is %s and says:\n%s", time.Since(since).Round(time.Second), name, phase, log)
	if err != nil || phase != corev1.PodSucceeded {
		t.Errorf("the Pod %s is %s, its log %v", name, phase, err)
	}
}
