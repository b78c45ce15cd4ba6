package upstream

import (
	"bufio"
	"os"
	"regexp"
	"strings"
	"testing"
)

// verdict is a line by which go test says what has become of a function or of a case of it.
var verdict = regexp.MustCompile(`^(\s*)--- (PASS|FAIL|SKIP): (\S+) \(([0-9.]+)s\)$`)

// said is a line that a test logs.
var said = regexp.MustCompile(`^\s+(suite|controller|server|metrics)_test\.go:\d+: `)

// report prints what has become of each function, with what it has said where it failed.
func report(t *testing.T, log string) {
	t.Helper()
	file, err := os.Open(log)
	if err != nil {
		t.Error(err)
		return
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	functions, words := 0, []string{}
	for lines.Scan() {
		found := verdict.FindStringSubmatch(lines.Text())
		switch {
		case found == nil && strings.HasPrefix(lines.Text(), "panic: "):
			t.Error(lines.Text())
		case found == nil && strings.HasPrefix(lines.Text(), "=== RUN"):
			words = nil
		case found == nil && said.MatchString(lines.Text()):
			words = append(words, lines.Text())
		case found == nil:
		case found[2] == "FAIL":
			t.Errorf("%s%s failed (%s s)\n%s", found[1], found[3], found[4], strings.Join(words, "\n"))
			words = nil
		default:
			t.Logf("%s%s %s (%s s)", found[1], found[3], strings.ToLower(found[2]), found[4])
		}
		if found != nil && found[1] == "" {
			functions++
		}
	}
	if err := lines.Err(); err != nil {
		t.Error(err)
	}
	if functions == 0 {
		t.Errorf("nothing was run; see %s", log)
	}
}
