package commands

import (
	"fmt"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/internal/command"
)

func (p *person) newStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use: "status", Short: "What is not as it should be: overdue, stalled, failing, suspended, and by whom",
		Args: cobra.NoArgs,
		RunE: answering(func(cmd *cobra.Command, _ []string) error {
			cluster, err := p.cluster()
			if err != nil {
				return err
			}
			cronJobs, err := cluster.CronJobs(cmd.Context())
			if err != nil {
				return err
			}
			table, deviations, summary := answer.Status(p.clock(), cronJobs, p.all)
			if p.output != "" || len(deviations) > 0 {
				if err := p.write(table, deviations, nil); err != nil {
					return err
				}
			}
			p.note("%s", summary)
			return nil
		}),
	}
	p.listFlags(cmd)
	p.tableFlags(cmd)
	return command.House(cmd)
}

func (p *person) newTree() *cobra.Command {
	cmd := &cobra.Command{
		Use: "tree NAME", Short: "What belongs to a CronJob: its workflow, its Jobs and their Pods",
		Args: cobra.ExactArgs(1),
		RunE: answering(func(cmd *cobra.Command, arguments []string) error {
			cluster, cronJob, err := p.cronJob(cmd.Context(), arguments[0])
			if err != nil {
				return err
			}
			jobs, err := cluster.JobsOf(cmd.Context(), cronJob)
			if err != nil {
				return err
			}
			var branches []answer.Branch
			for _, job := range jobs {
				pods, err := cluster.Pods(cmd.Context(), job.Namespace, job.Name)
				if err != nil {
					return fmt.Errorf("tree of CronJob %s/%s: %w", cronJob.Namespace, cronJob.Name, err)
				}
				branches = append(branches, answer.Branch{Job: job, Pods: pods})
			}
			return answer.Tree(p.out, p.clock(), cronJob, branches)
		}),
	}
	return command.House(cmd)
}
