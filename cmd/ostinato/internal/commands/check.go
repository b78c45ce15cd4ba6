package commands

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/yaml"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/cmd/ostinato/internal/kustomized"
	"ostinato.dev/ostinato/internal/command"
)

func (p *person) newCheck() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "check [-f FILE]", Short: "What would be refused, never fires or loses containers; whether the installation and your rights are enough",
		Long: "check -f asks the API server whether it would take the CronJobs of a file, and says which never come due. Of a folder it builds the\n" +
			"kustomization, and says too what kustomize drops from its CronJobs.\n\n" +
			"Without a file it checks the CronJobs of the cluster, and then what runs them, as status does, and what you may not do.\n\n" +
			"Its exit code is 1 if a CronJob needs a correction, or a part is Wrong.",
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: answering(func(cmd *cobra.Command, _ []string) error {
			if file != "" && (p.all || p.selector != "") {
				return command.Mistake(errors.New("--filename: it goes with neither --all-namespaces nor --selector"))
			}
			cluster, err := p.cluster()
			if err != nil {
				return err
			}
			if file == "" {
				return p.checkCluster(cmd.Context(), cluster)
			}
			return p.checkFile(cmd.Context(), cluster, file, cmd.InOrStdin())
		}),
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "file with manifests, or folder with a kustomization; - for standard input")
	p.listFlags(cmd)
	p.outputFlag(cmd, "how the answer is written, in place of a line each", asJSON, asYAML)
	return command.House(cmd)
}

// checkFile checks the CronJobs of a file, or of a folder with a kustomization.
func (p *person) checkFile(ctx context.Context, cluster *ask.Cluster, file string, stdin io.Reader) error {
	manifests, built := stdin, kustomized.Built{}
	switch {
	case kustomized.IsFolder(file):
		var err error
		if built, err = kustomized.Build(file); err != nil {
			return err
		}
		manifests = bytes.NewReader(built.Manifests)
	case file != "-":
		opened, err := os.Open(file)
		if err != nil {
			return err
		}
		defer opened.Close()
		manifests = opened
	}
	cronJobs, err := readCronJobs(file, manifests)
	if err != nil {
		return err
	}
	var all []answer.Checked
	for n := range cronJobs {
		cronJob := &cronJobs[n]
		lost := built.Lost(cronJob.Namespace, cronJob.Name)
		cronJob.Namespace = cmp.Or(cronJob.Namespace, cluster.Namespace)
		checked := answer.Check(cronJob, p.now(), cluster.TryCronJob(ctx, cronJob), lost)
		all = append(all, checked)
		if p.output == "" {
			fmt.Fprint(p.out, checked)
		}
	}
	if _, err := p.encode(all, nil); err != nil {
		return err
	}
	if wrong := answer.NeedCorrection(all); wrong > 0 {
		return fmt.Errorf("%d of %d CronJobs need a correction", wrong, len(cronJobs))
	}
	return nil
}

// checkedCluster is what -o json prints of it.
type checkedCluster struct {
	CronJobs []answer.Checked `json:"cronJobs"`
	Health   []answer.Health  `json:"health"`
}

// checkCluster checks the CronJobs that there are, what runs them, and the rights of the person.
func (p *person) checkCluster(ctx context.Context, cluster *ask.Cluster) error {
	cronJobs, err := cluster.CronJobs(ctx)
	if err != nil {
		return err
	}
	checked := checkedCluster{CronJobs: []answer.Checked{}}
	for n := range cronJobs {
		checked.CronJobs = append(checked.CronJobs, answer.CheckPresent(&cronJobs[n], p.now()))
	}
	checked.Health = append(p.health(ctx, cluster, cronJobs), p.rights(ctx, cluster))
	done, err := p.encode(checked, nil)
	if err != nil {
		return err
	}
	wrong := answer.NeedCorrection(checked.CronJobs)
	if !done {
		for _, one := range checked.CronJobs {
			if len(one.Problems) > 0 {
				fmt.Fprint(p.out, one)
			}
		}
		if wrong > 0 {
			fmt.Fprintln(p.out)
		}
		if err := answer.HealthTable(checked.Health).Write(p.out, true); err != nil {
			return err
		}
	}
	parts := 0
	for _, one := range checked.Health {
		if one.Is == answer.HealthWrong {
			parts++
		}
	}
	if wrong > 0 || parts > 0 {
		return fmt.Errorf("%d of %d CronJobs need a correction, and %d parts are %s", wrong, len(cronJobs), parts, answer.HealthWrong)
	}
	p.note("%d CronJobs, none needs a correction", len(cronJobs))
	return nil
}

// readCronJobs reads the CronJobs of batch.ostinato.dev among manifests. Other kinds are left out.
func readCronJobs(file string, manifests io.Reader) ([]ostinatov1.CronJob, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(manifests, 4096)
	var found []ostinatov1.CronJob
	for {
		var cronJob ostinatov1.CronJob
		switch err := decoder.Decode(&cronJob); {
		case errors.Is(err, io.EOF):
			if len(found) == 0 {
				return nil, fmt.Errorf("%s has no CronJob of %s", file, ostinatov1.GroupVersion)
			}
			return found, nil
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		if cronJob.Kind == "CronJob" && cronJob.APIVersion == ostinatov1.GroupVersion.String() {
			found = append(found, cronJob)
		}
	}
}
