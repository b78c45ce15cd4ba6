package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io/fs"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageLayout is an OCI layout in a folder.
type imageLayout struct {
	folder string
	path   layout.Path
}

// newLayout begins a layout. One that is in the folder goes: its images would stay beside the new ones.
func newLayout(folder string) (imageLayout, error) {
	err := os.RemoveAll(folder)
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	if err != nil {
		return imageLayout{}, fmt.Errorf("make room for the layout: %w", err)
	}
	path, err := layout.Write(folder, empty.Index)
	return imageLayout{folder, path}, err
}

// add adds an image, which was built for each of the platforms, and returns its index.
func (l imageLayout) add(name string, platforms []v1.Platform, built []v1.Image) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i, platform := range platforms {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: built[i], Descriptor: v1.Descriptor{Platform: &platform}})
	}
	err := l.path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		// containerd takes the first for the name of what it imports, other tools the second.
		"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name,
	}))
	if err != nil {
		return nil, fmt.Errorf("add it to the layout: %w", err)
	}
	return index, nil
}

// archive packs the layout into one file, as `ctr images import` and `docker load` read it.
func (l imageLayout) archive(target string) (err error) {
	output, err := os.Create(target)
	if err != nil {
		return fmt.Errorf("create the archive: %w", err)
	}
	defer func() { err = errors.Join(err, output.Close()) }()
	folder := os.DirFS(l.folder)
	writer := tar.NewWriter(output)
	err = fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		err = writer.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: epoch})
		if err != nil {
			return err
		}
		_, err = writer.Write(content)
		return err
	})
	if err != nil {
		return fmt.Errorf("pack the layout: %w", err)
	}
	return writer.Close()
}
