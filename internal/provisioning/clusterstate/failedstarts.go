package clusterstate

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

const (
	// mostTries bounds how many rounds of nodes may fail to start in a row before no further one is
	// launched.
	mostTries = 5
	// firstWait is the time for which nothing is launched after the first failure. Each further
	// failure doubles it.
	firstWait = 5 * time.Minute
	// mostFailedStarts bounds the list in a Provisioner's status.
	mostFailedStarts = 50
	// longestMessage bounds the message of an entry.
	longestMessage = 1024
)

// FailStart records that a node did not start for lack of a resource, or for another reason if that
// is empty. Nodes that were launched before the last failure are of its round: recording them again
// changes nothing. Nothing is recorded if one of the Provisioner's nodes shows that the instance is
// at fault, because it started after this one was launched. FailStart reports whether it recorded
// the failure.
func FailStart(provisioner *provisioningv1.Provisioner, nodes []provisioningv1.ProvisionedNode, node *provisioningv1.ProvisionedNode, resource, message string, now time.Time) bool {
	if disproved(nodes, node, resource) {
		return false
	}
	status, template := &provisioner.Status, node.Spec.LaunchTemplate
	status.FailedStarts = slices.DeleteFunc(slices.Clone(status.FailedStarts), func(entry provisioningv1.FailedStart) bool { return !counts(provisioner, &entry) })
	at := slices.IndexFunc(status.FailedStarts, func(entry provisioningv1.FailedStart) bool {
		return entry.Resource == resource && entry.LaunchTemplateID == template.ID && entry.LaunchTemplateVersion == template.Version
	})
	if at < 0 {
		if extra := len(status.FailedStarts) + 1 - mostFailedStarts; extra > 0 {
			status.FailedStarts = status.FailedStarts[extra:]
		}
		at = len(status.FailedStarts)
		status.FailedStarts = append(status.FailedStarts, provisioningv1.FailedStart{
			LaunchTemplateID: template.ID, LaunchTemplateVersion: template.Version, Resource: resource, Generation: provisioner.Generation, Retry: retryOf(provisioner),
		})
	}
	entry := &status.FailedStarts[at]
	// The API stores whole seconds, and the next node may be launched within the second of the failure.
	if launched := node.Status.LaunchTime; entry.Tries == 0 || launched != nil && !launched.Before(&entry.LastTime) {
		entry.Tries++
		entry.LastTime = metav1.NewTime(now)
	}
	entry.Message = message[:min(len(message), longestMessage)]
	return true
}

// disproved reports whether another node from the same version of the launch template, with the
// resource if there is one, started after a node was launched.
func disproved(nodes []provisioningv1.ProvisionedNode, node *provisioningv1.ProvisionedNode, resource string) bool {
	failure := provisioningv1.FailedStart{LaunchTemplateID: node.Spec.LaunchTemplate.ID, LaunchTemplateVersion: node.Spec.LaunchTemplate.Version, Resource: resource}
	for i := range nodes {
		other := &nodes[i]
		if started := other.Status.ReadyTime; started != nil && node.Status.LaunchTime != nil && started.After(node.Status.LaunchTime.Time) &&
			other.Spec.Provisioner == node.Spec.Provisioner && concerns(&failure, other.Spec.LaunchTemplate, other.Spec.AwaitedResources) {
			return true
		}
	}
	return false
}

// ClearFailedStarts removes the entries that a node which has started disproves. It reports whether
// there were any.
func ClearFailedStarts(provisioner *provisioningv1.Provisioner, node *provisioningv1.ProvisionedNode) bool {
	before := len(provisioner.Status.FailedStarts)
	provisioner.Status.FailedStarts = slices.DeleteFunc(slices.Clone(provisioner.Status.FailedStarts), func(entry provisioningv1.FailedStart) bool {
		return concerns(&entry, node.Spec.LaunchTemplate, node.Spec.AwaitedResources)
	})
	return len(provisioner.Status.FailedStarts) != before
}

// HeldBack returns why no node is launched from a launch template for pods that request the
// resources, or "" if one may be. Nodes may be all nodes, or only the nodes of the Provisioner.
func HeldBack(provisioner *provisioningv1.Provisioner, nodes []provisioningv1.ProvisionedNode, template provisioningv1.LaunchTemplateVersion, resources []string, now time.Time) string {
	for i := range provisioner.Status.FailedStarts {
		entry := &provisioner.Status.FailedStarts[i]
		if !concerns(entry, template, resources) {
			continue
		}
		if _, held := Wait(provisioner, nodes, entry, now); held {
			return Explain(provisioner, entry)
		}
	}
	return ""
}

// Wait returns how long the entry holds launches back, zero for good, and whether it does. After
// one failure it holds none back while another node of the kind is ready: the instance may have
// been at fault, and the next one shows whether it was.
func Wait(provisioner *provisioningv1.Provisioner, nodes []provisioningv1.ProvisionedNode, entry *provisioningv1.FailedStart, now time.Time) (time.Duration, bool) {
	switch {
	case !counts(provisioner, entry), entry.Tries == 1 && anyReady(provisioner.Name, nodes, entry):
		return 0, false
	case entry.Tries >= mostTries:
		return 0, true
	}
	left := nextTry(entry).Sub(now)
	return max(left, 0), left > 0
}

// anyReady reports whether one of the nodes that an entry is about is ready.
func anyReady(provisioner string, nodes []provisioningv1.ProvisionedNode, entry *provisioningv1.FailedStart) bool {
	for i := range nodes {
		node := &nodes[i]
		if node.Spec.Provisioner == provisioner && node.DeletionTimestamp == nil && IsTrue(node, provisioningv1.ReadyCondition) &&
			concerns(entry, node.Spec.LaunchTemplate, node.Spec.AwaitedResources) {
			return true
		}
	}
	return false
}

func nextTry(entry *provisioningv1.FailedStart) time.Time {
	return entry.LastTime.Add(firstWait << max(entry.Tries-1, 0))
}

// Explain says what an entry means for the nodes of its Provisioner. It says the same until the next try.
func Explain(provisioner *provisioningv1.Provisioner, entry *provisioningv1.FailedStart) string {
	failed := fmt.Sprintf("nodes from version %d of launch template %s failed to start for the %s time in a row (%s)",
		entry.LaunchTemplateVersion, entry.LaunchTemplateID, ordinal(entry.Tries), entry.Message)
	if entry.Tries < mostTries {
		return fmt.Sprintf("%s; the next attempt is at %s", failed, nextTry(entry).UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("%s, so no further one is launched. Correct the cause, and set the annotation %s of Provisioner %s to a new value",
		failed, provisioningv1.RetryAnnotation, provisioner.Name)
}

// ordinal returns first, second and so on, as far as they are needed.
func ordinal(n int32) string {
	names := [...]string{"first", "second", "third", "fourth"}
	if n >= 1 && int(n) <= len(names) {
		return names[n-1]
	}
	return fmt.Sprintf("%dth", n)
}

func concerns(entry *provisioningv1.FailedStart, template provisioningv1.LaunchTemplateVersion, resources []string) bool {
	return entry.LaunchTemplateID == template.ID && entry.LaunchTemplateVersion == template.Version &&
		(entry.Resource == "" || slices.Contains(resources, entry.Resource))
}

// counts reports whether an entry is of the present spec and the present value of the annotation.
func counts(provisioner *provisioningv1.Provisioner, entry *provisioningv1.FailedStart) bool {
	return entry.Generation == provisioner.Generation && entry.Retry == retryOf(provisioner)
}

// retryOf returns the value of the annotation, as long as an entry keeps it.
func retryOf(provisioner *provisioningv1.Provisioner) string {
	const longest = 64
	value := provisioner.Annotations[provisioningv1.RetryAnnotation]
	return value[:min(len(value), longest)]
}
