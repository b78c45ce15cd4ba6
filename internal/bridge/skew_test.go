package bridge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAHerdIsNotCalledOverdue(t *testing.T) {
	s := skew{most: mostSkew}
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	assert.Zero(t, s.worstOf(noon))
	s.saw(20*time.Second, noon)
	s.saw(5*time.Second, noon.Add(time.Second))
	s.saw(time.Hour, noon.Add(time.Second)) // it had to wait for the run before it
	s.saw(-time.Second, noon.Add(time.Second))
	assert.Equal(t, 20*time.Second, s.worstOf(noon.Add(30*time.Second)))
	s.saw(3*time.Second, noon.Add(5*time.Minute))
	assert.Equal(t, 20*time.Second, s.worstOf(noon.Add(9*time.Minute)))
	assert.Equal(t, 3*time.Second, s.worstOf(noon.Add(11*time.Minute)))
	assert.Zero(t, s.worstOf(noon.Add(time.Hour)))
}
