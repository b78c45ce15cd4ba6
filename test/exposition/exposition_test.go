package exposition

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func byVerb(_ string, labels map[string]string) string { return labels["verb"] }

func TestSamplesOfAKeyAreAddedUp(t *testing.T) {
	counts, err := Counts(strings.NewReader(`# HELP requests Of clients.
# TYPE requests counter
requests{verb="GET",code="200"} 3
requests{verb="GET",code="404"} 4
requests{verb="POST",code="201"} 5
requests{code="0"} 6
# TYPE requests_more counter
requests_more{verb="GET"} 7
# TYPE size gauge
size 8
`), []string{"requests"}, byVerb)
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"GET": 7, "POST": 5}, counts)
}

func TestGaugesAreReadAsWell(t *testing.T) {
	counts, err := Counts(strings.NewReader("# TYPE size gauge\nsize 8\n"), []string{"size"}, func(name string, _ map[string]string) string { return name })
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"size": 8}, counts)
}

func TestMetricsThatAreNoneAreAnError(t *testing.T) {
	_, err := Counts(strings.NewReader("requests{verb=} 1\n"), []string{"requests"}, byVerb)
	assert.ErrorContains(t, err, "parse metrics")
}
