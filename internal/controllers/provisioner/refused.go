package provisioner

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/log"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/launching"
)

// refused returns why EC2 launches nothing from a version of a launch template that the provisioner uses, under a reason; both are empty if it does, or if that
// cannot be found out. A version that was not launched from yet is tried by a dry run.
func (r *Reconciler) refused(ctx context.Context, p *pass, id string, version int64, architecture string, named []string, choosesSubnet bool) (why, reason string) {
	if refusal, known := r.Refusals.Of(id, version); known {
		r.Refusals.Recheck(ctx, id, version)
		if refusal.Blame == fleet.BlameMoment {
			return "", "" // over before anybody reads it
		}
	} else if sample, found := r.sample(ctx, p, architecture, named, choosesSubnet); found {
		sample.LaunchTemplate = provisioningv1.LaunchTemplateVersion{ID: id, Version: version}
		r.Refusals.Check(ctx, launching.Request(sample))
	}
	refusal, known := r.Refusals.Of(id, version)
	if !known {
		return "", ""
	}
	p.refused = true
	reason = provisioningv1.TemplateUnusableReason
	if refusal.Blame == fleet.BlameAccount {
		reason = infrav1.AccessDeniedReason
	}
	return r.Refusals.Why(id, version), reason
}

// sample is a node that the provisioner might launch; false if none can be named now.
func (r *Reconciler) sample(ctx context.Context, p *pass, architecture string, named []string, choosesSubnet bool) (*provisioningv1.ProvisionedNodeSpec, bool) {
	spec := &p.provisioner.Spec
	if len(spec.InstanceTypes) > 0 {
		named = spec.InstanceTypes
	}
	instanceType, zones, err := r.Region.Sample(ctx, named, architecture)
	if err != nil || instanceType == "" {
		return nil, false
	}
	offering := provisioningv1.NodeOffering{InstanceType: instanceType}
	if choosesSubnet {
		subnets, err := r.Region.Subnets(ctx, p.provisioner)
		if err != nil {
			log.FromContext(ctx).Info("Launch templates are not tried", "error", err.Error())
			return nil, false
		}
		for _, subnet := range subnets {
			if slices.Contains(zones, subnet.Zone) {
				offering.Zone, offering.SubnetID = subnet.Zone, subnet.ID
				break
			}
		}
		if offering.SubnetID == "" {
			return nil, false
		}
	}
	return &provisioningv1.ProvisionedNodeSpec{
		Provisioner: p.provisioner.Name, Cluster: spec.Cluster.Name, CapacityType: provisioningv1.CapacityTypeOnDemand, Offerings: []provisioningv1.NodeOffering{offering},
		Launch: provisioningv1.NodeLaunch{Name: "dry-run", Nodes: 1, ClusterUID: r.ClusterUID},
	}, true
}
