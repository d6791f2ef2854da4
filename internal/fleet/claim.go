package fleet

import (
	"fmt"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// Claim names the launch that an instance has to come from before it is changed or terminated.
type Claim struct {
	// ClusterUID is the UID of the cluster's kube-system namespace, and Cluster its name.
	ClusterUID, Cluster string
	// Launch is the name of the launch.
	Launch string
}

// NotOwnedError reports that the tags of an instance do not prove a claim.
type NotOwnedError struct {
	Instance string
	// Why continues the sentence "Instance … ".
	Why string
}

// Error implements error.
func (e *NotOwnedError) Error() string {
	return fmt.Sprintf("instance %s %s", e.Instance, e.Why)
}

// WaitsForUser reports that no retry helps.
func (*NotOwnedError) WaitsForUser() bool { return true }

// Check returns nil if the instance's tags prove the claim, and a *NotOwnedError otherwise. The
// mark of another cluster never does. An instance without a mark, which an earlier release
// launched, is proven by the name of its launch: that is random, and only its cluster knows it.
func (c Claim) Check(instance Instance) error {
	mark, launch := instance.Tags[infrav1.TagClusterUID], instance.Tags[TagLaunch]
	switch {
	case mark != "" && mark != c.ClusterUID:
		return &NotOwnedError{instance.ID, fmt.Sprintf("was launched by another cluster: its tag %s is %q, and the UID of this cluster is %q", infrav1.TagClusterUID, mark, c.ClusterUID)}
	case launch == "":
		return &NotOwnedError{instance.ID, fmt.Sprintf("was not launched by Slipway: it has no tag %s", TagLaunch)}
	case launch != c.Launch:
		return &NotOwnedError{instance.ID, fmt.Sprintf("was launched as %q, not as %q", launch, c.Launch)}
	case instance.Tags[TagCluster] != c.Cluster:
		return &NotOwnedError{instance.ID, fmt.Sprintf("was launched for cluster %q, not for %q", instance.Tags[TagCluster], c.Cluster)}
	}
	return nil
}

// MarkedFor reports whether the instance has the mark of a cluster.
func (i Instance) MarkedFor(clusterUID string) bool {
	return clusterUID != "" && i.Tags[infrav1.TagClusterUID] == clusterUID
}
