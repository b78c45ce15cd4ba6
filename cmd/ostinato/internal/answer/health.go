package answer

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Health is whether a part of Ostinato, or what it needs, is as it should be.
type Health struct {
	Part string `json:"part"`
	// Is is one of HealthOK, HealthWrong, HealthUnseen, of rights HealthLimited, of data HealthLost, and of capacity HealthShort; Why says more.
	Is  string `json:"is"`
	Why string `json:"why"`
}

// Values of Health.Is. What could not be seen is neither right nor wrong.
const (
	HealthOK     = "OK"
	HealthWrong  = "Wrong"
	HealthUnseen = "Unseen"
)

// Facts are what was seen of an installation. An empty Unseen means that the fact was read, another text says why it was not.
type Facts struct {
	// Command is the version of the command itself; empty where it is not known.
	Command string
	// Programs are the Deployments of worker and bridge.
	Programs       []Program
	ProgramsUnseen string
	Temporal       TemporalFacts
	// Own are the Temporals that installations run for themselves.
	Own       []OwnTemporal
	OwnUnseen string
	// Jobs are the names of those that are marked as Ostinato's and have not ended, in the namespaces that were looked at.
	Jobs       []string
	JobsUnseen string
	// Policies are admission policies that exist, and Bindings those that a binding enforces.
	Policies, Bindings []string
	PoliciesUnseen     string
	// Ahead is how far this machine's clock is ahead of the API server's, to about a second; negative where it is behind.
	Ahead       time.Duration
	ClockUnseen string
}

// Program is a Deployment of worker or bridge.
type Program struct {
	// Part is worker or bridge.
	Part, Namespace, Name, Image string
	// Ready of Wanted replicas answer their readiness probes.
	Ready, Wanted int32
}

// TemporalFacts are what was seen of Temporal.
type TemporalFacts struct {
	Address, Namespace string
	// Version is that of the server, empty where it is not known.
	Version string
	// Lost is what its databases have lost, in words; empty where nothing is known to be.
	Lost string
	// Short is what it is short of, in words; empty where nothing is known to be.
	Short  string
	Unseen string
	Queues []Queue
}

// Queue is a task queue of Ostinato's, for workflows or activities.
type Queue struct {
	Name string
	// Tasks is what is polled for: workflow or activity.
	Tasks string
	// Pollers have asked for tasks in the last five minutes, as Temporal remembers, and the latest of them at Last.
	Pollers int
	Last    time.Time
	Unseen  string
}

// Policies are the admission policies of deploy/base, each with a binding of its name.
var Policies = []string{
	"ostinato-bridge-cronjobs", "ostinato-cronjobs-status", "ostinato-events", "ostinato-jobs-status", "ostinato-native-cronjobs-status",
	"ostinato-worker-cronjobs", "ostinato-worker-jobs", "ostinato-worker-pods",
}

const (
	// pollsWithin is how long a poller may be silent: a poll that gets no task ends after a minute.
	pollsWithin = 2 * time.Minute
	// clocksWithin is how far clocks may be apart. The API server tells its time in whole seconds.
	clocksWithin = 3 * time.Second
)

// HealthOf is the health of each part, in a fixed order. A part that the installation does not have is left out.
func HealthOf(now time.Time, facts Facts) []Health {
	health := []Health{program(facts, "worker"), program(facts, "bridge"), temporal(now, facts.Temporal)}
	health = append(health, losses(facts.Temporal)...)
	health = append(health, shortage(facts.Temporal)...)
	health = append(health, volumes(facts)...)
	return append(health, policies(facts), versions(facts), clocks(facts), jobs(facts))
}

// HealthTable is the table of a health.
func HealthTable(health []Health) Table {
	table := Table{Head: []string{"PART", "IS", "WHY"}}
	for _, one := range health {
		table.Rows = append(table.Rows, []string{one.Part, one.Is, one.Why})
	}
	return table
}

func unseen(part, why string) Health { return Health{part, HealthUnseen, "not visible: " + why} }

// judged is OK where nothing is wrong.
func judged(part string, wrong []string, well string) Health {
	if len(wrong) > 0 {
		return Health{part, HealthWrong, strings.Join(wrong, "; ")}
	}
	return Health{part, HealthOK, well}
}

func program(facts Facts, part string) Health {
	if facts.ProgramsUnseen != "" {
		return unseen(part, facts.ProgramsUnseen)
	}
	var wrong, all []string
	for _, one := range facts.Programs {
		if one.Part != part {
			continue
		}
		text := fmt.Sprintf("%d of %d ready in %s/%s, image %s", one.Ready, one.Wanted, one.Namespace, one.Name, one.Image)
		if all = append(all, text); one.Ready < one.Wanted || one.Wanted == 0 {
			wrong = append(wrong, text)
		}
	}
	if len(all) == 0 {
		return unseen(part, "no Deployment has its label; it may run outside of the cluster")
	}
	return judged(part, wrong, strings.Join(all, "; "))
}

func temporal(now time.Time, facts TemporalFacts) Health {
	if facts.Unseen != "" {
		return unseen("temporal", facts.Unseen)
	}
	var wrong, hidden, polled []string
	for _, queue := range facts.Queues {
		name := fmt.Sprintf("task queue %s (%s tasks)", queue.Name, queue.Tasks)
		switch {
		case queue.Unseen != "":
			hidden = append(hidden, name+": "+queue.Unseen)
		case queue.Pollers == 0:
			wrong = append(wrong, "no worker polls "+name)
		case now.Sub(queue.Last) > pollsWithin:
			wrong = append(wrong, fmt.Sprintf("the last poll of %s was %s ago", name, Span(now.Sub(queue.Last))))
		default:
			polled = append(polled, queue.Name)
		}
	}
	if len(wrong) == 0 && len(hidden) > 0 {
		return unseen("temporal", strings.Join(hidden, "; "))
	}
	polled = slices.Compact(slices.Sorted(slices.Values(polled)))
	return judged("temporal", wrong, fmt.Sprintf("%s answers, and workers poll %s in namespace %s", facts.Address, strings.Join(polled, ", "), facts.Namespace))
}

func policies(facts Facts) Health {
	if facts.PoliciesUnseen != "" {
		return unseen("policies", facts.PoliciesUnseen)
	}
	var missing, unbound, wrong []string
	for _, name := range Policies {
		switch {
		case !slices.Contains(facts.Policies, name):
			missing = append(missing, name)
		case !slices.Contains(facts.Bindings, name):
			unbound = append(unbound, name)
		}
	}
	if len(missing) > 0 {
		wrong = append(wrong, "missing: "+strings.Join(missing, ", "))
	}
	if len(unbound) > 0 {
		wrong = append(wrong, "without a binding that denies: "+strings.Join(unbound, ", "))
	}
	return judged("policies", wrong, fmt.Sprintf("%d admission policies are enforced", len(Policies)))
}

// versions names what runs, and compares worker and bridge with each other, and with the command where both name a release.
func versions(facts Facts) Health {
	const part = "versions"
	command := facts.Command
	if command == "" {
		command = "unknown"
	}
	if facts.ProgramsUnseen != "" {
		return unseen(part, facts.ProgramsUnseen+"; this command is "+command)
	}
	var found []string
	for _, one := range facts.Programs {
		if version := imageVersion(one.Image); !slices.Contains(found, version) {
			found = append(found, version)
		}
	}
	all := strings.Join(append(runs(facts), "this command "+command), ", ")
	switch {
	case len(found) == 0:
		return unseen(part, "no image of a worker or bridge: "+all)
	case len(found) > 1:
		return Health{part, HealthWrong, all + ": give worker and bridge one image"}
	case release(command) == "" || release(found[0]) == "":
		return unseen(part, "one of these names no release: "+all)
	case release(command) != release(found[0]):
		return Health{part, HealthWrong, all + ": the command is of another release"}
	}
	return Health{part, HealthOK, all}
}

// runs are the programs that run, each with the version that its image names, and the Temporal server with its own.
func runs(facts Facts) []string {
	var each []string
	add := func(name, version string) {
		if text := name + " " + version; !slices.Contains(each, text) {
			each = append(each, text)
		}
	}
	for _, one := range facts.Programs {
		add(one.Part, imageVersion(one.Image))
	}
	for _, own := range facts.Own {
		add("ostinato-temporal", imageVersion(own.Image))
	}
	if facts.Temporal.Version != "" {
		add("Temporal server", facts.Temporal.Version)
	}
	return each
}

// imageVersion is the tag of an image, else its digest, else "latest".
func imageVersion(image string) string {
	name, digest, pinned := strings.Cut(image, "@")
	if _, tag, tagged := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":"); tagged {
		return tag
	}
	if pinned {
		return digest
	}
	return "latest"
}

// release is a version such as 1.2.3 or 1.2.3-rc.1, without its v; empty for all else, such as what the go command calls a
// build of a commit.
func release(version string) string {
	version = strings.TrimPrefix(version, "v")
	number, suffix, _ := strings.Cut(version, "-")
	parts := strings.Split(number, ".")
	if len(parts) != 3 || strings.Contains(version, "+") || strings.Contains(suffix, "-") {
		return ""
	}
	for _, part := range parts {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return ""
		}
	}
	return version
}

// shownJobs is how many Jobs under way are named.
const shownJobs = 10

// jobs names what stands still where Ostinato is not.
func jobs(facts Facts) Health {
	const part = "jobs"
	if facts.JobsUnseen != "" {
		return unseen(part, facts.JobsUnseen)
	}
	if len(facts.Jobs) == 0 {
		return Health{part, HealthOK, "none is under way"}
	}
	named := strings.Join(facts.Jobs[:min(len(facts.Jobs), shownJobs)], ", ")
	if more := len(facts.Jobs) - shownJobs; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return Health{part, HealthOK, fmt.Sprintf("%d under way: %s", len(facts.Jobs), named)}
}

func clocks(facts Facts) Health {
	const part = "clocks"
	if facts.ClockUnseen != "" {
		return unseen(part, facts.ClockUnseen)
	}
	switch {
	case facts.Ahead > clocksWithin:
		return Health{part, HealthWrong, "this machine is " + Span(facts.Ahead) + " ahead of the API server: times since and until are wrong by that"}
	case facts.Ahead < -clocksWithin:
		return Health{part, HealthWrong, "this machine is " + Span(-facts.Ahead) + " behind the API server: times since and until are wrong by that"}
	}
	return Health{part, HealthOK, fmt.Sprintf("this machine and the API server are within %s", Span(clocksWithin))}
}
