package clip_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"ostinato.dev/ostinato/internal/clip"
)

func TestTextsAreCutAtACharacter(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"as long as it may be":       {"1234567890", "1234567890"},
		"longer":                     {"12345678901", "1234567..."},
		"cut within a character":     {"123456éé789", "123456..."},
		"short, and not in UTF-8":    {"\xff", "\xff"},
		"longer, and partly garbage": {"\xff123456789012", "123456..."},
	} {
		assert.Equal(t, test.want, clip.Text(test.text, 10), name)
	}
	assert.Equal(t, strings.Repeat("x", 253)+"...", clip.Message(strings.Repeat("x", 257)))
}
