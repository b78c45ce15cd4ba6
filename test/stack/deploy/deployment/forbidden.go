package deployment

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// NothingForbidden fails the test for every line of a log that reports a
// refused right.
func NothingForbidden(t *testing.T, logFile string) {
	t.Helper()
	file, err := os.Open(logFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if line := strings.ToLower(lines.Text()); strings.Contains(line, "forbidden") || strings.Contains(line, "unauthorized") {
			t.Errorf("%s: %s", logFile, lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}
