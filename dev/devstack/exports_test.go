package devstack

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ostinato.dev/ostinato/dev/devstack/process"
)

func TestWhoseAnExportIs(t *testing.T) {
	const own, address = "/state/kubernetes/kubeconfig", "127.0.0.1:7233"
	for name, test := range map[string]struct {
		exports    Exports
		evidence   evidence
		kubeconfig bool
		temporal   bool
	}{
		"none is set":                         {Exports{}, evidence{"", own, address, false, false}, false, false},
		"both are its own":                    {Exports{own, address}, evidence{own, own, address, false, false}, true, true},
		"both are the user's":                 {Exports{"/home/config", "temporal:7233"}, evidence{"/home/config", own, address, false, false}, false, false},
		"its own cluster, another Temporal":   {Exports{own, "temporal:7233"}, evidence{own, own, address, false, false}, true, false},
		"another cluster, its own Temporal":   {Exports{"/home/config", address}, evidence{"/home/config", own, address, false, false}, false, true},
		"its own current context, of several": {Exports{own + ":/home/config", ""}, evidence{own, own, address, false, false}, true, false},
		"no file sets a current context":      {Exports{"/nothing", ""}, evidence{"", own, address, false, false}, false, false},
		"it has never run":                    {Exports{own, address}, evidence{own, own, "", false, false}, true, false},
		"another server is at its address":    {Exports{own, address}, evidence{own, own, address, true, false}, true, false},
		"it runs":                             {Exports{own, address}, evidence{own, own, address, true, true}, true, true},
		"the same port of another address":    {Exports{own, "10.0.0.1:7233"}, evidence{own, own, address, false, false}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			foreign, names := test.evidence.foreign(test.exports)
			want, wantNames := test.exports, []string(nil)
			if test.kubeconfig {
				want.Kubeconfig, wantNames = "", append(wantNames, "KUBECONFIG")
			}
			if test.temporal {
				want.TemporalAddress, wantNames = "", append(wantNames, "TEMPORAL_ADDRESS")
			}
			if foreign != want || !slices.Equal(names, wantNames) {
				t.Errorf("got %+v without %q, want %+v without %q", foreign, names, want, wantNames)
			}
		})
	}
}

// folder is that of a stack which has run, beside a kubeconfig of the user.
func folder(t *testing.T) (dir, own, users string) {
	t.Helper()
	root := t.TempDir()
	dir = filepath.Join(root, "state")
	own, users = filepath.Join(dir, "kubernetes", "kubeconfig"), filepath.Join(root, "config")
	if err := os.MkdirAll(filepath.Dir(own), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, context := range map[string]string{own: "ostinato", users: "production", filepath.Join(root, "clusters"): `""`} {
		if err := os.WriteFile(path, []byte("apiVersion: v1\nkind: Config\ncurrent-context: "+context+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
	return dir, own, users
}

func TestItsOwnKubeconfigIsKnownByItsFile(t *testing.T) {
	dir, own, users := folder(t)
	for name, target := range map[string]string{"folder": dir, "file": own} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	list := func(paths ...string) string { return strings.Join(paths, string(filepath.ListSeparator)) }
	for name, test := range map[string]struct {
		kubeconfig string
		own        bool
	}{
		"not set":                                 {"", false},
		"the file":                                {own, true},
		"a path that is not clean":                {filepath.Dir(own) + "/../kubernetes//kubeconfig", true},
		"a relative path":                         {"state/kubernetes/kubeconfig", true},
		"by a symbolic link to the folder":        {"folder/kubernetes/kubeconfig", true},
		"a symbolic link to it":                   {"file", true},
		"first in a list":                         {list(own, users), true},
		"in a list with an empty entry":           {list("", own), true},
		"after a file that is not there":          {list("absent", own), true},
		"after a file without a current context":  {list("clusters", own), true},
		"after a file that sets another context":  {list(users, own), false},
		"another file":                            {users, false},
		"another file of the folder":              {filepath.Join(filepath.Dir(own), "kubeconfigs", "kube-scheduler.kubeconfig"), false},
		"a file of another stack":                 {"elsewhere/kubernetes/kubeconfig", false},
		"a file that is not there":                {"absent", false},
		"a file that is no kubeconfig":            {"state", false},
		"a name with a separator at its very end": {own + string(filepath.ListSeparator), true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, given := range []string{dir, "state", "folder"} {
				foreign, names, err := ForeignExports(given, Exports{Kubeconfig: test.kubeconfig})
				if err != nil {
					t.Fatal(err)
				}
				if got := len(names) == 1; got != test.own || (foreign.Kubeconfig == test.kubeconfig) != (!test.own || test.kubeconfig == "") {
					t.Errorf("in %s its own: %t, want %t; what is left is %q", given, got, test.own, foreign.Kubeconfig)
				}
			}
		})
	}
}

// State that somebody has removed is made again.
func TestItsOwnKubeconfigNeedNotBeThere(t *testing.T) {
	dir, own, users := folder(t)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	_, names, err := ForeignExports(dir, Exports{own + string(filepath.ListSeparator) + users, "127.0.0.1:7233"})
	if err != nil || !slices.Equal(names, []string{"KUBECONFIG"}) {
		t.Errorf("got %q, %v", names, err)
	}
}

func TestItsOwnTemporalIsKnownByTheKeptAddress(t *testing.T) {
	dir, own, _ := folder(t)
	ports, err := keptPorts(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	exports := Exports{own, fmt.Sprintf("127.0.0.1:%d", ports.Frontend)}
	check := func(when string, want ...string) {
		t.Helper()
		if _, names, err := ForeignExports(dir, exports); err != nil || !slices.Equal(names, want) {
			t.Errorf("%s: got %q, %v; want %q", when, names, err, want)
		}
	}
	check("nothing runs", "KUBECONFIG", "TEMPORAL_ADDRESS")
	listener, err := net.Listen("tcp4", exports.TemporalAddress)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	check("another server has the port", "KUBECONFIG")
	unlock, ok, err := process.TryLock(lockFile(dir))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer unlock()
	check("the stack runs", "KUBECONFIG", "TEMPORAL_ADDRESS")
}

func TestAnotherStackInTheFolderChangesNothing(t *testing.T) {
	dir := t.TempDir()
	before, err := keptPorts(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp4", frontendAddress(before))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	unlock, _, err := process.TryLock(lockFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := Start(t.Context(), Options{Dir: dir, Node: NodeKwok, Log: io.Discard}); err == nil || !strings.Contains(err.Error(), "another stack runs in "+dir) {
		t.Errorf("got %v", err)
	}
	if after, err := readPorts(dir); err != nil || after != before {
		t.Errorf("the kept ports are %+v, %v; want %+v", after, err, before)
	}
}

func TestAListOfKubeconfigsIsRead(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	for path, text := range map[string]string{
		first:  "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n",
		second: "clusters: [{name: k, cluster: {server: \"https://cluster.example\"}}]\n",
	} {
		if err := os.WriteFile(path, []byte("apiVersion: v1\nkind: Config\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := Stack{options: Options{Kubeconfig: first + string(filepath.ListSeparator) + second}}
	if config, err := s.RESTConfig(); err != nil || config.Host != "https://cluster.example" {
		t.Errorf("got %+v, %v", config, err)
	}
}

func TestWhatIsMisleadingIsNotPassedOn(t *testing.T) {
	t.Setenv("TEMPORAL_TLS", "true")
	t.Setenv("OSTINATO_LOG_LEVEL", "debug")
	for name, test := range map[string]struct {
		options Options
		tls     bool
	}{
		"its own Temporal":    {Options{}, false},
		"the user's Temporal": {Options{TemporalAddress: "temporal:7233"}, true},
	} {
		s := Stack{options: test.options}
		environment := process.Environment(s.misleading()...)
		if got := slices.Contains(environment, "TEMPORAL_TLS=true"); got != test.tls {
			t.Errorf("%s: TEMPORAL_TLS is passed on: %t, want %t", name, got, test.tls)
		}
		if !slices.Contains(environment, "OSTINATO_LOG_LEVEL=debug") {
			t.Errorf("%s: %q lacks a variable that is not Temporal's", name, environment)
		}
	}
}
