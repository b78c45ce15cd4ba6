package temporalserver

import (
	"slices"
	"testing"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// lines collects what is logged, by level.
type lines struct {
	log.Logger
	written *[]string
}

func (l lines) Info(message string, _ ...tag.Tag)  { *l.written = append(*l.written, "info "+message) }
func (l lines) Error(message string, _ ...tag.Tag) { *l.written = append(*l.written, "error "+message) }

func TestARefusedCallIsNoErrorOfTheServer(t *testing.T) {
	var written []string
	logger := doorLog{lines{log.NewNoopLogger(), &written}}
	logger.Error(refusedMessage)
	log.With(logger, tag.String("service", "frontend")).Error(refusedMessage)
	logger.Error("disk full")
	if want := []string{"info Authorization error", "info Authorization error", "error disk full"}; !slices.Equal(written, want) {
		t.Errorf("written is %q, want %q", written, want)
	}
}
