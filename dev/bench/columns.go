package main

import "ostinato.dev/ostinato/dev/devstack/controlplane"

// column is a set of controllers to measure.
type column struct {
	// name is what the command line calls it, title what tables do.
	name, title string
	// manager is how kube-controller-manager runs meanwhile.
	manager controlplane.ControllerManagerOptions
	// ostinato tells that Temporal, worker and bridge run.
	ostinato bool
	// takeOver tells that Ostinato runs the CronJobs of batch/v1, and arguments are those of worker and bridge for that.
	takeOver  bool
	arguments []string
	// programs is the folder of the worker and bridge that run; empty for the checkout's.
	programs string
	// slow marks what takes about a third of a second for each Job.
	slow bool
}

// ostinatoColumn is the name of the column of the checkout's worker and bridge.
const ostinatoColumn = "ostinato"

// keepEndedPods turns off the collection of Pods that ended, which else begins at 12,500 of them, in the middle of a
// measurement.
const keepEndedPods = "--terminated-pod-gc-threshold=0"

// manyAtATime lets the built-in controllers work on many objects at a time.
var manyAtATime = []string{"--concurrent-job-syncs=50", "--concurrent-cron-job-syncs=50", keepEndedPods}

// columns are all there are, in the order they are measured in.
var columns = []column{
	{
		name: "builtin", title: "built-in, default flags", slow: true,
		manager: controlplane.ControllerManagerOptions{Enabled: true},
	},
	{
		name: "builtin-unlimited", title: "built-in, limits removed",
		manager: controlplane.ControllerManagerOptions{
			Enabled: true, QPS: 2000, Burst: 4000, Flags: manyAtATime,
		},
	},
	{
		name: ostinatoColumn, title: "Ostinato", ostinato: true,
		manager: controlplane.ControllerManagerOptions{Enabled: true, Controllers: controlplane.TakeOver, Flags: []string{keepEndedPods}},
	},
}

// baseline returns the column of the worker and bridge in a folder, which else runs as Ostinato does.
func baseline(programs string) column {
	c := columns[len(columns)-1]
	c.name, c.title, c.programs = "baseline", "Ostinato, baseline", programs
	return c
}

// in returns the column as it is in a scenario: in scenario native Ostinato runs the CronJobs of batch/v1, and the built-in job
// controller, with its limits removed, their Jobs.
func (c column) in(scenario string) column {
	if scenario == scenarioNative && c.ostinato {
		c.takeOver, c.arguments = true, []string{"--takeover=cronjobs"}
		c.manager = controlplane.ControllerManagerOptions{
			Enabled: true, Controllers: "*,-cronjob-controller", QPS: 2000, Burst: 4000, Flags: manyAtATime,
		}
	}
	return c
}

// native tells that the CronJobs are those of batch/v1.
func (c column) native() bool { return !c.ostinato || c.takeOver }

func columnNames() []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	return names
}
