package main

import (
	"fmt"
	"slices"
	"strings"

	"ostinato.dev/ostinato/internal/bridge"
	"ostinato.dev/ostinato/internal/job"
	"ostinato.dev/ostinato/internal/schedule"
)

// conditionTables adds the tables of the conditions of CronJobs and Jobs, and their reasons.
func conditionTables(from *source, tables map[string]string) error {
	all, err := from.in(api)
	if err != nil {
		return err
	}
	var rows [][]string
	written := 0
	for _, one := range all.constants {
		kind, isCondition := strings.CutPrefix(one.name, "Condition")
		if !isCondition {
			continue
		}
		written++
		var by []string
		if len(schedule.ConditionReasonsOf[kind]) > 0 {
			by = append(by, "worker")
		}
		if len(bridge.ConditionReasonsOf[kind]) > 0 {
			by = append(by, "bridge")
		}
		reasons := slices.Concat(schedule.ConditionReasonsOf[kind], bridge.ConditionReasonsOf[kind])
		if len(reasons) == 0 || one.doc == "" {
			return fmt.Errorf("the condition %s has no reasons or no comment", kind)
		}
		rows = append(rows, []string{code(kind), strings.Join(by, ", "), saying(one.name, one.doc), code(reasons...)})
	}
	if want := len(schedule.ConditionTypes) + len(schedule.BridgeConditionTypes); written != want {
		return fmt.Errorf("api/v1 declares %d conditions, and %d are written", written, want)
	}
	tables["conditions of a CronJob"] = table([]string{"condition", "written by", "meaning", "reasons"}, rows)

	rows = nil
	for _, kind := range job.ConditionTypes {
		rows = append(rows, []string{code(string(kind)), code(job.ConditionReasons(kind)...)})
	}
	tables["conditions of a Job"] = table([]string{"condition", "reasons"}, rows)
	return nil
}
