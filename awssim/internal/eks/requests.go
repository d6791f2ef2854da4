package eks

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// requests turns requests for node groups into settings, and refuses what EKS refuses.
type requests struct {
	region   *sim.Region
	kernel   *sim.Kernel
	catalog  *catalog
	networks *networks
	roles    *roles
	groups   *groups
}

// newSettings returns the settings of a new group, with the defaults for what the request leaves out.
func (r *requests) newSettings(k *cluster, in *eks.CreateNodegroupInput) (settings, error) {
	n := settings{
		nodeRole: val(in.NodeRole), subnets: slices.Clone(in.Subnets), amiType: in.AmiType, capacityType: in.CapacityType,
		instanceTypes: slices.Clone(in.InstanceTypes), diskSize: in.DiskSize, remote: in.RemoteAccess, version: k.Version,
		labels: merged(in.Labels), taints: shape.Clone(in.Taints), repair: in.NodeRepairConfig, warm: in.WarmPoolConfig, tags: merged(in.Tags),
		// The defaults of the API (SDK NodegroupScalingConfig says nothing; these are what groups
		// get that name no sizes).
		scaling:  types.NodegroupScalingConfig{MinSize: ptr(int32(1)), MaxSize: ptr(int32(2)), DesiredSize: ptr(int32(2))},
		updating: types.NodegroupUpdateConfig{MaxUnavailable: ptr(int32(1))},
	}
	if n.capacityType == "" {
		n.capacityType = types.CapacityTypesOnDemand
	}
	if in.ScalingConfig != nil {
		shape.Overlay(&n.scaling, *in.ScalingConfig)
	}
	if in.UpdateConfig != nil {
		n.updating = *in.UpdateConfig
	}
	var err error
	if n.source, err = r.findSource(in.LaunchTemplate); err != nil {
		return n, err
	}
	checks := []func() error{
		func() error { return r.roles.checkNodeRole(n.nodeRole) },
		func() error { return r.networks.checkSubnets(k, n.subnets) },
		func() error { return r.checkScaling(n.scaling) },
		func() error { return checkUpdating(in.UpdateConfig, val(n.scaling.MaxSize)) },
		func() error { return checkLabels(n.labels) },
		func() error { return checkTaints(n.taints) },
		func() error { return checkRepair(n.repair) },
		func() error { return checkTags(n.tags) },
		func() error { return checkEnum("amiType", n.amiType, n.amiType.Values()) },
		func() error { return checkEnum("capacityType", n.capacityType, n.capacityType.Values()) },
		func() error { return checkConflicts(&n, in) },
		func() error { return r.chooseImage(&n, k, val(in.Version), val(in.ReleaseVersion)) },
		func() error { return r.chooseTypes(&n) },
		func() error { return r.checkCapacity(&n) },
		func() error { return checkWarmPool(&n) },
		func() error { return r.checkRemote(&n) },
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// checkConflicts refuses settings that both the launch template and the request specify (UG
// launch-templates; SDK CreateNodegroupInput). The wording is from reports of users.
func checkConflicts(n *settings, in *eks.CreateNodegroupInput) error {
	if n.source == nil {
		if n.amiType == types.AMITypesCustom {
			return invalid("AMI Type CUSTOM requires a launch template with an image id.") // inference
		}
		return nil
	}
	if err := n.source.check(); err != nil {
		return err
	}
	if err := checkImageConflicts(n, val(in.Version), val(in.ReleaseVersion)); err != nil {
		return err
	}
	switch {
	case in.DiskSize != nil:
		return invalid("Disk size must be specified within the launch template.")
	case in.RemoteAccess != nil:
		return invalid("Remote access configuration cannot be specified with a launch template.")
	case len(n.instanceTypes) > 0 && n.source.data.InstanceType != "":
		return badRequest("Cannot specify instance types in launch template and API request")
	}
	return nil
}

func checkImageConflicts(n *settings, version, release string) error {
	switch {
	case !n.source.custom():
		if n.amiType == types.AMITypesCustom {
			return invalid("AMI Type CUSTOM requires a launch template with an image id.") // inference
		}
		return nil
	case n.amiType != "" && n.amiType != types.AMITypesCustom:
		return invalid("You cannot specify an AMI Type other than CUSTOM, when specifying an image id in your Launch template.")
	}
	return customFields(version, release)
}

// customFields refuses versions for a group with the user's own image. The wording is from reports
// about UpdateNodegroupVersion.
func customFields(version, release string) error {
	switch {
	case release != "":
		return badRequest("You cannot specify the field releaseVersion when using custom AMIs.")
	case version != "":
		return badRequest("You cannot specify the field version when using custom AMIs.")
	}
	return nil
}

// chooseImage sets the image and the release that the nodes of a new group boot.
func (r *requests) chooseImage(n *settings, k *cluster, version, release string) error {
	// SDK CreateNodegroupInput.Version; message seen in aws-controllers-k8s/community#2957
	if version != "" && version != k.Version {
		return invalid("Nodegroup Kubernetes version should be equal to Cluster kubernetes version %s", k.Version)
	}
	if n.source.custom() {
		n.amiType, n.release, n.image = types.AMITypesCustom, *n.source.data.ImageId, *n.source.data.ImageId
		return nil
	}
	if n.amiType == "" {
		n.amiType = defaultType(n.version)
	}
	found, err := r.catalog.findRelease(n.amiType, n.version, release)
	n.release, n.image = found.version, found.image
	return err
}

// chooseTypes sets the default instance type, and refuses types that do not exist in this world or
// that cannot run the image.
func (r *requests) chooseTypes(n *settings) error {
	if len(n.instanceTypes) > maxInstanceTypes {
		return invalid("You can specify at most %d instance types.", maxInstanceTypes)
	}
	wanted := n.instanceTypes
	if n.source != nil && n.source.data.InstanceType != "" {
		wanted = []string{string(n.source.data.InstanceType)}
	} else if len(wanted) == 0 { // SDK CreateNodegroupInput.InstanceTypes
		n.instanceTypes = []string{"t3.medium"}
		wanted = n.instanceTypes
	}
	line, managed := imageLines[n.amiType]
	for _, name := range wanted {
		t := r.kernel.World().InstanceType(name)
		if t == nil { // message seen in terraform-aws-eks
			return invalid("The following supplied instance types do not exist: [%s]", name)
		}
		if managed && !line.fits(t) { // message seen in terraform-aws-eks
			return invalid("[%s] is not a valid instance type for requested amiType %s", name, n.amiType)
		}
	}
	return nil
}

// checkWarmPool refuses invalid warm pools (UG warm-pools-managed-node-groups; SDK WarmPoolConfig).
func checkWarmPool(n *settings) error {
	w := n.warm
	if w == nil {
		return nil
	}
	if err := checkEnum("poolState", w.PoolState, w.PoolState.Values()); err != nil {
		return err
	}
	if w.MinSize != nil && *w.MinSize < 0 {
		return invalid("minSize of warmPoolConfig must not be negative.")
	}
	if w.MaxGroupPreparedCapacity != nil && *w.MaxGroupPreparedCapacity < -1 {
		return invalid("maxGroupPreparedCapacity of warmPoolConfig must not be less than -1.")
	}
	if !val(w.Enabled) {
		return nil
	}
	line := imageLines[n.amiType]
	switch {
	case n.amiType == types.AMITypesCustom:
		return invalid("Warm pools are not supported for node groups with a custom AMI.")
	case n.capacityType != types.CapacityTypesOnDemand: // UG ec2-auto-scaling-warm-pools: no Spot Instances
		return invalid("Warm pools are not supported for capacity type %s.", n.capacityType)
	case line.family == bottlerocket && w.PoolState == types.WarmPoolStateHibernated:
		return invalid("Warm pool instances in the Hibernated state are not supported with Bottlerocket AMIs.")
	case line.family == bottlerocket && val(w.ReuseOnScaleIn):
		return invalid("reuseOnScaleIn is not supported for Bottlerocket AMIs.")
	}
	return nil
}
