package documents

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCommandsOfAPage(t *testing.T) {
	for name, test := range map[string]struct {
		page, says string
		want       []command
	}{
		"blocks and tables in their order": {
			page: "Text.\n```sh\nkubectl a\nkubectl b\n```\n| see | `kubectl c -o x` | [more](m.md) |\n```text\nprinted\n```\n",
			want: []command{{"p", 2, "kubectl a\nkubectl b"}, {"p", 6, "kubectl c -o x"}},
		},
		"a table about something else": {page: "| a | `spec.suspend` | b |\n"},
		"a block of no language":       {page: "```\nkubectl a\n```\n", says: "p:1: a block of \"\""},
		"a block without an end":       {page: "\n```sh\nkubectl a\n", says: "p:2: the block has no end"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := commandsOf("p", test.page)
			if test.says != "" {
				assert.ErrorContains(t, err, test.says)
				return
			}
			assert.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}
