//go:build linux

// Package installed installs the product in a cluster as a user does: the images that make images builds, the Helm chart from a registry
// with its default values, a namespace with the Pod security level restricted, and real Pods.
package installed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"

	"ostinato.dev/ostinato/dev/devstack/controlplane"
	"ostinato.dev/ostinato/dev/devstack/node"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
	"ostinato.dev/ostinato/dev/harness/registry"
)

// startPatience bounds the start of a cluster whose programs and images may have to be built.
const startPatience = 25 * time.Minute

const (
	release   = "ostinato"
	namespace = "ostinato-system"
	// version is the images' tag, chartVersion the chart's.
	version = "test"
	// changedVersion is that of images of another build, which a node that starts again may have.
	changedVersion = "changed"
	chartVersion   = "0.0.0-test"
)

// cluster is what the test installs into.
var cluster struct {
	client dynamic.Interface
	// plane is the control plane, node where the Pods run, and dir holds both.
	plane *controlplane.ControlPlane
	node  *node.Real
	dir   string
	// root is that of the repository, volume the folder of the one volume, chart where the registry has the chart.
	root, volume, chart string
	// command is ostinato.
	command     string
	binaries    map[string]string
	environment []string
}

func TestMain(m *testing.M) {
	if possible, missing := possible(); !possible {
		fmt.Println("skipped:", missing)
		if os.Getenv("CI") == "true" {
			os.Exit(1)
		}
		os.Exit(0)
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func possible() (bool, string) {
	if possible, missing := node.CanRunReal(); !possible {
		return false, missing
	}
	return toolchain.CanHaveNft()
}

func run(m *testing.M) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	dir, err := os.MkdirTemp("", "ostinato-installed-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if cluster.root, err = toolchain.RepositoryRoot(); err != nil {
		return 1, err
	}
	names := slices.Concat(toolchain.ControlPlane, toolchain.RealNode, toolchain.Network, toolchain.Clients, toolchain.Installing, toolchain.Images)
	if cluster.binaries, err = toolchain.Ensure(ctx, os.Stderr, names...); err != nil {
		return 1, err
	}
	images := filepath.Join(dir, "images")
	if err := buildImages(ctx, images, version); err != nil {
		return 1, err
	}
	cluster.plane, err = controlplane.Start(ctx, controlplane.Options{
		Dir: filepath.Join(dir, "kubernetes"), Binaries: cluster.binaries, Scheduler: true, Log: os.Stderr,
		ControllerManager: controlplane.ControllerManagerOptions{Enabled: true},
	})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, cluster.plane.Stop()) }()
	cluster.dir, cluster.volume = dir, filepath.Join(dir, "node", "var-lib", "volumes", "0")
	if err := os.MkdirAll(cluster.volume, 0o755); err != nil {
		return 1, err
	}
	if err := startNode(ctx, filepath.Join(images, "images.tar")); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, cluster.node.Stop()) }()
	if cluster.client, err = dynamic.NewForConfig(cluster.plane.RESTConfig()); err != nil {
		return 1, err
	}
	cluster.environment = append(os.Environ(), "KUBECONFIG="+cluster.plane.KubeconfigPath(), "HELM_CONFIG_HOME="+dir, "HELM_CACHE_HOME="+dir, "HELM_DATA_HOME="+dir)
	charts := httptest.NewServer(&registry.Registry{})
	defer charts.Close()
	if err := push(ctx, dir, "oci://"+strings.TrimPrefix(charts.URL, "http://")); err != nil {
		return 1, err
	}
	cluster.command = filepath.Join(dir, "ostinato")
	building := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", cluster.command, "./cmd/ostinato")
	building.Dir, building.Env = cluster.root, append(os.Environ(), "CGO_ENABLED=0")
	if printed, err := building.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("build the command: %w: %s", err, printed)
	}
	return m.Run(), nil
}

// buildImages builds the product's images of a version into a folder.
func buildImages(ctx context.Context, folder, version string) error {
	return command(ctx, "image", "--source="+cluster.root, "--out="+folder, "--platforms=linux/"+runtime.GOARCH, "--version="+version)
}

// startNode starts the node, with the images of an archive besides those it has.
func startNode(ctx context.Context, archive string) (err error) {
	cluster.node, err = node.StartReal(ctx, node.RealOptions{
		Dir: filepath.Join(cluster.dir, "node"), Binaries: cluster.binaries, ControlPlane: cluster.plane, Archives: []string{archive}, Log: os.Stderr,
	})
	return err
}

// push packs the chart and sends it to a registry.
func push(ctx context.Context, dir, registry string) error {
	began := time.Now()
	source := filepath.Join(cluster.root, "deploy", "chart")
	if err := command(ctx, "helm", "package", source, "--version="+chartVersion, "--app-version="+version, "--destination="+dir); err != nil {
		return err
	}
	if err := command(ctx, "helm", "push", filepath.Join(dir, "ostinato-"+chartVersion+".tgz"), registry, "--plain-http"); err != nil {
		return err
	}
	cluster.chart = registry + "/ostinato"
	fmt.Fprintf(os.Stderr, "chart packed and pushed in %s\n", time.Since(began).Round(time.Millisecond))
	return nil
}

// command runs one of the binaries. The error has what it printed.
func command(ctx context.Context, name string, arguments ...string) error {
	program := exec.CommandContext(ctx, cluster.binaries[name], arguments...)
	program.Env = cluster.environment
	var printed bytes.Buffer
	program.Stdout, program.Stderr = &printed, &printed
	if err := program.Run(); err != nil {
		return fmt.Errorf("%s %v: %w: %s", name, arguments, err, printed.String())
	}
	return nil
}
