package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// explain says what to change where flags can't be parsed.
func explain(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		missing *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	help := cmd.CommandPath() + " --help"
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		given := unknown.GetSpecifiedShortnames()
		name, _, _ := strings.Cut(given, "=")
		// pflag takes the h of -health-address for -h.
		for _, start := range []string{"", "h"} {
			if cmd.Flags().Lookup(start+name) != nil {
				return fmt.Errorf("-%s: a flag has two dashes; write --%s", start+given, start+given)
			}
		}
		return fmt.Errorf("unknown flag -%s; see %q", name, help)
	case errors.As(err, &unknown):
		return fmt.Errorf("unknown flag --%s; see %q", unknown.GetSpecifiedName(), help)
	case errors.As(err, &missing):
		name := missing.GetSpecifiedName()
		kind, _ := pflag.UnquoteUsage(missing.GetFlag())
		return fmt.Errorf("--%s lacks its value; write --%s=%s", name, name, strings.ToUpper(kind))
	case errors.As(err, &invalid):
		return wrongValue("--"+invalid.GetFlag().Name, err)
	}
	return err
}

// kinds say what a value has to be where the error of Go's parser says less.
var kinds = map[string]string{
	"bool":     "use true or false",
	"int":      "use a whole number",
	"float64":  "use a number",
	"duration": "use a duration, such as 90s or 5m",
	"intSlice": "use whole numbers with commas between them",
}

// wrongValue is the error for a value that a flag does not take, by the place it was given at.
func wrongValue(place string, err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return fmt.Errorf("%s: %w", place, err)
	}
	if kind, ok := kinds[invalid.GetFlag().Value.Type()]; ok {
		return fmt.Errorf("%s=%q: %s", place, invalid.GetValue(), kind)
	}
	return fmt.Errorf("%s=%q: %w", place, invalid.GetValue(), invalid.Unwrap())
}
