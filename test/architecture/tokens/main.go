// Command tokens prints how many tokens of code the engine has, by folder and in sum: what decides and acts in a cluster, without
// the command line, the development stack, generators and what tests share. Run it in the root of a checkout, or name one.
package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

var (
	engine = []string{"api", "activities", "workflows", "internal", "cmd/worker", "cmd/bridge", "cmd/codecserver"}
	apart  = []string{"internal/testing", "internal/temporalserver"}
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	counts, err := count(os.DirFS(root))
	if err != nil {
		fmt.Fprintln(os.Stderr, "tokens:", err)
		os.Exit(1)
	}
	sum := 0
	for _, folder := range slices.Sorted(maps.Keys(counts)) {
		fmt.Printf("%-22s %7d\n", folder, counts[folder])
		sum += counts[folder]
	}
	fmt.Printf("%-22s %7d\n", "sum", sum)
}

// count returns how many tokens the folders of a checkout have: those of cmd and internal each for itself, others in one.
func count(checkout fs.FS) (map[string]int, error) {
	counts := map[string]int{}
	for _, folder := range engine {
		err := fs.WalkDir(checkout, folder, func(file string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := entry.Name()
			switch {
			case entry.IsDir() && (name == "testdata" || slices.Contains(apart, file)):
				return fs.SkipDir
			case entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "zz_"):
				return nil
			}
			source, err := fs.ReadFile(checkout, file)
			if err != nil {
				return err
			}
			parts := strings.Split(path.Dir(file), "/")
			if parts[0] != "internal" && parts[0] != "cmd" {
				parts = parts[:1]
			}
			counts[path.Join(parts[:min(2, len(parts))]...)] += tokens(source)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("count the tokens in %s: %w", folder, err)
		}
	}
	return counts, nil
}

// tokens counts the tokens that a file's author wrote, without comments.
func tokens(source []byte) (count int) {
	var reader scanner.Scanner
	files := token.NewFileSet()
	reader.Init(files.AddFile("", files.Base(), len(source)), source, nil, 0)
	for {
		_, kind, text := reader.Scan()
		if kind == token.EOF {
			return count
		}
		if text != "\n" { // The scanner adds a semicolon at the end of a line.
			count++
		}
	}
}
