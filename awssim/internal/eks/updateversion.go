package eks

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// updated returns the settings of the group after an update of its version, and refuses invalid
// updates.
func (r *requests) updated(g *group, in *eks.UpdateNodegroupVersionInput) (settings, error) {
	n := g.settings
	source, err := r.findSource(in.LaunchTemplate)
	if err != nil {
		return n, err
	}
	if source != nil {
		if err := g.checkSameSource(source); err != nil {
			return n, err
		}
		n.source = source
	}
	// UG capacity-blocks-mng
	if n.capacityType == types.CapacityTypesCapacityBlock && val(r.groups.liveScaling(g).DesiredSize) != 0 {
		return n, badRequest("A node group with capacity type CAPACITY_BLOCK can only be updated while its desired size is 0.")
	}
	if err := r.chooseUpdate(&n, g, val(in.Version), val(in.ReleaseVersion)); err != nil {
		return n, err
	}
	for _, check := range []func(*settings) error{r.chooseTypes, r.checkCapacity, checkWarmPool} {
		if err := check(&n); err != nil {
			return n, err
		}
	}
	return n, nil
}

// checkSameSource refuses a template that is not the group's, and a change between EKS's image and
// the user's own (SDK UpdateNodegroupVersionInput.LaunchTemplate; UG launch-templates, "Specifying
// an AMI"). The wording is an inference.
func (g *group) checkSameSource(o *source) error {
	switch {
	case g.source == nil:
		return invalid("The node group was not created with a launch template: it cannot be updated with one.")
	case o.id != g.source.id:
		return invalid("The launch template ID or name must match the one that was used when the node group was created: %s.", g.source.id)
	case o.custom() != g.source.custom():
		return invalid("The node group was created with%s an image id in its launch template: that cannot be changed. Create a new node group.",
			map[bool]string{true: "", false: "out"}[g.source.custom()])
	case o.data.InstanceType != "" && len(g.instanceTypes) > 0:
		return badRequest("Cannot specify instance types in launch template and API request")
	}
	return o.check()
}

// chooseUpdate sets the Kubernetes version and the image that an update installs.
func (r *requests) chooseUpdate(n *settings, g *group, version, wanted string) error {
	if n.source.custom() {
		if err := customFields(version, wanted); err != nil {
			return err
		}
		// DescribeNodegroup's version of such a group is the cluster's when it was last updated (inference).
		n.version, n.release, n.image = g.cluster.Version, *n.source.data.ImageId, *n.source.data.ImageId
		return nil
	}
	// SDK UpdateNodegroupVersionInput.Version: "updated to match the cluster's current Kubernetes version"
	if version == "" {
		version = g.cluster.Version
	}
	if err := r.checkStep(g, minor(version)); err != nil {
		return err
	}
	// A release may be older than the one that the group has: managed node groups can be rolled
	// back since March 2021 (awsdocs/amazon-eks-user-guide pull request 340, by EKS). The SDK still
	// says otherwise of UpdateNodegroupVersion.
	found, err := r.catalog.findRelease(n.amiType, version, wanted)
	if err != nil {
		return err
	}
	n.version, n.release, n.image = version, found.version, found.image
	return nil
}

// rollbackWindow is the time after an upgrade during which a cluster can be rolled back (UG
// rollback-cluster, "7-day window").
const rollbackWindow = 7 * 24 * time.Hour

// checkStep refuses a minor version that the group cannot be updated to. A group is upgraded by one
// minor version at a time, up to the cluster's version (an inference from upgrades of clusters). It is
// rolled back only to the version before the cluster's, because nodes are rolled back before the
// control plane, and only within seven days of the cluster's upgrade (UG rollback-cluster, "Single
// version only", "7-day window", and "Managed Node Groups (MNG)"). That the cluster's prerequisites
// apply to its node groups, and the wording of the refusals, are inferences.
func (r *requests) checkStep(g *group, wanted int) error {
	has, top := minor(g.version), minor(g.cluster.Version)
	switch {
	case wanted >= has && wanted <= top && wanted <= has+1:
		return nil
	case wanted == top && has-wanted == 1: // the control plane went back already
		return nil
	case wanted < 0 || wanted != has-1 || has != top:
		// Message seen in aws-controllers-k8s/community#2957.
		return invalid("Nodegroup Kubernetes version should be equal to Cluster kubernetes version %s or NodeGroup kubernetes version %s", g.cluster.Version, g.version)
	case g.cluster.upgraded.IsZero():
		return invalid("Nodegroup cannot be rolled back to Kubernetes version 1.%d: cluster %s was not upgraded to version %s", wanted, g.cluster.Name, g.cluster.Version)
	case r.kernel.Now().Sub(g.cluster.upgraded) > rollbackWindow:
		return invalid("Nodegroup cannot be rolled back to Kubernetes version 1.%d: more than 7 days have passed since cluster %s was upgraded to version %s",
			wanted, g.cluster.Name, g.cluster.Version)
	}
	return nil
}
