package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhichClusterIsUsed(t *testing.T) {
	folder := t.TempDir()
	file := func(name, context string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		text := "apiVersion: v1\nkind: Config\ncurrent-context: '" + context + "'\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kind, none := file("kind", "kind-kind"), file("none", "")
	for name, test := range map[string]struct {
		cluster    cluster
		foreign    string
		own        bool
		want, says string
		refused    bool
	}{
		"no KUBECONFIG":                         {cluster: clusterAuto},
		"KUBECONFIG is this stack's":            {cluster: clusterAuto, own: true},
		"KUBECONFIG names another":              {cluster: clusterAuto, foreign: kind, want: kind, says: "KUBECONFIG is set"},
		"the current one":                       {cluster: clusterCurrent, foreign: kind, want: kind, says: "context kind-kind of " + kind},
		"the current one of several files":      {cluster: clusterCurrent, foreign: none + ":" + kind, want: none + ":" + kind, says: "context kind-kind"},
		"the current one, and there is none":    {cluster: clusterCurrent, foreign: none, refused: true},
		"the current one is this stack's":       {cluster: clusterCurrent, own: true, refused: true},
		"the current one of a file that is not": {cluster: clusterCurrent, foreign: filepath.Join(folder, "absent"), refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			var said strings.Builder
			got, err := test.cluster.kubeconfig(test.foreign, test.own, strings.NewReader(""), &said)
			if (err != nil) != test.refused || err == nil && got != test.want || !strings.Contains(said.String(), test.says) {
				t.Errorf("got %q, %v, and it says %q", got, err, &said)
			}
		})
	}
}
