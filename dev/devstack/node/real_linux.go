package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"ostinato.dev/ostinato/dev/devstack/node/initspec"
	"ostinato.dev/ostinato/dev/devstack/process"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
)

// namespaces are those a real node has to itself. Doors join its network with the host's.
const namespaces = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET

// Real is a real node.
type Real struct {
	name   string
	cgroup string
	init   *process.Process
	doors  *doors
	unlock func()
}

// StartReal adds a real node to the control plane and returns when Pods can be scheduled to it: kubelet, containerd and
// runc, with the images busybox:1.28 and pause made of this project's own program. Linux and root only; see CanRunReal.
//
// The node runs in a PID, a mount and a network name space of its own. When its first process ends, by Stop or because the
// program that started it was killed, the kernel ends all the others, and their mounts, networks and rules go with them.
// What can be left after a kill are empty cgroups, which the next start of any node takes away. Settings, interfaces and
// routes of the machine are not changed. Pods reach one another and the API server, with toolchain.Network by Services and
// names too, and nothing beyond. Images are pulled by the host's network.
func StartReal(ctx context.Context, options RealOptions) (*Real, error) {
	if options.Log == nil {
		options.Log = io.Discard
	}
	if options.Name == "" {
		options.Name = RealName
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return nil, fmt.Errorf("node folder: %w", err)
	}
	options.Dir = dir
	// In it are the logs and volumes of Pods, and folders that every container may write.
	if err := process.PrivateFolder(dir); err != nil {
		return nil, fmt.Errorf("node folder: %w", err)
	}
	unlock, ok, err := process.TryLock(filepath.Join(dir, ".lock"))
	if err != nil {
		return nil, fmt.Errorf("node folder: %w", err)
	}
	if !ok {
		return nil, fmt.Errorf("another node runs in %s", dir)
	}
	r := &Real{name: options.Name, cgroup: cgroupName(os.Getpid(), dir), unlock: unlock}
	if err := r.start(ctx, options); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

func (r *Real) start(ctx context.Context, options RealOptions) error {
	started := time.Now()
	client, err := kubernetes.NewForConfig(options.ControlPlane.RESTConfig())
	if err != nil {
		return fmt.Errorf("start node %s: %w", r.name, err)
	}
	if err := removeOtherKinds(ctx, client, kindReal); err != nil {
		return err
	}
	if err := createNode(ctx, client, realNode(r.name)); err != nil {
		return err
	}
	apiServer, apiPort, err := apiServerOf(options.ControlPlane)
	if err != nil {
		return err
	}
	if options.Binaries["kube-proxy"] != "" {
		if err := newNetworkObjects(apiPort).apply(ctx, client); err != nil {
			return err
		}
	}
	if err := sweepCgroups(ctx); err != nil {
		return err
	}
	if err := createCgroups(r.cgroup); err != nil {
		return err
	}
	if r.doors, err = newDoors(); err != nil {
		return err
	}
	spec, err := prepareReal(ctx, options, settings{
		name: r.name, port: r.doors.kubeletPort(), cgroup: r.cgroup, snapshotter: snapshotterFor(options.Dir),
	})
	if err != nil {
		return err
	}
	specFile := filepath.Join(options.Dir, "node-init.json")
	if err := spec.Write(specFile); err != nil {
		return err
	}
	r.init, err = process.Start(ctx, process.Spec{
		Name: "node-init", Path: options.Binaries["node-init"], Args: []string{specFile},
		LogFile:     filepath.Join(options.Dir, "node-init.log"),
		SysProcAttr: &syscall.SysProcAttr{Cloneflags: namespaces},
	})
	if err != nil {
		return err
	}
	if err := r.doors.open(r.init.PID(), apiServer); err != nil {
		return err
	}
	since := started.Truncate(time.Second)
	err = r.init.WaitReady(ctx, func(ctx context.Context) error { return schedulable(ctx, client, r.name, since) })
	if err != nil {
		return fmt.Errorf("%w%s", err, lastWords(options.Dir))
	}
	fmt.Fprintf(options.Log, "node: %s is ready after %s (containerd and kubelet; images %s)\n",
		r.name, time.Since(started).Round(100*time.Millisecond), strings.Join(slices.Concat(busyboxTags, options.BusyBox.Tags, options.PauseTags), ", "))
	return nil
}

// Name returns the Node's name.
func (r *Real) Name() string { return r.name }

// Processes returns the node's first process, which ends when any of its daemons does.
func (r *Real) Processes() []*process.Process { return []*process.Process{r.init} }

// Admit has Pods reach a TCP server of the host, until the node stops. It returns where they do.
func (r *Real) Admit(address string) (inside string, err error) {
	if err := r.doors.admit(address); err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(address)
	return net.JoinHostPort(nodeAddress, port), err
}

// Stop stops the kubelet, then containerd, then whatever runs in containers, and takes the node's cgroups away. Images,
// the record of containers and logs stay in the folder. Stopping twice does nothing.
func (r *Real) Stop() error {
	var failures []error
	if r.init != nil {
		failures = append(failures, r.init.Stop(stopGrace))
		r.init = nil
	}
	if r.doors != nil {
		r.doors.close()
		r.doors = nil
	}
	failures = append(failures, removeCgroups(context.Background(), r.cgroup))
	if r.unlock != nil {
		r.unlock()
		r.unlock = nil
	}
	return errors.Join(failures...)
}

// apiServerOf returns where the host reaches the API server, and its port.
func apiServerOf(plane ControlPlane) (*url.URL, int32, error) {
	address, err := url.Parse(plane.RESTConfig().Host)
	if err != nil {
		return nil, 0, fmt.Errorf("find the API server: %w", err)
	}
	port, err := strconv.ParseUint(address.Port(), 10, 16)
	if err != nil {
		return nil, 0, fmt.Errorf("find the API server at %s: %w", address, err)
	}
	return address, int32(port), nil
}

// realNode is the Node object of a real node. It is made here and not by the kubelet, which does not know that the API
// server reaches it at the host's loopback address, the external one.
func realNode(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				kindLabel:            kindReal,
				corev1.LabelHostname: name,
				corev1.LabelOSStable: "linux",
			},
		},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: nodeAddress},
			{Type: corev1.NodeExternalIP, Address: "127.0.0.1"},
			{Type: corev1.NodeHostName, Address: name},
		}},
	}
}

// prepareReal lays out the node's folder and returns what node-init is to do. What was under /run and /tmp in an earlier
// start is gone, as after a machine's restart; /var/lib and /var/log stay.
func prepareReal(ctx context.Context, options RealOptions, s settings) (initspec.Spec, error) {
	run, lib, log := filepath.Join(options.Dir, "run"), filepath.Join(options.Dir, "var-lib"), filepath.Join(options.Dir, "var-log")
	temporary := filepath.Join(options.Dir, "tmp")
	for _, folder := range []string{run, temporary} {
		if err := os.RemoveAll(folder); err != nil {
			return initspec.Spec{}, fmt.Errorf("clear the node's folder: %w", err)
		}
	}
	configuration := filepath.Join(run, "ostinato")
	for _, folder := range []string{filepath.Join(configuration, "cni"), filepath.Join(run, "lock"), lib, log, temporary} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return initspec.Spec{}, fmt.Errorf("make the node's folder: %w", err)
		}
	}
	if err := os.Chmod(temporary, os.ModeSticky|0o777); err != nil {
		return initspec.Spec{}, fmt.Errorf("make the node's folder: %w", err)
	}
	kubeconfig, clientCA, err := options.ControlPlane.KubeletCredentials(s.name)
	if err != nil {
		return initspec.Spec{}, err
	}
	var binds []initspec.Bind
	if s.binaries, binds, err = bindBinaries(options.Binaries); err != nil {
		return initspec.Spec{}, err
	}
	images, err := imagesOf(ctx, options)
	if err != nil {
		return initspec.Spec{}, err
	}
	s.archives = []string{insideConfiguration + "/images.tar"}
	for i, path := range options.Archives {
		inside := fmt.Sprintf("%s/images-%d.tar", insideConfiguration, i)
		s.archives = append(s.archives, inside)
		binds = append(binds, initspec.Bind{Source: path, Target: inside})
	}
	for file, user := range map[string]string{"kube-proxy.kubeconfig": proxyUser, "dns.kubeconfig": dnsUser} {
		path, err := options.ControlPlane.KubeconfigFor(user)
		if err != nil {
			return initspec.Spec{}, err
		}
		binds = append(binds, initspec.Bind{Source: path, Target: insideConfiguration + "/" + file})
	}
	for name, content := range map[string][]byte{
		"containerd.toml":          []byte(containerdConfiguration(s)),
		"kubelet.yaml":             []byte(kubeletConfiguration(s)),
		"cni/10-ostinato.conflist": []byte(networkConfiguration()),
		"Corefile":                 []byte(dnsConfiguration()),
		"images.tar":               images,
	} {
		if err := os.WriteFile(filepath.Join(configuration, name), content, 0o600); err != nil {
			return initspec.Spec{}, fmt.Errorf("configure the node: %w", err)
		}
	}
	spec := initspec.Spec{
		Private: []initspec.Bind{
			{Source: run, Target: "/run"}, {Source: lib, Target: "/var/lib"}, {Source: log, Target: "/var/log"},
			// Pods' host paths are often under it.
			{Source: temporary, Target: "/tmp"},
		},
		Binds: append(binds,
			initspec.Bind{Source: kubeconfig, Target: insideConfiguration + "/kubeconfig"},
			initspec.Bind{Source: clientCA, Target: insideConfiguration + "/ca.crt"}),
		Files:   kernelSettings,
		Network: nodeNetwork,
		Steps:   steps(s),
	}
	if resolver, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && strings.HasPrefix(resolver, "/run/") {
		// A link to where the machine's resolver keeps it, which the node's own /run hides.
		spec.Binds = append(spec.Binds, initspec.Bind{Source: resolver, Target: resolver})
	}
	return spec, nil
}

// bindBinaries shows the executables' folders inside the node, and returns the executables' paths there. It is folders and
// not files, because runc starts itself from a protected copy of its folder, in which a bound file does not appear.
func bindBinaries(binaries map[string]string) (map[string]string, []initspec.Bind, error) {
	inside := map[string]string{}
	var binds []initspec.Bind
	targets := map[string]string{}
	for _, name := range slices.Concat(toolchain.RealNode, toolchain.Network) {
		path := binaries[name]
		if path == "" {
			if slices.Contains(toolchain.Network, name) {
				continue
			}
			return nil, nil, fmt.Errorf("node: no executable given for %s", name)
		}
		dir := filepath.Dir(path)
		if targets[dir] == "" {
			// An executable that is yet to come will appear in it.
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return nil, nil, fmt.Errorf("node: make the folder of %s: %w", name, err)
			}
			targets[dir] = filepath.Join(insideBinaries, strconv.Itoa(len(targets)))
			binds = append(binds, initspec.Bind{Source: dir, Target: targets[dir]})
		}
		inside[name] = filepath.Join(targets[dir], filepath.Base(path))
	}
	return inside, binds, nil
}

// steps are what happens inside, in order: no Pod starts before the images are there.
func steps(s settings) []initspec.Step {
	// containerd looks for its shim on the PATH.
	search := append(folders(s.binaries, "containerd-shim-runc-v2", "runc"), "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
	environment := []string{"PATH=" + strings.Join(search, ":"), "TMPDIR=/tmp"}
	before := []initspec.Step{
		{
			Name: "containerd", Path: s.binaries["containerd"], Env: slices.Concat(environment, pullEnvironment()), Log: "/var/log/containerd.log",
			Args:   []string{"--config", insideConfiguration + "/containerd.toml"},
			Daemon: true, Socket: containerdSocket,
		},
	}
	for _, archive := range s.archives {
		before = append(before, initspec.Step{
			Name: "image import", Path: s.binaries["ctr"], Env: environment, Log: "/var/log/images.log",
			Args: []string{"--address", containerdSocket, "--namespace", "k8s.io", "images", "import", "--local", "--snapshotter", s.snapshotter, archive},
		})
	}
	return slices.Concat(before, []initspec.Step{
		{
			Name: "kubelet", Path: s.binaries["kubelet"], Env: environment, Log: "/var/log/kubelet.log",
			Args: []string{
				"--config", insideConfiguration + "/kubelet.yaml", "--kubeconfig", insideConfiguration + "/kubeconfig",
				"--hostname-override", s.name,
				// With this, addresses that the Node object has already are left alone.
				"--cloud-provider", "external",
			},
			Daemon: true,
		},
	}, networkSteps(s, environment))
}

// imagesOf makes the archive of all images of the node.
func imagesOf(ctx context.Context, options RealOptions) ([]byte, error) {
	binary, err := os.ReadFile(options.Binaries["busybox"])
	if err != nil {
		return nil, fmt.Errorf("make the node's images: %w", err)
	}
	images := []image{pause(binary, options.PauseTags), busybox(binary, ownApplets, busyboxTags)}
	if len(options.BusyBox.Tags) > 0 {
		full, err := options.BusyBox.image(ctx)
		if err != nil {
			return nil, fmt.Errorf("make the node's images: %w", err)
		}
		images = append(images, full)
	}
	return archive(images...)
}

// image asks the program for its applets, since every build of BusyBox has others.
func (b BusyBox) image(ctx context.Context) (image, error) {
	binary, err := os.ReadFile(b.Path)
	if err != nil {
		return image{}, err
	}
	listed, err := exec.CommandContext(ctx, b.Path, "--list").Output()
	if err != nil {
		return image{}, fmt.Errorf("list the applets of %s: %w", b.Path, err)
	}
	applets := slices.DeleteFunc(strings.Fields(string(listed)), func(name string) bool { return name == "busybox" })
	return busybox(binary, applets, b.Tags), nil
}

// snapshotterFor returns how containers' file systems are made: by layers where the kernel can do that on the folder's
// file system, else by copies.
func snapshotterFor(dir string) string {
	const overlayfs, nfs, fuse = 0x794c7630, 0x6969, 0x65735546
	var statfs syscall.Statfs_t
	known, err := os.ReadFile("/proc/filesystems")
	if err != nil || !bytes.Contains(known, []byte("\toverlay\n")) || syscall.Statfs(dir, &statfs) != nil {
		return "native"
	}
	switch int64(statfs.Type) {
	case overlayfs, nfs, fuse:
		return "native"
	}
	return "overlayfs"
}

// lastWords returns the ends of the logs of the node's daemons.
func lastWords(dir string) string {
	var text strings.Builder
	for _, name := range []string{"images.log", "containerd.log", "kubelet.log", "kube-proxy.log", "coredns.log"} {
		path := filepath.Join(dir, "var-log", name)
		if tail := process.Tail(path, 12); tail != "" {
			fmt.Fprintf(&text, "\nlast lines of %s:\n%s", path, tail)
		}
	}
	return text.String()
}

// CanRunReal tells whether this machine can have a real node, and if not, what is missing.
func CanRunReal() (bool, string) {
	if os.Geteuid() != 0 {
		return false, "a real node needs root"
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if ok, reason := toolchain.CanBuildRunc(ctx); !ok {
		return false, reason
	}
	trial := exec.CommandContext(ctx, "true")
	trial.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL}
	if err := trial.Run(); err != nil {
		return false, fmt.Sprintf("a real node needs name spaces of its own, and they are refused (%v)", err)
	}
	name := cgroupName(os.Getpid(), "trial")
	err := createCgroups(name)
	if removeErr := removeCgroups(ctx, name); err == nil {
		err = removeErr
	}
	if err != nil {
		return false, fmt.Sprintf("a real node needs cgroups of its own: %v", err)
	}
	return true, ""
}
