package node

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"runtime"
	"slices"
)

const (
	// pauseImage is what keeps a Pod's name spaces open.
	pauseImage = "localhost/pause:1"
	// imageDate is in every image: the same inputs make the same image.
	imageDate = "2000-01-01T00:00:00Z"
)

// busyboxTags are the names under which the node has its busybox image; the first is the one in the CronJob of the
// Kubernetes documentation.
var busyboxTags = []string{"docker.io/library/busybox:1.28", "docker.io/library/busybox:latest"}

// ownApplets are the names by which programs of the node's own busybox image are called.
var ownApplets = []string{"cat", "date", "echo", "env", "false", "hostname", "sh", "sleep", "true"}

// image is a container image of one layer.
type image struct {
	tags       []string
	entrypoint []string
	command    []string
	files      []imageFile
}

// imageFile is a file, a folder (mode ends with the directory bit) or a symbolic link of an image.
type imageFile struct {
	name   string
	mode   int64
	data   []byte
	link   string
	folder bool
}

// pause is the image of the first container of every Pod.
func pause(binary []byte, tags []string) image {
	return image{
		tags:       append([]string{pauseImage}, tags...),
		entrypoint: []string{"/pause"},
		files:      []imageFile{{name: "pause", mode: 0o755, data: binary}},
	}
}

// busybox is the image of a program that is called by the names of its applets, at BusyBox's places.
func busybox(binary []byte, applets, tags []string) image {
	i := image{
		tags:    tags,
		command: []string{"sh"},
		files: []imageFile{
			{name: "bin/", mode: 0o755, folder: true},
			{name: "bin/busybox", mode: 0o755, data: binary},
			{name: "etc/", mode: 0o755, folder: true},
			{name: "etc/passwd", mode: 0o644, data: []byte("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")},
			{name: "etc/group", mode: 0o644, data: []byte("root:x:0:\nnogroup:x:65534:\n")},
			{name: "root/", mode: 0o700, folder: true},
			{name: "tmp/", mode: 0o1777, folder: true},
		},
	}
	for _, applet := range applets {
		i.files = append(i.files, imageFile{name: path.Join("bin", applet), mode: 0o777, link: "busybox"})
	}
	return i
}

// archive renders images as one docker-archive: a layer and a configuration for each, and the manifest.
func archive(images ...image) ([]byte, error) {
	type manifestEntry struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	var manifest []manifestEntry
	var contents []imageFile
	for _, i := range images {
		layer, err := tarball(i.files)
		if err != nil {
			return nil, fmt.Errorf("layer of image %s: %w", i.tags[0], err)
		}
		digest := sum(layer)
		configuration, err := i.configuration(digest)
		if err != nil {
			return nil, fmt.Errorf("configuration of image %s: %w", i.tags[0], err)
		}
		entry := manifestEntry{Config: sum(configuration) + ".json", RepoTags: i.tags, Layers: []string{digest + ".tar"}}
		contents = append(contents,
			imageFile{name: entry.Layers[0], mode: 0o644, data: layer},
			imageFile{name: entry.Config, mode: 0o644, data: configuration})
		manifest = append(manifest, entry)
	}
	data, err := json.Marshal(manifest)
	if err != nil {
		return nil, fmt.Errorf("manifest of images: %w", err)
	}
	return tarball(slices.Insert(contents, 0, imageFile{name: "manifest.json", mode: 0o644, data: data}))
}

// configuration renders the image's configuration, in the words of the OCI image specification.
func (i image) configuration(layer string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"created":      imageDate,
		"config": map[string]any{
			"Env":        []string{"PATH=/bin"},
			"Entrypoint": i.entrypoint,
			"Cmd":        i.command,
		},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + layer}},
	})
}

func tarball(files []imageFile) ([]byte, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, file := range files {
		header := &tar.Header{Name: file.name, Mode: file.mode, Size: int64(len(file.data)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		switch {
		case file.folder:
			header.Typeflag = tar.TypeDir
		case file.link != "":
			header.Typeflag, header.Linkname = tar.TypeSymlink, file.link
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("write %s: %w", file.name, err)
		}
		if _, err := writer.Write(file.data); err != nil {
			return nil, fmt.Errorf("write %s: %w", file.name, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

func sum(data []byte) string {
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:])
}
