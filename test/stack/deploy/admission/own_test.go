package admission

import (
	"strings"
	"testing"
)

// The fields that batch/v1 has not: what can't go together is refused, with what to change.
func TestFieldsOfOurOwn(t *testing.T) {
	for name, test := range map[string]struct {
		spec string
		// says is in the message of the refusal; empty if it is taken.
		says string
	}{
		"a queue":                        {`{concurrencyPolicy: Queue, queueLimit: 100, maxConcurrent: 3}`, ""},
		"at most three at once":          {`{concurrencyPolicy: Allow, maxConcurrent: 3}`, ""},
		"none at once":                   {`{maxConcurrent: 0}`, "maxConcurrent"},
		"a limit and no queue":           {`{concurrencyPolicy: Forbid, queueLimit: 5}`, "queueLimit needs concurrencyPolicy Queue"},
		"a queue without end":            {`{concurrencyPolicy: Queue, queueLimit: 1001}`, "queueLimit"},
		"all of a day are caught up":     {`{catchUp: all, catchUpWindowSeconds: 86400, catchUpLimit: 1000}`, ""},
		"the latest of an hour":          {`{catchUpWindowSeconds: 3600}`, ""},
		"nothing is caught up":           {`{catchUp: none}`, ""},
		"another word":                   {`{catchUp: Latest}`, `supported values: "none", "latest", "all"`},
		"nothing, of an hour":            {`{catchUp: none, catchUpWindowSeconds: 3600}`, "catchUpWindowSeconds has no meaning where catchUp is none"},
		"a limit, and only the latest":   {`{catchUp: latest, catchUpLimit: 5}`, "catchUpLimit needs catchUp all"},
		"a limit by itself":              {`{catchUpLimit: 5}`, "catchUpLimit needs catchUp all"},
		"all, each replaced by the next": {`{catchUp: all, concurrencyPolicy: Replace}`, "catchUp all can't go with concurrencyPolicy Replace"},
		"a pause":                        {`{pauseAfterFailures: 3}`, ""},
		"a pause after no failure":       {`{pauseAfterFailures: 0}`, "pauseAfterFailures"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := create(t, ours, manifest(ours, row{spec: test.spec}.manifest(t)))
			switch {
			case test.says == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)):
				t.Errorf("%v, want a refusal that says %q", err, test.says)
			}
		})
	}
}
