package node

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"
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

func TestConfigurations(t *testing.T) {
	s := settings{
		name: "n", port: 10250, cgroup: "ostinato-7-00000001", snapshotter: "overlayfs",
		binaries: map[string]string{
			"runc": "/run/ostinato/bin/0/runc", "ptp": "/run/ostinato/bin/0/ptp", "loopback": "/run/ostinato/bin/0/loopback",
			"host-local": "/run/ostinato/bin/1/host-local",
		},
	}
	golden(t, "containerd.toml.golden", containerdConfiguration(s))
	golden(t, "kubelet.yaml.golden", kubeletConfiguration(s))
	golden(t, "kwok.golden", strings.Join(kwokArguments("/k/kubeconfig", "/k/kwok.yaml", 10247), "\n")+"\n")
	var kubelet map[string]any
	if err := yaml.UnmarshalStrict([]byte(kubeletConfiguration(s)), &kubelet); err != nil {
		t.Errorf("the kubelet's configuration: %v", err)
	}
}

func TestStages(t *testing.T) {
	names, err := stages.ReadDir("stages")
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, entry := range names {
		data, err := stages.ReadFile("stages/" + entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		var stage struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct {
				ResourceRef struct{ Kind string }
				Selector    struct {
					MatchExpressions []struct{ Key, Operator string }
				}
			}
		}
		if err := yaml.Unmarshal(data, &stage); err != nil {
			t.Fatalf("%s: %v", entry.Name(), err)
		}
		if stage.Kind != "Stage" || stage.Metadata.Name+".yaml" != entry.Name() {
			t.Errorf("%s holds %s %s", entry.Name(), stage.Kind, stage.Metadata.Name)
		}
		if kind, _, _ := strings.Cut(stage.Metadata.Name, "-"); !strings.EqualFold(kind, stage.Spec.ResourceRef.Kind) {
			t.Errorf("%s is about a %s", entry.Name(), stage.Spec.ResourceRef.Kind)
		}
		if len(stage.Spec.Selector.MatchExpressions) == 0 {
			t.Errorf("%s is played on everything", entry.Name())
		}
		all += string(data)
	}
	for _, annotation := range []string{
		AnnotationRunSeconds, AnnotationRunUntil, AnnotationHoldIndex, AnnotationExitCode, AnnotationFailTimes, AnnotationFailEvery,
		AnnotationExitReason, AnnotationExitMessage,
		AnnotationPendingSeconds, AnnotationTerminationSeconds,
	} {
		if !strings.Contains(all, `"`+annotation+`"`) {
			t.Errorf("no stage knows the annotation %s", annotation)
		}
	}
}

func TestKwokGetsEveryStageInOneConfiguration(t *testing.T) {
	configuration, err := kwokConfiguration("/k/simulated.log", 7233)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for document := range strings.SplitSeq(string(configuration), "\n---\n") {
		var object metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		names = append(names, object.Kind+" "+object.Name)
	}
	slices.Sort(names)
	want := []string{
		"ClusterLogs simulated", "ClusterPortForward simulated", "Stage node-heartbeat", "Stage node-ready", "Stage pod-deadline", "Stage pod-delete",
		"Stage pod-finish", "Stage pod-restart", "Stage pod-run", "Stage pod-terminate",
	}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

func TestImages(t *testing.T) {
	images := []image{pause([]byte("program"), []string{"example.org/pause:9"}), busybox([]byte("program"), ownApplets, busyboxTags)}
	data, err := archive(images...)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := archive(images...); err != nil || !bytes.Equal(data, again) {
		t.Errorf("the same program makes another archive (%v)", err)
	}
	files := untar(t, data)
	var manifest []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal(files["manifest.json"].data, &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest) != 2 || manifest[0].RepoTags[0] != pauseImage || manifest[1].RepoTags[0] != "docker.io/library/busybox:1.28" {
		t.Fatalf("the manifest is %+v", manifest)
	}
	if want := []string{pauseImage, "example.org/pause:9"}; !slices.Equal(manifest[0].RepoTags, want) {
		t.Errorf("the pause image is called %q, want %q", manifest[0].RepoTags, want)
	}
	for _, image := range manifest {
		var configuration struct {
			RootFS struct {
				DiffIDs []string `json:"diff_ids"`
			}
		}
		if err := json.Unmarshal(files[image.Config].data, &configuration); err != nil {
			t.Fatal(err)
		}
		layer := files[image.Layers[0]].data
		if want := []string{"sha256:" + sum(layer)}; !slices.Equal(configuration.RootFS.DiffIDs, want) {
			t.Errorf("%s: diff IDs %q, want %q", image.RepoTags, configuration.RootFS.DiffIDs, want)
		}
		if image.Config != sum(files[image.Config].data)+".json" {
			t.Errorf("%s: the configuration is not named by its digest", image.RepoTags)
		}
	}
	layer := untar(t, files[manifest[1].Layers[0]].data)
	if string(layer["bin/busybox"].data) != "program" || layer["bin/busybox"].mode != 0o755 {
		t.Errorf("/bin/busybox is %+v", layer["bin/busybox"])
	}
	for _, applet := range []string{"sh", "date", "echo", "sleep"} {
		if layer["bin/"+applet].link != "busybox" {
			t.Errorf("/bin/%s is %+v", applet, layer["bin/"+applet])
		}
	}
}

func untar(t *testing.T, data []byte) map[string]imageFile {
	t.Helper()
	files := map[string]imageFile{}
	for reader := tar.NewReader(bytes.NewReader(data)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = imageFile{name: header.Name, mode: header.Mode, data: content, link: header.Linkname}
	}
}

func TestHierarchies(t *testing.T) {
	const hybrid = `25 1 254:0 / / rw - ext4 /dev/vda rw
30 29 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
31 29 0:27 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
32 29 0:28 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
33 29 0:29 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
34 29 0:30 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	const unified = "35 29 0:31 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	for name, test := range map[string]struct {
		mountinfo string
		missing   []string
		unified   bool
		trees     int
	}{
		"version 1 with a tree of version 2":     {hybrid, nil, false, 5},
		"version 2":                              {unified, nil, true, 1},
		"version 1 without a memory tree":        {strings.ReplaceAll(hybrid, "rw,memory", "rw,freezer"), []string{"memory"}, false, 5},
		"nothing mounted is taken for version 2": {"", nil, true, 0},
	} {
		trees := parseHierarchies(test.mountinfo)
		missing, unified := missingControllers(trees)
		if len(trees) != test.trees || !slices.Equal(missing, test.missing) || unified != test.unified {
			t.Errorf("%s: %+v, missing %q, unified %t", name, trees, missing, unified)
		}
	}
	if trees := parseHierarchies(hybrid); !reflect.DeepEqual(trees[0], hierarchy{path: "/sys/fs/cgroup/cpu", controllers: []string{"rw", "cpu", "cpuacct"}}) {
		t.Errorf("the first tree is %+v", trees[0])
	}
}

func FuzzHierarchies(f *testing.F) {
	f.Add("30 29 0:26 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n")
	f.Fuzz(func(t *testing.T, mountinfo string) {
		for _, tree := range parseHierarchies(mountinfo) {
			if tree.path == "" {
				t.Errorf("%q holds a tree without a path", mountinfo)
			}
		}
	})
}

func TestCgroupsTellTheirOwner(t *testing.T) {
	if pid, ok := cgroupOwner(cgroupName(4711, "/some/folder")); !ok || pid != 4711 {
		t.Errorf("got %d, %t", pid, ok)
	}
	if cgroupName(1, "/a") == cgroupName(1, "/b") {
		t.Error("two folders share a cgroup")
	}
	for _, name := range []string{"ostinato", "ostinato-1", "ostinato-x-00000000", "kubepods", "ostinato-1-00000000-x", "ostinato-99999999999999999999-00000000"} {
		if pid, ok := cgroupOwner(name); ok {
			t.Errorf("%s is taken for a cgroup of %d", name, pid)
		}
	}
}

func TestSchedulable(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	ready := func(status corev1.ConditionStatus, heartbeat time.Time) []corev1.NodeCondition {
		return []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: metav1.NewTime(heartbeat), Message: "why"}}
	}
	taints := []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}, {Key: "mine", Effect: corev1.TaintEffectNoSchedule}}
	for name, test := range map[string]struct {
		conditions []corev1.NodeCondition
		want       string
	}{
		"a ready node":                         {ready(corev1.ConditionTrue, now), ""},
		"a node that is not ready":             {ready(corev1.ConditionFalse, now), "not ready: why"},
		"a node that says nothing":             {nil, "not ready"},
		"a node that was ready in an old life": {ready(corev1.ConditionTrue, now.Add(-time.Second)), "not ready"},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(&corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{Taints: taints}, Status: corev1.NodeStatus{Conditions: test.conditions},
			})
			err := schedulable(t.Context(), client, "n", now)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %q", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			node, err := client.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(node.Spec.Taints) != 1 || node.Spec.Taints[0].Key != "mine" {
				t.Errorf("the taints are %+v: only that of a node that is not ready goes", node.Spec.Taints)
			}
		})
	}
}

func TestCreateNodeBringsAnOldObjectUpToDate(t *testing.T) {
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{kindLabel: kindReal}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}},
	}
	old := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"theirs": "x"}},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}},
	}
	for name, client := range map[string]*fake.Clientset{"new": fake.NewClientset(), "old": fake.NewClientset(old)} {
		if err := createNode(t.Context(), client, want.DeepCopy()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := client.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Labels[kindLabel] != kindReal || !reflect.DeepEqual(got.Status.Addresses, want.Status.Addresses) {
			t.Errorf("%s: %v, %v", name, got.Labels, got.Status.Addresses)
		}
		if name == "old" && got.Labels["theirs"] != "x" {
			t.Error("the label of others is gone")
		}
	}
}

func TestCanRunRealGivesAReason(t *testing.T) {
	if ok, reason := CanRunReal(); !ok && reason == "" {
		t.Error("a real node cannot run, and nobody knows why")
	}
}
