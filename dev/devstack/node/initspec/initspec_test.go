package initspec_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"ostinato.dev/ostinato/dev/devstack/node/initspec"
)

func TestASpecIsReadAsItWasWritten(t *testing.T) {
	want := initspec.Spec{
		Private: []initspec.Bind{{Source: "/stack/run", Target: "/run"}},
		Binds:   []initspec.Bind{{Source: "/stack/kubeconfig", Target: "/run/kubeconfig"}},
		Files:   map[string]string{"/proc/sys/kernel/panic": "10\n"},
		Network: "10.97.0.1/15",
		Steps: []initspec.Step{
			{Name: "containerd", Path: "/bin/containerd", Args: []string{"--config", "x"}, Env: []string{"A=b"}, Log: "/l", Daemon: true, Socket: "/s", Awaits: []string{"/bin/b"}},
		},
	}
	file := filepath.Join(t.TempDir(), "spec.json")
	if err := want.Write(file); err != nil {
		t.Fatal(err)
	}
	got, err := initspec.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestASpecThatCannotBeReadIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "spec.json")
	if err := os.WriteFile(file, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, file + ".missing"} {
		if spec, err := initspec.Read(path); err == nil {
			t.Errorf("%s: got %+v", path, spec)
		}
	}
}
