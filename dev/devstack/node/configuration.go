package node

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Paths inside a real node. Its /run, /tmp, /var/lib and /var/log are its own, so that everything lies where Kubernetes
// puts it by default.
const (
	insideConfiguration = "/run/ostinato"
	insideBinaries      = insideConfiguration + "/bin"
	insideCNI           = insideConfiguration + "/cni"
	containerdSocket    = "/run/containerd/containerd.sock"
)

// settings is what varies between real nodes.
type settings struct {
	name        string
	port        int
	cgroup      string
	snapshotter string
	// binaries are the executables' paths inside the node.
	binaries map[string]string
	// archives are the paths there of all images.
	archives []string
}

// containerdConfiguration renders containerd's configuration. Plugins that would make folders of their own outside the
// node's are off.
func containerdConfiguration(s settings) string {
	return fmt.Sprintf(`version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
imports = []
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri", "io.containerd.image-verifier.v1.bindir"]

[grpc]
  address = %q

[plugins."io.containerd.cri.v1.images"]
  snapshotter = %q

[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = %q

[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  cdi_spec_dirs = []

[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = [%s]
  conf_dir = %q

[plugins."io.containerd.cri.v1.runtime".containerd]
  default_runtime_name = "runc"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  BinaryName = %q
  SystemdCgroup = false
`, containerdSocket, s.snapshotter, pauseImage, quoted(folders(s.binaries, "ptp", "loopback", "host-local")), insideCNI, s.binaries["runc"])
}

// kubeletConfiguration renders the kubelet's configuration. It admits only the API server, by certificate, on the
// loopback address; and a full disk of a developer's machine is not a reason to evict Pods.
func kubeletConfiguration(s settings) string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
port: %d
healthzPort: 0
registerNode: false
authentication:
  anonymous:
    enabled: false
  webhook:
    enabled: false
  x509:
    clientCAFile: %s/ca.crt
authorization:
  mode: AlwaysAllow
containerRuntimeEndpoint: unix://%s
cgroupDriver: cgroupfs
cgroupRoot: /%s
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
makeIPTablesUtilChains: false
resolvConf: ""
clusterDomain: cluster.local
clusterDNS:
- %s
volumePluginDir: /var/lib/kubelet/volume-plugins
evictionHard:
  imagefs.available: 0%%
  nodefs.available: 0%%
  nodefs.inodesFree: 0%%
imageGCHighThresholdPercent: 100
`, s.port, insideConfiguration, containerdSocket, s.cgroup, dnsAddress)
}

// kernelSettings are what the kubelet would set on the machine. Inside the node it finds them set, in files that take the
// settings' place; the machine keeps its own.
var kernelSettings = map[string]string{
	"/proc/sys/kernel/keys/root_maxbytes": "25000000\n",
	"/proc/sys/kernel/keys/root_maxkeys":  "1000000\n",
	"/proc/sys/kernel/panic":              "10\n",
	"/proc/sys/kernel/panic_on_oops":      "1\n",
	"/proc/sys/vm/overcommit_memory":      "1\n",
	"/proc/sys/vm/panic_on_oom":           "0\n",
}

// folders returns the folders of the named executables, each once.
func folders(binaries map[string]string, names ...string) []string {
	var found []string
	for _, name := range names {
		if dir := path.Dir(binaries[name]); !slices.Contains(found, dir) {
			found = append(found, dir)
		}
	}
	return found
}

// quoted renders a list of strings for TOML.
func quoted(list []string) string {
	all := make([]string, len(list))
	for i, text := range list {
		all[i] = strconv.Quote(text)
	}
	return strings.Join(all, ", ")
}
