package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is a title, a header and rows of the same length.
type table struct {
	title  string
	header []string
	rows   [][]string
	// notes go below.
	notes []string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// widths returns each column's width in characters.
func (t *table) widths() []int {
	widths := make([]int, len(t.header))
	for _, row := range append([][]string{t.header}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// writeText writes the table for a terminal: the first column to the left, figures to the right.
func (t *table) writeText(out io.Writer) {
	fmt.Fprintf(out, "\n%s\n", t.title)
	widths := t.widths()
	for _, row := range append([][]string{t.header}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line.WriteString("  " + cell + space)
			} else {
				line.WriteString("   " + space + cell)
			}
		}
		fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
	}
	for _, note := range t.notes {
		fmt.Fprintf(out, "  (%s)\n", note)
	}
}

// writeMarkdown writes the table as Markdown.
func (t *table) writeMarkdown(out io.Writer) {
	fmt.Fprintf(out, "\n### %s\n\n", t.title)
	escape := func(cells []string) string {
		return "| " + strings.Join(strings.Split(strings.ReplaceAll(strings.Join(cells, "\x00"), "|", "\\|"), "\x00"), " | ") + " |"
	}
	fmt.Fprintln(out, escape(t.header))
	fmt.Fprintln(out, "|---|"+strings.Repeat("---:|", len(t.header)-1))
	for _, row := range t.rows {
		fmt.Fprintln(out, escape(row))
	}
	for _, note := range t.notes {
		fmt.Fprintf(out, "\n%s.\n", note)
	}
}
