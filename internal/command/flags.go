package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Flags are a command's flags, in groups for its help.
type Flags struct {
	groups []*pflag.FlagSet
}

// Group returns the flags of a group, to declare more. Groups stand in help in the order of their first call, under their titles.
func (f *Flags) Group(title string) *pflag.FlagSet {
	for _, group := range f.groups {
		if group.Name() == title {
			return group
		}
	}
	group := pflag.NewFlagSet(title, pflag.ContinueOnError)
	group.SortFlags = false
	f.groups = append(f.groups, group)
	return group
}

// groupAnnotation holds the title of a flag's group.
const groupAnnotation = "group"

// addTo gives the flags to the command, with completion of those that have choices.
func (f *Flags) addTo(cmd *cobra.Command) {
	for _, group := range f.groups {
		group.VisitAll(func(flag *pflag.Flag) {
			flag.Annotations = map[string][]string{groupAnnotation: {group.Name()}}
			cmd.Flags().AddFlag(flag)
			if choice, ok := flag.Value.(interface{ names() []string }); ok {
				// The only error is that of a flag that is not there.
				_ = cmd.RegisterFlagCompletionFunc(flag.Name, cobra.FixedCompletions(choice.names(), cobra.ShellCompDirectiveNoFileComp))
			}
		})
	}
}

// Choice declares a flag that takes one of a few values, written in lower case.
func Choice[T comparable](group *pflag.FlagSet, p *T, name string, value T, choices []T, usage string) {
	*p = value
	one := &choice[T]{p, choices}
	group.Var(one, name, fmt.Sprintf("%s: %s", usage, oneOf(one.names())))
}

type choice[T comparable] struct {
	value   *T
	choices []T
}

func (c *choice[T]) String() string {
	if c.value == nil {
		return "" // pflag compares defaults with a zero value
	}
	return nameOf(*c.value)
}

func (c *choice[T]) Type() string { return "name" }

func (c *choice[T]) Set(text string) error {
	i := slices.IndexFunc(c.choices, func(one T) bool { return strings.EqualFold(nameOf(one), text) })
	if i < 0 {
		return fmt.Errorf("use %s", oneOf(c.names()))
	}
	*c.value = c.choices[i]
	return nil
}

func (c *choice[T]) names() []string {
	var names []string
	for _, value := range c.choices {
		names = append(names, nameOf(value))
	}
	return names
}

func nameOf(value any) string { return strings.ToLower(fmt.Sprint(value)) }

// Environment gives each flag of a command a variable that stands in for it: with the prefix OSTINATO_ that of
// --kube-qps is OSTINATO_KUBE_QPS. The flag wins; an empty variable counts as unset. The zero value gives none.
type Environment struct {
	Prefix string
	Lookup func(name string) (value string, set bool)
}

// Variable returns the name of a flag's variable.
func (e Environment) Variable(flagName string) string {
	return e.Prefix + strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}

// describe adds the variables' names to the flags' help.
func (e Environment) describe(flags *pflag.FlagSet) {
	if e.Prefix == "" {
		return
	}
	flags.VisitAll(func(flag *pflag.Flag) {
		flag.Usage += " [" + e.Variable(flag.Name) + "]"
	})
}

// apply sets every flag that was not given and whose variable is.
func (e Environment) apply(flags *pflag.FlagSet) error {
	if e.Prefix == "" {
		return nil
	}
	var problems []error
	flags.VisitAll(func(flag *pflag.Flag) {
		variable := e.Variable(flag.Name)
		value, set := e.Lookup(variable)
		if !set || value == "" || flag.Changed {
			return
		}
		if err := flags.Set(flag.Name, value); err != nil {
			problems = append(problems, wrongValue("environment variable "+variable, err))
		}
	})
	return errors.Join(problems...)
}
