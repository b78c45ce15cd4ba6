package commands

import (
	"context"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
)

// need is a right, and the rows of the table of rights in docs/cookbook.md that have it.
type need struct {
	right ask.Right
	rows  string
}

// needs are the rights in a namespace that commands use, reading before writing. Those of move are left out: move says itself what it lacks.
var needs = []need{
	{ask.Right{Verb: "list", Group: ostinatov1.GroupName, Resource: "cronjobs"}, "get, next, status, failed, export"},
	{ask.Right{Verb: "get", Group: ostinatov1.GroupName, Resource: "cronjobs"}, "why, runs, tree, logs, run, backfill, import"},
	{ask.Right{Verb: "list", Group: "batch", Resource: "jobs"}, "tree, import, stop --all"},
	{ask.Right{Verb: "get", Group: "batch", Resource: "jobs"}, "run --wait, stop"},
	{ask.Right{Verb: "list", Resource: "pods"}, "tree, logs"},
	{ask.Right{Verb: "get", Resource: "pods/log"}, "logs, run --logs"},
	{ask.MayRun, "run with overrides"},
	{ask.MaySteer, "suspend, resume"},
	{ask.MayStop, "stop"},
	{ask.Right{Verb: "create", Group: ostinatov1.GroupName, Resource: "cronjobs"}, "check -f"},
	{ask.Right{Verb: "update", Group: ostinatov1.GroupName, Resource: "cronjobs"}, "check -f"},
}

// rights asks which of them the person lacks, for a few seconds at most.
func (p *person) rights(ctx context.Context, cluster *ask.Cluster) answer.Health {
	ctx, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	var lacking []answer.Lacking
	for _, one := range needs {
		may, err := cluster.May(ctx, cluster.Namespace, one.right)
		if err != nil {
			return answer.Rights(cluster.Namespace, nil, reason(err))
		}
		if !may {
			lacking = append(lacking, answer.Lacking{Right: one.right.String(), Commands: one.rows})
		}
	}
	return answer.Rights(cluster.Namespace, lacking, "")
}
