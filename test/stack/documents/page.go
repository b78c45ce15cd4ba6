package documents

import (
	"fmt"
	"regexp"
	"strings"
)

// command is a block of commands of a page, or one in a table.
type command struct {
	page   string
	line   int
	script string
}

// languages are what a fenced block of these pages may be: sh is run, the others are no commands.
var languages = map[string]bool{"sh": true, "text": false, "yaml": false, "diff": false, "mermaid": false}

// tabled finds commands in the tables of a page.
var tabled = regexp.MustCompile("^\\| [^|`]+ \\| `((?:kubectl|temporal|ostinato) [^`]+)` \\|")

// commandsOf returns the commands of a Markdown page in their order. A fenced block without a
// known language is an error: nobody would know whether it is to be run.
func commandsOf(page, text string) ([]command, error) {
	var all []command
	var block []string
	began, language := 0, ""
	for n, line := range strings.Split(text, "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && began == 0:
			if _, known := languages[fence]; !known {
				return nil, fmt.Errorf("%s:%d: a block of %q: say sh for commands, which are run, or one of text, yaml, diff, mermaid", page, n+1, fence)
			}
			began, language, block = n+1, fence, nil
		case isFence:
			if languages[language] {
				all = append(all, command{page, began, strings.Join(block, "\n")})
			}
			began = 0
		case began > 0:
			block = append(block, line)
		default:
			if found := tabled.FindStringSubmatch(line); found != nil {
				all = append(all, command{page, n + 1, found[1]})
			}
		}
	}
	if began > 0 {
		return nil, fmt.Errorf("%s:%d: the block has no end", page, began)
	}
	return all, nil
}
