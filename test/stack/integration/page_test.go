package integration

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ostinato.dev/ostinato/dev/harness"
)

// browser asks the page of `ostinato ui` as its script does.
type browser struct {
	t       *testing.T
	client  *http.Client
	address *url.URL
	key     string
}

var (
	pageKey    = regexp.MustCompile(`name="ostinato-page" content="([^"]+)"`)
	pagePlan   = regexp.MustCompile(`name="plan" value="([^"]+)"`)
	failedCell = regexp.MustCompile(`class="cell failed[^"]*" data-open="([^"]+)"`)
)

// browse starts the page and opens its address.
func (p *person) browse() *browser {
	p.t.Helper()
	command := exec.CommandContext(p.t.Context(), p.program, "--namespace", p.namespace, "--utc", "ui", "--no-browser", "--by", "ada")
	command.Env = p.env
	printed, err := command.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = command.Wait() })
	line, err := bufio.NewReader(printed).ReadString('\n')
	if err != nil {
		p.t.Fatalf("the address of the page: %v", err)
	}
	address, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		p.t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	b := &browser{t: p.t, client: &http.Client{Jar: jar}, address: address}
	welcome := b.ask(http.MethodGet, address.RequestURI(), nil)
	found := pageKey.FindStringSubmatch(welcome)
	if found == nil {
		p.t.Fatalf("the page gives no key:\n%s", welcome)
	}
	b.key = found[1]
	return b
}

// ask returns the answer, which must be a success.
func (b *browser) ask(method, path string, form url.Values) string {
	b.t.Helper()
	body, err := b.try(b.t.Context(), method, path, form)
	if err != nil {
		b.t.Fatal(err)
	}
	return body
}

func (b *browser) try(ctx context.Context, method, path string, form url.Values) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+b.address.Host+path, strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	request.Header.Set("X-Ostinato-Page", b.key)
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", "http://"+b.address.Host)
	}
	response, err := b.client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, path, response.Status, body)
	}
	return html.UnescapeString(string(body)), err
}

// shows asks until the answer has every text.
func (b *browser) shows(path string, texts ...string) (body string) {
	b.t.Helper()
	harness.Eventually(b.t, harness.Prompt, func(ctx context.Context) (err error) {
		body, err = b.try(ctx, http.MethodGet, path, nil)
		for _, text := range texts {
			if err == nil && !strings.Contains(body, text) {
				err = fmt.Errorf("%s has no %q:\n%s", path, text, body)
			}
		}
		return err
	})
	return body
}

// does plans an action, which must say each text, and confirms it.
func (b *browser) does(form url.Values, texts ...string) (said string) {
	b.t.Helper()
	plan := b.ask(http.MethodPost, "/plan", form)
	for _, text := range texts {
		if !strings.Contains(plan, text) {
			b.t.Errorf("the plan has no %q:\n%s", text, plan)
		}
	}
	found := pagePlan.FindStringSubmatch(plan)
	if found == nil {
		b.t.Fatalf("there is nothing to confirm:\n%s", plan)
	}
	return b.ask(http.MethodPost, "/do", url.Values{"plan": {found[1]}})
}

// The page of a CronJob whose run fails: its cell, the evidence behind it, and what one can do there.
func TestThePageOfARunThatFailed(t *testing.T) {
	t.Parallel()
	namespace := stack.Namespace(t)
	stack.CreateCronJob(t, harness.NewCronJob(namespace, "breaks", harness.Yearly, harness.JobSpec(harness.ExitCode(3), harness.BackoffLimit(0))))
	awaitWorkflow(t, namespace, "breaks")
	p := newPerson(t, namespace)
	p.refuses(1, "failed: BackoffLimitExceeded", "run", "breaks", "--wait")
	b := p.browse()

	rows := b.shows("/rows?zoom=1h&count=40&fill=1", namespace+"/", "breaks", "Failing", `class="cell failed`)
	if strings.Contains(rows, "data-problem") {
		t.Errorf("something could not be read:\n%s", rows)
	}
	cell := failedCell.FindStringSubmatch(rows)
	if cell == nil {
		t.Fatalf("no cell of a failed run:\n%s", rows)
	}
	b.shows(cell[1], "BackoffLimitExceeded", "exit code 3")
	b.shows("/cronjob?namespace="+namespace+"&name=breaks", harness.Yearly, "Run now", "Suspend")

	breaks := func(pairs ...string) url.Values {
		form := url.Values{"namespace": {namespace}, "name": {"breaks"}}
		for n := 0; n < len(pairs); n += 2 {
			form.Set(pairs[n], pairs[n+1])
		}
		return form
	}
	b.does(breaks("action", "suspend", "reason", "an upgrade"), "by ada", "an upgrade")
	harness.Eventually(t, harness.Prompt, suspended(namespace, "breaks", true))
	b.shows("/cronjob?namespace="+namespace+"&name=breaks", "by ada", "an upgrade", "Resume")
	b.does(breaks("action", "resume"))
	harness.Eventually(t, harness.Prompt, suspended(namespace, "breaks", false))

	before, err := stack.Kubernetes.BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b.does(breaks("action", "run"), "The API server would take it")
	after, err := stack.Kubernetes.BatchV1().Jobs(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(after.Items) != len(before.Items)+1 {
		t.Errorf("%d Jobs after the run, %d before", len(after.Items), len(before.Items))
	}
	b.does(breaks("action", "backfill", "from", "2025-12-31T00:00", "to", "2026-01-02T00:00"))
	p.says([]string{"backfill: asked for by ada (claimed) through update"}, "runs", "breaks")
}
