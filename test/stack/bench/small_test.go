// Package small runs every scenario of the bench at a tiny size, for the bench to stay in working order: that all
// completes, and that the report has its rows. It looks at no figure.
package small

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// grace is how long the bench may take to stop what it started.
const grace = time.Minute

var (
	timed   = []string{"due time to Job created, p99", "due time to Job created, max", "due time to Pod created, p99", "all Complete after the due time", "all CronJobs taken over after the first create"}
	perJob  = []string{"Job created to Pod created, p50", "Pod ended to Job Complete, p99", "Pods seen"}
	oneJob  = []string{"Pods Complete per second", "Job Complete after", "last Pod ended to Job Complete", "Pods seen"}
	use     = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kwok", "temporal", "worker", "bridge", "all above but the bench", "everything else on the machine"}
	history = []string{"events", "size", "largest history, size"}
	minute  = []string{"worker and bridge to the API server, all", "the API server, from everybody"}
)

// program is the bench.
var program string

// benches is how many run at a time: each waits for its minutes more than it computes.
const benches = "3"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", benches); err != nil {
		panic(err)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ostinato-bench-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "bench")
	if output, err := exec.Command("go", "build", "-o", program, "ostinato.dev/ostinato/dev/bench").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the bench: %v\n%s", err, output)
		return 1
	}
	return m.Run()
}

func TestWhatIsDueAtATime(t *testing.T) {
	t.Parallel()
	ran := func(report report, titles ...string) {
		for _, title := range titles {
			report.has(title, timed...)
			report.has(title, perJob...)
			report.has(title+": processor time and peak resident memory", use...)
			report.has(title+": Kubernetes writes for each run", "POST jobs", "all but Events", "Events")
		}
	}
	t.Run("of both kinds", func(t *testing.T) {
		t.Parallel()
		due, native := "3 CronJobs due in the same minute", "3 CronJobs of batch/v1 due in the same minute"
		report := bench(t, "--scenarios=cronjobs,native", "--sizes=3", "--lead=25s", "--columns=ostinato")
		ran(report, due, native)
		report.has(due+": Temporal calls for each run", "worker RespondWorkflowTaskCompleted", "all")
		report.has("Ostinato against its aims", due+": processor time of a run, all processes")
		report.draws(due, "Ostinato: Complete")
	})
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		killed := "3 CronJobs due when their controllers are killed"
		report := bench(t, "--scenarios=failover", "--sizes=3", "--lead=25s", "--columns=ostinato")
		ran(report, killed)
		report.has(killed, "killed and started again, ready after")
	})
}

func TestWhatIsNotDueAtATime(t *testing.T) {
	t.Parallel()
	t.Run("two columns by turns", func(t *testing.T) {
		t.Parallel()
		jobs := "3 Jobs created at once"
		report := bench(t, "--scenarios=jobs", "--sizes=3", "--columns=builtin-unlimited,ostinato")
		report.has(jobs, "Jobs Complete per second", "first create to Pod created, p99", "all Complete after")
		report.has(jobs, perJob...)
		report.has(jobs+": processor time and peak resident memory", use...)
		report.has(jobs+": Temporal calls for each run", "worker RespondWorkflowTaskCompleted", "all")
		report.has("Ostinato against: built-in, limits removed", jobs+": Complete per second", jobs+": all Complete", jobs+": processor time of all processes")
		report.draws(jobs, "built-in, limits removed: created", "Ostinato: Complete")
	})
	t.Run("one column", func(t *testing.T) {
		t.Parallel()
		idle, running := "3 idle CronJobs", "3 Jobs whose Pods run until one time"
		indexed, together := "one Indexed Job, completions 3, parallelism 3", "one Indexed Job, completions and parallelism 3, Pods that end together"
		report := bench(t, "--scenarios=idle,running,indexed,together", "--sizes=3", "--window=1s", "--run=25s", "--columns=ostinato")
		report.has(idle, "all CronJobs taken over after worker and bridge started", "processor time until then, all processes")
		report.has(running, "all Pods Running after", "all Complete after the Pods' common end")
		report.has(running, perJob...)
		for _, title := range []string{idle, running} {
			report.has(title+", over a while without anything to do: requests a minute", minute...)
			report.has(title+", over a while without anything to do: processor time and peak resident memory", use...)
		}
		for _, title := range []string{indexed, together} {
			report.has(title, oneJob...)
			report.has(title+": histories of its workflow", history...)
		}
		report.has(together, "all Pods Running after")
		for _, title := range []string{idle, running, indexed, together} {
			report.has(title+": processor time and peak resident memory", use...)
		}
		report.draws(running, indexed, together, "Ostinato: ended")
	})
}

// report is what a bench wrote.
type report struct {
	t *testing.T
	// tables are rows by title; rows are their cells, the first one's first.
	tables map[string][][]string
	svg    string
}

// bench runs the bench once for each column and scenario, whatever else the machine does.
func bench(t *testing.T, arguments ...string) report {
	t.Helper()
	dir := t.TempDir()
	out, plot := filepath.Join(dir, "report.md"), filepath.Join(dir, "plot.svg")
	arguments = slices.Concat(arguments, []string{"--repeats=1", "--quiet=0", "--profile=false", "--timeout=5m", "--out=" + out, "--plot=" + plot})
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = grace
	var log bytes.Buffer
	command.Stdout, command.Stderr = &log, &log
	if err := command.Run(); err != nil {
		t.Fatalf("bench %s: %v\n%s", strings.Join(arguments, " "), err, &log)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(plot)
	if err != nil {
		t.Fatal(err)
	}
	return report{t: t, tables: tables(string(text)), svg: string(svg)}
}

// elapsed is how long a bench did nothing, which depends on the machine.
var elapsed = regexp.MustCompile(`, over [0-9hms]+ `)

// tables reads Markdown.
func tables(text string) map[string][][]string {
	found := map[string][][]string{}
	title := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "### "); ok {
			title = elapsed.ReplaceAllString(heading, ", over a while ")
		}
		if cells := strings.Split(line, " | "); strings.HasPrefix(line, "| ") && len(cells) > 1 {
			cells[0], cells[len(cells)-1] = strings.TrimPrefix(cells[0], "| "), strings.TrimSuffix(cells[len(cells)-1], " |")
			found[title] = append(found[title], cells)
		}
	}
	return found
}

// has checks that a table has rows, with a figure of Ostinato in each.
func (r report) has(title string, rows ...string) {
	r.t.Helper()
	table := r.tables[title]
	if len(table) == 0 {
		r.t.Errorf("no table %q", title)
		return
	}
	own := slices.Index(table[0], "Ostinato")
	for _, row := range rows {
		at := slices.IndexFunc(table, func(cells []string) bool { return strings.TrimSpace(cells[0]) == row })
		if at < 0 {
			r.t.Errorf("table %q has no row %q", title, row)
		} else if own < 0 || table[at][own] == "-" || table[at][own] == "" {
			r.t.Errorf("table %q has no figure of Ostinato in row %q: %q", title, row, table[at])
		}
	}
}

// draws checks that the plot says so.
func (r report) draws(texts ...string) {
	r.t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.svg, ">"+text+"</text>") {
			r.t.Errorf("the plot does not show %q", text)
		}
	}
}
