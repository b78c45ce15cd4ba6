package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
)

// follower tells the specs that ended as the suite's log grows.
type follower struct {
	path string
	log  io.Writer
	// elapsed is how long the suite has been running.
	elapsed func() time.Duration

	offset int64
	parser progressParser
}

// poll reads what is new in the log.
func (f *follower) poll() error {
	file, err := os.Open(f.path)
	if err != nil {
		return fmt.Errorf("follow the suite: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(f.offset, io.SeekStart); err != nil {
		return fmt.Errorf("follow the suite: %w", err)
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("follow the suite: %w", err)
	}
	// A line that is not finished yet is read again.
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	f.offset += int64(len(data))
	for line := range strings.Lines(string(data)) {
		if told := f.parser.line(strings.TrimRight(line, "\n")); told != "" {
			fmt.Fprintf(f.log, "suite: %s %s\n", f.elapsed().Round(time.Second), told)
		}
	}
	return nil
}

// progressParser finds, in Ginkgo's verbose output, the headings of specs that ended.
type progressParser struct {
	total string
	ended int
	state string
}

var (
	totalLine = regexp.MustCompile(`^Will run (\d+) of \d+ specs$`)
	// labelsAfter are the labels that follow a name; all of the suite's specs have that of a special interest group.
	labelsAfter = regexp.MustCompile(` \[sig-[^\]]*\]$`)
	headingLine = regexp.MustCompile(`^[•S] (?:\[([A-Z! ]+)\] )?\[([0-9.]+) seconds\]$`)
)

// line takes the next line and returns what there is to tell, if anything.
func (p *progressParser) line(line string) string {
	if match := totalLine.FindStringSubmatch(line); match != nil {
		p.total = match[1]
		return ""
	}
	if match := headingLine.FindStringSubmatch(line); match != nil {
		p.state = strings.ToLower(match[1])
		if p.state == "" {
			p.state = "passed"
		}
		p.state += " after " + match[2] + " s"
		return ""
	}
	if p.state == "" || line == "" {
		return ""
	}
	p.ended++
	name := strings.Replace(labelsAfter.ReplaceAllString(line, ""), " [It] ", " ", 1)
	told := fmt.Sprintf("[%d/%s] %s: %s", p.ended, p.total, name, p.state)
	p.state = ""
	return told
}
