//go:build linux

package doors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"ostinato.dev/ostinato/dev/devstack"
	"ostinato.dev/ostinato/dev/devstack/node"
	"ostinato.dev/ostinato/dev/devstack/postgres"
	"ostinato.dev/ostinato/dev/harness"
)

// startPatience bounds the start of a stack whose programs are built already, or nearly.
const startPatience = 14 * time.Minute

// skipUnlessRoot skips a test that has to act as another user. In CI it fails instead.
func skipUnlessRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		return
	}
	const why = "only root can try the doors as nobody"
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// running is a stack whose doors are tried.
type running struct {
	*devstack.Stack
	dir string
}

// start runs a stack as make dev does, but for Temporal's usual ports, with a Secret and a Pod to find.
func start(t *testing.T, options devstack.Options) running {
	t.Helper()
	dir, err := os.MkdirTemp("", "ostinato-doors-")
	if err != nil {
		t.Fatal(err)
	}
	// Everybody may look into the folder that a person chooses.
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	options.Dir, options.BridgeArgs, options.Log = dir, []string{"--leader-elect=false"}, t.Output()
	ctx, cancel := context.WithTimeout(t.Context(), startPatience)
	defer cancel()
	stack, err := devstack.Start(ctx, options)
	if err != nil {
		t.Fatalf("%v\nlogs are in %s/logs", err, dir)
	}
	t.Cleanup(func() {
		if err := stack.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("logs are in %s/logs", dir)
			return
		}
		os.RemoveAll(dir)
	})
	put(t, stack)
	return running{stack, dir}
}

// put puts something behind the doors: a Secret and a Pod that writes a log.
func put(t *testing.T, stack *devstack.Stack) {
	t.Helper()
	client, err := kubernetes.NewForConfig(stack.ControlPlane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: thePod}, StringData: map[string]string{"key": "sesame"}}
	if _, err := client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: thePod, Annotations: map[string]string{node.AnnotationRunSeconds: "3600"}},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{
			Name: thePod, Image: "busybox:1.28", Command: []string{"sh", "-c", "echo sesame; sleep 3600"},
		}}},
	}
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		found, err := client.CoreV1().Pods("default").Get(ctx, thePod, metav1.GetOptions{})
		if err == nil && found.Status.Phase != corev1.PodRunning {
			err = fmt.Errorf("the Pod is %s", found.Status.Phase)
		}
		return err
	})
	// The owner gets in by the API server.
	harness.Eventually(t, harness.Prompt, func(ctx context.Context) error {
		log, err := client.CoreV1().Pods("default").GetLogs(thePod, &corev1.PodLogOptions{}).DoRaw(ctx)
		if err == nil && len(log) == 0 {
			err = errors.New("the Pod has no log")
		}
		return err
	})
}

// harmless is the file of a stack's folder that everybody may read.
const harmless = "ports.json"

// judge compares what a stranger gets at every port and socket with the table.
func judge(t *testing.T, stack running) {
	t.Helper()
	ours := descendants(t)
	for _, p := range stack.Processes() {
		if !slices.Contains(ours, p.PID()) {
			t.Errorf("%s is not among the processes whose ports are known", p.Name())
		}
	}
	doors, q := map[string]string{}, question{Folder: stack.dir}
	answered := map[string]map[string]bool{}
	for _, l := range listeners(t) {
		switch l.network {
		case "tcp":
			doors[l.address] = l.door()
			q.Addresses = append(q.Addresses, l.address)
			answered[l.door()] = map[string]bool{}
		case "unix":
			q.Sockets = append(q.Sockets, stack.outside(t, l))
		default:
			t.Errorf("%s listens on %s %s, which every user of the machine reaches", l.door(), l.network, l.address)
		}
	}
	for _, a := range askAsNobody(t, q) {
		door, isPort := doors[a.Address]
		if !a.Success {
			continue
		}
		if !isPort {
			if a.Address != filepath.Join(stack.dir, harmless) || a.Request != "read" {
				t.Errorf("a stranger may %s %s", a.Request, a.Address)
			}
			continue
		}
		if !answered[door][a.Request] && table[door].pattern(a.Request) == "" {
			t.Errorf("%s (%s) answers a stranger: %s", door, a.Address, a)
		}
		answered[door][a.Request] = true
	}
	compare(t, answered)
	judgeCertificates(t, stack, doors)
}

// judgeCertificates tries the certificate of a user of the cluster, whom RBAC lets do nothing, where RBAC is not asked.
func judgeCertificates(t *testing.T, stack running, doors map[string]string) {
	t.Helper()
	var q question
	for address, door := range doors {
		if program, _, _ := strings.Cut(door, " "); program == "etcd" || door == kubeletDoor {
			q.Addresses = append(q.Addresses, address)
		}
	}
	config, err := stack.ControlPlane.ClientConfigFor("jane")
	if err != nil {
		t.Fatal(err)
	}
	q.Certificate, q.Key = config.CertData, config.KeyData
	for _, a := range askAsNobody(t, q) {
		if a.Success {
			t.Errorf("%s (%s) answers a user of the cluster: %s", doors[a.Address], a.Address, a)
		}
	}
}

// insideNode are the folders that a real node has to itself, and where they are in its folder.
var insideNode = map[string]string{"/run/": "run", "/var/run/": "run", "/var/lib/": "var-lib", "/var/log/": "var-log", "/tmp/": "tmp"}

// outside returns where the socket of a process is for everybody else.
func (r running) outside(t *testing.T, l listener) string {
	t.Helper()
	path := l.address
	if namespaceOfMounts(t, l.pid) != namespaceOfMounts(t, os.Getpid()) {
		for prefix, folder := range insideNode {
			if rest, found := strings.CutPrefix(l.address, prefix); found {
				path = filepath.Join(r.dir, "node", folder, rest)
			}
		}
	}
	// The socket itself may have been given another name. The stranger looks through all of the stack's folder.
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		t.Errorf("%s listens on the socket %s, and its folder is not found: %v", l.door(), l.address, err)
	}
	return path
}

func namespaceOfMounts(t *testing.T, pid int) string {
	t.Helper()
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", pid))
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// compare finds ports without a row, and rows that say more than there is.
func compare(t *testing.T, answered map[string]map[string]bool) {
	t.Helper()
	programs := map[string]bool{}
	for _, door := range slices.Sorted(maps.Keys(answered)) {
		program, _, _ := strings.Cut(door, " ")
		programs[program] = true
		t.Logf("%s answers %q", door, slices.Sorted(maps.Keys(answered[door])))
		if _, known := table[door]; !known {
			t.Errorf("%s is not in the table", door)
		}
	}
	for door, row := range table {
		program, _, _ := strings.Cut(door, " ")
		if requests, found := answered[door]; found {
			row.isExact(t, door, requests)
		} else if programs[program] && program != severalRoles {
			t.Errorf("%s is in the table, and there is none", door)
		}
	}
}

// isExact finds answers of the table that are none.
func (r row) isExact(t *testing.T, door string, requests map[string]bool) {
	t.Helper()
	given := map[string]bool{}
	for request := range requests {
		given[r.pattern(request)] = true
	}
	for _, pattern := range r.answers {
		if !given[pattern] {
			t.Errorf("%s answers %s by the table, and does not", door, pattern)
		}
	}
}

func TestNoPortLetsAStrangerIn(t *testing.T) {
	skipUnlessRoot(t)
	options := devstack.Options{Node: devstack.NodeKwok, Temporal: devstack.TemporalPostgres}
	if _, err := postgres.Ensure(t.Context(), t.Output()); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Logf("Temporal's cluster is not looked at: %v", err)
		options.Temporal = devstack.TemporalEmbedded
	}
	judge(t, start(t, options))
}

func TestNoPortLetsAStrangerToARealNode(t *testing.T) {
	skipUnlessRoot(t)
	if possible, missing := node.CanRunReal(); !possible {
		t.Skip(missing)
	}
	judge(t, start(t, devstack.Options{Node: devstack.NodeReal}))
}
