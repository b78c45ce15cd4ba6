package config

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"ostinato.dev/ostinato/internal/names"
)

// clusterName keeps workflow IDs and task queue names readable and unambiguous.
var clusterName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

// problems collects what is wrong with a configuration.
type problems []error

// check adds a problem with one flag unless ok.
func (p *problems) check(ok bool, flagName, format string, arguments ...any) {
	if ok {
		return
	}
	*p = append(*p, fmt.Errorf("--%s (%s): %s", flagName, envName(flagName), fmt.Sprintf(format, arguments...)))
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

func (c Common) validate(p *problems) {
	p.check(c.Cluster == "" || clusterName.MatchString(string(c.Cluster)), "cluster",
		"%q; use at most 63 lower case letters, digits, dots and hyphens", c.Cluster)
	for _, reserved := range []string{"cronjob", "job", "podwatch", "ostinato"} {
		p.check(string(c.Cluster) != reserved, "cluster", "%q is used in workflow IDs; choose another name", c.Cluster)
	}
	validateJobDefaults(p, c.JobDefaults)
	p.check(c.KubeQPS >= 0, "kube-qps", "is %v; set it to 0 or more", c.KubeQPS)
	p.atLeast(c.KubeBurst, 1, "kube-burst")
	p.address(c.MetricsAddress, "metrics-address")
	p.address(c.HealthAddress, "health-address")
	p.check(!c.Profiling || loopback(c.MetricsAddress), "profiling",
		"profiles are served on a loopback address only; set --metrics-address to 127.0.0.1:8080, say, not %q", c.MetricsAddress)
	p.check(c.LogFormat == LogText || c.LogFormat == LogJSON, "log-format", "%q; use text or json", c.LogFormat)
	p.check(c.DrainTimeout >= 0, "drain-timeout", "is %v; set it to 0 or more", c.DrainTimeout)
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// What a workflow keeps of a log is bounded: it is part of its history and result.
const (
	mostEvidenceLines = 1000
	mostEvidenceBytes = 64 * 1024
)

func (w Worker) validate() error {
	var p problems
	w.Common.validate(&p)
	p.atLeast(w.MaxConcurrentWorkflowTasks, 2, "max-concurrent-workflow-tasks")
	p.atLeast(w.MaxConcurrentJobTasks, 2, "max-concurrent-job-tasks")
	p.atLeast(w.MaxConcurrentActivities, 1, "max-concurrent-activities")
	p.atLeast(w.MaxConcurrentLocalActivities, 1, "max-concurrent-local-activities")
	p.atLeast(w.MaxConcurrentBulkActivities, 1, "max-concurrent-bulk-activities")
	p.atLeast(w.MaxPollers, 2, "max-pollers")
	p.positive(w.BulkPodsPerSecond, "bulk-pods-per-second")
	p.positive(w.BulkActivitiesPerSecond, "bulk-activities-per-second")
	p.check(w.EvidenceLogLines >= 0 && w.EvidenceLogLines <= mostEvidenceLines, "evidence-log-lines",
		"is %d; set it to 0 (no logs) or to %d at most", w.EvidenceLogLines, mostEvidenceLines)
	p.check(w.EvidenceLogBytes >= 0 && w.EvidenceLogBytes <= mostEvidenceBytes, "evidence-log-bytes",
		"is %d; set it to 0 (no logs) or to %d at most", w.EvidenceLogBytes, mostEvidenceBytes)
	p.atLeast(w.StickyCacheSize, 1, "sticky-cache-size")
	p.positiveDuration(w.StickyTimeout, "sticky-timeout")
	p.watchShards(w.WatchShards)
	p.check((w.DeploymentName == "") == (w.BuildID == ""), "build-id",
		"versioning needs both --deployment-name and --build-id; set the other one too, or neither")
	p.check(!strings.ContainsAny(w.DeploymentName, "."), "deployment-name", "%q holds a dot, which Temporal reserves; use a hyphen", w.DeploymentName)
	return errors.Join(p...)
}

func (b Bridge) validate() error {
	var p problems
	b.Common.validate(&p)
	for _, namespace := range b.Namespaces {
		p.check(len(validation.IsDNS1123Label(namespace)) == 0, "namespaces", "%q is no namespace name; give names separated by commas", namespace)
	}
	p.atLeast(b.Workers, 1, "workers")
	p.positive(b.SweepRate, "sweep-rate")
	p.check(b.SweepInterval == 0 || b.SweepInterval >= time.Minute, "sweep-interval", "is %v; set it to 0 or to 1m or more", b.SweepInterval)
	p.check(b.OverdueGrace >= time.Second, "overdue-grace", "is %v; set it to 1s or more", b.OverdueGrace)
	p.watchShards(b.WatchShards)
	switch b.SearchAttributes {
	case SearchAttributesAuto, SearchAttributesOn, SearchAttributesOff:
	default:
		p.check(false, "search-attributes", "%q; use auto, on or off", b.SearchAttributes)
	}
	if b.LeaderElection.Enabled {
		b.LeaderElection.validate(&p)
	}
	p.check(!b.TakeOver.Jobs || b.LeaderElection.Namespace != "", "lease-namespace",
		"is empty; name the bridge's own namespace: --takeover=jobs creates a Job there for a moment, to see whether the built-in controller runs")
	return errors.Join(p...)
}

func (p *problems) watchShards(value int) {
	p.check(value >= 1 && value <= names.WatchBuckets, "watch-shards", "is %d; set it between 1 and %d", value, names.WatchBuckets)
}

func (l LeaderElection) validate(p *problems) {
	p.check(l.Namespace != "", "lease-namespace", "is empty; name the bridge's own namespace")
	p.check(l.Name != "", "lease-name", "is empty; name the lease")
	p.check(l.RetryPeriod > 0, "lease-retry-period", "is %v; set it above 0, such as 2s", l.RetryPeriod)
	p.check(l.LeaseDuration >= time.Second, "lease-duration", "is %v; set it to 1s or more", l.LeaseDuration)
	p.check(l.LeaseDuration > l.RenewDeadline, "lease-duration",
		"is %v; set it above --lease-renew-deadline, %v", l.LeaseDuration, l.RenewDeadline)
	// client-go asks for this distance, for jitter.
	p.check(float64(l.RenewDeadline) > 1.2*float64(l.RetryPeriod), "lease-renew-deadline",
		"is %v; set it above 1.2 times --lease-retry-period, %v", l.RenewDeadline, l.RetryPeriod)
}
