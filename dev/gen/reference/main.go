// Command reference writes the tables of the reference from the code: the fields of a CronJob, conditions and their
// reasons, signals, updates and queries, metrics, flags. It replaces the parts of the pages that are marked as
// generated, and leaves the rest to people.
//
//	go run ./dev/gen/reference
//	go run ./dev/gen/reference --check
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// pages are the documents that have generated parts, relative to the root of the repository.
var pages = []string{"docs/reference.md", "docs/backfill.md", "docs/metrics.md", "docs/flags.md"}

func main() {
	check := flag.Bool("check", false, "write nothing, and fail if a page is behind the code")
	flag.Parse()
	if err := run(".", *check); err != nil {
		fmt.Fprintln(os.Stderr, "dev/gen/reference:", err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	rendered, err := render(root)
	if err != nil {
		return err
	}
	for page, text := range rendered {
		path := filepath.Join(root, page)
		current, err := os.ReadFile(path)
		switch {
		case err != nil:
			return fmt.Errorf("read the page: %w", err)
		case string(current) == text:
		case check:
			return fmt.Errorf("%s is behind the code: run make generate", page)
		default:
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return fmt.Errorf("write the page: %w", err)
			}
		}
	}
	return nil
}

// render returns the pages as they should be.
func render(root string) (map[string]string, error) {
	tables, err := allTables(root)
	if err != nil {
		return nil, err
	}
	rendered, used := map[string]string{}, map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			return nil, fmt.Errorf("read the page: %w", err)
		}
		if rendered[page], err = fill(string(text), tables, used); err != nil {
			return nil, fmt.Errorf("%s: %w", page, err)
		}
	}
	for name := range tables {
		if !used[name] {
			return nil, fmt.Errorf("no page has the part %q", name)
		}
	}
	return rendered, nil
}

// allTables returns every generated part by its name.
func allTables(root string) (map[string]string, error) {
	from := newSource(root)
	tables := map[string]string{}
	for _, add := range []func(*source, map[string]string) error{fieldTables, conditionTables, messageTables, metricTables, flagTables} {
		if err := add(from, tables); err != nil {
			return nil, err
		}
	}
	return tables, nil
}

const (
	beginMark = "<!-- go run ./dev/gen/reference writes this: "
	endMark   = "<!-- the end of what it writes -->"
	closeMark = " -->"
)

// fill replaces the marked parts of a page.
func fill(page string, tables map[string]string, used map[string]bool) (string, error) {
	var filled strings.Builder
	for {
		before, rest, found := strings.Cut(page, beginMark)
		filled.WriteString(before)
		if !found {
			return filled.String(), nil
		}
		name, rest, _ := strings.Cut(rest, closeMark)
		_, rest, ended := strings.Cut(rest, endMark)
		table, known := tables[name]
		switch {
		case !ended:
			return "", fmt.Errorf("the part %q has no end", name)
		case !known:
			return "", fmt.Errorf("the part %q is none that is generated", name)
		}
		used[name] = true
		filled.WriteString(beginMark + name + closeMark + "\n\n" + strings.TrimSpace(table) + "\n\n" + endMark)
		page = rest
	}
}

// table renders a Markdown table.
func table(header []string, rows [][]string) string {
	var text strings.Builder
	line := func(cells []string) {
		text.WriteString("|")
		for _, cell := range cells {
			text.WriteString(" " + strings.ReplaceAll(cell, "|", `\|`) + " |")
		}
		text.WriteString("\n")
	}
	line(header)
	text.WriteString("|" + strings.Repeat("---|", len(header)) + "\n")
	for _, row := range rows {
		line(row)
	}
	return text.String()
}

// code renders texts as code, with commas between them.
func code(texts ...string) string {
	var quoted []string
	for _, text := range texts {
		quoted = append(quoted, "`"+text+"`")
	}
	return strings.Join(quoted, ", ")
}
