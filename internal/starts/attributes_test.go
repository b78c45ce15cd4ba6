package starts

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMissingSearchAttributesComeWithTheirCommand(t *testing.T) {
	found, command := judgeAttributes(nil, "jobs")
	assert.Equal(t, SearchAttributes{}, found)
	assert.Equal(t, "temporal operator search-attribute create --namespace jobs --name CronJobName --type Keyword"+
		" --name JobName --type Keyword --name KubernetesNamespace --type Keyword --name ScheduledTime --type Datetime"+
		" --name CronJobLastResult --type Keyword --name CronJobNextRun --type Datetime --name CronJobSuspended --type Bool", command)
	found, command = judgeAttributes(startAttributes, "jobs")
	assert.Equal(t, SearchAttributes{AtStart: true}, found, "those of an older version are enough for what they are for")
	assert.Equal(t, "temporal operator search-attribute create --namespace jobs"+
		" --name CronJobLastResult --type Keyword --name CronJobNextRun --type Datetime --name CronJobSuspended --type Bool", command)
	all := maps.Clone(startAttributes)
	maps.Copy(all, statusAttributes)
	found, command = judgeAttributes(all, "jobs")
	assert.Equal(t, SearchAttributes{true, true}, found)
	assert.Empty(t, command)
}
