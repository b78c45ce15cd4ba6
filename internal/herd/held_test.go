package herd

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"ostinato.dev/ostinato/internal/order"
)

func TestARoomKeepsPlacesForOthers(t *testing.T) {
	enter := func(room *heldStarts, namespace string) (entered int) {
		for room.enter(namespace) {
			entered++
		}
		return entered
	}
	large := &heldStarts{places: 1024}
	assert.Equal(t, 1009, enter(large, "herd"), "one alone gets nearly all")
	assert.Equal(t, 15, enter(large, "quiet"), "what is left is for others")
	large.exit("herd")
	assert.False(t, large.enter("herd"))
	assert.True(t, large.enter("another"))
	assert.False(t, large.enter("yet another"), "full is full")

	weights := order.Weights{}
	assert.NoError(t, weights.Set("light=0.015625"))
	light := &heldStarts{places: 130, weights: weights}
	assert.Equal(t, 65, enter(light, "light"), "a weight of a 64th gets half")
	small := &heldStarts{places: 1}
	assert.True(t, small.enter("any"))
	assert.False(t, small.enter("other"))
}
