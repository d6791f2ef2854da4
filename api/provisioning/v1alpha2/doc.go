// Package v1alpha2 owns the kind of just-in-time nodes, Provisioner, in the group
// provisioning.karpenter.sh, with the shape that Karpenter's "AWS Launch Template Options" of 2021
// gives it: nodes are launched for pods that are pending, from EC2 launch templates that labels
// choose.
//
// The package holds data alone: types, their validation (CEL rules in markers, compiled into the
// CRD), the labels that are part of the contract, and how their values are read. The rule ids in
// comments (PV1, ...) are listed with the place of their enforcement in enforcement_test.go.
//
// +kubebuilder:object:generate=true
// +groupName=provisioning.karpenter.sh
package v1alpha2
