package k8s

import (
	"encoding/json"
	"strings"

	batchv1 "k8s.io/api/batch/v1"

	"ostinato.dev/ostinato/internal/job"
)

// CountersByOthers reads from the managed fields of a Job which counters of its status
// another field manager has set to what they are. Where these say nothing, nobody has.
func CountersByOthers(object *batchv1.Job) job.ByOthers {
	var ours, others counters
	for _, entry := range object.ManagedFields {
		if entry.Subresource != "status" || entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Status counters `json:"f:status"`
		}
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		if strings.HasPrefix(entry.Manager, managerPrefix) {
			ours.add(fields.Status)
		} else {
			others.add(fields.Status)
		}
	}
	return job.ByOthers{Succeeded: others.Succeeded != nil && ours.Succeeded == nil, Failed: others.Failed != nil && ours.Failed == nil}
}

// counters are the managed fields of the counters; nil for those that are not managed.
type counters struct {
	Succeeded json.RawMessage `json:"f:succeeded"`
	Failed    json.RawMessage `json:"f:failed"`
}

func (c *counters) add(more counters) {
	if more.Succeeded != nil {
		c.Succeeded = more.Succeeded
	}
	if more.Failed != nil {
		c.Failed = more.Failed
	}
}
