package toolchain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Sets of names for Ensure.
var (
	// ControlPlane is what package controlplane runs.
	ControlPlane = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}
	// KwokNode is what a simulated node runs.
	KwokNode = []string{"kwok"}
	// RealNode is what a real node runs. Linux only.
	RealNode = []string{
		"kubelet", "containerd", "containerd-shim-runc-v2", "ctr", "runc", "ptp", "loopback", "host-local",
		"node-init", "busybox",
	}
	// Network is what gives the Pods of a real node Services and names; see CanHaveNft. Linux only.
	Network = []string{"nft", "kube-proxy", "coredns"}
	// Clients are the command line clients a person or a test uses against the stack.
	Clients = []string{"kubectl", "temporal"}
	// Lint is what make check and make generate run.
	Lint = []string{"staticcheck", "workflowcheck", "controller-gen", "kustomize"}
	// Monitoring is what make check and the tests judge the alerting rules by.
	Monitoring = []string{"promtool"}
	// Drawing is what make bench draws its curves by.
	Drawing = []string{"plot"}
	// Images is what make images runs; make tools leaves it out.
	Images = []string{"image"}
	// Installing is what renders, packs and installs the chart.
	Installing = []string{"helm"}
	// InstallingByHelm3 is the Helm that many people still have; make trial-helm3 alone needs it.
	InstallingByHelm3 = []string{"helm3"}
	// Vulnerabilities is what make vulncheck runs; make tools leaves it out.
	Vulnerabilities = []string{"govulncheck"}
	// Conformance is upstream's end-to-end suite and what runs it in parallel. It is large and only make conformance
	// needs it: make tools leaves it out.
	Conformance = []string{"e2e.test", "ginkgo"}
)

// tool is one executable and how it is built.
type tool struct {
	// module is the folder of the tool module, relative to the repository's root.
	module string
	// pkg is the main package's import path.
	pkg     string
	tags    string
	ldflags string
	// test marks a package whose tests are the executable (go test -c).
	test bool
	// seccomp marks runc: it needs a C compiler and libseccomp. All others are built without cgo.
	seccomp bool
	// linux marks what exists on Linux only.
	linux bool
	// release is that of which an executable on PATH is taken, such as " v1.37.": what its --version prints holds it. KUBEBUILDER_ASSETS
	// may have another.
	release string
	// sources are folders of this repository that the executable is made of, relative to its root; none for a
	// tool that its module's pins say all about.
	sources []string
	// debian is the package of Debian's in whose place none is built: the executable is the system's, else the package's.
	debian string
	// note is told while the tool is being built, where the build takes long.
	note string
}

const (
	strip = "-s -w"
	// Without these, clients see version v0.0.0-master.
	kubernetesVersion = strip +
		" -X k8s.io/component-base/version.gitVersion=v1.37.2" +
		" -X k8s.io/component-base/version.gitMajor=1" +
		" -X k8s.io/component-base/version.gitMinor=37"
	containerdTags = "no_btrfs,no_devmapper,no_zfs"
	minutes        = "the first build of the control plane takes minutes, later starts none"
)

var tools = map[string]tool{
	"etcd": {module: "tools/etcd", pkg: "go.etcd.io/etcd/server/v3", ldflags: strip, release: " 3.7."},

	"kube-apiserver":          kubernetes("kube-apiserver"),
	"kube-controller-manager": kubernetes("kube-controller-manager"),
	"kube-scheduler":          kubernetes("kube-scheduler"),
	"kubectl":                 kubernetes("kubectl"),
	"kubelet":                 linux(kubernetes("kubelet")),
	"kube-proxy":              linux(kubernetes("kube-proxy")),

	"e2e.test": {
		module: "tools/kubernetes", pkg: "k8s.io/kubernetes/test/e2e", test: true, ldflags: kubernetesVersion,
		note: "the first build of the end-to-end suite takes minutes",
	},
	"ginkgo": {module: "tools/kubernetes", pkg: "github.com/onsi/ginkgo/v2/ginkgo", ldflags: strip},

	"kwok": {module: "tools/kwok", pkg: ".", ldflags: strip, sources: []string{"tools/kwok"}},

	"plot": {module: "tools/plot", pkg: ".", ldflags: strip, sources: []string{"tools/plot"}},
	// This too.
	"image": {module: "tools/image", pkg: ".", ldflags: strip, sources: []string{"tools/image"}},

	"containerd":              containerd("containerd"),
	"containerd-shim-runc-v2": containerd("containerd-shim-runc-v2"),
	"ctr":                     containerd("ctr"),
	"runc": {
		module: "tools/node", pkg: "github.com/opencontainers/runc", tags: "seccomp", ldflags: strip,
		seccomp: true, linux: true,
	},
	"ptp":        plugin("main/ptp"),
	"loopback":   plugin("main/loopback"),
	"host-local": plugin("ipam/host-local"),

	"coredns": {module: "tools/network", pkg: "./coredns", ldflags: strip, linux: true, sources: []string{"tools/network/coredns"}},
	"nft":     {debian: "nftables", linux: true},

	"node-init": own("node/nodeinit", "node/initspec"),
	"busybox":   own("node/busybox"),

	"temporal": {module: "tools/temporal", pkg: "github.com/temporalio/cli/cmd/temporal", ldflags: strip},

	"staticcheck":    {module: "tools/lint", pkg: "honnef.co/go/tools/cmd/staticcheck", ldflags: strip},
	"workflowcheck":  {module: "tools/lint", pkg: "go.temporal.io/sdk/contrib/tools/workflowcheck", ldflags: strip},
	"controller-gen": {module: "tools/lint", pkg: "sigs.k8s.io/controller-tools/cmd/controller-gen", ldflags: strip},
	"kustomize":      {module: "tools/lint", pkg: "sigs.k8s.io/kustomize/kustomize/v5", ldflags: strip},

	"helm": {module: "tools/helm", pkg: "helm.sh/helm/v4/cmd/helm", ldflags: strip},
	"helm3": {
		module: "tools/helm3", pkg: "helm.sh/helm/v3/cmd/helm",
		// helm template takes the cluster's version from its build.
		ldflags: strip + " -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=37",
	},

	// Without the tag it links the clients of thirty clouds, to discover what to scrape.
	"promtool": {module: "tools/prometheus", pkg: "github.com/prometheus/prometheus/cmd/promtool", tags: "remove_all_sd", ldflags: strip},

	"govulncheck": {module: "tools/vuln", pkg: "golang.org/x/vuln/cmd/govulncheck", ldflags: strip},
}

func kubernetes(command string) tool {
	return tool{
		module: "tools/kubernetes", pkg: "k8s.io/kubernetes/cmd/" + command, ldflags: kubernetesVersion,
		release: " v1.37.", note: minutes,
	}
}

func containerd(command string) tool {
	return linux(tool{
		module: "tools/node", pkg: "github.com/containerd/containerd/v2/cmd/" + command, tags: containerdTags, ldflags: strip,
	})
}

func plugin(path string) tool {
	return linux(tool{module: "tools/node", pkg: "github.com/containernetworking/plugins/plugins/" + path, ldflags: strip})
}

// own is a program of this repository; the first folder holds its main package.
func own(folders ...string) tool {
	sources := make([]string, len(folders))
	for i, folder := range folders {
		sources[i] = "dev/devstack/" + folder
	}
	return linux(tool{module: ".", pkg: "./" + sources[0], ldflags: strip, sources: sources})
}

func linux(t tool) tool {
	t.linux = true
	return t
}

// lookUp returns the tools of the names, or an error that names the first unknown one and what there is.
func lookUp(names []string) (map[string]tool, error) {
	found := make(map[string]tool, len(names))
	for _, name := range names {
		t, ok := tools[name]
		if !ok {
			return nil, fmt.Errorf("no tool %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(tools)), ", "))
		}
		found[name] = t
	}
	return found, nil
}
