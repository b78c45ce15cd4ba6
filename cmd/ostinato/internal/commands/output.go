package commands

import (
	"encoding/json"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/internal/command"
)

// Values of --output.
const (
	asJSON = "json"
	asYAML = "yaml"
	asWide = "wide"
	asName = "name"
)

// tableFlags are those of commands that print a table.
func (p *person) tableFlags(cmd *cobra.Command) {
	p.outputFlag(cmd, "how the answer is written, in place of a table", asJSON, asYAML, asWide, asName)
	cmd.Flags().BoolVar(&p.noHeaders, "no-headers", false, "leave out the heading of the table")
}

// outputFlag is the flag --output, with those of its values that a command has.
func (p *person) outputFlag(cmd *cobra.Command, usage string, choices ...string) {
	choice(cmd, &p.output, "output", "o", choices, usage)
}

// overlapFlag is the flag for the concurrency policy of a requested run.
func overlapFlag(cmd *cobra.Command, overlap *batchv1.ConcurrencyPolicy) {
	choice(cmd, overlap, "overlap-policy", "", []batchv1.ConcurrencyPolicy{
		batchv1.AllowConcurrent, batchv1.ForbidConcurrent, batchv1.ReplaceConcurrent, ostinatov1.QueueConcurrent,
	}, "in place of the CronJob's concurrencyPolicy")
}

// choice declares a flag that takes one of a few values, which a shell completes. It is not set by default.
func choice[T ~string](cmd *cobra.Command, value *T, name, letter string, choices []T, usage string) {
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	command.Choice(flags, value, name, "", choices, usage)
	flag := flags.Lookup(name)
	flag.Shorthand = letter
	cmd.Flags().AddFlag(flag)
	var names []string
	for _, one := range choices {
		names = append(names, string(one))
	}
	// The only error is that of a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// write prints a table, or what it was made from.
func (p *person) write(table answer.Table, objects any, names []string) error {
	if done, err := p.encode(objects, names); done {
		return err
	}
	if len(table.Rows) == 0 {
		p.note("Nothing found.")
		return nil
	}
	return table.Write(p.out, !p.noHeaders)
}

// encode prints objects or their names where --output asks for them; done is false where it asks for a text.
func (p *person) encode(objects any, names []string) (done bool, err error) {
	switch p.output {
	case asJSON:
		encoder := json.NewEncoder(p.out)
		encoder.SetIndent("", "  ")
		return true, encoder.Encode(objects)
	case asYAML:
		text, err := yaml.Marshal(objects)
		if err == nil {
			_, err = p.out.Write(text)
		}
		return true, err
	case asName:
		for n, name := range names {
			if !slices.Contains(names[:n], name) {
				fmt.Fprintln(p.out, answer.Printable(name))
			}
		}
		return true, nil
	}
	return false, nil
}

// some returns a list that is written as empty where there is nothing.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// cronJobName and jobName are names as -o name prints them.
func cronJobName(name string) string { return "cronjob." + ostinatov1.GroupName + "/" + name }

func jobName(name string) string { return "job.batch/" + name }

// cronJobNames are those of CronJobs.
func cronJobNames(cronJobs []ostinatov1.CronJob) []string {
	var shown []string
	for _, cronJob := range cronJobs {
		shown = append(shown, cronJobName(cronJob.Name))
	}
	return shown
}

// listOf is what -o json prints of CronJobs.
func listOf(cronJobs []ostinatov1.CronJob) *ostinatov1.CronJobList {
	list := &ostinatov1.CronJobList{
		TypeMeta: metav1.TypeMeta{APIVersion: ostinatov1.GroupVersion.String(), Kind: ostinatov1.CronJobKind.Kind + "List"}, Items: some(slices.Clone(cronJobs)),
	}
	for n := range list.Items {
		// The API server leaves out what the list says about all of them.
		list.Items[n].TypeMeta = metav1.TypeMeta{APIVersion: ostinatov1.GroupVersion.String(), Kind: ostinatov1.CronJobKind.Kind}
	}
	return list
}
