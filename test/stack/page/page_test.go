// Package page opens the page of `ostinato ui` in a real browser, for an API server that knows what ran last night.
package page

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ostinatov1 "ostinato.dev/ostinato/api/v1"
	"ostinato.dev/ostinato/internal/testing/fixture/night"
)

var pictures = flag.Bool("pictures", false, "write the pictures of docs/images")

// many is how many CronJobs there are.
const many = 2000

// evil runs in a page that does not escape it, or whose policy lets it.
const evil = `<img src=x onerror="window.ran=1"><script>window.ran=1</script>" onfocus="window.ran=1" autofocus="`

// ostinato is the command, which TestMain builds.
var ostinato string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		folder, err := os.MkdirTemp("", "ostinato-page-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(folder)
		ostinato = filepath.Join(folder, "ostinato")
		if output, err := exec.Command("go", "build", "-o", ostinato, "ostinato.dev/ostinato/cmd/ostinato").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build cmd/ostinato: %v\n%s", err, output)
			return 1
		}
		return m.Run()
	}())
}

// noTemporal is an address where nothing listens.
const noTemporal = "127.0.0.1:1"

// serve starts `ostinato ui` for an API server and a Temporal, and returns the address that it prints.
func serve(t *testing.T, cluster *night.Server, temporal string) string {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(cluster.Kubeconfig()), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(ostinato, "ui", "-A", "--utc", "--no-browser", "--by=ada", "--kubeconfig="+kubeconfig,
		"--temporal-address="+temporal, "--temporal-ui-address=http://127.0.0.1:8233")
	var complained bytes.Buffer
	command.Stderr = &complained
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // it may have ended
		if err := command.Wait(); err != nil {
			t.Errorf("ostinato ui: %v\n%s", err, complained.String())
		}
	})
	address, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("ostinato ui printed no address: %v\n%s", err, complained.String())
	}
	return strings.TrimSpace(address)
}

// hostile gives CronJobs on the first screen texts that strangers may choose.
func hostile(cronJobs []ostinatov1.CronJob) {
	cronJobs[1].Status.Conditions = []metav1.Condition{{Type: ostinatov1.ConditionStalled, Status: metav1.ConditionTrue, Reason: "TemplateInvalid", Message: evil}}
	for n := range cronJobs[1].Status.RecentRuns {
		row := &cronJobs[1].Status.RecentRuns[n]
		row.Outcome, row.Reason, row.Message, row.JobName, row.Result = "FailedToCreate", "Forbidden", evil, "", ""
	}
	cronJobs[2].Status.NextScheduleTime, cronJobs[2].Status.Next = nil, evil
	cronJobs[2].Name = "a" + evil // no API server takes it; it is the first row
}

const (
	shown  = `document.querySelectorAll("tr.row").length`
	loaded = `document.querySelectorAll("tr.row").length > 10`
)

func TestThePageInABrowser(t *testing.T) {
	b := newBrowser(t)
	cronJobs := night.CronJobs(time.Now(), many)
	cluster := night.NewServer(cronJobs)
	t.Cleanup(cluster.Close)
	cluster.Edit(hostile)
	address := serve(t, cluster, noTemporal)

	b.size(1400, 700)
	began := time.Now()
	b.open(address)
	b.is(true, loaded)
	t.Logf("the first rows of %d CronJobs came after %s", many, time.Since(began).Round(time.Millisecond))
	b.is(false, `location.href.includes("token")`)
	b.is("", `document.cookie`)

	b.run("only the rows of the screen are in the document", func(t *testing.T) {
		b.is(float64(many), `Number(document.getElementById("grid").dataset.total)`)
		for _, there := range []string{"0", "30000", "45000", "1000000"} {
			_, _ = b.eval(`document.getElementById("scroll").scrollTop = ` + there)
			b.is(true, `(() => {
				const box = document.getElementById("scroll"), top = Math.floor(box.scrollTop / 30), rows = [...document.querySelectorAll("tr.row")];
				const has = (index) => rows.some((row) => Number(row.dataset.index) === Math.min(index, 1999));
				return has(top + 1) && has(top + Math.floor(box.clientHeight / 30) - 2);
			})()`)
			if count := b.number(shown); count > 60 {
				t.Errorf("%d rows are in the document", count)
			}
		}
		if height := b.number(`document.getElementById("grid").offsetHeight`); height < many*30 {
			t.Errorf("the table is %d high: one can't scroll through all of it", height)
		}
		_, _ = b.eval(`document.getElementById("scroll").scrollTop = 0`)
		b.is(true, `document.querySelector('tr[data-index="0"]') !== null`)
	})

	b.run("hostile names and messages do not run", func(t *testing.T) {
		for _, opener := range []string{
			`tr[data-index="0"] th button`, `th button[data-row="team-00/backup-0001"]`, `td button.refused[data-row="team-00/backup-0001"]`,
		} {
			b.is(true, `document.querySelector('`+opener+`') !== null`)
			_, _ = b.eval(`document.querySelector('` + opener + `').click()`)
			b.is(true, `document.querySelector("#content h2") !== null`)
			_, _ = b.eval(`document.getElementById("panel").close()`)
			b.is(true, `document.querySelector("#content h2") === null`)
		}
		b.is(true, `document.body.textContent.includes("onerror=")`)
		b.is("undefined", `typeof window.ran`)
		b.is(float64(0), `document.querySelectorAll("img").length`)
	})

	b.run("it can be used by the keyboard", func(t *testing.T) {
		b.is(float64(1), `document.querySelectorAll('#rows button[tabindex="0"]').length`)
		_, _ = b.eval(`document.querySelector('#rows button[tabindex="0"]').focus()`)
		b.press("ArrowDown")
		b.press("ArrowDown")
		b.press("ArrowDown")
		b.is("3", `document.activeElement.closest("tr").dataset.index`)
		b.press("ArrowRight")
		b.is(true, `Number(document.activeElement.dataset.column) > 0`)
		b.press("Enter")
		b.is(true, `document.getElementById("panel").open && document.activeElement.id === "title"`)
		_, _ = b.eval(`document.querySelector('tr[data-index="3"]').dataset.before = "1", document.dispatchEvent(new Event("visibilitychange"))`)
		b.is(true, `document.querySelector('tr[data-index="3"]').dataset.before === undefined`) // the rows were replaced behind the panel
		b.press("Escape")
		b.is("3", `document.getElementById("panel").open ? "" : document.activeElement.closest("tr").dataset.index`)
		b.is(float64(1), `document.querySelectorAll('#rows button[tabindex="0"]').length`)
		b.press("Home")
		for range 3 {
			b.press("PageDown")
		}
		b.is(true, `Number(document.activeElement.closest("tr").dataset.index) > 30`)
		b.press("/")
		b.is("text", `document.activeElement.name`)
	})

	b.run("screen readers have a name for everything", func(t *testing.T) {
		b.is(float64(0), `[...document.querySelectorAll("button, a, input, select, table, dialog, svg")].filter((one) =>
			!(one.ariaLabel || one.textContent.trim() || one.labels?.length || one.getAttribute("aria-labelledby"))).length`)
		b.is(float64(many+1), `Number(document.getElementById("grid").getAttribute("aria-rowcount"))`)
		b.is("en", `document.documentElement.lang`)
	})

	b.run("a person finds what fails", func(t *testing.T) {
		_, _ = b.eval(`(() => { const form = document.getElementById("filters"); form.elements.text.value = "team-00/"; form.elements.failing.checked = true;
			form.elements.text.dispatchEvent(new Event("input", { bubbles: true })); })()`)
		b.is(true, `document.getElementById("summary").textContent.includes("shown of 2000")`)
		b.is(true, `location.search.includes("failing=1") && [...document.querySelectorAll("tr.row")].length > 5`)
		b.open(strings.Split(address, "?")[0] + "?text=mail-0000")
		b.is(float64(1), shown)
	})

	b.run("a person suspends with a reason, and sees first what it would do", func(t *testing.T) {
		_, _ = b.eval(`document.querySelector('tr[data-index="0"] th button').click()`)
		b.is(true, `document.querySelector('#content input[value="suspend"]') !== null`)
		_, _ = b.eval(`(() => { const form = document.querySelector('#content input[value="suspend"]').form; form.elements.reason.value = "an upgrade"; form.requestSubmit(); })()`)
		b.is(true, `document.getElementById("content").textContent.includes("The object will say that it was suspended by ada (claimed), “an upgrade”.")`)
		if *cluster.Stored("team-00", "mail-0000").Spec.Suspend {
			t.Error("it is suspended before that was confirmed")
		}
		_, _ = b.eval(`document.querySelector("#content .does").click()`)
		b.is(true, `document.getElementById("content").textContent.includes("CronJob team-00/mail-0000 is suspended.")`)
		if !*cluster.Stored("team-00", "mail-0000").Spec.Suspend {
			t.Error("it is not suspended")
		}
		_, _ = b.eval(`document.getElementById("panel").close()`)
		b.is(true, `document.querySelector('tr[data-index="0"]').textContent.includes("Suspended")`)
	})

	b.run("it is live", func(t *testing.T) {
		cluster.Edit(func(cronJobs []ostinatov1.CronJob) { cronJobs[0].Status.ConsecutiveFailures = 3 })
		b.is(true, `document.querySelector('tr[data-index="0"]').textContent.includes("Failing")`)
	})

	b.run("a viewer has no buttons", func(t *testing.T) {
		cluster.OnlyViewers(true)
		defer cluster.OnlyViewers(false)
		_, _ = b.eval(`document.querySelector('tr[data-index="0"] th button').click()`)
		b.is(true, `document.querySelector('#content input[value="resume"]') !== null`) // what he might a minute ago
		_, _ = b.eval(`document.querySelector('#content input[value="resume"]').form.requestSubmit()`)
		b.is(true, `document.getElementById("content").textContent.includes("You may not patch cronjobs.batch.ostinato.dev in namespace team-00")`)
		_, _ = b.eval(`document.getElementById("panel").close()`)
		if !*cluster.Stored("team-00", "mail-0000").Spec.Suspend {
			t.Error("a viewer has resumed it")
		}
	})

	b.run("every kind is legible in light and in dark", func(t *testing.T) {
		for _, scheme := range []string{"light", "dark"} {
			b.scheme(scheme)
			b.is(scheme == "dark", `matchMedia("(prefers-color-scheme: dark)").matches`)
			b.is("", contrasts)
		}
	})

	b.run("who has no cookie sees nothing", func(t *testing.T) {
		b.must("Network.clearBrowserCookies", nil, nil)
		b.is(true, `document.getElementById("problems").textContent.includes("Call ostinato ui again")`)
		b.open(address)
		b.is("Forbidden", `document.body.textContent.trim()`)
	})

	for _, complaint := range b.complaints() {
		if !strings.Contains(complaint, "Failed to load resource") { // what was refused on purpose
			t.Errorf("the browser complains: %s", complaint)
		}
	}
}

// contrasts are the kinds whose sign has too little contrast with what is behind it (WCAG AA, 4.5 to 1).
const contrasts = `(() => {
	const rgb = (text) => text.match(/[\d.]+/g).map(Number);
	const light = (color) => { const [r, g, b] = color.map((part) => { part /= 255; return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4; });
		return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const page = rgb(getComputedStyle(document.body).backgroundColor);
	return [...document.querySelectorAll(".legend .cell")].filter((cell) => {
		const style = getComputedStyle(cell), behind = rgb(style.backgroundColor), back = behind[3] === 0 ? page : behind;
		const [a, b] = [light(rgb(style.color).slice(0, 3)), light(back.slice(0, 3))].sort((x, y) => y - x);
		return (a + 0.05) / (b + 0.05) < 4.5;
	}).map((cell) => cell.className).join(" ");
})()`

// The pictures of the documents, in both schemes. They are written with -pictures only, since no two browsers draw alike.
func TestPictures(t *testing.T) {
	b := newBrowser(t)
	cronJobs := night.CronJobs(time.Now(), 14)
	cluster := night.NewServer(slices.Clone(cronJobs))
	t.Cleanup(cluster.Close)
	b.size(1400, 600)
	b.open(serve(t, cluster, serveTemporal(t, cronJobs)))
	b.is(true, loaded)
	b.is(true, `document.querySelector("td.unknown") === null`)
	b.is("", `document.getElementById("problems").textContent.trim()`)
	taken := map[string][]byte{}
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		b.is(scheme == "dark", `matchMedia("(prefers-color-scheme: dark)").matches`)
		taken["page-"+scheme+".png"] = b.picture()
	}
	_, _ = b.eval(`document.querySelector('tr[data-index="1"] th button').click()`)
	b.is(true, `document.querySelector("#content svg") !== null`)
	b.is(false, `document.querySelector("#content").textContent.includes("could not be read")`)
	taken["page-cronjob.png"] = b.picture()
	for name, picture := range taken {
		if len(picture) < 20_000 {
			t.Errorf("%s has %d bytes: is there anything in it?", name, len(picture))
		}
		if *pictures {
			if err := os.WriteFile(filepath.Join("..", "..", "..", "docs", "images", name), picture, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if bytes.Equal(taken["page-light.png"], taken["page-dark.png"]) {
		t.Error("light and dark look the same")
	}
}
