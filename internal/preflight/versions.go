package preflight

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// The versions of Kubernetes of a management cluster: the oldest that the charts accept, and the
// newest that Slipway was tested with (docs/reference/compatibility.md).
const (
	MinimumKubernetes = "1.34"
	TestedKubernetes  = "1.36"
)

const (
	clusterGroup        = ".cluster.x-k8s.io"
	infrastructureGroup = ".infrastructure.cluster.x-k8s.io"
)

// clusterAPIVersion and slipwayVersion are the versions that the manager uses.
var (
	clusterAPIVersion = clusterv1.GroupVersion.Version
	slipwayVersion    = infrav1.GroupVersion.Version
)

// clusterAPIDefinitions are the definitions of Cluster API that the manager needs.
var clusterAPIDefinitions = []string{"clusters" + clusterGroup, "machinepools" + clusterGroup, "machines" + clusterGroup}

// capaDefinitions are definitions that only CAPA has.
var capaDefinitions = []string{"awsclusters" + infrastructureGroup, "awsmanagedcontrolplanes.controlplane" + clusterGroup}

// sharedDefinitions are the definitions that CAPA has too, and ownDefinitions the ones that only
// Slipway has.
var (
	sharedDefinitions = []string{"awsmachinepools" + infrastructureGroup, "awsmanagedmachinepools" + infrastructureGroup}
	ownDefinitions    = []string{
		"awslaunchconfigs" + infrastructureGroup, "awslaunchconfigtemplates" + infrastructureGroup, "awsmachinepoolmachines" + infrastructureGroup,
		"awsmachinepooltemplates" + infrastructureGroup, "awsmanagedmachinepooltemplates" + infrastructureGroup,
	}
)

// distinctiveField is a field of spec that Slipway's pools have and CAPA's pools lack.
const distinctiveField = "launchConfigRef"
