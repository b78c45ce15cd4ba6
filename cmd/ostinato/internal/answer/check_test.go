package answer_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
)

// A file may be anybody's: its names and the words of a refusal move no cursor.
func TestACheckIsPrintable(t *testing.T) {
	cronJob := report()
	cronJob.Namespace, cronJob.Name = "shop\x1b[2J", "report\x1b[31m"
	assert.NotContains(t, answer.Check(cronJob, at(9, 0), nil, nil).String(), "\x1b")
	refused := answer.Check(cronJob, at(9, 0), errors.New("no\x1b[2J"), []string{"containers[\x1b[2J]"})
	assert.Len(t, refused.Problems, 2)
	assert.NotContains(t, refused.String(), "\x1b")
}

func TestManyLostFieldsAreCounted(t *testing.T) {
	cronJob := report()
	lost := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	assert.Contains(t, answer.Check(cronJob, at(9, 0), nil, lost).String(), "a, b, c, d, e, f and 2 more")
}
