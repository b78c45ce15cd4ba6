package main

import (
	"fmt"
	"slices"
	"strings"
)

// Names of scenarios.
const (
	scenarioJobs     = "jobs"
	scenarioCronJobs = "cronjobs"
	scenarioNative   = "native"
	scenarioFailOver = "failover"
	scenarioIdle     = "idle"
	scenarioRunning  = "running"
	scenarioIndexed  = "indexed"
	scenarioTogether = "together"
)

// scenario is something that every column is measured with.
type scenario struct {
	name, what string
	// sizes are measured unless others are asked for.
	sizes []int
	// unit is what writes and calls are counted for; empty where none are.
	unit string
	// scheduled tells that CronJobs are due at one time.
	scheduled bool
	// oneJob tells that there is one Job, whose number of Pods is the size.
	oneJob bool
}

// scenarios are all there are, in the order they are measured in.
var scenarios = []scenario{
	{name: scenarioJobs, what: "Jobs created at once", sizes: []int{300, 1000}, unit: "run"},
	{name: scenarioCronJobs, what: "CronJobs due in one minute", sizes: []int{300, 1000}, unit: "run", scheduled: true},
	{name: scenarioNative, what: "the same of batch/v1, which Ostinato takes over", sizes: []int{1000}, unit: "run", scheduled: true},
	{
		name: scenarioFailOver, what: "CronJobs due in one minute, when what runs them is killed and started again",
		sizes: []int{1000}, unit: "run", scheduled: true,
	},
	{name: scenarioIdle, what: "CronJobs that are not due", sizes: []int{10000}},
	{name: scenarioRunning, what: "Jobs whose Pods run for minutes", sizes: []int{2000}, unit: "run"},
	{name: scenarioIndexed, what: "one Indexed Job of many Pods", sizes: []int{1000, 10000}, unit: "Pod", oneJob: true},
	{name: scenarioTogether, what: "one Indexed Job whose Pods all run at once and end together", sizes: []int{5000}, unit: "Pod", oneJob: true},
}

// scenarioOf returns a scenario by its name, which is known.
func scenarioOf(name string) scenario {
	return scenarios[slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })]
}

func scenarioNames() []string {
	var names []string
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	return names
}

func describeScenarios() string {
	var parts []string
	for _, s := range scenarios {
		parts = append(parts, fmt.Sprintf("%s (%s)", s.name, s.what))
	}
	return "comma-separated: " + strings.Join(parts, ", ")
}

func describeSizes() string {
	var parts []string
	for _, s := range scenarios {
		parts = append(parts, s.name+" "+strings.Trim(strings.ReplaceAll(fmt.Sprint(s.sizes), " ", ","), "[]"))
	}
	return strings.Join(parts, "; ")
}

// title is what tables call the measurements of a scenario with a size.
func (o options) title(name string, size int) string {
	switch name {
	case scenarioJobs:
		return fmt.Sprintf("%d Jobs created at once", size)
	case scenarioCronJobs:
		return fmt.Sprintf("%d CronJobs due in the same minute", size)
	case scenarioNative:
		return fmt.Sprintf("%d CronJobs of batch/v1 due in the same minute", size)
	case scenarioFailOver:
		return fmt.Sprintf("%d CronJobs due when their controllers are killed", size)
	case scenarioIdle:
		return fmt.Sprintf("%d idle CronJobs", size)
	case scenarioRunning:
		return fmt.Sprintf("%d Jobs whose Pods run until one time", size)
	case scenarioIndexed:
		return fmt.Sprintf("one Indexed Job, completions %d, parallelism %d", size, min(o.parallelism, size))
	default:
		return fmt.Sprintf("one Indexed Job, completions and parallelism %d, Pods that end together", size)
	}
}
