package main

import (
	"bytes"
	"encoding/pem"
	"io/fs"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	// user runs the programs, and owns /data.
	user      = 65532
	userGroup = "65532:65532"
	roots     = "etc/ssl/certs/ca-certificates.crt"
)

// epoch is the time of all that is in an image, so that equal content has an equal digest.
var epoch = time.Unix(0, 0).UTC()

// assemble makes an image of programs: a base, and a layer for each program, so that an update of one fetches no other.
func assemble(of image, platform v1.Platform, o options, programs []program) (v1.Image, error) {
	made := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	base, err := layerOf(baseFiles())
	if err != nil {
		return nil, err
	}
	layers := []mutate.Addendum{{Layer: base, History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "tools/image: base"}}}
	for _, one := range programs {
		layer, err := layerOf([]file{{name: one.name, mode: 0o755, content: one.content}})
		if err != nil {
			return nil, err
		}
		layers = append(layers, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: epoch}, CreatedBy: "tools/image: " + one.name}})
	}
	made, err = mutate.Append(made, layers...)
	if err != nil {
		return nil, err
	}
	configuration, err := made.ConfigFile()
	if err != nil {
		return nil, err
	}
	configuration = configuration.DeepCopy()
	configuration.OS, configuration.Architecture, configuration.Variant = platform.OS, platform.Architecture, platform.Variant
	configuration.Created = v1.Time{Time: epoch}
	configuration.Config = v1.Config{
		User: userGroup, WorkingDir: "/", Cmd: []string{"/" + programs[0].name},
		// A platform may run it as a user that /etc/passwd does not know; Go then asks HOME and USER who that is. The Temporal
		// server does not start if it gets no answer.
		Env: []string{"PATH=/", "HOME=/", "USER=nonroot", "SSL_CERT_FILE=/" + roots},
		Labels: map[string]string{
			"org.opencontainers.image.title": of.title, "org.opencontainers.image.version": o.version,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	if o.revision != "" {
		configuration.Config.Labels["org.opencontainers.image.revision"] = o.revision
	}
	return mutate.ConfigFile(made, configuration)
}

// baseFiles are what a program finds beside itself: its user, a folder for temporary files, one for a volume, and the
// certificates of public authorities as Mozilla trusts them, which go.sum pins.
func baseFiles() []file {
	var certificates bytes.Buffer
	for root := range bundle.Roots() {
		// A bytes.Buffer takes all.
		_ = pem.Encode(&certificates, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})
	}
	return []file{
		{name: "data", mode: fs.ModeDir | 0o755, owner: user},
		{name: "etc", mode: fs.ModeDir | 0o755},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n")},
		{name: "etc/ssl", mode: fs.ModeDir | 0o755},
		{name: "etc/ssl/certs", mode: fs.ModeDir | 0o755},
		{name: roots, mode: 0o644, content: certificates.Bytes()},
		{name: "tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
}
