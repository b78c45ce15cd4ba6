package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/cmd/ostinato/internal/bundle"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/names"
)

// Bounds of a report.
const (
	reportedPods, reportedEvents = 1000, 2000
	// reportedLedgers is how many CronJobs have their ledger in a report, and reportedRows how many rows of each.
	reportedLedgers, reportedRows = 50, 100
	reportedLines, reportedBytes  = 2000, 1 << 20
)

// wantedReport is what the flags of report say.
type wantedReport struct {
	file, version string
	withEnv       bool
}

func (p *person) newReport() *cobra.Command {
	var wanted wantedReport
	cmd := &cobra.Command{
		Use: "report", Short: "An archive for a bug report: objects, Events, settings and logs, without Secrets",
		Long: "report writes a .tar.gz with what a bug report needs: CronJobs, Jobs, statuses of Pods and Events of the namespace, Deployments and\n" +
			"recent logs of worker and bridge, versions, health, and the ledger where Temporal can be reached. It reads no Secrets, and leaves out values of\n" +
			"variables and what looks secret in command lines and annotations. manifest.yaml lists what is in it, and what could not be seen and\n" +
			"why. Look through it before you send it: names, schedules, messages and logs are yours.",
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: answering(func(cmd *cobra.Command, _ []string) error {
			wanted.version = p.version
			if wanted.file == "" {
				wanted.file = "ostinato-report-" + p.now().UTC().Format("20060102-150405") + ".tar.gz"
			}
			return p.report(cmd.Context(), wanted)
		}),
	}
	p.listFlags(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&wanted.file, "filename", "f", "", "where the archive is written; - for standard output (default ostinato-report-TIME.tar.gz)")
	flags.BoolVar(&wanted.withEnv, "with-env", false, "keep values of variables in Pod templates")
	return command.House(cmd)
}

// reporter gathers a report.
type reporter struct {
	*person
	bundle.Bundle
	cluster *ask.Cluster
	wanted  wantedReport
	options bundle.Options
}

func (p *person) report(ctx context.Context, wanted wantedReport) error {
	cluster, err := p.clusterWithoutSecrets()
	if err != nil {
		return err
	}
	r := &reporter{person: p, cluster: cluster, wanted: wanted, options: bundle.Options{WithEnv: wanted.withEnv}}
	r.versions(ctx)
	cronJobs := r.cronJobs(ctx)
	r.objects(ctx)
	r.programs(ctx)
	r.healthOf(ctx, cronJobs)
	r.ledgers(ctx, cronJobs)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.save()
}

// clusterWithoutSecrets is cluster, whose clients refuse to ask for Secrets.
func (p *person) clusterWithoutSecrets() (*ask.Cluster, error) {
	return p.clusterOf(ask.WithoutSecrets)
}

// save writes the archive, and prints what is in it.
func (r *reporter) save() (err error) {
	var to io.Writer = r.out
	if r.wanted.file != "-" {
		file, failed := os.OpenFile(r.wanted.file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		to = file
	}
	if err := r.Write(to, "ostinato-report", r.now()); err != nil {
		return err
	}
	for _, file := range r.Files {
		r.note("%s: %s", file.Name, file.Note)
	}
	for _, unseen := range r.Unseen {
		r.note("not seen: %s: %s", unseen.What, unseen.Why)
	}
	if r.wanted.file != "-" {
		fmt.Fprintln(r.out, answer.Printable(fmt.Sprintf("%s has %d files; %d things could not be seen. Look through it before you send it.", r.wanted.file, len(r.Files)+1, len(r.Unseen))))
	}
	return nil
}

// versions adds versions and settings of the command itself.
func (r *reporter) versions(ctx context.Context) {
	server, err := r.cluster.ServerVersion()
	if err != nil {
		r.Miss("the version of the API server", err)
	}
	text := fmt.Sprintf("ostinato: %s\nkubernetes: %s\ntime: %s\nnamespace: %s\nselector: %s\nsystem namespace: %s\n",
		cmp.Or(r.wanted.version, "unknown"), cmp.Or(server, "unknown"), r.now().UTC().Format(time.RFC3339), cmp.Or(r.cluster.Namespace, "all"), r.selector, r.system)
	if workflows, err := r.workflows(ctx); err == nil {
		text += "temporal address: " + bundle.Text(workflows.Address()) + "\n"
	}
	r.Add("versions.txt", "versions, and what was asked for", []byte(text))
}

// cronJobs adds the CronJobs of both kinds, and a summary of ours.
func (r *reporter) cronJobs(ctx context.Context) []ostinatov1.CronJob {
	all, err := r.cluster.CronJobs(ctx)
	if err != nil {
		r.Miss("CronJobs of batch.ostinato.dev", err)
	} else {
		var shown []*ostinatov1.CronJob
		for n := range all {
			shown = append(shown, r.options.CronJob(&all[n]))
		}
		bundle.AddObjects(&r.Bundle, "cronjobs.yaml", "CronJobs of batch.ostinato.dev, with their conditions", shown)
		r.summary(all)
	}
	natives, err := r.cluster.NativeCronJobs(ctx)
	if err != nil {
		r.Miss("CronJobs of batch/v1", err)
		return all
	}
	var shown []*batchv1.CronJob
	for n := range natives {
		shown = append(shown, r.options.NativeCronJob(&natives[n]))
	}
	bundle.AddObjects(&r.Bundle, "native-cronjobs.yaml", "CronJobs of batch/v1", shown)
	return all
}

// summary adds the answer of ostinato status.
func (r *reporter) summary(all []ostinatov1.CronJob) {
	table, _, summary := answer.Status(answer.Clock{Now: r.now(), Zone: time.UTC}, all, true)
	var text strings.Builder
	if err := table.Write(&text, true); err != nil {
		r.Miss("the summary", err)
		return
	}
	fmt.Fprintln(&text, answer.Printable(summary))
	r.Add("status.txt", "what ostinato status says", []byte(text.String()))
}

// objects adds Jobs, statuses of Pods and Events.
func (r *reporter) objects(ctx context.Context) {
	if jobs, err := r.cluster.Jobs(ctx, r.cluster.Namespace); err != nil {
		r.Miss("Jobs", err)
	} else {
		var shown []*batchv1.Job
		for n := range jobs {
			if ofOstinato(&jobs[n]) {
				shown = append(shown, r.options.Job(&jobs[n]))
			}
		}
		bundle.AddObjects(&r.Bundle, "jobs.yaml", "Jobs that Ostinato has made or runs", shown)
	}
	if pods, more, err := r.cluster.AllPods(ctx, names.WatchBucketLabel, reportedPods); err != nil {
		r.Miss("Pods", err)
	} else {
		var shown []*corev1.Pod
		for n := range pods {
			shown = append(shown, bundle.PodStatus(&pods[n]))
		}
		bundle.AddObjects(&r.Bundle, "pods.yaml", "Pods that Ostinato watches, their statuses"+there(more), shown)
	}
	if events, more, err := r.cluster.Events(ctx, reportedEvents); err != nil {
		r.Miss("Events", err)
	} else {
		var shown []*corev1.Event
		for n := range events {
			if kind := events[n].InvolvedObject.Kind; kind == "CronJob" || kind == "Job" || kind == "Pod" {
				shown = append(shown, bundle.Event(&events[n]))
			}
		}
		bundle.AddObjects(&r.Bundle, "events.yaml", "Events of CronJobs, Jobs and Pods"+there(more), shown)
	}
}

// there says that a list was cut.
func there(more bool) string {
	if more {
		return "; cut, there are more"
	}
	return ""
}

// ofOstinato reports whether a Job is made or run by Ostinato.
func ofOstinato(job *batchv1.Job) bool {
	owner := metav1.GetControllerOfNoCopy(job)
	return job.Spec.ManagedBy != nil && *job.Spec.ManagedBy == names.JobController || job.Annotations[names.WorkflowAnnotation] != "" ||
		owner != nil && strings.HasPrefix(owner.APIVersion, ostinatov1.GroupName+"/")
}

// programs adds Deployments, Pods and logs of worker and bridge.
func (r *reporter) programs(ctx context.Context) {
	if deployments, err := r.cluster.Deployments(ctx, r.system); err != nil {
		r.Miss("Deployments of Ostinato, with their flags", err)
	} else {
		shown := make([]any, 0, len(deployments))
		for n := range deployments {
			shown = append(shown, bundle.Deployment(&deployments[n]))
		}
		bundle.AddObjects(&r.Bundle, "system/deployments.yaml", "Deployments of Ostinato, with their flags", shown)
	}
	pods, err := r.cluster.ProgramPods(ctx, r.system)
	if err != nil {
		r.Miss("Pods and logs of Ostinato", err)
		return
	}
	var shown []*corev1.Pod
	for n := range pods {
		shown = append(shown, bundle.PodStatus(&pods[n]))
	}
	bundle.AddObjects(&r.Bundle, "system/pods.yaml", "Pods of Ostinato", shown)
	for n := range pods {
		for _, status := range pods[n].Status.ContainerStatuses {
			r.logOf(ctx, &pods[n], status.Name, false)
			if status.RestartCount > 0 {
				r.logOf(ctx, &pods[n], status.Name, true)
			}
		}
	}
}

// logOf adds the end of a container's log.
func (r *reporter) logOf(ctx context.Context, pod *corev1.Pod, container string, previous bool) {
	name, note := fmt.Sprintf("system/logs/%s.%s.log", pod.Name, container), "the end of a log"
	if previous {
		name, note = strings.TrimSuffix(name, ".log")+".previous.log", note+", of the container that ran before"
	}
	text, err := r.cluster.Tail(ctx, pod, container, previous, reportedLines, reportedBytes)
	if err != nil {
		r.Miss(name, err)
		return
	}
	r.Add(name, note, []byte(bundle.Text(string(text))))
}

// healthOf adds what status says about Ostinato and what it needs.
func (r *reporter) healthOf(ctx context.Context, cronJobs []ostinatov1.CronJob) {
	var text strings.Builder
	if err := answer.HealthTable(r.health(ctx, r.cluster, cronJobs)).Write(&text, true); err != nil {
		r.Miss("health.txt", err)
		return
	}
	r.Add("health.txt", "what status says about Ostinato and what it needs", []byte(bundle.Text(text.String())))
}

// ledgers adds the ledger of each CronJob, as long as Temporal answers.
func (r *reporter) ledgers(ctx context.Context, cronJobs []ostinatov1.CronJob) {
	if len(cronJobs) == 0 {
		return
	}
	workflows, err := r.workflows(ctx)
	if err != nil {
		r.Miss("ledgers, in Temporal", err)
		return
	}
	for n := range cronJobs[:min(len(cronJobs), reportedLedgers)] {
		cronJob := &cronJobs[n]
		rows, whole, err := workflows.Ledger(ctx, cronJob, question(reportedRows, time.Time{}, time.Time{}))
		switch {
		case err != nil && (errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "reach Temporal")):
			r.Miss("ledgers, in Temporal", err)
			return
		case err != nil:
			r.Miss(fmt.Sprintf("the ledger of CronJob %s/%s", cronJob.Namespace, cronJob.Name), err)
			continue
		}
		text, err := json.MarshalIndent(rows, "", "  ")
		if err != nil {
			r.Miss(fmt.Sprintf("the ledger of CronJob %s/%s", cronJob.Namespace, cronJob.Name), err)
			continue
		}
		r.Add(fmt.Sprintf("ledgers/%s_%s.json", cronJob.Namespace, cronJob.Name), fmt.Sprintf("%d rows of a ledger%s", len(rows), there(!whole)), []byte(bundle.Text(string(text))+"\n"))
	}
	if more := len(cronJobs) - reportedLedgers; more > 0 {
		r.Miss("ledgers", fmt.Errorf("%d more CronJobs have one: choose with --selector", more))
	}
}
