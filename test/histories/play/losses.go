package play

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

// Over is the panic that ends a history.
type Over struct{}

// Caught returns the panic of a function, nil for none. Where it is none of those that expected knows, it says where it was.
func Caught(expected func(why any) bool, do func()) (why any) {
	defer func() {
		switch why = recover(); why.(type) {
		case nil, Over, LostProcess, Unheard:
		default:
			if !expected(why) {
				why = fmt.Sprintf("%v\n%s", why, debug.Stack())
			}
		}
	}()
	do()
	return nil
}

// Outcome is what has become of a history.
type Outcome interface {
	// Effects is how many writes there were until the scenario was over.
	Effects() int
	// Failure says why it has not come to its end; empty where it has.
	Failure() string
	// Text is all that a crash which costs no time must not change.
	Text() string
	// Story is what has happened, for people.
	Story() string
	// Repeatable reports whether a crash that costs no time changes nothing.
	Repeatable() bool
	// Mistakes are what is wrong with it, whatever was lost in it.
	Mistakes() []string
}

var fewer = flag.Bool("fewer", false, "lose the process after the few writes that are drawn with a history, and not after each")

var cost = flag.Duration("cost", 10*time.Second, "what a crash costs in the histories in which it costs time")

// Mistakes plays a scenario without a crash and with one after each of its writes, and says what is wrong. drawn are some of its writes,
// in thousandths of all, for the case that there are to be fewer crashes: nil for each all the same, none for no crash in any case. play loses the process after so many writes, 0 for never, and its successor begins after a while.
func Mistakes(scenario fmt.Stringer, drawn []int, play func(loses int, costs time.Duration) Outcome) string {
	whole := play(0, 0)
	if wrong := whole.Mistakes(); len(wrong) > 0 {
		return report(scenario, "without a crash", whole, wrong)
	}
	for _, n := range lossesOf(whole.Effects(), drawn) {
		again := play(n, 0)
		if again.Failure() != "" {
			return report(scenario, fmt.Sprintf("with a crash after write %d", n), again, []string{again.Failure()})
		}
		if want, got := whole.Text(), again.Text(); got != want && whole.Repeatable() && again.Repeatable() {
			return report(scenario, fmt.Sprintf("with a crash after write %d, which costs no time", n), again, []string{difference(want, got)})
		}
		late := play(n, *cost)
		if wrong := late.Mistakes(); len(wrong) > 0 {
			return report(scenario, fmt.Sprintf("with a crash of %s after write %d", *cost, n), late, wrong)
		}
	}
	return ""
}

// lossesOf are the writes after which the process is lost.
func lossesOf(effects int, drawn []int) (all []int) {
	if len(drawn) == 0 && drawn != nil {
		return nil
	}
	if !*fewer || drawn == nil {
		for n := range effects {
			all = append(all, n+1)
		}
		return all
	}
	for _, one := range drawn {
		if effects > 0 {
			all = append(all, 1+one*effects/1000)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func report(scenario fmt.Stringer, when string, o Outcome, wrong []string) string {
	return fmt.Sprintf("%s\n%s:\n  %s\n\n%s", scenario, when, strings.Join(wrong, "\n  "), o.Story())
}

// difference is the lines that two texts do not have in common.
func difference(want, got string) string {
	count := map[string]int{}
	for _, line := range strings.Split(want, "\n") {
		count[line]++
	}
	var lines []string
	for _, line := range strings.Split(got, "\n") {
		if count[line]--; count[line] < 0 {
			lines = append(lines, "unexpected: "+line)
		}
	}
	for _, line := range strings.Split(want, "\n") {
		if count[line]--; count[line] >= 0 {
			lines = append(lines, "missing:    "+line)
		}
	}
	return strings.Join(lines, "\n  ")
}

// Main runs tests with defaults of flags, which what is asked for overrides.
func Main(m *testing.M, defaults map[string]string) {
	for name, value := range defaults {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	flag.Parse()
	os.Exit(m.Run())
}
