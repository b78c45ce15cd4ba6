package toolchain

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestKeyTellsWhatWouldBeBuilt(t *testing.T) {
	files := []content{{"go.mod", []byte("module a")}, {"go.sum", []byte("x")}}
	one := map[string]tool{"a": {pkg: "example.org/a", ldflags: "-s"}}
	base := key(files, one, "linux/amd64")
	if len(base) != keyLength {
		t.Fatalf("key %q has not %d digits", base, keyLength)
	}
	if again := key([]content{files[1], files[0]}, one, "linux/amd64"); again != base {
		t.Errorf("the order of files changes the key: %s, %s", base, again)
	}
	for name, other := range map[string]string{
		"a pin":         key([]content{files[0], {"go.sum", []byte("y")}}, one, "linux/amd64"),
		"the platform":  key(files, one, "darwin/arm64"),
		"a build flag":  key(files, map[string]tool{"a": {pkg: "example.org/a", ldflags: "-w"}}, "linux/amd64"),
		"a test":        key(files, map[string]tool{"a": {pkg: "example.org/a", ldflags: "-s", test: true}}, "linux/amd64"),
		"a build tag":   key(files, map[string]tool{"a": {pkg: "example.org/a", ldflags: "-s", tags: "x"}}, "linux/amd64"),
		"another tool":  key(files, map[string]tool{"a": one["a"], "b": {}}, "linux/amd64"),
		"what is where": key([]content{{"go.mod", []byte("module a" + "x")}, {"go.sum", nil}}, one, "linux/amd64"),
	} {
		if other == base {
			t.Errorf("%s does not change the key", name)
		}
	}
}

func TestEveryToolCanBeFound(t *testing.T) {
	root, err := RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, set := range [][]string{ControlPlane, KwokNode, RealNode, Network, Clients, Lint, Monitoring, Drawing, Images, Installing, InstallingByHelm3, Vulnerabilities, Conformance} {
		found, err := lookUp(set)
		if err != nil {
			t.Fatal(err)
		}
		for name, tool := range found {
			seen[name] = true
			if dir, err := folder(root, "/cache", platform(), name, tool); err != nil {
				t.Errorf("%s: %v", name, err)
			} else if !strings.HasPrefix(dir, "/cache/tools/") {
				t.Errorf("%s would be cached in %s", name, dir)
			}
		}
	}
	for name := range tools {
		if !seen[name] {
			t.Errorf("%s is in no set", name)
		}
	}
}

func TestOwnProgramsAreBuiltAnewForOtherSourcesAndModules(t *testing.T) {
	root := t.TempDir()
	seen := map[string]string{}
	for _, files := range []map[string]string{
		{"go.mod": "module a", "program/main.go": "package main"},
		{"go.mod": "module a // and another", "program/main.go": "package main"},
		{"go.mod": "module a", "program/main.go": "package main // another"},
	} {
		for name, text := range files {
			file := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		dir, err := folder(root, "/cache", "linux/amd64", "program", tool{sources: []string{"program"}})
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := seen[dir]; ok {
			t.Errorf("%v is cached where %s is", files, before)
		}
		seen[dir] = fmt.Sprint(files)
	}
}

func TestToolModulesDeclareTheirTools(t *testing.T) {
	root, err := RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	for name, tool := range tools {
		if len(tool.sources) > 0 || tool.debian != "" {
			continue
		}
		goMod, err := os.ReadFile(filepath.Join(root, tool.module, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(strings.Fields(string(goMod)), tool.pkg) {
			t.Errorf("%s/go.mod has no tool line for %s: go mod tidy would drop what %s needs", tool.module, tool.pkg, name)
		}
	}
}

func TestOneGoCommandBuildsTheProgramsThatSharePackages(t *testing.T) {
	names := []string{"containerd", "ctr", "e2e.test", "etcd", "ginkgo", "kube-apiserver", "kube-proxy", "kube-scheduler", "kubelet", "nft", "node-init", "runc"}
	want := [][]string{
		{"containerd", "ctr"}, {"e2e.test"}, {"etcd"}, {"ginkgo"}, {"kube-apiserver", "kube-proxy", "kube-scheduler", "kubelet"}, {"nft"}, {"node-init"}, {"runc"},
	}
	if got := together(names, tools); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	for names, want := range map[string]string{
		"etcd":         "-o f/etcd go.etcd.io/etcd/server/v3",
		"ptp loopback": "-o f/ github.com/containernetworking/plugins/plugins/main/ptp github.com/containernetworking/plugins/plugins/main/loopback",
		"containerd":   "-tags " + containerdTags + " -o f/containerd github.com/containerd/containerd/v2/cmd/containerd",
	} {
		if got := strings.Join(arguments(strings.Fields(names), tools, "f"), " "); !strings.HasSuffix(got, want) {
			t.Errorf("%s: go %s", names, got)
		}
	}
}

func TestUnknownNamesAreRefused(t *testing.T) {
	_, err := Ensure(t.Context(), nil, "kube-nothing")
	if err == nil || !strings.Contains(err.Error(), "kube-nothing") || !strings.Contains(err.Error(), "kube-apiserver") {
		t.Fatalf("got %v, want an error that names the tool and those there are", err)
	}
}

func TestAssetsAreUsedWhereTheyAre(t *testing.T) {
	assets := t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	t.Setenv("OSTINATO_CACHE", t.TempDir())
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		executable(t, filepath.Join(assets, name))
	}
	binaries, err := Ensure(t.Context(), nil, "etcd", "kube-apiserver", "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range binaries {
		if path != filepath.Join(assets, name) {
			t.Errorf("%s is %s, not the asset", name, path)
		}
	}
}

func TestWhatIsOnPathIsUsedIfItIsOfTheRelease(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("OSTINATO_CACHE", t.TempDir())
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	for name, prints := range map[string]string{
		"etcd":                    "echo etcd Version: 3.7.1",
		"kube-apiserver":          "echo Kubernetes v1.37.9",
		"kube-controller-manager": "echo Kubernetes v1.36.2",
		"kube-scheduler":          "exit 1",
		"kwok":                    "echo kwok version v1.37.0",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+prints+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	binaries, missing, err := Locate("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kwok")
	if want := []string{"kube-controller-manager", "kube-scheduler", "kubelet", "kwok"}; err != nil || !slices.Equal(missing, want) {
		t.Errorf("to be built: %v, %v; want %v", missing, err, want)
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if want := filepath.Join(folder, name); binaries[name] != want {
			t.Errorf("%s is %s, want %s", name, binaries[name], want)
		}
	}
}

// An executable on PATH is taken for what is pinned: their releases, and the version that ours say they are, are those of the pins.
func TestReleasesAreThoseOfThePins(t *testing.T) {
	root, err := RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	pinned := func(module, path string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(root, module, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(text), "\t"+path+" v")
		version, _, _ := strings.Cut(after, "\n")
		return strings.TrimSuffix(version, " // indirect")
	}
	kubernetes, etcd := pinned("tools/kubernetes", "k8s.io/kubernetes"), pinned("tools/etcd", "go.etcd.io/etcd/server/v3")
	if !strings.Contains(kubernetesVersion, "gitVersion=v"+kubernetes+" ") {
		t.Errorf("Kubernetes is %s, and built with %s", kubernetes, kubernetesVersion)
	}
	for name, one := range tools {
		pin := " v" + kubernetes
		if name == "etcd" {
			pin = " " + etcd
		}
		if !strings.HasPrefix(pin, one.release) {
			t.Errorf("%s of release %q is taken for%s", name, one.release, pin)
		}
	}
}

func TestWhatIsMissingIsLocatedAndNotBuilt(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("OSTINATO_CACHE", cache)
	t.Setenv("KUBEBUILDER_ASSETS", "")
	binaries, missing, err := Locate("temporal", "kubectl", "temporal")
	if err != nil || !slices.Equal(missing, []string{"kubectl", "temporal"}) {
		t.Fatalf("missing %v, %v", missing, err)
	}
	for _, name := range missing {
		if path := binaries[name]; !strings.HasPrefix(path, cache) || filepath.Base(path) != name || isExecutable(path) {
			t.Errorf("%s is at %q", name, path)
		}
	}
}

func TestWhatIsCachedNeedsNoGo(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", "")
	cache := t.TempDir()
	t.Setenv("OSTINATO_CACHE", cache)
	root, err := RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := folder(root, cache, platform(), "kwok", tools["kwok"])
	if err != nil {
		t.Fatal(err)
	}
	executable(t, filepath.Join(dir, "kwok"))
	t.Setenv("PATH", "")
	t.Setenv("GOROOT", "")
	binaries, err := Ensure(t.Context(), nil, "kwok")
	if err != nil || binaries["kwok"] != filepath.Join(dir, "kwok") {
		t.Fatalf("got %v, %v", binaries, err)
	}
}

func TestAMissingGoIsSaidPlainly(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("OSTINATO_CACHE", t.TempDir())
	t.Setenv("PATH", "")
	t.Setenv("GOROOT", "")
	var progress strings.Builder
	_, err := Ensure(t.Context(), &progress, "kwok")
	if err == nil || !strings.Contains(err.Error(), "go command is not on PATH") {
		t.Fatalf("got %v, want it to say that Go is missing", err)
	}
	if !strings.Contains(progress.String(), "[1/1] kwok") {
		t.Errorf("the progress tells %q, not what was being built", progress.String())
	}
}

// The programs of this repository are small: building one for real takes a second.
func TestAProgramIsBuiltOnceForAllWhoAskAtOnce(t *testing.T) {
	if runtime.GOOS != "linux" {
		_, err := Ensure(t.Context(), nil, "busybox")
		if err == nil {
			t.Fatal("busybox exists on Linux only, and was built")
		}
		return
	}
	t.Setenv("OSTINATO_CACHE", t.TempDir())
	type result struct {
		path     string
		progress string
		err      error
	}
	results := make(chan result, 3)
	for range cap(results) {
		go func() {
			var progress strings.Builder
			binaries, err := Ensure(t.Context(), &progress, "busybox")
			results <- result{binaries["busybox"], progress.String(), err}
		}()
	}
	builds := 0
	for range cap(results) {
		r := <-results
		if r.err != nil {
			t.Fatal(r.err)
		}
		if strings.Contains(r.progress, "built in") {
			builds++
		}
		output, err := exec.Command(r.path, "echo", "it runs").Output()
		if err != nil || string(output) != "it runs\n" {
			t.Errorf("what was built answers %q, %v", output, err)
		}
	}
	if builds != 1 {
		t.Errorf("it was built %d times, want once", builds)
	}
}

func TestWaitingForTheLockEndsWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), path, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	told := 0
	if _, err := lock(ctx, path, func() { told++ }); err == nil || told != 1 {
		t.Fatalf("got %v, told %d times", err, told)
	}
}

func TestDeclaresModule(t *testing.T) {
	for goMod, want := range map[string]bool{
		"module " + modulePath + "\n\ngo 1.26.8\n":                 true,
		"// A comment.\nmodule " + modulePath + " // another\n":    true,
		"module " + modulePath + "/tools/etcd\n":                   false,
		"module example.org/other\n\nrequire " + modulePath + "\n": false,
	} {
		if got := declaresModule(goMod, modulePath); got != want {
			t.Errorf("%q: got %t", goMod, got)
		}
	}
}

func TestLibseccompFlags(t *testing.T) {
	for name, test := range map[string]struct {
		found         libseccomp
		compile, link string
	}{
		"installed": {libseccomp{}, "", "-lseccomp"},
		"fetched":   {libseccomp{include: "/c/usr/include", library: "/c/usr/lib/libseccomp.a"}, "-I/c/usr/include", "/c/usr/lib/libseccomp.a"},
	} {
		t.Run(name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "pkg-config")
			if err := os.WriteFile(script, []byte(pkgConfigScript(test.found)), 0o755); err != nil {
				t.Fatal(err)
			}
			for option, want := range map[string]string{"--cflags": test.compile, "--libs": test.link} {
				output, err := exec.Command("/bin/sh", script, option, "--", "libseccomp").Output()
				if got := strings.TrimSpace(string(output)); err != nil || got != want {
					t.Errorf("%s: got %q, %v, want %q", option, got, err, want)
				}
			}
		})
	}
}

// executable makes a file that can be executed.
func executable(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}
