// Package registry is an OCI registry in memory: as much of one as helm push and helm install need.
package registry

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Registry is one. The zero value is empty and ready to serve.
type Registry struct {
	mutex sync.Mutex
	// kept are blobs and manifests by name and digest, and manifests by name and tag too.
	kept map[string]content
}

type content struct{ mediaType, digest, data string }

// ServeHTTP implements http.Handler. A path is /v2/NAME/blobs/DIGEST, /v2/NAME/blobs/uploads/ or /v2/NAME/manifests/TAG-OR-DIGEST.
func (r *Registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	path := strings.TrimPrefix(request.URL.Path, "/v2/")
	name, of, found := strings.Cut(path, "/blobs/")
	if !found {
		name, of, found = strings.Cut(path, "/manifests/")
	}
	switch {
	case path == "":
	case !found:
		w.WriteHeader(http.StatusNotFound)
	case request.Method == http.MethodPost:
		// All of an upload comes with the PUT that ends it.
		w.Header().Set("Location", request.URL.Path)
		w.WriteHeader(http.StatusAccepted)
	case request.Method == http.MethodPut:
		r.keep(w, request, name, of)
	default:
		r.give(w, request, name, of)
	}
}

func (r *Registry) keep(w http.ResponseWriter, request *http.Request, name, reference string) {
	data, err := io.ReadAll(request.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	one := content{request.Header.Get("Content-Type"), fmt.Sprintf("sha256:%x", sha256.Sum256(data)), string(data)}
	if wanted := request.URL.Query().Get("digest"); wanted != "" && wanted != one.digest {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if r.kept == nil {
		r.kept = map[string]content{}
	}
	r.kept[name+"@"+one.digest], r.kept[name+"@"+reference] = one, one
	w.Header().Set("Docker-Content-Digest", one.digest)
	w.WriteHeader(http.StatusCreated)
}

func (r *Registry) give(w http.ResponseWriter, request *http.Request, name, reference string) {
	one, found := r.kept[name+"@"+reference]
	if !found {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", one.mediaType)
	w.Header().Set("Docker-Content-Digest", one.digest)
	w.Header().Set("Content-Length", fmt.Sprint(len(one.data)))
	if request.Method == http.MethodGet {
		_, _ = io.WriteString(w, one.data) // Who has gone away misses nothing.
	}
}
