package cluster

import "fmt"

// Reasons of a NotReadyError, for conditions.
const (
	// ReasonWaitingForClusterInfrastructure: CAPA is still creating the cluster's network.
	ReasonWaitingForClusterInfrastructure = "WaitingForClusterInfrastructure"
	// ReasonClusterInfrastructureMissing: the Cluster refers to an object that does not exist yet,
	// or no longer exists.
	ReasonClusterInfrastructureMissing = "ClusterInfrastructureMissing"
)

// NotReadyError says that a cluster cannot be used yet. It is no failure: the pool waits for the
// objects to change.
type NotReadyError struct {
	// Reason is one of the Reason constants.
	Reason string
	// Message is for users, and stays the same as long as the situation does.
	Message string
}

// Error implements error.
func (e *NotReadyError) Error() string { return e.Message }

// UnsupportedError says that the cluster is of another infrastructure provider.
type UnsupportedError struct{ Cluster, Kind string }

// Error implements error.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("Cluster %q has infrastructure of kind %s. Only %s, and clusters with a control plane of "+
		"kind %s, can have these pools",
		e.Cluster, e.Kind, kindAWSCluster, kindAWSManagedControlPlane)
}

// WaitsForUser says that only a change by a person helps.
func (*UnsupportedError) WaitsForUser() bool { return true }
