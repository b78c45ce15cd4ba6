package config

import (
	"fmt"
	"net"
	"time"
)

// problems collects what is wrong with a configuration.
type problems []error

// check adds a problem with one flag unless ok.
func (p *problems) check(ok bool, flagName, format string, arguments ...any) {
	if ok {
		return
	}
	*p = append(*p, fmt.Errorf("--%s (%s): %s", flagName, environment(nil).Variable(flagName), fmt.Sprintf(format, arguments...)))
}

func (p *problems) atLeast(value, least int, flagName string) {
	p.check(value >= least, flagName, "is %d; set it to %d or more", value, least)
}

func (p *problems) positive(value float64, flagName string) {
	p.check(value > 0, flagName, "is %v; set it above 0", value)
}

func (p *problems) positiveDuration(value time.Duration, flagName string) {
	p.check(value > 0, flagName, "is %v; set it above 0, such as 10s", value)
}

func (p *problems) address(value, flagName string) {
	if value == "" {
		return
	}
	_, _, err := net.SplitHostPort(value)
	p.check(err == nil, flagName, "%q is not host:port; use 127.0.0.1:8080 or :8080, say", value)
}
