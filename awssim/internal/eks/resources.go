package eks

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// builder creates, changes, and deletes the resources of node groups in other services: the
// instance profile, the security group for remote access, EKS's own launch template, and the Auto
// Scaling group with its warm pool.
type builder struct {
	region   *sim.Region
	clusters *clusters
	groups   *groups
}

// Tags that EKS puts on the resources that it creates (UG eks-using-tags, managed-node-groups
// "Tagged for auto-discovery of the Cluster Autoscaler").
const (
	tagCluster   = "eks:cluster-name"
	tagNodegroup = "eks:nodegroup-name"
)

func (g *group) ownTags() map[string]string {
	return map[string]string{tagCluster: g.cluster.Name, tagNodegroup: g.name}
}

func (g *group) groupTags() map[string]string {
	return merged(g.ownTags(), map[string]string{
		"kubernetes.io/cluster/" + g.cluster.Name:     "owned",
		"k8s.io/cluster-autoscaler/enabled":           "true",
		"k8s.io/cluster-autoscaler/" + g.cluster.Name: "owned",
	})
}

func ec2Tags(tags map[string]string) []ec2types.Tag {
	var list []ec2types.Tag
	for _, key := range sortedKeys(tags) {
		list = append(list, ec2types.Tag{Key: ptr(key), Value: ptr(tags[key])})
	}
	return list
}

// createProfile creates the instance profile through which nodes get the node role (SDK
// CreateNodegroupInput.NodeRole).
func (b *builder) createProfile(g *group) error {
	name := "eks-" + g.id
	if _, err := call[awsiam.CreateInstanceProfileOutput](b.region, "iam", "CreateInstanceProfile", &awsiam.CreateInstanceProfileInput{InstanceProfileName: ptr(name)}); err != nil {
		return err
	}
	g.made.profile = name
	_, err := call[awsiam.AddRoleToInstanceProfileOutput](b.region, "iam", "AddRoleToInstanceProfile", &awsiam.AddRoleToInstanceProfileInput{
		InstanceProfileName: ptr(name), RoleName: ptr(roleName(g.nodeRole)),
	})
	return err
}

// createTemplate creates EKS's own launch template, or a new version of it, from the settings. It
// returns the number of the version.
func (b *builder) createTemplate(g *group, n *settings) (version int64, err error) {
	defer func() {
		if err == nil {
			g.builds[version] = *n
		}
	}()
	data, err := b.templateData(g, n)
	if err != nil {
		return 0, err
	}
	if g.made.template != "" {
		out, err := call[awsec2.CreateLaunchTemplateVersionOutput](b.region, "ec2", "CreateLaunchTemplateVersion", &awsec2.CreateLaunchTemplateVersionInput{
			LaunchTemplateId: ptr(g.made.template), LaunchTemplateData: data,
		})
		if err != nil {
			return 0, err
		}
		return val(out.LaunchTemplateVersion.VersionNumber), nil
	}
	out, err := call[awsec2.CreateLaunchTemplateOutput](b.region, "ec2", "CreateLaunchTemplate", &awsec2.CreateLaunchTemplateInput{
		LaunchTemplateName: ptr("eks-" + g.id), LaunchTemplateData: data,
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeLaunchTemplate, Tags: ec2Tags(g.ownTags())}},
	})
	if err != nil {
		return 0, err
	}
	g.made.template, g.made.templateName = val(out.LaunchTemplate.LaunchTemplateId), val(out.LaunchTemplate.LaunchTemplateName)
	return val(out.LaunchTemplate.LatestVersionNumber), nil
}

// templateData returns the user's launch template with EKS's additions, or the data of EKS's own
// template for a group without one (UG launch-templates).
func (b *builder) templateData(g *group, n *settings) (*ec2types.RequestLaunchTemplateData, error) {
	d := &ec2types.RequestLaunchTemplateData{}
	if n.source != nil {
		copied := shape.Clone(n.source.data)
		d = &copied
	} else {
		b.ownData(n, d)
	}
	d.ImageId = ptr(n.image)
	d.IamInstanceProfile = &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: ptr(g.made.profile)}
	if n.source == nil || !n.source.groups() {
		addGroups(d, g.cluster.securityGroup, g.made.remoteGroup)
	}
	if !n.source.custom() {
		merged, err := b.userData(g, n, val(d.UserData))
		if err != nil {
			return nil, err
		}
		d.UserData = optional(merged)
	}
	for _, resource := range []ec2types.ResourceType{ec2types.ResourceTypeInstance, ec2types.ResourceTypeVolume} {
		addTags(d, resource, ec2Tags(g.ownTags()))
	}
	return d, nil
}

// ownData sets the disk, the key, and the metadata options of a template for a group without a
// user's template. Instances of Amazon Linux 2023 require tokens for their metadata (UG
// launch-templates, "Custom launch templates"). The hop limit of 2 is an inference from templates
// that EKS creates.
func (b *builder) ownData(n *settings, d *ec2types.RequestLaunchTemplateData) {
	line := imageLines[n.amiType]
	d.MetadataOptions = &ec2types.LaunchTemplateInstanceMetadataOptionsRequest{HttpPutResponseHopLimit: ptr(int32(2))}
	if line.family == amazonLinux2023 {
		d.MetadataOptions.HttpTokens = ec2types.LaunchTemplateHttpTokensStateRequired
	}
	device, image := "/dev/xvda", ec2types.Image{}
	if found, ok := ec2.LookupImage(b.region, n.image); ok {
		image = found
		device = val(image.RootDeviceName)
	}
	if line.family == bottlerocket { // its data is on the second volume
		device = "/dev/xvdb"
	}
	d.BlockDeviceMappings = []ec2types.LaunchTemplateBlockDeviceMappingRequest{{
		DeviceName: ptr(device), Ebs: &ec2types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: ptr(diskSize(n)), DeleteOnTermination: ptr(true)},
	}}
	if n.remote != nil {
		d.KeyName = n.remote.Ec2SshKey
	}
}

// diskSize returns the size of the disk in GiB (SDK CreateNodegroupInput.DiskSize).
func diskSize(n *settings) int32 {
	switch {
	case n.diskSize != nil:
		return *n.diskSize
	case imageLines[n.amiType].family == windows:
		return 50
	default:
		return 20
	}
}

func addGroups(d *ec2types.RequestLaunchTemplateData, groups ...string) {
	var ids []string
	for _, id := range groups {
		if id != "" {
			ids = append(ids, id)
		}
	}
	if len(d.NetworkInterfaces) == 0 {
		d.SecurityGroupIds = ids
		return
	}
	for i := range d.NetworkInterfaces {
		if val(d.NetworkInterfaces[i].NetworkInterfaceId) == "" {
			d.NetworkInterfaces[i].Groups = ids
		}
	}
}

func addTags(d *ec2types.RequestLaunchTemplateData, resource ec2types.ResourceType, tags []ec2types.Tag) {
	for i := range d.TagSpecifications {
		if d.TagSpecifications[i].ResourceType == resource {
			kept := map[string]string{}
			for _, t := range append(d.TagSpecifications[i].Tags, tags...) {
				kept[val(t.Key)] = val(t.Value)
			}
			d.TagSpecifications[i].Tags = ec2Tags(kept)
			return
		}
	}
	d.TagSpecifications = append(d.TagSpecifications, ec2types.LaunchTemplateTagSpecificationRequest{ResourceType: resource, Tags: tags})
}

// createGroup creates the Auto Scaling group of a node group.
func (b *builder) createGroup(g *group) error {
	name := "eks-" + g.name + "-" + g.id
	in := &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: ptr(name), VPCZoneIdentifier: ptr(strings.Join(g.subnets, ",")),
		MinSize: g.scaling.MinSize, MaxSize: g.scaling.MaxSize, DesiredCapacity: g.scaling.DesiredSize,
		HealthCheckGracePeriod: ptr(int32(15)),
		// UG managed-node-groups, "Capacity types"
		CapacityRebalance:   ptr(g.capacityType == types.CapacityTypesSpot),
		TerminationPolicies: []string{"AllocationStrategy", "OldestLaunchTemplate", "OldestInstance"},
	}
	tags := g.groupTags()
	for _, key := range sortedKeys(tags) {
		in.Tags = append(in.Tags, asgtypes.Tag{Key: ptr(key), Value: ptr(tags[key]), PropagateAtLaunch: ptr(true), ResourceId: ptr(name), ResourceType: ptr("auto-scaling-group")})
	}
	in.LaunchTemplate, in.MixedInstancesPolicy = g.launches(&g.settings, g.made.version)
	if _, err := call[autoscaling.CreateAutoScalingGroupOutput](b.region, "autoscaling", "CreateAutoScalingGroup", in); err != nil {
		return err
	}
	g.made.asg = name
	b.groups.byASG[name] = g
	return nil
}

// launches returns what the Auto Scaling group launches: a version of EKS's own template, with the
// instance types of the group (UG managed-node-groups, "Capacity types": On-Demand allocation is
// prioritized, Spot is price-capacity-optimized from Kubernetes 1.28 on).
func (g *group) launches(n *settings, version int64) (*asgtypes.LaunchTemplateSpecification, *asgtypes.MixedInstancesPolicy) {
	spec := &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: ptr(g.made.template), Version: ptr(itoa(version))}
	if n.capacityType == types.CapacityTypesCapacityBlock {
		// a reservation is of one type, and Capacity Blocks do not go with a mixed policy (UG
		// capacity-blocks)
		return spec, nil
	}
	onDemand, spot := int32(100), "price-capacity-optimized"
	if n.capacityType == types.CapacityTypesSpot {
		onDemand = 0
	}
	if minor(g.cluster.Version) < 28 {
		spot = "capacity-optimized"
	}
	policy := &asgtypes.MixedInstancesPolicy{
		LaunchTemplate: &asgtypes.LaunchTemplate{LaunchTemplateSpecification: spec},
		InstancesDistribution: &asgtypes.InstancesDistribution{
			OnDemandAllocationStrategy: ptr("prioritized"), OnDemandBaseCapacity: ptr(int32(0)), OnDemandPercentageAboveBaseCapacity: ptr(onDemand),
			SpotAllocationStrategy: ptr(spot),
		},
	}
	for _, name := range n.types() {
		policy.LaunchTemplate.Overrides = append(policy.LaunchTemplate.Overrides, asgtypes.LaunchTemplateOverrides{InstanceType: ptr(name)})
	}
	return nil, policy
}

// types returns the instance types of a group, from the request or from the template.
func (n *settings) types() []string {
	if n.source != nil && n.source.data.InstanceType != "" {
		return []string{string(n.source.data.InstanceType)}
	}
	return n.instanceTypes
}

// build creates the resources of a group, each after the resources that it refers to.
func (b *builder) build(g *group) error {
	if g.made.profile == "" {
		if err := b.createProfile(g); err != nil {
			return err
		}
	}
	if err := b.createRemoteGroup(g); err != nil {
		return err
	}
	if g.made.version == 0 {
		version, err := b.createTemplate(g, &g.settings)
		if err != nil {
			return err
		}
		g.made.version, g.made.latest = version, version
	}
	if err := b.createGroup(g); err != nil {
		return err
	}
	return b.attachWarmPool(g)
}

// setTemplateVersion makes the Auto Scaling group launch a version of EKS's template.
func (b *builder) setTemplateVersion(g *group, n *settings, version int64) error {
	in := &autoscaling.UpdateAutoScalingGroupInput{AutoScalingGroupName: ptr(g.made.asg)}
	in.LaunchTemplate, in.MixedInstancesPolicy = g.launches(n, version)
	_, err := call[autoscaling.UpdateAutoScalingGroupOutput](b.region, "autoscaling", "UpdateAutoScalingGroup", in)
	return err
}

// remove deletes the launch template, the instance profile, and the security group of a group. A
// resource that another caller deleted is no failure.
func (b *builder) remove(g *group) {
	if g.made.template != "" {
		_, _ = call[awsec2.DeleteLaunchTemplateOutput](b.region, "ec2", "DeleteLaunchTemplate", &awsec2.DeleteLaunchTemplateInput{LaunchTemplateId: ptr(g.made.template)})
	}
	if g.made.profile != "" {
		_, _ = call[awsiam.RemoveRoleFromInstanceProfileOutput](b.region, "iam", "RemoveRoleFromInstanceProfile", &awsiam.RemoveRoleFromInstanceProfileInput{
			InstanceProfileName: ptr(g.made.profile), RoleName: ptr(roleName(g.nodeRole)),
		})
		_, _ = call[awsiam.DeleteInstanceProfileOutput](b.region, "iam", "DeleteInstanceProfile", &awsiam.DeleteInstanceProfileInput{InstanceProfileName: ptr(g.made.profile)})
	}
	if g.made.remoteGroup != "" {
		_, _ = call[awsec2.DeleteSecurityGroupOutput](b.region, "ec2", "DeleteSecurityGroup", &awsec2.DeleteSecurityGroupInput{GroupId: ptr(g.made.remoteGroup)})
	}
}
