package job

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// startRequest asks test/upstream for a worker and a bridge; it has the same type.
type startRequest struct {
	// Name is the test's.
	Name string `json:"name"`
	// Kubeconfig is the text of a file.
	Kubeconfig string `json:"kubeconfig"`
	// Cluster and Arguments are for both.
	Cluster   string   `json:"cluster"`
	Arguments []string `json:"arguments"`
}

// serverVariable has the address of whoever starts and stops workers and bridges.
const serverVariable = "OSTINATO_SUITE_SERVER"

// No connection is kept, whose goroutines the suite would take for leaks.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Minute}

func start(tb testing.TB, request startRequest) (id string) {
	tb.Helper()
	if err := ask("/start", request, &id); err != nil {
		tb.Fatal(err)
	}
	return id
}

func stop(tb testing.TB, id string) {
	tb.Helper()
	if err := ask("/stop", id, nil); err != nil {
		tb.Error(err)
	}
}

func ask(path string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	response, err := client.Post(os.Getenv(serverVariable)+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("ask who runs worker and bridge (make trial-upstream-job): %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, strings.TrimSpace(string(text)))
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}
