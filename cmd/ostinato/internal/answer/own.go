package answer

import (
	"fmt"
	"strings"
)

// OwnTemporal is a Temporal that an installation runs for itself.
type OwnTemporal struct {
	Namespace, Name, Image string
	// Claim is what its data is kept by; nil where a database elsewhere does.
	Claim *Claim
	// ClaimUnseen says why the claim could not be read.
	ClaimUnseen string
}

// Claim is a claim of a volume.
type Claim struct {
	Namespace, Name string
	// Class is the storage class that it names, empty for none.
	Class string
	// Bound is true when it has its volume.
	Bound bool
	// NoDefault: no storage class of the cluster is the default. DefaultUnseen says why that is not known.
	NoDefault     bool
	DefaultUnseen string
}

// HealthLost is what the data of a Temporal is whose databases have lost some. What runs now is not wrong for that.
const HealthLost = "Lost"

// losses is what the databases of Temporal have lost. Without a loss there is nothing to say.
func losses(facts TemporalFacts) []Health {
	if facts.Lost == "" {
		return nil
	}
	return []Health{{"data", HealthLost, "CronJobs and Jobs go on from their objects. " + facts.Lost}}
}

// HealthShort is what the capacity of a Temporal is that is short of something. What runs now is not wrong for that.
const HealthShort = "Short"

// shortage is what a Temporal is short of. Where it has enough there is nothing to say.
func shortage(facts TemporalFacts) []Health {
	if facts.Short == "" {
		return nil
	}
	return []Health{{"capacity", HealthShort, facts.Short}}
}

// volumes is whether the Temporals of installations have their volumes. Without a claim there is nothing to say.
func volumes(facts Facts) []Health {
	const part = "volume"
	if facts.OwnUnseen != "" {
		return []Health{unseen(part, facts.OwnUnseen)}
	}
	var wrong, hidden, well []string
	for _, own := range facts.Own {
		switch {
		case own.ClaimUnseen != "":
			hidden = append(hidden, own.ClaimUnseen)
		case own.Claim == nil:
		case own.Claim.Bound:
			well = append(well, fmt.Sprintf("claim %s/%s has its volume", own.Claim.Namespace, own.Claim.Name))
		default:
			wrong = append(wrong, own.Claim.lacks())
		}
	}
	switch {
	case len(wrong) > 0 || len(hidden) == 0 && len(well) > 0:
		return []Health{judged(part, wrong, strings.Join(well, "; "))}
	case len(hidden) > 0:
		return []Health{unseen(part, strings.Join(hidden, "; "))}
	}
	return nil
}

// lacks says why a claim has no volume.
func (c Claim) lacks() string {
	name := c.Namespace + "/" + c.Name
	switch {
	case c.Class != "":
		return fmt.Sprintf("claim %s has no volume of storage class %s yet: kubectl describe says why", name, c.Class)
	case c.NoDefault:
		return fmt.Sprintf("claim %s names no storage class, and none of the cluster is the default: make one the default, or name one (temporal.embedded.storage.storageClassName in the chart)", name)
	case c.DefaultUnseen != "":
		return fmt.Sprintf("claim %s has no volume yet, and names no storage class; whether one is the default is not visible: %s", name, c.DefaultUnseen)
	}
	return fmt.Sprintf("claim %s has no volume yet: kubectl describe says why", name)
}
