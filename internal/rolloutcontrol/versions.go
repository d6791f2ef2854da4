package rolloutcontrol

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// choice is a configuration that was launched and still has a version.
type choice struct {
	version             int64
	fingerprint, change string
}

// choices returns what can be pinned: the configurations in the history of launches that still have a
// version, the latest launch first.
func choices(config *infrav1.AWSLaunchConfig) []choice {
	var found []choice
	for _, entry := range config.Status.History {
		known := slices.ContainsFunc(found, func(other choice) bool { return other.fingerprint == entry.ConfigFingerprint })
		if number := versionOf(config, entry); number != 0 && !known {
			found = append(found, choice{number, entry.ConfigFingerprint, entry.Change})
		}
	}
	return found
}

// versionOf returns the number of a version that has the configuration of a launch, 0 if none exists:
// the version that was launched, or the newest of the same configuration.
func versionOf(config *infrav1.AWSLaunchConfig, entry infrav1.LaunchConfigHistoryEntry) int64 {
	if entry.Deleted {
		return 0
	}
	newest := int64(0)
	for _, version := range config.Status.Versions {
		if version.ConfigFingerprint != entry.ConfigFingerprint {
			continue
		}
		if version.Number == entry.Version {
			return version.Number
		}
		newest = max(newest, version.Number)
	}
	return newest
}

// list returns choices as text.
func list(choices []choice) string {
	if len(choices) == 0 {
		return "no version"
	}
	var texts []string
	for _, choice := range choices {
		text := fmt.Sprintf("version %d", choice.version)
		if choice.change != "" {
			text += " (" + choice.change + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// wanted returns the configuration that the spec asks for, and an error if none is known: the launch
// config has not acted on its spec yet, or the spec cannot become a version.
func wanted(config *infrav1.AWSLaunchConfig) (string, error) {
	ready := meta.FindStatusCondition(config.Status.Conditions, infrav1.ReadyCondition)
	switch status := config.Status; {
	case ready == nil || ready.ObservedGeneration != config.Generation:
		return "", fmt.Errorf("AWSLaunchConfig %s is still reconciling its latest spec: try again in a few seconds", config.Name)
	case status.RolledBackFrom != "":
		return status.RolledBackFrom, nil
	case status.PendingVersion != 0:
		return config.Status.FingerprintOf(status.PendingVersion), nil
	case ready.Status != metav1.ConditionTrue && status.Version == 0:
		return "", fmt.Errorf("the spec has not become a version yet (%s), so there is nothing to undo: correct the spec", ready.Reason)
	case ready.Status != metav1.ConditionTrue:
		return "", fmt.Errorf("the latest edit did not become a version (%s), so nodes keep version %d and there is nothing to undo: correct the spec. "+
			"To hold later edits back as well, pin it with --to %[2]d; the pool reports the error until the spec is corrected", ready.Reason, status.Version)
	}
	return config.Status.ConfigFingerprint, nil
}

// errNoConfig is returned where nothing is known about versions.
var errNoConfig = errors.New("the pool has no launch config, so it has no versions yet")

// steerable returns why the version to launch cannot be chosen, nil if it can.
func (s Subject) steerable() error {
	switch {
	case s.Config == nil:
		if managed, is := s.Pool.(*infrav1.AWSManagedMachinePool); is && !managed.Spec.Templated() {
			return errors.New("the pool has no launch template, so it has no versions: EKS chooses what its nodes run. Change amiVersion or the Kubernetes version instead")
		}
		return errNoConfig
	case s.Config.Spec.Existing != nil:
		return fmt.Errorf("AWSLaunchConfig %s uses a launch template of another owner: change spec.existing.version instead", s.Config.Name)
	}
	return nil
}
