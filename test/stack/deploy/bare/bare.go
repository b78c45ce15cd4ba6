// Package bare runs tests beside etcd and an API server and nothing else: what is seen is what the API server does to objects.
package bare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"ostinato.dev/ostinato/dev/devstack/controlplane"
	"ostinato.dev/ostinato/dev/devstack/toolchain"
)

// startPatience bounds the start of a control plane whose binaries may have to be built.
const startPatience = 14 * time.Minute

// Plane is such a control plane.
type Plane struct {
	*controlplane.ControlPlane
	// Dir is a folder that goes with it.
	Dir string
	// Binaries are the paths of the tools, by name.
	Binaries map[string]string
}

// Main runs a package's tests with a control plane of their own and these tools besides: set is called before the tests. It returns the exit
// code.
func Main(m *testing.M, set func(context.Context, Plane) error, tools ...string) int {
	code, err := run(m, set, tools)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func run(m *testing.M, set func(context.Context, Plane) error, tools []string) (code int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	var plane Plane
	if plane.Dir, err = os.MkdirTemp("", "ostinato-bare-"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(plane.Dir)) }()
	if plane.Binaries, err = toolchain.Ensure(ctx, os.Stderr, append(tools, "etcd", "kube-apiserver")...); err != nil {
		return 1, err
	}
	if plane.ControlPlane, err = controlplane.Start(ctx, controlplane.Options{Dir: plane.Dir, Binaries: plane.Binaries}); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if err := set(ctx, plane); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
