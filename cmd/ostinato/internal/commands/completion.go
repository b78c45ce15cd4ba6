package commands

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
)

// completionPatience bounds how long a shell waits for names.
const completionPatience = 3 * time.Second

// completeCronJobs completes the names of CronJobs in the namespace of the flags, for the first arguments up to a number; 0
// is for all.
func (p *person) completeCronJobs(arguments int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if arguments > 0 && len(given) >= arguments {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return p.complete(cmd.Context(), false, given, prefix), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeRuns completes a CronJob's name, or job/ and that of a Job.
func (p *person) completeRuns(cmd *cobra.Command, given []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	job, isJob := strings.CutPrefix(prefix, "job/")
	switch {
	case len(given) > 0:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case !isJob:
		return p.complete(cmd.Context(), false, nil, prefix), cobra.ShellCompDirectiveNoFileComp
	}
	found := p.complete(cmd.Context(), true, nil, job)
	for n := range found {
		found[n] = "job/" + found[n]
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeJobs completes the name of a Job of the CronJob that was named before.
func (p *person) completeJobs(cmd *cobra.Command, given []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) > 0 && !strings.HasPrefix(prefix, given[0]+"-") {
		prefix = given[0] + "-"
	}
	return p.complete(cmd.Context(), true, nil, prefix), cobra.ShellCompDirectiveNoFileComp
}

// complete returns the names of CronJobs or Jobs.
func (p *person) complete(ctx context.Context, jobs bool, given []string, prefix string) []cobra.Completion {
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	return p.completeFrom(func(cluster *ask.Cluster) ([]string, error) { return cluster.Names(ctx, jobs) }, given, prefix)
}

// completeFrom returns the names of a list that begin with a prefix, without those that were given. An error is no
// names: a shell would print it into the line that is being typed.
func (p *person) completeFrom(list func(*ask.Cluster) ([]string, error), given []string, prefix string) []cobra.Completion {
	cluster, err := p.cluster()
	if err != nil {
		return nil
	}
	names, err := list(cluster)
	if err != nil {
		return nil
	}
	taken := map[string]bool{}
	for _, name := range given {
		taken[name] = true
	}
	var found []cobra.Completion
	for _, name := range names {
		if strings.HasPrefix(name, prefix) && !taken[name] {
			found = append(found, name)
		}
	}
	return found
}

// completeMoves completes the names of the CronJobs that a move begins from.
func (p *person) completeMoves(wanted *wantedMove) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
		defer cancel()
		return p.completeFrom(func(cluster *ask.Cluster) ([]string, error) {
			if wanted.undo {
				return cluster.Names(ctx, false)
			}
			return cluster.NativeNames(ctx)
		}, given, prefix), cobra.ShellCompDirectiveNoFileComp
	}
}
