package nodegroup

import (
	"strings"
	"time"

	"github.com/slipway-project/slipway/internal/aws"
)

// The types of attempts at a change of the configuration, by what the change has. One of both has EKS's
// type.
const (
	sizesUpdate    = "SizesUpdate"
	settingsUpdate = "SettingsUpdate"
)

// ConfigRefusals are the types of attempts at a change of the configuration. Each has a name for what is
// changed.
var ConfigRefusals = map[string]string{sizesUpdate: "the sizes", settingsUpdate: "the settings", ConfigUpdate: "the configuration"}

// Refusal is a change of the configuration that EKS refused to start, or that failed.
type Refusal struct {
	// Type is the type of the attempt, and Message EKS's answer.
	Type, Message string
}

// RefusesConfig reports whether EKS answered that it does not make a change of the configuration: a
// value is wrong, or exceeds a quota, and another attempt at the same does not help.
func RefusesConfig(err error) bool {
	return aws.Code(err) == "InvalidParameterException" || aws.IsQuotaExceeded(err)
}

// AttemptType returns the type of the attempts at what an update of a type is for: the purpose of a change
// of the configuration says which of its parts it has.
func AttemptType(update, purpose string) string {
	if part, _, has := strings.Cut(purpose, "/"); has && update == ConfigUpdate {
		return part
	}
	return update
}

func newConfigChange(change ConfigChange) *ConfigChange {
	kind := ConfigUpdate
	switch {
	case change.Settings == nil:
		kind = sizesUpdate
	case change.Sizes == nil:
		kind = settingsUpdate
	}
	change.For = kind + "/" + digest(32, ConfigUpdate, text(change.Sizes), text(change.Settings))
	return &change
}

// attempt returns the last attempt at a change of the same parts, and its type.
func (c *ConfigChange) attempt(last Attempts) (string, Attempt) {
	kind := AttemptType(ConfigUpdate, c.For)
	return kind, last[kind]
}

// nextConfig returns the change of the configuration to start now, nil if all must wait. EKS refuses
// a request as a whole, and its updates fail as a whole. So sizes and settings that it did not change
// together are requested one by one: a label that EKS does not set does not keep a node group from
// growing, and neither one keeps nodes from being replaced.
func (s *Step) nextConfig(change *ConfigChange, desired Desired, last Attempts, now time.Time) *ConfigChange {
	_, attempt := change.attempt(last)
	wait := attempt.wait(change.For, now)
	if wait == 0 {
		begun := *change
		begun.Attempt = attempt.next(desired.UID, change.For)
		return &begun
	}
	s.comeBack(wait)
	for _, part := range change.Parts {
		if next := s.nextConfig(part, desired, last, now); next != nil {
			return next
		}
	}
	return nil
}

// refusals returns what EKS refused or failed to change, the parts of it before the whole.
func refusals(change *ConfigChange, last Attempts) []Refusal {
	var found []Refusal
	for _, part := range change.Parts {
		found = append(found, refusals(part, last)...)
	}
	if kind, attempt := change.attempt(last); attempt.Failed && attempt.For == change.For {
		found = append(found, Refusal{Type: kind, Message: attempt.Answer})
	}
	return found
}
