package commands

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/yaml"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/cmd/ostinato/internal/answer"
	"ostinato.dev/ostinato/internal/command"
)

func (p *person) newCheck() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "check -f FILE", Short: "What would be refused, or never fires, of the CronJobs in a file; the first times of the others",
		Long: "check asks the API server whether it would take the CronJobs of a file, and says which never come due. Its exit code is 1 if\n" +
			"one of them needs a correction.",
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: answering(func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return command.Mistake(errors.New("name a file with --filename, or - for standard input"))
			}
			cronJobs, err := readFile(file, cmd.InOrStdin())
			if err != nil {
				return err
			}
			cluster, err := p.cluster()
			if err != nil {
				return err
			}
			wrong := 0
			var all []answer.Checked
			for n := range cronJobs {
				cronJobs[n].Namespace = cmp.Or(cronJobs[n].Namespace, cluster.Namespace)
				checked := answer.Check(&cronJobs[n], p.now(), cluster.TryCronJob(cmd.Context(), &cronJobs[n]))
				all = append(all, checked)
				if p.output == "" {
					fmt.Fprint(p.out, checked)
				}
				if len(checked.Problems) > 0 {
					wrong++
				}
			}
			if _, err := p.encode(all, nil); err != nil {
				return err
			}
			if wrong > 0 {
				return fmt.Errorf("%d of %d CronJobs need a correction", wrong, len(cronJobs))
			}
			return nil
		}),
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "file with manifests; - for standard input")
	p.outputFlag(cmd, "how the answer is written, in place of a line each", asJSON, asYAML)
	return command.House(cmd)
}

// readFile reads the CronJobs of batch.ostinato.dev in a file of manifests. Other kinds are left out.
func readFile(file string, stdin io.Reader) ([]ostinatov1.CronJob, error) {
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer opened.Close()
		stdin = opened
	}
	decoder := yaml.NewYAMLOrJSONDecoder(stdin, 4096)
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
