// Package v1beta2 owns the infrastructure kinds of Slipway, in the group
// infrastructure.cluster.x-k8s.io: AWSMachinePool and AWSManagedMachinePool, the infrastructure of
// a Cluster API MachinePool that runs an Auto Scaling group of its own or an EKS managed node
// group, and AWSLaunchConfig, the one kind that owns an EC2 launch template. The two kinds of pools
// have the group, name, fields and meaning of the kinds with the same names in Cluster API
// Provider AWS (CAPA), so that manifests written for it apply unchanged.
//
// The package holds data alone: types, their validation (CEL rules in markers, compiled into the
// CRDs), and the names that are part of the contract: condition types and reasons, finalizers,
// tags. The rule ids in comments (BD5, RF1, ...) are listed with the place of their enforcement in
// enforcement_test.go.
//
// An empty string in a field that CAPA leaves unvalidated means the same as the field left out,
// because manifests made from templates carry such strings.
//
// +kubebuilder:object:generate=true
// +groupName=infrastructure.cluster.x-k8s.io
package v1beta2
