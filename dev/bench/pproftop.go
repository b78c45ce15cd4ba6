package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// share is the processor time of a function itself (flat), or of a package's functions together.
type share struct {
	name string
	time time.Duration
}

// parseTop reads what `go tool pprof -top -unit=ms` prints: a header that ends with the line of column names, then
// "flat flat% sum% cum cum% name" for each function.
func parseTop(text io.Reader) ([]share, error) {
	var functions []share
	inTable := false
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if !inTable {
			inTable = len(fields) == 5 && fields[0] == "flat" && fields[4] == "cum%"
			continue
		}
		if len(fields) < 6 {
			return nil, fmt.Errorf("unexpected line %q", lines.Text())
		}
		milliseconds, err := strconv.ParseFloat(strings.TrimSuffix(fields[0], "ms"), 64)
		if err != nil {
			return nil, fmt.Errorf("unexpected line %q: %w", lines.Text(), err)
		}
		name := strings.TrimSuffix(strings.Join(fields[5:], " "), " (inline)")
		functions = append(functions, share{name: name, time: time.Duration(milliseconds * float64(time.Millisecond))})
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if !inTable {
		return nil, fmt.Errorf("no table of functions found")
	}
	return largestFirst(functions), nil
}

// byPackage adds up the functions of each package.
func byPackage(functions []share) []share {
	times := map[string]time.Duration{}
	for _, function := range functions {
		times[packageOf(function.name)] += function.time
	}
	packages := make([]share, 0, len(times))
	for name, total := range times {
		packages = append(packages, share{name: name, time: total})
	}
	return largestFirst(packages)
}

func total(shares []share) time.Duration {
	var sum time.Duration
	for _, s := range shares {
		sum += s.time
	}
	return sum
}

// packageOf returns the import path in a function's name as profiles have it, such as "net/http" in
// "net/http.(*conn).serve"; C functions and the like are their own.
func packageOf(function string) string {
	path, _, _ := strings.Cut(function, "[") // type arguments have dots and slashes of their own
	slash := strings.LastIndex(path, "/") + 1
	name, _, found := strings.Cut(path[slash:], ".")
	if !found {
		return function
	}
	return path[:slash] + name
}

func largestFirst(shares []share) []share {
	slices.SortFunc(shares, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.time, a.time), strings.Compare(a.name, b.name))
	})
	return shares
}
