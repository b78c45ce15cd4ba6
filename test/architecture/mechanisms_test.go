package architecture

import (
	"slices"
	"strings"
	"testing"
)

const mechanismHeader = "| mechanism | where |"

// mechanisms are what a reader of the engine has to know, about runs and then about Pods. Each one has a cost, so a row that comes,
// goes or changes does so here too.
var mechanisms = [][]string{
	{
		"scheduled times are computed in batches and recorded, so that a replay decides with the same ones",
		"the workflow wakes before the time, by the lead (`--start-lead`), and plans as it will at the time",
		"a plan starts at most one run: the due one, a trigger or a backfilled time, whichever came first",
		"a refused run is tried again after a back-off, as long as it is due",
		"a start is a regular activity: it is in the history before it happens, and repeated until it has an answer or gives way to what steers the CronJob",
		"Temporal gives an attempt that is silent for 4 s, or 6 s where it waits for the time of its run, to another worker; an attempt writes only while it is certain that this has not happened",
		"the activity judges whether the run may start by the object, its spec (by a digest) and its status: when the attempt begins, and once more when the run is due, from the watch cache",
		"a look, a status or a delete of the history that the API server does not answer ends when a run comes due; the start goes first, and ends the pause that follows a failure of those",
		"runs that are due together wait for their time, take turns to create, and let the rest of their herd go first; namespaces share places and turns",
		"a create that has lasted a second makes room for others; a namespace has half as many creates under way as are left of all",
		"an attempt that comes too early to wait, or finds no place, gives the start back",
		"replaced runs are deleted before the create; what is deleted is the Job that was read, by its resourceVersion; one that has ended stays, and is part of the answer",
		"a Job's name follows from its time or its trigger, so an attempt finds what an earlier one created",
		"the attempt that creates the Job, or the next one, creates its first Pods too, as far as that takes a second, and hands them to its workflow",
		"a status whose times have not come is not written, and lastScheduleTime never falls",
		"the status is written with the start, or after the run's workflow has begun",
		"a Job of the CronJob that the state does not know is adopted into it",
		"a workflow that continues no other reads the creation time, the status and the Jobs first; one that does looks at the object and computes the scheduled times anew",
		"a worker remembers what it last wrote to a CronJob, instead of reading it before the next write",
		"a call does nothing where the object's status has a later revision than the state: the workflow begins anew from the object. So a stale attempt, a reset and a restore need nothing of their own",
		"a status of an earlier revision than the state, as a restored etcd has it, is written again",
		"an answer of the API server is the outcome of a start; only what it has not answered is repeated",
		"a run whose create had no clear answer holds its place until its Job is found, or is missing 35 s later",
		"the bridge reminds a workflow of an overdue run, which is one that has no Job of its name",
	},
	{
		"the watch that sees a new Job makes its first Pods, and starts its workflow with them",
		"workflows of new Jobs are started behind the first Pods of their namespace, for ten seconds at most; facts about their Pods wait for the start",
		"the workflow of a Job that the bridge starts begins with a list, unless the Job was created suspended",
		"one activity carries out a whole plan: creates, deletes, status, Events, logs, releases; 500 Pods at most, and the next plan does the rest",
		"nothing is counted that was not seen: a status names its Pods, and the activity looks at them before it does anything; what is not so is dropped, and the Pods are listed",
		"a plan that another plan would not take back, or that reads logs, is a regular activity; others are local ones",
		"one activity ends all Pods that have not ended, and answers with a list of all Pods",
		"an attempt about a Job that is given up sends no other write. It ends with the answers to those it has sent (40 s at most), unless it is a local one or its lease has ended: their names, UIDs and versions keep those apart from the next plan",
		"a plan that has made Pods, or whose deletes or releases have some answers, ends with a report, whatever has none: the next plan does the rest",
		"a suspension also removes, uncounted, a Pod that was deleted after the workflow heard of the edit",
		"the verdict is in the state, and in the status of the Job, before the first Pod is deleted for it",
		"a Pod is marked while its delete is under way; if no answer comes, a list says what became of it",
		"what follows from a list is carried out before anything else is heard",
		"the Pods are listed before a work queue ends, after an edit that wants fewer of them, and after an edit that was missed",
		"a plan has one second inside a workflow task; after one that took longer, plans are regular activities for a minute, and those that create Pods go last",
		"no log is read from a node that did not answer within the last minute",
		"a Job's workflow plans for a Job without a status; if there is one, the activity answers with it, and the workflow begins again from the Job and its Pods",
		"a status is written again if a call without an answer may have written it",
		"a Pod's name follows from the number of Pods of its index that have ended, or from the number that the Job has had, so a repeated create asks for the same name; where quota refuses the create, the Pod is looked for",
		"no signal adds a Pod to the state: an unknown Pod makes the workflow list the Pods, at most once a second",
		"creates that had no answer may land for 40 s: the Pods are listed then, the Job does not end before, and the same numbers are asked for again. If another attempt has made the Pod, this begins only when that Pod goes",
		"a watch that sees more Pods run than the Job's status counts, or fewer Pods, has the workflow list them; it ends those of a Job that has finished",
		"an edit that only wants more Pods is planned with as told; the digest of the create request checks it",
		"a Pod that a create finds ended and released is not counted: its number is used up",
		"the activity that creates Pods counts the Job's Pods first, unless their names prove that there are not too many: the request may be forged",
	},
}

func TestMechanismsComeAndGoOnPurpose(t *testing.T) {
	described := describedMechanisms(strings.Split(read(t, "docs/architecture.md"), "\n"))
	if len(described) != len(mechanisms) {
		t.Fatalf("docs/architecture.md has %d tables of mechanisms, want %d", len(described), len(mechanisms))
	}
	for n, known := range mechanisms {
		for _, row := range described[n] {
			if !slices.Contains(known, row) {
				t.Errorf("table %d has a mechanism more: %s", n+1, row)
			}
		}
		for _, row := range known {
			if !slices.Contains(described[n], row) {
				t.Errorf("table %d has a mechanism less: %s", n+1, row)
			}
		}
	}
}

// describedMechanisms returns the first cells of the tables of mechanisms in a page.
func describedMechanisms(page []string) (tables [][]string) {
	inside := false
	for _, line := range page {
		row, isRow := strings.CutPrefix(line, "| ")
		switch {
		case line == mechanismHeader:
			inside = true
			tables = append(tables, nil)
		case line == "":
			inside = false
		case inside && isRow:
			mechanism, _, _ := strings.Cut(row, " | ")
			tables[len(tables)-1] = append(tables[len(tables)-1], mechanism)
		}
	}
	return tables
}
