package main

import (
	"fmt"
	"regexp"
	"slices"

	"ostinato.dev/ostinato/internal/protocol"
)

const contract = "internal/protocol"

// message is a signal, an update or a query: its constant, its name, whose workflow takes it, and the structs of its
// argument and its answer in internal/protocol; empty where there is none.
type message struct{ constant, name, to, argument, answer string }

// group is a table of messages. Only updates and queries have answers.
type group struct {
	table, kind string
	answered    bool
	messages    []message
}

var groups = []group{
	{"signals", "signal", false, []message{
		{"SuspendSignal", protocol.SuspendSignal, "CronJob, Job", "SignalNote", ""},
		{"ResumeSignal", protocol.ResumeSignal, "CronJob, Job", "ResumeRequest", ""},
		{"StopSignal", protocol.StopSignal, "Job", "SignalNote", ""},
		{"TriggerSignal", protocol.TriggerSignal, "CronJob", "TriggerRequest", ""},
	}},
	{"updates", "update", true, []message{
		{"TriggerUpdate", protocol.TriggerUpdate, "CronJob", "TriggerRequest", "TriggerAnswer"},
		{"BackfillUpdate", protocol.BackfillUpdate, "CronJob", "BackfillRequest", "BackfillAnswer"},
		{"RestoreLedgerUpdate", protocol.RestoreLedgerUpdate, "CronJob", "RestoreLedgerRequest", "RestoreLedgerAnswer"},
	}},
	{"queries", "query", true, []message{
		{"DescribeQuery", protocol.DescribeQuery, "CronJob", "", "CronJobDescription"},
		{"DescribeQuery", protocol.DescribeQuery, "Job", "", "JobDescription"},
		{"LedgerQuery", protocol.LedgerQuery, "CronJob", "LedgerQuestion", "LedgerPage"},
	}},
	{"signals between processes", "signal", false, []message{
		{"CronJobSpecSignal", protocol.CronJobSpecSignal, "CronJob", "CronJobSpec", ""},
		{"JobSpecSignal", protocol.JobSpecSignal, "Job", "JobSpec", ""},
		{"DeletedSignal", protocol.DeletedSignal, "CronJob, Job", "Deleted", ""},
		{"JobSeenSignal", protocol.JobSeenSignal, "CronJob", "JobSeen", ""},
		{"PodsSignal", protocol.PodsSignal, "Job", "PodFacts", ""},
	}},
}

// named are the constants that may name messages, and others are those that end in the same word and do not.
var (
	named  = regexp.MustCompile(`(Signal|Update|Query)$`)
	others = []string{"RefusedSignal", "MaxFactsPerSignal"}
)

// explained are the arguments and answers that have a table of their own.
var explained = []string{"ResumeRequest", "TriggerRequest", "BackfillRequest", "LedgerQuestion", "TriggerAnswer", "BackfillAnswer"}

// messageTables adds the tables of signals, updates and queries, and of what goes with them.
func messageTables(from *source, tables map[string]string) error {
	all, err := from.in(contract)
	if err != nil {
		return err
	}
	told := map[string]bool{}
	for _, group := range groups {
		header := []string{group.kind, "to", "what it does", "argument"}
		if group.answered {
			header = append(header, "answer")
		}
		var rows [][]string
		for _, one := range group.messages {
			index := slices.IndexFunc(all.constants, func(c constant) bool { return c.name == one.constant })
			if index < 0 || all.constants[index].doc == "" {
				return fmt.Errorf("internal/protocol has no %s with a comment", one.constant)
			}
			told[one.constant] = true
			argument, err := fieldNames(from, one.argument)
			if err != nil {
				return err
			}
			answer, err := fieldNames(from, one.answer)
			if err != nil {
				return err
			}
			row := []string{code(one.name), one.to, saying(one.constant, all.constants[index].doc), argument, answer}
			rows = append(rows, row[:len(header)])
		}
		tables[group.table] = table(header, rows)
	}
	for _, one := range all.constants {
		if named.MatchString(one.name) && !told[one.name] && !slices.Contains(others, one.name) {
			return fmt.Errorf("the reference has no %s", one.name)
		}
	}
	return explain(from, tables)
}

// fieldNames lists the fields of an argument or answer.
func fieldNames(from *source, kind string) (string, error) {
	if kind == "" {
		return "", nil
	}
	fields, err := from.fields(contract, kind)
	if err != nil {
		return "", err
	}
	var names []string
	for _, one := range fields {
		names = append(names, one.json)
	}
	return code(names...), nil
}

// explain adds the tables of the fields of arguments and answers.
func explain(from *source, tables map[string]string) error {
	for _, kind := range explained {
		fields, err := from.fields(contract, kind)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, one := range fields {
			if one.doc == "" {
				return fmt.Errorf("%s.%s has no comment", kind, one.name)
			}
			rows = append(rows, []string{code(one.json), one.kind, saying(one.name, one.doc)})
		}
		tables[kind] = table([]string{"field", "value", "meaning"}, rows)
	}
	return nil
}
