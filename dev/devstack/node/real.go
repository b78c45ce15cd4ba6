package node

import (
	"io"

	"k8s.io/client-go/rest"
)

// RealName is the default name of a real node.
const RealName = "ostinato-node"

// ControlPlane is what a real node needs of the control plane; package controlplane has it.
type ControlPlane interface {
	// RESTConfig is an administrator's access.
	RESTConfig() *rest.Config
	// KubeletCredentials returns the paths of a kubeconfig for the node's kubelet and of the authority that signs the
	// API server's requests to it.
	KubeletCredentials(node string) (kubeconfig, clientCA string, err error)
	// KubeconfigFor returns the path of a kubeconfig for a user in groups.
	KubeconfigFor(user string, groups ...string) (string, error)
}

// RealOptions says where and for which control plane a real node runs.
type RealOptions struct {
	// Dir holds all of the node: images, containers, logs. It is created. One node at a time can run in it, and the
	// next one there finds the containers of the last, as after a machine's restart.
	Dir string
	// Binaries maps the names of toolchain.RealNode to their executables. Those of toolchain.Network, where they are named too,
	// may come later: Services and names work from then on.
	Binaries     map[string]string
	ControlPlane ControlPlane
	// Name is the Node's; empty means RealName.
	Name string
	// PauseTags are further names, with registry and tag, for the image whose program waits until it is stopped.
	PauseTags []string
	// BusyBox, where its tags are set, is one more image on the node: BusyBox itself.
	BusyBox BusyBox
	// Archives are files with further images, as ctr imports them (docker-archive or OCI).
	Archives []string
	// Log receives a line for each step; nil discards them.
	Log io.Writer
}

// BusyBox is an image of BusyBox itself, for containers that need applets, or traps of signals, which the node's own
// busybox lacks.
type BusyBox struct {
	// Path is the static executable (toolchain.BusyBox).
	Path string
	// Tags are the image's names, with registry and tag.
	Tags []string
}
