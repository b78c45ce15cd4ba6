package config

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// envPrefix begins the name of every flag's environment twin.
const envPrefix = "OSTINATO_"

// LookupEnv returns an environment variable's value and whether it is set;
// os.LookupEnv is one.
type LookupEnv func(name string) (string, bool)

// envName returns the environment twin of a flag.
func envName(flagName string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}

// flagSet is a flag.FlagSet whose flags have environment twins.
type flagSet struct {
	*flag.FlagSet
	purpose string
}

func newFlagSet(program, purpose string, output io.Writer) *flagSet {
	set := &flagSet{FlagSet: flag.NewFlagSet(program, flag.ContinueOnError), purpose: purpose}
	set.SetOutput(output)
	set.Usage = set.usage
	return set
}

// parse sets every flag from the environment, then from the arguments. The
// error is flag.ErrHelp when help was asked for and printed.
func (s *flagSet) parse(arguments []string, lookup LookupEnv) error {
	var problems []error
	s.VisitAll(func(f *flag.Flag) {
		value, set := lookup(envName(f.Name))
		if !set || value == "" {
			return
		}
		if err := s.Set(f.Name, value); err != nil {
			problems = append(problems, fmt.Errorf("environment variable %s=%q: %w", envName(f.Name), value, err))
		}
	})
	if err := s.Parse(arguments); err != nil {
		return err
	}
	if s.NArg() > 0 {
		problems = append(problems, fmt.Errorf("unexpected argument %q: every setting is a flag or an environment variable, see --help", s.Arg(0)))
	}
	return errors.Join(problems...)
}

func (s *flagSet) usage() {
	fmt.Fprintf(s.Output(), "%s %s.\n\nFlags, with their environment twins:\n", s.Name(), s.purpose)
	s.VisitAll(func(f *flag.Flag) {
		fmt.Fprintf(s.Output(), "  --%s (%s)", f.Name, envName(f.Name))
		if f.DefValue != "" {
			fmt.Fprintf(s.Output(), ", default %s", f.DefValue)
		}
		fmt.Fprintf(s.Output(), "\n        %s\n", f.Usage)
	})
	fmt.Fprint(s.Output(), "\nTemporal: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_*, TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE.\n"+
		"Kubernetes: KUBECONFIG, or the Pod's service account.\n")
}

// nameList is a comma-separated list of names as a flag.Value.
type nameList []string

func (n *nameList) String() string { return strings.Join(*n, ",") }

func (n *nameList) Set(value string) error {
	*n = nil
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); name != "" {
			*n = append(*n, name)
		}
	}
	return nil
}
