// Command policies writes the admission policies that bound what Ostinato's accounts write to the API server, from the lists by
// which the activities judge it. They also hold if a process does not judge, or if another program has its token.
//
//	go run ./dev/gen/policies > deploy/base/admission-bounds.yaml
package main

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/template"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/bridge"
	"ostinato.dev/ostinato/internal/event"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/schedule"
)

//go:embed policies.yaml.tmpl
var policies string

// combined is what client-go puts before the message of Events that it combines.
const combined = len("(combined from similar events): ")

// maxName bounds the name of an object, in characters.
const maxName = 253

func main() {
	var jobReasons [][]string
	for _, kind := range job.ConditionTypes {
		jobReasons = append(jobReasons, job.ConditionReasons(kind))
	}
	err := template.Must(template.New("policies").Parse(policies)).Execute(os.Stdout, map[string]any{
		"Normal":            list(event.Reasons("Normal")),
		"Warning":           list(event.Reasons("Warning"), event.OfBridge),
		"Message":           event.MaxMessage + combined,
		"JobConditions":     list(job.ConditionTypes),
		"JobReasons":        list(jobReasons...),
		"JobText":           job.MaxConditionText,
		"JobConditionCount": len(job.ConditionTypes),
		"Name":              maxName,
		"Indexes":           job.MaxStatusIndexes,
		"Uncounted":         2 * job.MaxPods,
		"UID":               schedule.MaxStatusUID,
		"CronJobConditions": list(schedule.ConditionTypes, schedule.BridgeConditionTypes),
		"BridgeConditions":  list(schedule.BridgeConditionTypes),
		"CronJobReasons":    list(schedule.ConditionReasons, bridge.ConditionReasonsOf[ostinatov1.ConditionReady]),
		"CronJobText":       schedule.MaxStatusText,
		"Active":            schedule.MaxStatusActive,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "dev/gen/policies: render the policies:", err)
		os.Exit(1)
	}
}

// list renders texts as a list of CEL, each once, in order.
func list[Text ~string](texts ...[]Text) string {
	var quoted []string
	for _, text := range slices.Concat(texts...) {
		quoted = append(quoted, fmt.Sprintf("%q", string(text)))
	}
	slices.Sort(quoted)
	return "[" + strings.Join(slices.Compact(quoted), ", ") + "]"
}
