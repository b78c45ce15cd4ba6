package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/steering"
)

func (p *person) newSuspend() *cobra.Command {
	return p.newSteer(steering.Suspend, "Stop scheduled runs of CronJobs")
}

func (p *person) newResume() *cobra.Command {
	return p.newSteer(steering.Resume, "Let scheduled runs of CronJobs start again")
}

// newSteer returns suspend or resume, which need the person's own right to patch CronJobs.
func (p *person) newSteer(name, short string) *cobra.Command {
	var everything bool
	by, why := self(), ""
	suspend := name == steering.Suspend
	cmd := &cobra.Command{
		Use: name + " [NAME...]", ValidArgsFunction: p.completeCronJobs(0), Short: short,
		RunE: answering(func(cmd *cobra.Command, arguments []string) error {
			named := len(arguments) > 0
			if !named && p.selector == "" && !everything {
				return command.Mistake(errors.New("name the CronJobs, choose them with --selector, or say --all"))
			}
			cluster, err := p.cluster()
			if err != nil {
				return err
			}
			cronJobs, err := p.chosen(cmd.Context(), cluster, arguments)
			if err != nil {
				return err
			}
			return p.steer(cmd.Context(), cluster, cronJobs, ask.Suspension{Suspend: suspend, By: by, Why: why}, named)
		}),
	}
	p.listFlags(cmd)
	cmd.Flags().BoolVar(&everything, "all", false, "all CronJobs of the namespace, or with -A of all namespaces")
	cmd.Flags().StringVar(&by, "by", by, "who asks, as the object will say")
	if suspend {
		cmd.Flags().StringVar(&why, "reason", "", "why, as the object will say")
	} else {
		cmd.Flags().StringVar(&why, "reason", "", "take back only suspensions that --by made for this reason")
	}
	p.outputFlag(cmd, "how the answer is written, in place of a line each", asJSON, asYAML, asName)
	return command.House(cmd)
}

// steered says what has become of one CronJob.
type steered struct {
	Namespace string `json:"namespace"`
	CronJob   string `json:"cronJob"`
	Suspended bool   `json:"suspended"`
	// Changed is false for one that is left as it was; Why then says why.
	Changed bool   `json:"changed"`
	Why     string `json:"why,omitempty"`
	// refused: another person has suspended it.
	refused bool
}

// steer suspends or resumes CronJobs, and goes on after an error. One that was named and is left suspended is a no.
func (p *person) steer(ctx context.Context, cluster *ask.Cluster, cronJobs []ostinatov1.CronJob, wanted ask.Suspension, named bool) error {
	var done []steered
	var changed []string
	var failed []error
	refused := false
	for n := range cronJobs {
		one, err := steerOne(ctx, cluster, &cronJobs[n], wanted, named)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		refused = refused || one.refused
		done = append(done, one)
		if one.Changed {
			changed = append(changed, cronJobName(one.CronJob))
		}
	}
	if written, err := p.encode(some(done), changed); err != nil {
		failed = append(failed, err)
	} else if !written {
		p.tell(done, len(cronJobs))
	}
	if len(failed) == 0 && refused && named {
		return command.ErrNo
	}
	return errors.Join(failed...)
}

// tell prints a line for each CronJob.
func (p *person) tell(done []steered, asked int) {
	if asked == 0 {
		p.note("Nothing found.")
	}
	for _, one := range done {
		line := fmt.Sprintf("%s/%s %s", one.Namespace, one.CronJob, state(one.Suspended))
		switch {
		case one.refused:
			line = fmt.Sprintf("%s/%s left suspended: %s", one.Namespace, one.CronJob, one.Why)
		case !one.Changed:
			line = fmt.Sprintf("%s/%s unchanged: %s", one.Namespace, one.CronJob, one.Why)
		}
		fmt.Fprintln(p.out, answer.Printable(line))
	}
}

// steerOne suspends or resumes one CronJob. A CronJob that was not named, and that another person has suspended, stays
// suspended.
func steerOne(ctx context.Context, cluster *ask.Cluster, cronJob *ostinatov1.CronJob, wanted ask.Suspension, named bool) (steered, error) {
	one := steered{Namespace: cronJob.Namespace, CronJob: cronJob.Name, Suspended: wanted.Suspend}
	if ptr.Deref(cronJob.Spec.Suspend, false) == wanted.Suspend {
		one.Why = "it is " + state(wanted.Suspend) + " already"
		return one, nil
	}
	if !wanted.Suspend {
		if one.Why = answer.NotTakenBack(cronJob, wanted.By, wanted.Why, named); one.Why != "" {
			one.Suspended, one.refused = true, true
			return one, nil
		}
	}
	one.Changed = true
	return one, cluster.Suspend(ctx, cronJob, wanted)
}

func state(suspended bool) string {
	if suspended {
		return "suspended"
	}
	return "resumed"
}
