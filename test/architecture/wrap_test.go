package architecture

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// docWidth is the width of the documents' prose. Tables, code and headings are as wide as they are.
const docWidth = 140

var rewrap = flag.Bool("rewrap", false, "write the documents wrapped, in place of failing")

// The documents' prose is wrapped at one width, as go fmt would do it.
func TestDocumentsAreWrapped(t *testing.T) {
	var documents []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md", "tools/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, found...)
	}
	if len(documents) < 10 {
		t.Fatalf("only %v were found", documents)
	}
	for _, path := range documents {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := wrapped(string(text))
		if want == string(text) {
			continue
		}
		if *rewrap {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("%s:%d: not wrapped at %d; run go test ./test/architecture -rewrap", strings.TrimPrefix(path, root+"/"), firstDifference(string(text), want), docWidth)
	}
}

func firstDifference(a, b string) int {
	first, second := strings.Split(a, "\n"), strings.Split(b, "\n")
	for n := range first {
		if n >= len(second) || first[n] != second[n] {
			return n + 1
		}
	}
	return len(first)
}

func TestWrapped(t *testing.T) {
	long := strings.Repeat("word ", 40)
	for name, test := range map[string]struct{ text, want string }{
		"a short paragraph":     {"one\ntwo\n", "one two\n"},
		"a long paragraph":      {long + "\n", strings.TrimSpace(strings.Repeat("word ", 28)) + "\n" + strings.TrimSpace(strings.Repeat("word ", 12)) + "\n"},
		"paragraphs stay apart": {"one\n\ntwo\n", "one\n\ntwo\n"},
		"an item's later lines hang": {"- " + long + "\n- two\n", "- " + strings.TrimSpace(strings.Repeat("word ", 27)) + "\n  " +
			strings.TrimSpace(strings.Repeat("word ", 13)) + "\n- two\n"},
		"an item's second paragraph":        {"1. one\n\n   two\n   three\n", "1. one\n\n   two three\n"},
		"tables, headings, comments, code":  {"# a\nb\n| c |\n| d |\n```\ne\nf\n```\n<!-- g\n", "# a\nb\n| c |\n| d |\n```\ne\nf\n```\n<!-- g\n"},
		"code in a line is not broken":      {strings.Repeat("x", 138) + " `a b`\n", strings.Repeat("x", 138) + "\n`a b`\n"},
		"no line begins as an item would":   {strings.Repeat("x", 138) + " - y\n", strings.Repeat("x", 138) + " -\ny\n"},
		"no line begins as a number would":  {strings.Repeat("x", 139) + " 7. y\n", strings.Repeat("x", 139) + " 7.\ny\n"},
		"characters are counted, not bytes": {strings.Repeat("ö", 138) + " y\n", strings.Repeat("ö", 138) + " y\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := wrapped(test.text); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

var (
	// verbatim is the beginning of a line that is left as it is.
	verbatim = regexp.MustCompile(`^\s*(#|\||<|>|={3}|\[[^\]]+\]: |$)`)
	listItem = regexp.MustCompile(`^(\s*)([-*+]|\d+\.) +`)
	fence    = regexp.MustCompile("^\\s*```")
	// likeAnItem is a word that would make a list, a heading or a quotation of the line that it begins.
	likeAnItem = regexp.MustCompile(`^([-*+>|]|#+|\d+[.)])$`)
)

// wrapped wraps the prose of a Markdown text.
func wrapped(text string) string {
	var lines, words []string
	first, hang := "", ""
	flush := func() {
		lines = append(lines, fill(words, first, hang)...)
		words = nil
	}
	inCode := false
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		switch item := listItem.FindString(line); {
		case fence.MatchString(line):
			flush()
			inCode = !inCode
			lines = append(lines, line)
		case inCode || verbatim.MatchString(line):
			flush()
			lines = append(lines, line)
		case item != "":
			flush()
			first, hang = item, strings.Repeat(" ", len(item))
			words = unbroken(line[len(item):])
		case len(words) == 0:
			indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
			first, hang = indent, indent
			words = unbroken(line)
		default:
			words = append(words, unbroken(line)...)
		}
	}
	flush()
	return strings.Join(lines, "\n") + "\n"
}

// unbroken splits a line into words; code that is marked as such is one.
func unbroken(line string) []string {
	var words []string
	inCode := false
	for _, word := range strings.Fields(line) {
		if inCode {
			words[len(words)-1] += " " + word
		} else {
			words = append(words, word)
		}
		if strings.Count(word, "`")%2 == 1 {
			inCode = !inCode
		}
	}
	return words
}

// fill makes lines of words, the first with one indentation, the others with another.
func fill(words []string, first, hang string) []string {
	var lines []string
	line, empty := first, true
	for _, word := range words {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > docWidth && !likeAnItem.MatchString(word) {
			lines = append(lines, line)
			line, empty = hang, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	if !empty {
		lines = append(lines, line)
	}
	return lines
}
