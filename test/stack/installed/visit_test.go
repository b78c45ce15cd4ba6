//go:build linux

package installed

import (
	"bufio"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"ostinato.dev/ostinato/dev/harness"
	"ostinato.dev/ostinato/test/stack/access/door"
)

// visit is one of people to the installation's Temporal, with what docs/temporal.md has them bring: nothing but kubeconfigs of theirs.
type visit struct {
	door.Door
	// kubeconfigs are by user. home is an empty folder, authority the file in it with the certificate authorities.
	kubeconfigs     map[string]string
	home, authority string
}

// newVisit lets a viewer, an editor and a stranger in namespace shop come to Temporal, by a port that the editor forwards.
func newVisit(t *testing.T) *visit {
	t.Helper()
	api, err := kubernetes.NewForConfig(cluster.plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	v := &visit{Door: door.Door{Kubernetes: api, Plane: cluster.plane}, kubeconfigs: map[string]string{}, home: t.TempDir()}
	for user, rules := range map[string][]rbacv1.PolicyRule{"viewer": door.Readers, "editor": door.Writers, "stranger": nil} {
		v.Grant(t, user, rules)
		if v.kubeconfigs[user], err = cluster.plane.KubeconfigFor(user); err != nil {
			t.Fatal(err)
		}
	}
	// The way to Temporal's Pod gives no right in Temporal: the stranger has it too.
	way := metav1.ObjectMeta{Name: "way", Namespace: namespace}
	_, err = api.RbacV1().Roles(namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: way, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps", "services", "pods"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{""}, Resources: []string{"pods/portforward"}, Verbs: []string{"get", "create"}},
	}}, metav1.CreateOptions{})
	door.Tolerate(t, err)
	_, err = api.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: way, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: way.Name},
		Subjects: []rbacv1.Subject{{Kind: "Group", Name: "system:authenticated", APIGroup: rbacv1.GroupName}},
	}, metav1.CreateOptions{})
	door.Tolerate(t, err)
	v.authority = filepath.Join(v.home, "ca.crt")
	published := v.run(t, "editor", "kubectl", "--namespace="+namespace, "get", "configmap", "ostinato-temporal-authority", `--output=jsonpath={.data.ca\.crt}`)
	if err := os.WriteFile(v.authority, []byte(published), 0o600); err != nil {
		t.Fatal(err)
	}
	forwarded := regexp.MustCompile(`^Forwarding from (127\.0\.0\.1:\d+)`)
	v.Address = v.serve(t, "editor", forwarded, "kubectl", "--namespace="+namespace, "port-forward", "service/ostinato-temporal", ":7233")[1]
	return v
}

// command is a program of the cluster's, or ostinato, that runs as a user, or as the administrator.
func (v *visit) command(ctx context.Context, user, program string, arguments ...string) *exec.Cmd {
	path := cluster.command
	if program != "ostinato" {
		path = cluster.binaries[program]
	}
	running := exec.CommandContext(ctx, path, arguments...)
	running.Env = []string{"HOME=" + v.home, "KUBECONFIG=" + cmp.Or(v.kubeconfigs[user], cluster.plane.KubeconfigPath())}
	return running
}

// run returns what a user's command prints.
func (v *visit) run(t *testing.T, user, program string, arguments ...string) string {
	t.Helper()
	running := v.command(t.Context(), user, program, arguments...)
	var told strings.Builder
	running.Stderr = &told
	printed, err := running.Output()
	if err != nil {
		t.Fatalf("%s %v as %s: %v: %s", program, arguments, user, err, told.String())
	}
	return strings.TrimSpace(string(printed))
}

// serve runs a user's command until the test ends, and returns what the pattern finds in its output first.
func (v *visit) serve(t *testing.T, user string, pattern *regexp.Regexp, program string, arguments ...string) []string {
	t.Helper()
	running := v.command(context.Background(), user, program, arguments...)
	running.Stderr = os.Stderr
	output, err := running.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = running.Process.Kill()
		_ = running.Wait()
	})
	found := make(chan []string, 1)
	go func() {
		for lines := bufio.NewScanner(output); lines.Scan(); {
			if match := pattern.FindStringSubmatch(lines.Text()); match != nil {
				found <- match
			}
		}
	}()
	select {
	case match := <-found:
		return match
	case <-time.After(harness.Prompt):
		t.Fatalf("%s %v as %s prints nothing like %s", program, arguments, user, pattern)
		return nil
	}
}

// root is who has no kubeconfig of a visitor's.
const root = "root"

// The kinds of messages.
const signal, update = "signal", "update"

// send sends a message to a workflow.
type send func(workflow, kind, name, argument string) error

// byCommand sends by Temporal's own command, with a token for its key.
func (v *visit) byCommand(t *testing.T, token string) send {
	return func(workflow, kind, name, argument string) error {
		arguments := []string{"workflow", kind}
		if kind == update {
			arguments = append(arguments, "execute")
		}
		arguments = append(arguments, "--workflow-id="+workflow, "--name="+name, "--input="+argument,
			"--address="+v.Address, "--tls", "--tls-ca-path="+v.authority)
		running := v.command(t.Context(), root, "temporal", arguments...)
		running.Env = append(running.Env, "TEMPORAL_API_KEY="+token)
		printed, err := running.CombinedOutput()
		if err != nil {
			return fmt.Errorf("temporal %v: %w: %s", arguments, err, printed)
		}
		return nil
	}
}

// byPage sends as Temporal's page does in a browser, which ostinato ui --temporal serves.
func (v *visit) byPage(t *testing.T, user string) send {
	t.Helper()
	address := v.serve(t, user, regexp.MustCompile(`^(http://127\.0\.0\.1:\d+)/\S*`), "ostinato", "ui", "--temporal", "--no-browser")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	origin, err := url.Parse(address[1])
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, address, body string) error {
		request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Origin", origin.String())
		for _, cookie := range jar.Cookies(origin) {
			if cookie.Name == "_csrf" {
				request.Header.Set("X-CSRF-Token", cookie.Value)
			}
		}
		response, err := browser.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		if err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s %s: %s: %s", method, address, response.Status, answer)
		}
		return err
	}
	for _, page := range []string{address[0], address[1] + "/"} {
		if err := ask(http.MethodGet, page, ""); err != nil {
			t.Fatal(err)
		}
	}
	return func(workflow, kind, name, argument string) error {
		payloads := fmt.Sprintf(`{"payloads":[{"metadata":{"encoding":%q},"data":%q}]}`, encoded("json/plain"), encoded(argument))
		body := `{"input":` + payloads + `}`
		if kind == update {
			body = `{"waitPolicy":{"lifecycleStage":"UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED"},` +
				`"request":{"meta":{"updateId":"of-the-page"},"input":{"args":` + payloads + `}}}`
		}
		return ask(http.MethodPost, address[1]+"/api/v1/namespaces/default/workflows/"+url.PathEscape(workflow)+"/"+kind+"/"+name, body)
	}
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
