package commands

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"ostinato.dev/ostinato/internal/command"
	"ostinato.dev/ostinato/internal/testing/fixture/night"
)

// kubeconfig is a file that names an API server with some CronJobs.
func kubeconfig(t *testing.T) string {
	t.Helper()
	server := night.NewServer(night.CronJobs(time.Now(), 3))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, []byte(server.Kubeconfig()), 0o600))
	return file
}

func TestThePageIsServedUntilThePersonEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	printed, printing := io.Pipe()
	var complained strings.Builder
	ended := make(chan int, 1)
	go func() {
		ended <- command.Execute(ctx, New("ostinato"), []string{"ui", "-A", "--no-browser", "--kubeconfig", kubeconfig(t)}, printing, &complained)
		printing.Close()
	}()
	lines := bufio.NewScanner(printed)
	require.True(t, lines.Scan())
	address := lines.Text()
	assert.Regexp(t, `^http://127\.0\.0\.1:\d+/\?token=[A-Za-z0-9_-]{43}$`, address)
	require.True(t, lines.Scan())
	assert.Equal(t, "This address is good once. Ctrl-C ends the page.", lines.Text())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	require.NoError(t, err)
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	response.Body.Close()
	assert.Equal(t, http.StatusOK, response.StatusCode)
	cancel()
	assert.Zero(t, <-ended)
	assert.Empty(t, complained.String())
}

func TestWhatThePageCanNotBeginWith(t *testing.T) {
	for want, arguments := range map[string][]string{
		"--temporal-ui-address: \"javascript:alert(1)\"; write http://127.0.0.1:8233": {"--temporal-ui-address", "javascript:alert(1)"},
		"--temporal-ui-address: \"127.0.0.1:8233\"; write http://127.0.0.1:8233":      {"--temporal-ui-address", "127.0.0.1:8233"},
		"listen on loopback":                {"--port", "-1"},
		"read the Kubernetes configuration": {"--kubeconfig", "/nowhere"},
	} {
		var complained strings.Builder
		code := command.Execute(t.Context(), New("ostinato"), append([]string{"ui", "--no-browser", "--kubeconfig", kubeconfig(t)}, arguments...), io.Discard, &complained)
		assert.Equal(t, 1, code, want)
		assert.Contains(t, complained.String(), want)
	}
}

func TestThePageSaysWhatItShows(t *testing.T) {
	flags := genericclioptions.NewConfigFlags(true)
	*flags.KubeConfig = kubeconfig(t)
	p := &person{kubernetes: flags, selector: "team=billing"}
	assert.Equal(t, "namespace shop of night, team=billing", p.where("shop"))
	p.selector = ""
	assert.Equal(t, "all namespaces of night", p.where(""))
}
