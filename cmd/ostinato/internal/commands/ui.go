package commands

import (
	"cmp"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/cmd/ostinato/internal/page"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ui"
	"ostinato.dev/ostinato/internal/command"
)

func (p *person) newUI() *cobra.Command {
	port, noBrowser, temporalUI, by := 0, false, "", self()
	cmd := &cobra.Command{
		Use: "ui", Short: "A page of what ran, runs and will run, for your browser on this machine",
		Long: "ui serves a page to your browser: a row for each CronJob, a cell for each time. It listens on loopback alone, and does what you\n" +
			"may do in Kubernetes. The address that it prints is good once, for the browser that opens it first.",
		Args: cobra.NoArgs,
		RunE: answering(func(cmd *cobra.Command, _ []string) error {
			if given, err := url.Parse(temporalUI); err != nil || temporalUI != "" && (given.Scheme != "http" && given.Scheme != "https" || given.Host == "") {
				return fmt.Errorf("--temporal-ui-address: %q; write http://127.0.0.1:8233", temporalUI)
			}
			cluster, err := p.cluster()
			if err != nil {
				return err
			}
			workflows, err := p.workflows(cmd.Context())
			if err != nil {
				return err
			}
			defer workflows.Close()
			listener, err := ui.Listen(cmd.Context(), port)
			if err != nil {
				return err
			}
			server := ui.New(ui.Settings{
				Backend: ui.Reach{Cluster: cluster, Workflows: workflows}, Clock: p.clock, By: by, Where: p.where(cluster.Namespace),
				TemporalUI: page.TemporalUI(temporalUI, workflows.Address()),
			}, listener.Addr())
			fmt.Fprintf(p.out, "%s\nThis address is good once. Ctrl-C ends the page.\n", server.URL())
			if !noBrowser {
				remove, err := ui.Open(server.URL())
				defer remove()
				if err != nil {
					p.note("%v: open the address yourself", err)
				}
			}
			return server.Serve(cmd.Context(), listener)
		}),
	}
	p.listFlags(cmd)
	flags := cmd.Flags()
	flags.IntVar(&port, "port", 0, "port of loopback; a free one by default")
	flags.BoolVar(&noBrowser, "no-browser", false, "print the address, and open no browser")
	flags.StringVar(&temporalUI, "temporal-ui-address", "", "where Temporal's own UI is, such as http://127.0.0.1:8233, for links to it")
	flags.StringVar(&by, "by", by, "who asks, as objects and ledgers will say")
	return command.House(cmd)
}

// where names the namespace and the cluster that the page shows.
func (p *person) where(namespace string) string {
	place := "all namespaces"
	if namespace != "" {
		place = "namespace " + namespace
	}
	raw, err := p.kubernetes.ToRawKubeConfigLoader().RawConfig()
	if name := cmp.Or(*p.kubernetes.Context, raw.CurrentContext); err == nil && name != "" {
		place += " of " + name
	}
	if p.selector != "" {
		place += ", " + p.selector
	}
	return place
}
