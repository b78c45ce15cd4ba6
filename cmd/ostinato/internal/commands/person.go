package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/internal/command"
)

// person is who asks: the flags that all commands share, and where the answers go.
type person struct {
	kubernetes *genericclioptions.ConfigFlags
	all        bool
	selector   string
	output     string
	noHeaders  bool
	utc        bool
	temporal   ask.Settings
	// system is the namespace of worker and bridge.
	system string
	// found is Temporal, once it was asked for; away says why it is not to be asked again.
	found struct {
		sync.Mutex
		workflows *ask.Workflows
		away      error
	}
	out, complain io.Writer
	now           func() time.Time
	// every is how often a run that is waited for is looked at.
	every time.Duration
	// version is that of the command; empty where it is not known.
	version string
}

// New returns the command, under the name by which it was called, with some more commands below it.
func New(name string, more ...*cobra.Command) *cobra.Command {
	p := &person{kubernetes: genericclioptions.NewConfigFlags(true), now: time.Now, every: time.Second}
	if info, known := debug.ReadBuildInfo(); known {
		p.version = info.Main.Version
	}
	return p.command(name, more...)
}

func (p *person) command(name string, more ...*cobra.Command) *cobra.Command {
	root := command.NewParent(&cobra.Command{
		Use:   name,
		Short: "Answers what ran, what runs and what will, and does what a person asks",
		Long: "ostinato answers what a CronJob ran, why it did not, and what it will run, and does what a person asks of one.\n" +
			"It uses the rights that you have in Kubernetes. Where the objects do not say enough, it asks Temporal, which it finds by\n" +
			"TEMPORAL_ADDRESS and the other settings of the temporal command, or else where the workers do, through the API server.\n\n" +
			"Exit codes: 0 for an answer or a deed; 1 if the answer of why, check or a resume is no, or something was refused or failed;\n" +
			"2 for a mistake on the command line; 124 if the --timeout of a wait ran out.",
	}, append([]*cobra.Command{
		p.newStatus(), p.newGet(), p.newNext(), p.newRuns(), p.newFailed(), p.newWhy(), p.newTree(), p.newLogs(), p.newRun(), p.newStop(), p.newBackfill(), p.newSuspend(), p.newResume(), p.newCheck(), p.newMove(), p.newReport(),
		p.newExport(), p.newImport(), p.newToken(), p.newUI(),
	}, more...)...)
	flags := root.PersistentFlags()
	p.kubernetes.AddFlags(flags)
	flags.StringVar(&p.temporal.Address, "temporal-address", "", "host and port of Temporal, in place of TEMPORAL_ADDRESS")
	flags.StringVar(&p.temporal.Profile, "temporal-profile", "", "profile of the Temporal configuration file")
	flags.StringVar(&p.temporal.TokenFile, "temporal-token-file", "", "file with a token for Temporal, such as a ServiceAccount's with the audience ostinato-temporal; it is read anew for each call")
	flags.StringVar(&p.temporal.CodecEndpoint, "codec-endpoint", "", "codec server that decrypts what is kept in Temporal, in place of TEMPORAL_CODEC_ENDPOINT; {namespace} stands for Temporal's namespace")
	flags.StringVar(&p.temporal.CodecAuth, "codec-auth", "", "Authorization header for the codec server, in place of TEMPORAL_CODEC_AUTH, which others on the machine can't see")
	flags.StringVar(&p.system, "system-namespace", systemNamespace, "namespace of worker and bridge")
	flags.BoolVar(&p.utc, "utc", false, "show times in UTC")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		p.out, p.complain = cmd.OutOrStdout(), cmd.ErrOrStderr()
		if err := ask.ValidCodecEndpoint(p.temporal.CodecEndpoint); err != nil {
			return command.Mistake(fmt.Errorf("--codec-endpoint: %w", err))
		}
		return nil
	}
	return root
}

// listFlags are those of commands that answer for several CronJobs.
func (p *person) listFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&p.all, "all-namespaces", "A", false, "of all namespaces")
	cmd.Flags().StringVarP(&p.selector, "selector", "l", "", "label selector, such as team=billing")
}

// cluster returns the API server for the namespace of the flags.
func (p *person) cluster() (*ask.Cluster, error) {
	return p.clusterOf(func(config *rest.Config) *rest.Config { return config })
}

// clusterOf is cluster with a configuration that was changed.
func (p *person) clusterOf(change func(*rest.Config) *rest.Config) (*ask.Cluster, error) {
	config, err := p.kubernetes.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("read the Kubernetes configuration: %w", err)
	}
	namespace := ""
	if !p.all {
		if namespace, _, err = p.kubernetes.ToRawKubeConfigLoader().Namespace(); err != nil {
			return nil, fmt.Errorf("read the Kubernetes configuration: %w", err)
		}
	}
	return ask.NewCluster(change(config), namespace, p.selector)
}

// chosen reads the CronJobs of the names, or those that the flags choose.
func (p *person) chosen(ctx context.Context, cluster *ask.Cluster, names []string) ([]ostinatov1.CronJob, error) {
	switch {
	case len(names) > 0 && p.all:
		return nil, command.Mistake(fmt.Errorf("%s may be in any namespace: name one with --namespace in place of --all-namespaces", names[0]))
	case len(names) > 0 && p.selector != "":
		return nil, command.Mistake(errors.New("--selector: it goes with no names"))
	}
	return cluster.CronJobs(ctx, names...)
}

// cronJob reads the CronJob of a name, from the API server that it returns too.
func (p *person) cronJob(ctx context.Context, name string) (*ask.Cluster, *ostinatov1.CronJob, error) {
	cluster, err := p.cluster()
	if err != nil {
		return nil, nil, err
	}
	cronJob, err := cluster.CronJob(ctx, name)
	return cluster, cronJob, err
}

// answering is command.Run for what may fail with words of a workflow, which anybody who may write to Temporal can choose.
func answering(do func(cmd *cobra.Command, arguments []string) error) func(*cobra.Command, []string) error {
	return command.Run(func(cmd *cobra.Command, arguments []string) error { return printable(do(cmd, arguments)) })
}

// printable returns the error with a text that moves no cursor.
func printable(err error) error {
	if err == nil {
		return nil
	}
	clean := worded{error: err}
	lines := strings.Split(err.Error(), "\n")
	for n := range lines {
		lines[n] = answer.Printable(lines[n])
	}
	clean.text = strings.Join(lines, "\n")
	return clean
}

// worded is an error with another text.
type worded struct {
	error
	text string
}

func (w worded) Error() string { return w.text }

func (w worded) Unwrap() error { return w.error }

// workflows returns Temporal, with connections that are kept.
func (p *person) workflows(ctx context.Context) (*ask.Workflows, error) {
	p.found.Lock()
	defer p.found.Unlock()
	if p.found.workflows != nil || p.found.away != nil {
		return p.found.workflows, p.found.away
	}
	settings := p.temporal
	settings.Workers = func() (ask.WorkerSettings, error) {
		cluster, err := p.cluster()
		if err != nil {
			return ask.WorkerSettings{}, err
		}
		return cluster.WorkerSettings(ctx, p.system)
	}
	found, err := ask.NewWorkflows(settings)
	if err != nil {
		return nil, err
	}
	p.found.workflows = found.Keep()
	return p.found.workflows, nil
}

// clock is how times are shown.
func (p *person) clock() answer.Clock {
	if p.utc {
		return answer.Clock{Now: p.now(), Zone: time.UTC}
	}
	return answer.Clock{Now: p.now(), Zone: time.Local}
}

// note tells a person what an answer could not see.
func (p *person) note(format string, arguments ...any) {
	fmt.Fprintln(p.complain, answer.Printable(fmt.Sprintf(format, arguments...)))
}

// self is who asks, as the machine knows him: a claim.
func self() string {
	if account, err := user.Current(); err == nil {
		return account.Username
	}
	return ""
}

// reason is the innermost message of an error.
func reason(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// Times that a person may write.
var layouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"}

// parseTime reads a time: a full one, or an hour and minute, which is the last such before now.
func parseTime(text string, now time.Time, zone *time.Location) (time.Time, error) {
	for _, layout := range layouts {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if clock, err := time.ParseInLocation(layout, text, zone); err == nil {
			today := now.In(zone)
			at := time.Date(today.Year(), today.Month(), today.Day(), clock.Hour(), clock.Minute(), clock.Second(), 0, zone)
			if at.After(now) {
				at = at.AddDate(0, 0, -1)
			}
			return at, nil
		}
	}
	return time.Time{}, command.Mistake(fmt.Errorf("%q is no time: write 02:00, \"2026-01-02 02:00\" or 2026-01-02T02:00:00Z", text))
}

// readable returns an error for the first text that is no time. The zone of the times is not known yet.
func readable(texts ...string) error {
	for _, text := range texts {
		if _, err := parseTime(text, time.Time{}, time.UTC); err != nil {
			return err
		}
	}
	return nil
}

// parseSpan reads a duration, with days too.
func parseSpan(text string) (time.Duration, error) {
	if days, found := strings.CutSuffix(text, "d"); found {
		if count, err := time.ParseDuration(days + "h"); err == nil && count > 0 {
			return 24 * count, nil
		}
	}
	span, err := time.ParseDuration(text)
	if err != nil || span <= 0 {
		return 0, command.Mistake(fmt.Errorf("%q is no length of time: write 12h, 90m or 3d", text))
	}
	return span, nil
}
