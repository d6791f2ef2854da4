// Package examples contains manifests that users can start from. The demo and the tests apply them,
// so that they stay valid.
package examples

import _ "embed"

// MachinePool is a pool of EC2 machines: MachinePool, AWSMachinePool and KubeadmConfig.
//
//go:embed machinepool.yaml
var MachinePool string

// ManagedMachinePool is a pool of nodes in an EKS managed node group: MachinePool and AWSManagedMachinePool.
//
//go:embed managedmachinepool.yaml
var ManagedMachinePool string

// LaunchConfigTemplate is an AWSLaunchConfigTemplate with a pool of each kind that refers to it, in two clusters: capa, and managed, which is of EKS.
//
//go:embed launchconfigtemplate.yaml
var LaunchConfigTemplate string

// Provisioner is one of just-in-time nodes in the cluster capa.
//
//go:embed provisioner.yaml
var Provisioner string
