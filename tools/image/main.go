// Command image builds the product's container images from Go modules, without Docker, a registry or a base image.
//
//	image -out DIR [-source DIR] [-platforms linux/amd64,linux/arm64] [-version V] [-revision COMMIT] [-registry NAME [-push]]
//
// It writes an OCI layout with an index for each image, one archive of the layout for `ctr images import`, and for each program
// and platform an SBOM. Equal sources and an equal version of Go give equal digests, whatever folder they are in. Programs are
// cross-compiled, so no platform needs a machine of its own.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// images are what is built: each holds one program or more, and runs the first one if none is named.
var images = []image{
	{name: "ostinato", title: "Ostinato: worker, bridge and codecserver", programs: []string{"worker", "bridge", "codecserver"}},
	{name: "ostinato-temporal", title: "Ostinato: Temporal in one process", programs: []string{"temporal"}},
	{name: "ostinato-cli", title: "Ostinato: the command", programs: []string{"ostinato"}},
}

// image is one container image.
type image struct {
	name, title string
	// programs are folders of cmd in the source.
	programs []string
}

// options say what is built, and where.
type options struct {
	source, out, version, revision, registry string
	platforms                                []v1.Platform
	// push has the images sent to the registry.
	push bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(ctx, o, images, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func parse(arguments []string) (options, error) {
	var o options
	var platforms string
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&o.source, "source", ".", "folder of the product's module")
	flags.StringVar(&o.out, "out", "", "folder to write to")
	flags.StringVar(&platforms, "platforms", "linux/amd64,linux/arm64", "platforms, with commas between them")
	flags.StringVar(&o.version, "version", "dev", "tag of the images")
	flags.StringVar(&o.revision, "revision", "", "commit that the programs are built from, for ostinato_build_info and a label of the images; empty leaves it out")
	flags.StringVar(&o.registry, "registry", "localhost", "registry, and folder in it, of the images' names")
	flags.BoolVar(&o.push, "push", false, "send the images to the registry, with the credentials that docker or podman has for it")
	err := flags.Parse(arguments)
	if err != nil {
		return o, err
	}
	if o.out == "" {
		return o, fmt.Errorf("name a folder to write to: --out=DIR")
	}
	for text := range strings.SplitSeq(platforms, ",") {
		platform, err := v1.ParsePlatform(text)
		if err != nil || platform.OS == "" || platform.Architecture == "" {
			return o, fmt.Errorf("--platforms=%q: %q is no platform, such as linux/arm64", platforms, text)
		}
		o.platforms = append(o.platforms, *platform)
	}
	return o, nil
}

// run builds the images and prints the name and digest of each.
func run(ctx context.Context, o options, images []image, out io.Writer) error {
	layout, err := newLayout(filepath.Join(o.out, "layout"))
	if err != nil {
		return err
	}
	for _, one := range images {
		var built []v1.Image
		for _, platform := range o.platforms {
			compiled, err := compile(ctx, o, one, platform)
			if err != nil {
				return fmt.Errorf("%s for %s: %w", one.name, platform, err)
			}
			assembled, err := assemble(one, platform, o, compiled)
			if err != nil {
				return fmt.Errorf("%s for %s: %w", one.name, platform, err)
			}
			built = append(built, assembled)
		}
		tag, err := name.NewTag(o.registry + "/" + one.name + ":" + o.version)
		if err != nil {
			return err
		}
		index, err := layout.add(tag.String(), o.platforms, built)
		if err == nil && o.push {
			err = remote.WriteIndex(tag, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", tag, err)
		}
		digest, err := index.Digest()
		if err != nil {
			return fmt.Errorf("%s: %w", tag, err)
		}
		fmt.Fprintf(out, "%s %s\n", tag, digest)
	}
	return layout.archive(filepath.Join(o.out, "images.tar"))
}
