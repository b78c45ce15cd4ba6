// Package command is the command line that Ostinato's programs share, on cobra and pflag: flags in groups, environment
// variables in their place, mistakes told in one line each, shell completion.
package command
