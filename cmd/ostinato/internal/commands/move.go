package commands

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/cmd/ostinato/internal/moving"
	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/names"
)

// wantedMove is what the flags of move say.
type wantedMove struct {
	undo, delete, yes, dryRun, everything bool
	file, by                              string
	timeout                               time.Duration
}

func (p *person) newMove() *cobra.Command {
	wanted := wantedMove{by: self(), timeout: 10 * time.Minute}
	cmd := &cobra.Command{
		Use: "move NAME...", Short: "Move CronJobs from batch/v1 to batch.ostinato.dev/v1, or back, without a time that is missed or runs twice",
		Long: "move makes CronJobs of batch.ostinato.dev/v1 from those of batch/v1. It shows what changes and asks. Then it waits for a gap, 5 s or\n" +
			"more before the next time and after the Job of the last one, suspends the old CronJob, waits for its active runs unless\n" +
			"concurrencyPolicy is Allow, and creates the new one, which counts from the last run. The old one stays suspended, or is deleted\n" +
			"with --delete; its Jobs stay in any case. --undo is the way back. A move that was interrupted goes on when it is called again.\n" +
			"What Helm, Flux, Argo CD or a controller writes is left alone: move prints the steps instead.",
		ValidArgsFunction: p.completeMoves(&wanted),
		RunE: answering(func(cmd *cobra.Command, arguments []string) error {
			if err := wanted.mistake(len(arguments) > 0, p); err != nil {
				return command.Mistake(err)
			}
			cluster, err := p.cluster()
			if err != nil {
				return err
			}
			keys, err := p.toMove(cmd.Context(), cluster, &wanted, arguments, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return (&mover{person: p, cluster: cluster, wanted: wanted, input: cmd.InOrStdin()}).run(cmd.Context(), keys)
		}),
	}
	p.listFlags(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&wanted.everything, "all", false, "all CronJobs of the namespace, or with -A of all namespaces; with --undo those that were moved")
	flags.StringVarP(&wanted.file, "filename", "f", "", "the CronJobs that a file with manifests names; - for standard input")
	flags.BoolVar(&wanted.undo, "undo", false, "move back to batch/v1")
	flags.BoolVar(&wanted.delete, "delete", false, "delete the old CronJob in the end, in place of leaving it suspended")
	flags.BoolVarP(&wanted.yes, "yes", "y", false, "do not ask")
	flags.BoolVar(&wanted.dryRun, "dry-run", false, "show what changes, ask the API server whether it would take it, and change nothing")
	flags.StringVar(&wanted.by, "by", wanted.by, "who asks, as the object will say")
	flags.DurationVar(&wanted.timeout, "timeout", wanted.timeout, "how long to wait for gaps, and for active runs, at most")
	return command.House(cmd)
}

// mistake says what of the flags does not go together.
func (w *wantedMove) mistake(named bool, p *person) error {
	ways := 0
	for _, way := range []bool{named, w.file != "", w.everything || p.selector != ""} {
		if way {
			ways++
		}
	}
	switch {
	case ways != 1:
		return errors.New("name the CronJobs, or name a file with --filename, or choose with --selector or --all")
	case named && p.all:
		return errors.New("names may be in any namespace: name one with --namespace in place of --all-namespaces")
	case w.file == "-" && !w.yes && !w.dryRun:
		return errors.New("--filename=-: there is no one to ask on standard input: say --yes or --dry-run too")
	case w.timeout <= 0:
		return errors.New("--timeout: use more than 0")
	}
	return nil
}

// moveKey names both CronJobs of a move.
type moveKey struct{ namespace, name string }

func (k moveKey) String() string { return k.namespace + "/" + k.name }

// toMove returns what is to be moved, as names, a file or the flags say.
func (p *person) toMove(ctx context.Context, cluster *ask.Cluster, wanted *wantedMove, named []string, input io.Reader) (keys []moveKey, err error) {
	switch {
	case wanted.file != "":
		return namedInFile(wanted.file, input, cluster.Namespace)
	case len(named) > 0:
		for _, name := range named {
			keys = append(keys, moveKey{cluster.Namespace, name})
		}
		return keys, nil
	case wanted.undo:
		all, err := cluster.CronJobs(ctx)
		for _, ours := range all {
			if ours.Annotations[names.MovedFromAnnotation] != "" {
				keys = append(keys, moveKey{ours.Namespace, ours.Name})
			}
		}
		return keys, err
	}
	all, err := cluster.NativeCronJobs(ctx)
	for _, native := range all {
		keys = append(keys, moveKey{native.Namespace, native.Name})
	}
	return keys, err
}

// namedInFile returns the CronJobs of either kind that a file of manifests names. Other kinds are left out.
func namedInFile(file string, input io.Reader, namespace string) (keys []moveKey, err error) {
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		input = opened
	}
	decoder := yaml.NewYAMLOrJSONDecoder(input, 4096)
	for {
		var object metav1.PartialObjectMetadata
		switch err := decoder.Decode(&object); {
		case errors.Is(err, io.EOF):
			if len(keys) == 0 {
				return nil, fmt.Errorf("%s has no CronJob of %s or %s", file, batchv1.SchemeGroupVersion, ostinatov1.GroupVersion)
			}
			return keys, nil
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		ofCronJobs := object.APIVersion == batchv1.SchemeGroupVersion.String() || object.APIVersion == ostinatov1.GroupVersion.String()
		if key := (moveKey{cmp.Or(object.Namespace, namespace), object.Name}); ofCronJobs && object.Kind == ostinatov1.CronJobKind.Kind && key.name != "" {
			keys = append(keys, key)
		}
	}
}

// show prints what would change of one CronJob, and asks the API server whether it would take the new one.
func (m *mover) show(ctx context.Context, one *move) error {
	var text string
	var err error
	if m.wanted.undo {
		made, refused := moving.ToNative(one.pair.Ours, m.now())
		if refused != nil {
			return refused
		}
		if err := m.cluster.CreateNative(ctx, made, true); err != nil {
			return err
		}
		text, err = moving.Diff(one.pair.Ours, moving.Started(made))
	} else {
		now := m.now()
		made := moving.ToOurs(one.pair.Native, one.view.LastScheduleTime(now), now)
		if err := m.cluster.CreateOurs(ctx, made, true); err != nil {
			return err
		}
		text, err = moving.Diff(one.pair.Native, made)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(m.out, "%s:\n", one.moveKey)
	m.print(text)
	return nil
}

// print prints lines with texts that anybody may have chosen.
func (m *mover) print(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintln(m.out, answer.Printable(strings.TrimSuffix(line, "\n")))
	}
}

// confirmed asks whether to go on.
func (m *mover) confirmed(count int) bool {
	fmt.Fprintf(m.complain, "Move %d to %s? [y/N] ", count, versions(m.wanted.undo)[1])
	line, _ := bufio.NewReader(m.input).ReadString('\n')
	fmt.Fprintln(m.complain)
	reply := strings.ToLower(strings.TrimSpace(line))
	return reply == "y" || reply == "yes"
}
