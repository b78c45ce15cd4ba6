package commands

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"

	"github.com/spf13/cobra"

	"ostinato.dev/ostinato/cmd/ostinato/internal/ask"
	"ostinato.dev/ostinato/cmd/ostinato/internal/page"
	"ostinato.dev/ostinato/cmd/ostinato/internal/ui"
	"ostinato.dev/ostinato/internal/command"
)

func (p *person) newUI() *cobra.Command {
	port, noBrowser, temporal, temporalUI, by := 0, false, false, "", self()
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
			if temporal {
				return p.showTemporal(cmd.Context(), cluster, port, noBrowser)
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
			return p.show(cmd.Context(), server, listener, noBrowser)
		}),
	}
	p.listFlags(cmd)
	flags := cmd.Flags()
	flags.IntVar(&port, "port", 0, "port of loopback; a free one by default")
	flags.BoolVar(&noBrowser, "no-browser", false, "print the address, and open no browser")
	flags.BoolVar(&temporal, "temporal", false, "show Temporal's own page, that of the installation's own Temporal, with what you may see there")
	flags.StringVar(&temporalUI, "temporal-ui-address", "", "where Temporal's own UI is, such as http://127.0.0.1:8233, for links to it")
	flags.StringVar(&by, "by", by, "who asks, as objects and ledgers will say")
	return command.House(cmd)
}

// served is a page for a browser on this machine.
type served interface {
	URL() string
	Serve(ctx context.Context, listener net.Listener) error
}

// show prints the page's address, opens a browser there, and serves the page until ctx ends.
func (p *person) show(ctx context.Context, server served, listener net.Listener, noBrowser bool) error {
	fmt.Fprintf(p.out, "%s\nThis address is good once. Ctrl-C ends the page.\n", server.URL())
	if !noBrowser {
		remove, err := ui.Open(server.URL())
		defer remove()
		if err != nil {
			p.note("%v: open the address yourself", err)
		}
	}
	return server.Serve(ctx, listener)
}

func (p *person) showTemporal(ctx context.Context, cluster *ask.Cluster, port int, noBrowser bool) error {
	dial, token, err := cluster.TemporalPage(ctx, p.system)
	if err != nil {
		return err
	}
	listener, err := ui.Listen(ctx, port)
	if err != nil {
		return err
	}
	return p.show(ctx, ui.NewTemporalPage(ui.Temporal{Dial: dial, Token: token}, listener.Addr()), listener, noBrowser)
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
