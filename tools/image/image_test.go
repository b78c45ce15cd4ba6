package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

var greeting = []image{{name: "greeting", title: "A greeting", programs: []string{"hello", "there"}}}

// built builds the greeting of testdata from a copy of its source, and returns what was printed and the folder.
func built(t *testing.T, arguments ...string) (printed, out string) {
	t.Helper()
	source, out := t.TempDir(), t.TempDir()
	err := os.CopyFS(source, os.DirFS(filepath.Join("testdata", "source")))
	if err != nil {
		t.Fatal(err)
	}
	o, err := parse(append([]string{"--source=" + source, "--out=" + out}, arguments...))
	if err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	err = run(t.Context(), o, greeting, &output)
	if err != nil {
		t.Fatal(err)
	}
	return output.String(), out
}

// images returns the images of the layout's first index, by platform.
func imagesOf(t *testing.T, out string) map[string]v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(filepath.Join(out, "layout"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	one, err := index.ImageIndex(all.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := one.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	images := map[string]v1.Image{}
	for _, entry := range manifest.Manifests {
		images[entry.Platform.String()], err = one.Image(entry.Digest)
		if err != nil {
			t.Fatal(err)
		}
	}
	return images
}

// content is a file of an image as a container finds it.
type content struct {
	*tar.Header
	data []byte
}

func filesOf(t *testing.T, image v1.Image) map[string]content {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]content{}
	for _, layer := range layers {
		packed, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		reader := tar.NewReader(packed)
		for {
			header, err := reader.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(reader)
			if err != nil {
				t.Fatal(err)
			}
			files[header.Name] = content{header, data}
		}
	}
	return files
}

func TestEqualSourcesGiveEqualDigests(t *testing.T) {
	first, _ := built(t, "--version=v1")
	again, _ := built(t, "--version=v1")
	if first != again || !strings.HasPrefix(first, "localhost/greeting:v1 sha256:") {
		t.Errorf("first %q, then %q", first, again)
	}
	other, _ := built(t, "--version=v2")
	_, digest, _ := strings.Cut(first, " ")
	if strings.Contains(other, digest) {
		t.Errorf("another version has the same digest: %q", other)
	}
}

func TestAnImageHasItsProgramsForEachPlatform(t *testing.T) {
	_, out := built(t)
	images := imagesOf(t, out)
	if len(images) != 2 {
		t.Fatalf("images for %d platforms", len(images))
	}
	for platform, machine := range map[string]elf.Machine{"linux/amd64": elf.EM_X86_64, "linux/arm64": elf.EM_AARCH64} {
		files := filesOf(t, images[platform])
		for _, name := range greeting[0].programs {
			program := files[name]
			if program.Header == nil || program.Mode != 0o755 || program.Uid != 0 {
				t.Errorf("%s: %s is %+v", platform, name, program.Header)
				continue
			}
			parsed, err := elf.NewFile(bytes.NewReader(program.data))
			if err != nil || parsed.Machine != machine || parsed.Section(".interp") != nil {
				t.Errorf("%s: %s is for %v, %v", platform, name, parsed.Machine, err)
			}
		}
	}
}

// A container of the image runs under `restricted` Pod security, with a root file system that it can't write to.
func TestAnImageHasWhatAProgramNeeds(t *testing.T) {
	_, out := built(t)
	image := imagesOf(t, out)["linux/amd64"]
	configuration, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"HOME=/", "USER=nonroot"} {
		if !slices.Contains(configuration.Config.Env, want) {
			t.Errorf("the environment %v lacks %s, for a user that is not in /etc/passwd", configuration.Config.Env, want)
		}
	}
	if set := configuration.Config; set.User != "65532:65532" || !slices.Equal(set.Cmd, []string{"/hello"}) || set.Labels["org.opencontainers.image.version"] != "dev" {
		t.Errorf("configuration %+v", set)
	}
	files := filesOf(t, image)
	for name, want := range map[string]struct {
		mode  int64
		owner int
	}{
		"data/": {0o755, 65532}, "etc/passwd": {0o644, 0}, "etc/group": {0o644, 0}, "tmp/": {0o1777, 0},
	} {
		found := files[name]
		if found.Header == nil || found.Mode != want.mode || found.Uid != want.owner {
			t.Errorf("%s is %+v", name, found.Header)
		}
	}
	authorities := 0
	for rest := files[roots].data; ; authorities++ {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			break
		}
		_, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Error(err)
		}
	}
	if authorities < 100 {
		t.Errorf("%d public authorities", authorities)
	}
}

// containerd and Docker find the images' names in the archive.
func TestTheArchiveNamesItsImages(t *testing.T) {
	_, out := built(t, "--platforms=linux/amd64", "--registry=registry.example/team", "--version=v1")
	packed, err := os.Open(filepath.Join(out, "images.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	reader := tar.NewReader(packed)
	for {
		header, err := reader.Next()
		if err != nil {
			t.Fatalf("the archive has no index.json: %v", err)
		}
		if header.Name != "index.json" {
			continue
		}
		var index v1.IndexManifest
		err = json.NewDecoder(reader).Decode(&index)
		if err != nil {
			t.Fatal(err)
		}
		if name := index.Manifests[0].Annotations["io.containerd.image.name"]; name != "registry.example/team/greeting:v1" {
			t.Errorf("the name is %q", name)
		}
		return
	}
}

func TestARegistryGetsEachPlatform(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	printed, _ := built(t, "--registry="+host+"/team", "--version=v1", "--push")
	tag, err := name.NewTag(host + "/team/greeting:v1")
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(tag)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil || printed != tag.String()+" "+digest.String()+"\n" {
		t.Errorf("printed %q, and the registry has %s, %v", printed, digest, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 2 {
		t.Errorf("%d platforms, %v", len(manifest.Manifests), err)
	}
}

// An image of an earlier build does not stay in the layout.
func TestALayoutIsMadeAnew(t *testing.T) {
	_, out := built(t, "--platforms=linux/amd64", "--version=v1")
	o, err := parse([]string{"--source=" + filepath.Join("testdata", "source"), "--out=" + out, "--platforms=linux/amd64", "--version=v2"})
	if err != nil {
		t.Fatal(err)
	}
	err = run(t.Context(), o, greeting, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(filepath.Join(out, "layout"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Errorf("%d images, %v", len(manifest.Manifests), err)
	}
}

func TestAnSBOMNamesEveryModule(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "program")
	err = os.Symlink(program, target)
	if err != nil {
		t.Fatal(err)
	}
	err = writeSBOM(target, "v1")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(target + ".spdx.json")
	if err != nil {
		t.Fatal(err)
	}
	var bill document
	err = json.Unmarshal(data, &bill)
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Deps) < 3 || len(bill.Packages) != len(info.Deps)+2 || len(bill.Relationships) != len(bill.Packages) {
		t.Errorf("%d modules, %d packages, %d relationships", len(info.Deps), len(bill.Packages), len(bill.Relationships))
	}
	for _, module := range info.Deps {
		named := slices.ContainsFunc(bill.Packages, func(one spdxPackage) bool {
			return one.Name == module.Path && one.Version == module.Version && one.References[0].Locator == "pkg:golang/"+module.Path+"@"+module.Version
		})
		if !named {
			t.Errorf("%s %s is missing", module.Path, module.Version)
		}
	}
}

func TestMistakesAreSaid(t *testing.T) {
	for want, arguments := range map[string][]string{
		"name a folder to write to": {},
		`"windows" is no platform`:  {"--out=x", "--platforms=linux/amd64,windows"},
		"not defined: -nonsense":    {"--out=x", "--nonsense"},
	} {
		_, err := parse(arguments)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", arguments, err, want)
		}
	}
	o, err := parse([]string{"--out=" + t.TempDir(), "--source=" + filepath.Join("testdata", "source"), "--platforms=linux/amd64"})
	if err != nil {
		t.Fatal(err)
	}
	err = run(t.Context(), o, []image{{name: "none", programs: []string{"none"}}}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "none for linux/amd64: build none") {
		t.Errorf("error %v", err)
	}
}

// TestAnImageSaysItsCommitIfItIsTold, in each program and as a label.
func TestAnImageSaysItsCommitIfItIsTold(t *testing.T) {
	_, out := built(t, "--platforms=linux/amd64", "--revision=c0ffee")
	image := imagesOf(t, out)["linux/amd64"]
	configuration, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if label := configuration.Config.Labels["org.opencontainers.image.revision"]; label != "c0ffee" {
		t.Errorf("the label says %q", label)
	}
	o := options{version: "v1", revision: "c0ffee"}
	if flags := o.linkerFlags(); !strings.Contains(flags, "command.version=v1 ") || !strings.HasSuffix(flags, "command.revision=c0ffee") {
		t.Errorf("the linker is told %q", flags)
	}
}
