package documents

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// maxKeystrokes is how long the answer to one of the questions may be, own names not counted.
const maxKeystrokes = 40

// own are the words of the examples that a person would replace: names, times, arguments and reasons.
var own = regexp.MustCompile(`"[^"]*"|\b(report|hello|02:00|12h)\b|(-- )--day yesterday|job/fails`)

// Each of seven questions of the cookbook is answered by one command, the first of its section, of few keystrokes; the last by two.
func TestTheSevenQuestionsAreShortCommands(t *testing.T) {
	page, err := os.ReadFile("../../../docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	for question, commands := range map[string]int{
		"What runs in the next 24 hours?":           1,
		"What failed last night?":                   1,
		"Why did it not run at 02:00?":              1,
		"How do I run it with other arguments?":     1,
		"Who suspended it?":                         1,
		"Where are the logs of a Pod that is gone?": 1,
		"Stop everything for maintenance":           2,
	} {
		_, section, found := strings.Cut(string(page), "\n## "+question+"\n")
		if !found {
			t.Errorf("the cookbook has no section %q", question)
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		blocks, err := commandsOf("cookbook", section)
		if err != nil || len(blocks) < commands {
			t.Errorf("%s: %d blocks of commands (%v), want %d", question, len(blocks), err, commands)
			continue
		}
		for _, block := range blocks[:commands] {
			line, _, _ := strings.Cut(block.script, "\n")
			typed := own.ReplaceAllString(line, "$2")
			if !strings.HasPrefix(typed, "ostinato ") || len(typed) >= maxKeystrokes {
				t.Errorf("%s: %q takes %d keystrokes without own names (%q), want fewer than %d, of the ostinato command", question, line, len(typed), typed, maxKeystrokes)
			}
		}
	}
}
