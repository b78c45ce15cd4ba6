// Package bundle makes the archive of ostinato report: files of a bounded size, without what may be secret, and a manifest that
// lists them and what could not be seen. It is pure: the command reads.
package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

// MaxFile bounds a file, in bytes.
const MaxFile = 2 << 20

// Manifest is the name of the file that lists the others.
const Manifest = "manifest.yaml"

// File is one of the archive.
type File struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
	// Note says what the file has, and what it lacks where it was cut.
	Note    string `json:"note"`
	content []byte
}

// Unseen is what the archive lacks, and why.
type Unseen struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Bundle is what is known so far.
type Bundle struct {
	Files  []File   `json:"files"`
	Unseen []Unseen `json:"unseen"`
}

// Miss notes what could not be seen.
func (b *Bundle) Miss(what string, why error) {
	b.Unseen = append(b.Unseen, Unseen{what, why.Error()})
}

// Add adds a file. Of one that is too long, whole lines at the end are left out.
func (b *Bundle) Add(name, note string, content []byte) {
	if len(content) > MaxFile {
		note += fmt.Sprintf("; cut, it had %d bytes", len(content))
		content = content[:MaxFile]
		content = content[:bytes.LastIndexByte(content, '\n')+1]
	}
	b.Files = append(b.Files, File{Name: name, Bytes: len(content), Note: note, content: content})
}

// AddObjects adds objects as YAML documents, as many as a file may have.
func AddObjects[T any](b *Bundle, name, note string, objects []T) {
	var text bytes.Buffer
	for n := range objects {
		document, err := yaml.Marshal(objects[n])
		if err != nil {
			b.Miss(fmt.Sprintf("%s, object %d", name, n), err)
			continue
		}
		if text.Len()+len(document) > MaxFile {
			note += fmt.Sprintf("; cut, the first %d of %d", n, len(objects))
			break
		}
		fmt.Fprintf(&text, "---\n%s", document)
	}
	b.Add(name, fmt.Sprintf("%d %s", len(objects), note), text.Bytes())
}

// Listing is the manifest.
func (b *Bundle) Listing() ([]byte, error) {
	text, err := yaml.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("write the manifest: %w", err)
	}
	return text, nil
}

// Write writes the archive, gzipped, its files in a folder and with a time.
func (b *Bundle) Write(to io.Writer, folder string, at time.Time) error {
	listing, err := b.Listing()
	if err != nil {
		return err
	}
	zipped := gzip.NewWriter(to)
	archive := tar.NewWriter(zipped)
	for _, file := range slices.Concat([]File{{Name: Manifest, content: listing}}, b.Files) {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: path.Join(folder, safe(file.Name)), Size: int64(len(file.content)), Mode: 0o600, ModTime: at,
		}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("write %s: %w", file.Name, err)
		}
		if _, err := archive.Write(file.content); err != nil {
			return fmt.Errorf("write %s: %w", file.Name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("end the archive: %w", err)
	}
	if err := zipped.Close(); err != nil {
		return fmt.Errorf("end the archive: %w", err)
	}
	return nil
}

// safe keeps a name inside of the folder, even if a stranger has chosen a part of it.
func safe(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }
