package command_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"

	"ostinato.dev/ostinato/internal/command"
)

// settings are those of the program that the tests call.
type settings struct {
	name, health string
	count        int
	wait         time.Duration
	rate         float64
	sizes        []int
	loud         bool
	form         string
}

type call struct {
	arguments []string
	variables map[string]string
}

// result is what a call comes to; settings is nil where the program did not run.
type result struct {
	code           int
	stdout, stderr string
	settings       *settings
}

// program is called tool, and says that a count below 0 and no name are wrong.
func program(c call, ran func(settings) error) *cobra.Command {
	var s settings
	return command.New(&cobra.Command{
		Use: "tool", Short: "Try things", Long: "tool tries things.",
		RunE: func(*cobra.Command, []string) error { return ran(s) },
	}, command.Settings{
		AddFlags: func(flags *command.Flags) {
			flags.Group("Work").IntVar(&s.count, "count", 3, "how many")
			flags.Group("Names").StringVar(&s.name, "name", "x", "what it is called")
			flags.Group("Work").DurationVar(&s.wait, "max-wait", time.Second, "how long")
			flags.Group("Work").Float64Var(&s.rate, "rate", 1, "how often")
			flags.Group("Work").IntSliceVar(&s.sizes, "sizes", nil, "how large")
			flags.Group("Work").BoolVar(&s.loud, "loud", false, "make noise")
			flags.Group("Names").StringVar(&s.health, "health", "", "how it is")
			command.Choice(flags.Group("Names"), &s.form, "form", "text", []string{"text", "json"}, "how it is written")
		},
		Validate: func() error {
			var mistakes []error
			if s.count < 0 {
				mistakes = append(mistakes, errors.New("--count: set it to 0 or more"))
			}
			if s.name == "" {
				mistakes = append(mistakes, errors.New("--name: give one"))
			}
			return errors.Join(mistakes...)
		},
		Environment: command.Environment{Prefix: "TOOL_", Lookup: func(name string) (string, bool) { value, set := c.variables[name]; return value, set }},
	})
}

func execute(c call, failure error) (r result) {
	var stdout, stderr strings.Builder
	cmd := program(c, func(s settings) error { r.settings = &s; return failure })
	r.code = command.Execute(context.Background(), cmd, c.arguments, &stdout, &stderr)
	r.stdout, r.stderr = stdout.String(), stderr.String()
	return r
}

func TestAFlagWinsOverItsVariableAndThatOverTheDefault(t *testing.T) {
	for name, test := range map[string]struct {
		call
		want time.Duration
	}{
		"the default":                        {call{}, time.Second},
		"a variable":                         {call{variables: map[string]string{"TOOL_MAX_WAIT": "2s"}}, 2 * time.Second},
		"an empty variable":                  {call{variables: map[string]string{"TOOL_MAX_WAIT": ""}}, time.Second},
		"a flag":                             {call{arguments: []string{"--max-wait=3s"}, variables: map[string]string{"TOOL_MAX_WAIT": "2s"}}, 3 * time.Second},
		"a flag before its value":            {call{arguments: []string{"--max-wait", "3s"}}, 3 * time.Second},
		"a flag over a variable that is bad": {call{arguments: []string{"--max-wait=3s"}, variables: map[string]string{"TOOL_MAX_WAIT": "soon"}}, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			r := execute(test.call, nil)
			assert.Zero(t, r.code, r.stderr)
			assert.Empty(t, r.stderr)
			if assert.NotNil(t, r.settings) {
				assert.Equal(t, test.want, r.settings.wait)
			}
		})
	}
}

func TestAMistakeIsOneLineAndExitCode2(t *testing.T) {
	for name, test := range map[string]struct {
		call
		want string
	}{
		"an unknown flag":           {call{arguments: []string{"--colour=red"}}, `unknown flag --colour; see "tool --help"`},
		"an unknown letter":         {call{arguments: []string{"-x"}}, `unknown flag -x; see "tool --help"`},
		"one dash":                  {call{arguments: []string{"-max-wait=3s"}}, `-max-wait=3s: a flag has two dashes; write --max-wait=3s`},
		"one dash before an h":      {call{arguments: []string{"-health=fine"}}, `-health=fine: a flag has two dashes; write --health=fine`},
		"an argument":               {call{arguments: []string{"start"}}, `unexpected argument "start": every setting is a flag, see "tool --help"`},
		"no value":                  {call{arguments: []string{"--name"}}, `--name lacks its value; write --name=STRING`},
		"no whole number":           {call{arguments: []string{"--count=1.5"}}, `--count="1.5": use a whole number`},
		"no number":                 {call{arguments: []string{"--rate=often"}}, `--rate="often": use a number`},
		"no list of numbers":        {call{arguments: []string{"--sizes=1;2"}}, `--sizes="1;2": use whole numbers with commas between them`},
		"no duration":               {call{arguments: []string{"--max-wait=5"}}, `--max-wait="5": use a duration, such as 90s or 5m`},
		"neither true nor false":    {call{arguments: []string{"--loud=very"}}, `--loud="very": use true or false`},
		"none of the choices":       {call{arguments: []string{"--form=xml"}}, `--form="xml": use text or json`},
		"a value of a variable":     {call{variables: map[string]string{"TOOL_COUNT": "many"}}, `environment variable TOOL_COUNT="many": use a whole number`},
		"what the program finds":    {call{arguments: []string{"--count=-1"}}, `--count: set it to 0 or more`},
		"several at once":           {call{arguments: []string{"--count=-1", "--name="}}, "--count: set it to 0 or more\ntool: --name: give one"},
		"a shell nobody has":        {call{arguments: []string{"completion", "bash", "now"}}, `unknown command "now" for "tool completion bash"`},
		"several variables at once": {call{variables: map[string]string{"TOOL_COUNT": "a", "TOOL_RATE": "b"}}, "environment variable TOOL_COUNT=\"a\": use a whole number\ntool: environment variable TOOL_RATE=\"b\": use a number"},
	} {
		t.Run(name, func(t *testing.T) {
			r := execute(test.call, nil)
			assert.Equal(t, 2, r.code)
			assert.Nil(t, r.settings, "it must not run")
			assert.Empty(t, r.stdout)
			assert.Equal(t, test.want+"\n", r.stderr[strings.Index(r.stderr, ": ")+2:])
			assert.True(t, strings.HasPrefix(r.stderr, "tool"), r.stderr)
		})
	}
}

func TestAFailureIsExitCode1(t *testing.T) {
	r := execute(call{}, errors.New("no luck\nlogs are in /x"))
	assert.Equal(t, 1, r.code)
	assert.Equal(t, "tool: no luck\nlogs are in /x\n", r.stderr)
}

func TestExitCodes(t *testing.T) {
	for name, test := range map[string]struct {
		failure error
		code    int
		stderr  string
	}{
		"success":                         {nil, 0, ""},
		"a failure":                       {errors.New("no luck"), 1, "tool: no luck\n"},
		"the answer no":                   {command.ErrNo, 1, ""},
		"a mistake that is found later":   {command.Mistake(errors.New("say which")), 2, "tool: say which\n"},
		"a mistake within another error":  {fmt.Errorf("try: %w", command.Mistake(errors.New("say which"))), 2, "tool: try: say which\n"},
		"a time that ran out":             {command.TimedOut(errors.New("not ended within 1s")), 124, "tool: not ended within 1s\n"},
		"one that ran out within another": {fmt.Errorf("wait: %w", command.TimedOut(errors.New("too long"))), 124, "tool: wait: too long\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := execute(call{}, test.failure)
			assert.Equal(t, test.code, r.code)
			assert.Equal(t, test.stderr, r.stderr)
		})
	}
}

func TestHelpHasGroupsInTheOrderOfTheirFirstFlag(t *testing.T) {
	for _, flag := range []string{"-h", "--help"} {
		r := execute(call{arguments: []string{flag}}, nil)
		assert.Zero(t, r.code)
		assert.Nil(t, r.settings)
		assert.Equal(t, `tool tries things.

Usage:
  tool [flags]

Work flags:
      --count int           how many [TOOL_COUNT] (default 3)
      --max-wait duration   how long [TOOL_MAX_WAIT] (default 1s)
      --rate float          how often [TOOL_RATE] (default 1)
      --sizes ints          how large [TOOL_SIZES]
      --loud                make noise [TOOL_LOUD]

Names flags:
      --name string     what it is called [TOOL_NAME] (default "x")
      --health string   how it is [TOOL_HEALTH]
      --form name       how it is written: text or json [TOOL_FORM] (default text)

Other flags:
  -h, --help   help for tool

"tool completion --help" tells how a shell completes them.
`, r.stdout)
	}
}

func TestShellsCompleteFlagsAndChoices(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		want      string
	}{
		"a flag":   {[]string{"__complete", "--max"}, "--max-wait\thow long [TOOL_MAX_WAIT]\n"},
		"a choice": {[]string{"__complete", "--form", ""}, "text\njson\n"},
		"a script": {[]string{"completion", "bash"}, "# bash completion V2 for tool"},
	} {
		t.Run(name, func(t *testing.T) {
			r := execute(call{arguments: test.arguments}, nil)
			assert.Zero(t, r.code)
			assert.True(t, strings.HasPrefix(r.stdout, test.want), r.stdout)
		})
	}
}

func TestAParentNamesItsCommands(t *testing.T) {
	for name, test := range map[string]struct {
		arguments      []string
		code           int
		stdout, stderr string
	}{
		"none":           {nil, 2, "", "box: a command is missing; give tool or saw"},
		"an unknown one": {[]string{"hammer"}, 2, "", `box: no command "hammer"; give tool or saw`},
		"help":           {[]string{"--help"}, 0, "  tool         Try things\n", ""},
		"help as a word": {[]string{"help"}, 0, "  tool         Try things\n", ""},
		"help for one":   {[]string{"help", "tool"}, 0, "  box tool [flags]\n", ""},
		"a mistake":      {[]string{"tool", "--rate=often"}, 2, "", `box tool: --rate="often": use a number`},
		"one of them":    {[]string{"tool", "--rate=2"}, 0, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			nothing := func(settings) error { return nil }
			saw := program(call{}, nothing)
			saw.Use = "saw"
			parent := command.NewParent(&cobra.Command{Use: "box", Long: "box holds tools."}, program(call{}, nothing), saw)
			assert.Equal(t, test.code, command.Execute(context.Background(), parent, test.arguments, &stdout, &stderr))
			assert.Contains(t, stdout.String(), test.stdout)
			assert.Contains(t, stderr.String(), test.stderr)
		})
	}
}
