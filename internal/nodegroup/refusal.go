package nodegroup

import (
	"time"

	"github.com/slipway-project/slipway/internal/aws"
)

// The types of attempts at a change of the configuration that EKS refused to start, by what the
// change has.
const (
	refusedConfig   = "RefusedConfigUpdate"
	refusedSizes    = "RefusedSizes"
	refusedSettings = "RefusedSettings"
)

// ConfigRefusals are the types of attempts at a change of the configuration that EKS refused. Each has
// a name for the refused part.
var ConfigRefusals = map[string]string{refusedSizes: "the sizes", refusedSettings: "the settings", refusedConfig: "the configuration"}

// Refusal is a change of the configuration that EKS refused to start.
type Refusal struct {
	// Type is the type of the attempt, and Message EKS's answer.
	Type, Message string
}

// RefusesConfig reports whether EKS answered that it does not make a change of the configuration: a
// value is wrong, or exceeds a quota, and another attempt at the same does not help.
func RefusesConfig(err error) bool {
	return aws.Code(err) == "InvalidParameterException" || aws.IsQuotaExceeded(err)
}

// RefusedType returns the type of an attempt at the change that EKS refused.
func (c *ConfigChange) RefusedType() string {
	switch {
	case c.Settings == nil:
		return refusedSizes
	case c.Sizes == nil:
		return refusedSettings
	}
	return refusedConfig
}

func newConfigChange(change ConfigChange) *ConfigChange {
	change.For = digest(32, ConfigUpdate, text(change.Sizes), text(change.Settings))
	return &change
}

// nextConfig returns the change of the configuration to start now, nil if all must wait. EKS refuses
// a request as a whole. So sizes and settings that it refused together are requested one by one: a
// label that EKS refuses does not keep a node group from growing, and neither one keeps nodes from
// being replaced.
func (s *Step) nextConfig(change *ConfigChange, desired Desired, last Attempts, now time.Time) *ConfigChange {
	failed, refused := last[ConfigUpdate], last[change.RefusedType()]
	wait := max(failed.wait(change.For, now), refused.wait(change.For, now))
	if wait == 0 {
		begun := *change
		if begun.Attempt = failed.next(desired.UID, change.For); refused.Failed && refused.For == change.For {
			begun.Attempt = refused.next(desired.UID, change.For)
		}
		return &begun
	}
	s.comeBack(wait)
	if refused.wait(change.For, now) == 0 {
		return nil
	}
	for _, part := range change.Parts {
		if next := s.nextConfig(part, desired, last, now); next != nil {
			return next
		}
	}
	return nil
}

// refusals returns what EKS refused of a change, the parts of it before the whole.
func refusals(change *ConfigChange, last Attempts) []Refusal {
	var found []Refusal
	for _, part := range change.Parts {
		found = append(found, refusals(part, last)...)
	}
	if refused := last[change.RefusedType()]; refused.Failed && refused.For == change.For {
		found = append(found, Refusal{Type: change.RefusedType(), Message: refused.Refusal})
	}
	return found
}
