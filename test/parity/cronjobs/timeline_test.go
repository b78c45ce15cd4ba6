package cronjobs

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// line is something that a controller did.
type line struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

var (
	jobName   = regexp.MustCompile(`\b` + cronJobName + `-(\d+)\b`)
	timeOfDay = regexp.MustCompile(`\b2016-05-19T(\d\d:\d\d:\d\d)Z`)
)

const combined = "(combined from similar events): "

// timeline makes lines comparable: what was done in one second has no order and is said once, only the last status of a second counts,
// and only where it is another one than before. Runs are named by their times.
func timeline(first string, lines []line) []string {
	var seconds []time.Time
	texts, statuses := map[time.Time][]string{}, map[time.Time]string{}
	for _, one := range lines {
		second := one.At.Truncate(time.Second)
		if !slices.Contains(seconds, second) {
			seconds = append(seconds, second)
		}
		if strings.HasPrefix(one.Text, "status ") {
			statuses[second] = one.Text
		} else {
			texts[second] = append(texts[second], strings.Replace(one.Text, combined, "", 1))
		}
	}
	slices.SortFunc(seconds, time.Time.Compare)
	status := first
	var timeline []string
	for _, second := range seconds {
		if statuses[second] != "" && statuses[second] != status {
			status = statuses[second]
			texts[second] = append(texts[second], status)
		}
		slices.Sort(texts[second])
		for _, text := range slices.Compact(texts[second]) {
			timeline = append(timeline, readable(second.Format(time.RFC3339)+" "+text))
		}
	}
	return timeline
}

func readable(text string) string {
	text = jobName.ReplaceAllStringFunc(text, func(name string) string {
		minutes, err := strconv.ParseInt(strings.TrimPrefix(name, cronJobName+"-"), 10, 64)
		if err != nil {
			return name
		}
		return strings.Replace(cronJobName+"@"+time.Unix(60*minutes, 0).UTC().Format(time.RFC3339), ":00Z", "Z", 1)
	})
	text = strings.ReplaceAll(text, cronJobName+"@2016-05-19T", cronJobName+"@")
	return timeOfDay.ReplaceAllString(text, "$1")
}

// firstStatus is the status line of the object that a scenario begins with.
func (s scenario) firstStatus() string {
	status := s.CronJob.Status
	return statusLine(status.Active, status.LastScheduleTime, status.LastSuccessfulTime)
}

// sections are the lines of a file by the headings "# name" above them.
type sections map[string][]string

func readSections(t *testing.T, path string) sections {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; make upstream-cases writes it", err)
	}
	read, name := sections{}, ""
	for text := range strings.Lines(string(data)) {
		text = strings.TrimSuffix(text, "\n")
		switch heading, ok := strings.CutPrefix(text, "# "); {
		case ok:
			name = heading
			read[name] = nil
		case text != "":
			read[name] = append(read[name], text)
		}
	}
	return read
}

func writeSections(t *testing.T, path string, written sections) {
	t.Helper()
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(written)) {
		fmt.Fprintf(&text, "# %s\n%s\n", name, strings.Join(append(written[name], ""), "\n"))
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
