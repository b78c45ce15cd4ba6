package architecture

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	// markdownLink finds the targets of links and pictures.
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// namedFile finds files and folders of this project between backquotes: those that begin
	// with one of its top-level names.
	namedFile = regexp.MustCompile("`((?:activities|api|cmd|deploy|dev|docs|internal|test|tools|workflows)/[A-Za-z0-9_./-]+)`")
	// heading finds the headings that an anchor may name.
	heading = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	// fenced finds blocks of code, whose lines are no headings.
	fenced = regexp.MustCompile("(?ms)^```.*?^```$")
)

// documents are the Markdown files that git knows, relative to the root.
func documents(t *testing.T) []string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "*.md").Output()
	if err != nil {
		t.Fatalf("list the documents: %v", err)
	}
	found := slices.DeleteFunc(strings.Fields(string(output)), func(name string) bool {
		_, err := os.Stat(filepath.Join(root, name))
		return errors.Is(err, fs.ErrNotExist)
	})
	if len(found) < 30 {
		t.Fatalf("only %v were found", found)
	}
	return found
}

// Every link of a document leads to a file that exists, and to a heading of it; every file
// that it names exists.
func TestWhatDocumentsNameExists(t *testing.T) {
	for _, document := range documents(t) {
		text := read(t, document)
		for _, link := range markdownLink.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(link[1], "://") || strings.HasPrefix(link[1], "mailto:") {
				continue
			}
			target, anchor, _ := strings.Cut(link[1], "#")
			file := document
			if target != "" {
				file = path.Join(path.Dir(document), target)
			}
			if !exists(file) {
				t.Errorf("%s links to %s, which does not exist", document, link[1])
				continue
			}
			if anchor != "" && strings.HasSuffix(file, ".md") && !slices.Contains(anchors(read(t, file)), anchor) {
				t.Errorf("%s links to %s, a heading that does not exist", document, link[1])
			}
		}
		for _, name := range namedFile.FindAllStringSubmatch(text, -1) {
			if !exists(name[1]) && !exists(name[1]+".go") && !isAPattern(name[1]) {
				t.Errorf("%s names %s, which does not exist", document, name[1])
			}
		}
	}
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, name))
	return err == nil
}

// isAPattern reports whether a name is one of Go's package patterns.
func isAPattern(name string) bool { return strings.Contains(name, "...") }

// anchors are the names that the headings of a page get.
func anchors(page string) []string {
	var all []string
	for _, found := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		anchor := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, found[1])
		all = append(all, anchor)
	}
	return all
}

// Phrases that make an English sentence read as a translated one.
var stilted = []string{" of which ", " tells of ", "what came of"}

// The pages that a newcomer or an operator reads are plain.
func TestPagesForUsersArePlain(t *testing.T) {
	for _, page := range []string{
		"README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/README.md", "docs/architecture.md", "docs/compat.md", "docs/failures.md",
		"docs/flags.md", "docs/glossary.md", "docs/metrics.md", "docs/threat-model.md", "docs/install.md", "docs/move.md", "docs/cookbook.md", "docs/page.md", "docs/takeover.md", "docs/monitoring.md",
		"docs/backfill.md", "docs/scale.md", "docs/performance.md", "docs/reference.md", "docs/simulated-pods.md",
	} {
		text := strings.Join(strings.Fields(strings.ToLower(read(t, page))), " ")
		for _, phrase := range stilted {
			if strings.Contains(text, phrase) {
				t.Errorf("%s says %q", page, strings.TrimSpace(phrase))
			}
		}
	}
	if lines := strings.Count(read(t, "README.md"), "\n"); lines > 130 {
		t.Errorf("README.md has %d lines, want 130 or fewer", lines)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
