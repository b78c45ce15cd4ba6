package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	root        = "../.."
	parityPage  = "docs/parity.md"
	partPattern = `\d+\.\d+(?: steps? \d+(?: to \d+)?| [a-z]\b)?`
)

var (
	// parityReference is what refers to sections of the page, over the end of a comment's line too.
	parityReference = regexp.MustCompile(`parity` + gapPattern + `(` + partPattern + `(?:(?:,|` + gapPattern + `and)` + gapPattern + partPattern + `)*)`)
	parityPart      = regexp.MustCompile(`(\d+\.\d+)(?: steps? (\d+)(?: to (\d+))?| ([a-z])\b)?`)
	startsReference = regexp.MustCompile(`parity` + gapPattern + `\d`)

	parityHeading = regexp.MustCompile(`^#{2,3} (\d+(?:\.\d+)?) `)
	parityStep    = regexp.MustCompile(`^(?:(\d+)\.|\*\*([a-z])\.\*\*) `)
)

// gapPattern is the space between two words of a text or of a comment.
const gapPattern = `(?:\s|//|#)+`

// Every "parity 2.7 step 7" of the code and of the documents leads to that section, and step, of docs/parity.md.
func TestReferencesToParityResolve(t *testing.T) {
	targets := parityTargets(t)
	found := 0
	for path, text := range texts(t) {
		starts := startsReference.FindAllStringIndex(text, -1)
		references := parityReference.FindAllStringSubmatchIndex(text, -1)
		if len(starts) != len(references) {
			t.Errorf("%s: %d references to parity, only %d can be read", path, len(starts), len(references))
		}
		for _, reference := range references {
			line := 1 + strings.Count(text[:reference[0]], "\n")
			for _, part := range parityPart.FindAllStringSubmatch(text[reference[2]:reference[3]], -1) {
				found++
				named := []string{join(part[1], part[2]), join(part[1], part[3]), join(part[1], part[4])}
				slices.Sort(named)
				for _, target := range slices.Compact(named) {
					if !targets[target] {
						t.Errorf("%s:%d: parity %s: %s has no %s", path, line, part[0], parityPage, target)
					}
				}
			}
		}
	}
	if found < 80 {
		t.Errorf("%d references were found, which can't be all", found)
	}
}

// join names a step of a section; the section where there is none.
func join(section, step string) string {
	if step == "" {
		return section
	}
	return section + " " + step
}

// parityTargets returns what can be referred to: "2.7", "2.7 7", "2.10 e".
func parityTargets(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, parityPage))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	section := ""
	for line := range strings.Lines(string(page)) {
		if heading := parityHeading.FindStringSubmatch(line); heading != nil {
			section = heading[1]
			if targets[section] {
				t.Errorf("%s has two sections %s", parityPage, section)
			}
			targets[section] = true
		} else if step := parityStep.FindStringSubmatch(line); step != nil {
			targets[join(section, step[1]+step[2])] = true
		}
	}
	return targets
}

// texts returns the Go files, documents and Makefiles of the project by their paths in it.
func texts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if name := entry.Name(); name == ".git" || name == "testdata" {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".md") && entry.Name() != "Makefile":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		texts[filepath.ToSlash(inside)] = string(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
