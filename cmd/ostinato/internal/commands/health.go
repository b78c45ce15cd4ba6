package commands

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/internal/names"
)

// systemNamespace is where deploy/base puts worker and bridge.
const systemNamespace = "ostinato-system"

// healthWithin bounds how long all questions about health take together.
const healthWithin = 4 * time.Second

// health asks for all that can be seen of Ostinato and what it needs, at once. What can't be seen is no error.
func (p *person) health(ctx context.Context, cluster *ask.Cluster, cronJobs []ostinatov1.CronJob) []answer.Health {
	ctx, cancel := context.WithTimeout(ctx, healthWithin)
	defer cancel()
	facts := answer.Facts{Command: p.version}
	var all sync.WaitGroup
	all.Go(func() {
		policies, enforced, err := cluster.Policies(ctx)
		facts.Policies, facts.Bindings, facts.PoliciesUnseen = policies, enforced, reason(err)
	})
	all.Go(func() {
		underWay, err := cluster.JobsUnderWay(ctx)
		facts.Jobs, facts.JobsUnseen = underWay, reason(err)
	})
	all.Go(func() { facts.Own, facts.OwnUnseen = p.ownFacts(ctx, cluster) })
	all.Go(func() {
		deployments, err := cluster.Installed(ctx, p.system)
		facts.Programs, facts.ProgramsUnseen = programsOf(deployments), reason(err)
		facts.Temporal = p.temporalFacts(ctx, cronJobs, deployments)
	})
	all.Wait()
	ahead, known := cluster.Ahead()
	if facts.Ahead = ahead; !known {
		facts.ClockUnseen = "the API server's answers have no Date"
	}
	return answer.HealthOf(p.now(), facts)
}

// programName is the label by which worker and bridge are found.
const programName = "app.kubernetes.io/name"

// programsOf are the workers and bridges among Deployments.
func programsOf(deployments []appsv1.Deployment) (found []answer.Program) {
	for n := range deployments {
		deployment := &deployments[n]
		part, ours := strings.CutPrefix(cmp.Or(deployment.Labels[programName], deployment.Name), "ostinato-")
		if !ours || part != "worker" && part != "bridge" {
			continue
		}
		one := answer.Program{
			Part: part, Namespace: deployment.Namespace, Name: deployment.Name, Ready: deployment.Status.ReadyReplicas, Wanted: ptr.Deref(deployment.Spec.Replicas, 1),
		}
		for _, container := range deployment.Spec.Template.Spec.Containers {
			if one.Image == "" || container.Name == part {
				one.Image = container.Image
			}
		}
		found = append(found, one)
	}
	return found
}

// temporalFacts asks Temporal who polls.
func (p *person) temporalFacts(ctx context.Context, cronJobs []ostinatov1.CronJob, deployments []appsv1.Deployment) (facts answer.TemporalFacts) {
	workflows, err := p.workflows(ctx)
	if err != nil {
		facts.Unseen = err.Error()
		return facts
	}
	namespace, cluster := placeOf(cronJobs, deployments)
	facts.Address, facts.Namespace = workflows.Address(), cmp.Or(namespace, workflows.Namespace())
	polled, err := workflows.Pollers(ctx, namespace, cluster)
	if err != nil {
		facts.Unseen = "Temporal at " + workflows.Address() + ": " + reason(err) + "; name it with --temporal-address or TEMPORAL_ADDRESS"
		return facts
	}
	// A server that does not say this of itself is no trouble.
	server, _ := workflows.Server(ctx, namespace)
	facts.Version, facts.Lost, facts.Short = server.Version, server.Lost, server.Short
	for _, one := range polled {
		facts.Queues = append(facts.Queues, answer.Queue{Name: one.Queue, Tasks: one.Tasks, Pollers: one.Pollers, Last: one.Last, Unseen: reason(one.Err)})
	}
	return facts
}

// placeOf is the namespace of Temporal, and the name of the cluster there, that Ostinato uses: a CronJob's workflow says so, else the worker's
// variables or flags; else neither is known.
func placeOf(cronJobs []ostinatov1.CronJob, deployments []appsv1.Deployment) (namespace string, cluster names.Cluster) {
	for n := range cronJobs {
		workflow := cronJobs[n].Status.Workflow
		if workflow == nil {
			continue
		}
		if prefix, _, found := strings.Cut(workflow.ID, "cronjob/"); found {
			return workflow.Namespace, names.Cluster(strings.TrimSuffix(prefix, "/"))
		}
	}
	for n := range deployments {
		if deployments[n].Labels[programName] != "ostinato-worker" {
			continue
		}
		for _, container := range deployments[n].Spec.Template.Spec.Containers {
			for _, variable := range container.Env {
				switch variable.Name {
				case "OSTINATO_CLUSTER":
					cluster = names.Cluster(variable.Value)
				case "TEMPORAL_NAMESPACE":
					namespace = variable.Value
				}
			}
			for _, argument := range container.Args {
				if name, given := strings.CutPrefix(argument, "--cluster="); given {
					cluster = names.Cluster(name)
				}
			}
		}
	}
	return namespace, cluster
}
