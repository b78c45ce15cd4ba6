package devstack

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestWhichNodeRuns(t *testing.T) {
	for name, test := range map[string]struct {
		kind     NodeKind
		possible bool
		chosen   NodeKind
		says     []string
		fails    bool
	}{
		"a real one where it can be had":      {NodeAuto, true, NodeReal, nil, false},
		"a simulated one elsewhere":           {NodeAuto, false, NodeKwok, []string{"simulated", "docs/simulated-pods.md", "what is missing"}, false},
		"a real one that was asked for":       {NodeReal, true, NodeReal, nil, false},
		"a real one that can't be had":        {NodeReal, false, "", nil, true},
		"a simulated one that was asked for":  {NodeKwok, true, NodeKwok, []string{"simulated", "docs/simulated-pods.md"}, false},
		"none where the cluster is another's": {NodeNone, true, NodeNone, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			chosen, statement, err := chooseNode(test.kind, test.possible, "what is missing")
			if chosen != test.chosen || (err != nil) != test.fails || (statement == "") != (test.says == nil) || strings.Contains(statement, "\n") {
				t.Errorf("got %s, %q, %v", chosen, statement, err)
			}
			for _, words := range test.says {
				if !strings.Contains(statement, words) {
					t.Errorf("%q lacks %q", statement, words)
				}
			}
			for _, page := range regexp.MustCompile(`docs/\S+\.md`).FindAllString(statement, -1) {
				if _, err := os.Stat(filepath.Join("..", "..", page)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
