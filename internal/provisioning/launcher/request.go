package launcher

import (
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/fleet"
)

// Request returns the request to EC2 that launches a ProvisionedNode, and all nodes that are equal
// to it.
func Request(spec *provisioningv1.ProvisionedNodeSpec) fleet.Request {
	request := fleet.Request{
		Name: spec.Launch.Name, ClusterUID: spec.Launch.ClusterUID, TemplateID: spec.LaunchTemplate.ID, Version: spec.LaunchTemplate.Version, Nodes: spec.Launch.Nodes,
		Spot: spec.CapacityType == provisioningv1.CapacityTypeSpot,
		Tags: map[string]string{
			"Name": spec.Cluster + "-" + spec.Provisioner, "kubernetes.io/cluster/" + spec.Cluster: "owned",
			fleet.TagCluster: spec.Cluster, fleet.TagProvisioner: spec.Provisioner, fleet.TagLaunch: spec.Launch.Name,
		},
	}
	for _, offering := range spec.Offerings {
		request.Offerings = append(request.Offerings, fleet.Offering(offering))
	}
	return request
}
