package commands

import (
	"fmt"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/internal/command"
)

func (p *person) newStatus() *cobra.Command {
	cmd := &cobra.Command{
		Use: "status", Short: "What is not as it should be: overdue, stalled, failing, suspended, and by whom; the health of Ostinato",
		Long: "status shows what of the CronJobs is not as it should be, and then whether what runs them is: worker and bridge, Temporal and who\n" +
			"polls Ostinato's task queues, admission policies, versions and clocks. It names the Jobs under way. It waits a few seconds at most for\n" +
			"that. What you may not see is Unseen, with the reason. Its exit code does not depend on what it found.",
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
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
			if p.output == asName {
				_, err := p.encode(nil, deviant(deviations))
				p.note("%s", summary)
				return err
			}
			shown := status{Deviations: some(deviations), Health: p.health(cmd.Context(), cluster, cronJobs)}
			done, err := p.encode(shown, nil)
			if err != nil {
				return err
			}
			if !done {
				if len(deviations) > 0 {
					if err := table.Write(p.out, !p.noHeaders); err != nil {
						return err
					}
					fmt.Fprintln(p.out)
				}
				if err := answer.HealthTable(shown.Health).Write(p.out, !p.noHeaders); err != nil {
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

// status is what -o json prints of it.
type status struct {
	Deviations []answer.Deviation `json:"deviations"`
	Health     []answer.Health    `json:"health"`
}

// deviant are the names of the CronJobs that are not as they should be.
func deviant(deviations []answer.Deviation) []string {
	var shown []string
	for _, deviation := range deviations {
		shown = append(shown, cronJobName(deviation.CronJob))
	}
	return shown
}

func (p *person) newTree() *cobra.Command {
	cmd := &cobra.Command{
		Use: "tree NAME", Short: "What belongs to a CronJob: its workflow, its Jobs and their Pods",
		Args: cobra.ExactArgs(1), ValidArgsFunction: p.completeCronJobs(1),
		RunE: answering(func(cmd *cobra.Command, arguments []string) error {
			cluster, cronJob, err := p.cronJob(cmd.Context(), arguments[0])
			if err != nil {
				return err
			}
			jobs, err := cluster.JobsOf(cmd.Context(), cronJob)
			if err != nil {
				return err
			}
			shown := tree{CronJob: listOf([]ostinatov1.CronJob{*cronJob}).Items[0], Jobs: []answer.Branch{}}
			all := []string{cronJobName(cronJob.Name)}
			for _, job := range jobs {
				pods, err := cluster.Pods(cmd.Context(), job.Namespace, job.Name)
				if err != nil {
					return fmt.Errorf("tree of CronJob %s/%s: %w", cronJob.Namespace, cronJob.Name, err)
				}
				job.TypeMeta = metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"}
				all = append(all, jobName(job.Name))
				for n := range pods {
					pods[n].TypeMeta = metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Pod"}
					all = append(all, "pod/"+pods[n].Name)
				}
				shown.Jobs = append(shown.Jobs, answer.Branch{Job: job, Pods: some(pods)})
			}
			if done, err := p.encode(shown, all); done {
				return err
			}
			return answer.Tree(p.out, p.clock(), cronJob, shown.Jobs)
		}),
	}
	p.outputFlag(cmd, "how the answer is written, in place of a tree", asJSON, asYAML, asName)
	return command.House(cmd)
}

// tree is what -o json prints of what belongs to a CronJob.
type tree struct {
	CronJob ostinatov1.CronJob `json:"cronJob"`
	Jobs    []answer.Branch    `json:"jobs"`
}
