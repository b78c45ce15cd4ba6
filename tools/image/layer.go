package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// file is a file or folder of an image.
type file struct {
	name string
	mode fs.FileMode
	// owner is its user and group.
	owner   int
	content []byte
}

// layerOf makes a layer of files, equal for equal files. Go's own gzip at a fixed level ties a digest to a version of Go, as the
// programs are.
func layerOf(files []file) (v1.Layer, error) {
	var packed bytes.Buffer
	zipper, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	writer := tar.NewWriter(zipper)
	for _, one := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: one.name, Mode: int64(one.mode.Perm()), Size: int64(len(one.content)),
			Uid: one.owner, Gid: one.owner, ModTime: epoch, Format: tar.FormatPAX,
		}
		if one.mode.IsDir() {
			header.Typeflag, header.Name = tar.TypeDir, one.name+"/"
		}
		if one.mode&fs.ModeSticky != 0 {
			header.Mode |= 0o1000
		}
		err := writer.WriteHeader(header)
		if err == nil {
			_, err = writer.Write(one.content)
		}
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", one.name, err)
		}
	}
	err = writer.Close()
	if err != nil {
		return nil, err
	}
	err = zipper.Close()
	if err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}
