package rehearsal

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/smithy-go/middleware"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim/world"
)

// facts hold what controllers read about AWS while they planned, from AWS and from the objects of
// Cluster API Provider AWS. The simulated AWS has the same images, networks, and names, and the
// instance types of a catalogue.
type facts struct {
	client.Reader // of the management cluster

	mu     sync.Mutex
	region string
	images map[string]ec2types.Image
	// subnets and groups are by ID. A zone or a VPC that is not known is empty.
	subnets    map[string]world.Subnet
	groups     map[string]world.SecurityGroup
	parameters map[string]ssmtypes.Parameter
	// clusters are the Kubernetes versions of EKS clusters by name, empty if they are not known.
	clusters map[string]string
	// releases are the builds of EKS's images that node groups have or are created with, and roles the IAM
	// roles that are not Slipway's, by name.
	releases map[release]bool
	roles    map[string]world.Role
	// profiles, keys, and buckets are names.
	profiles, keys, buckets map[string]bool
}

func newFacts(cluster client.Reader) *facts {
	return &facts{
		Reader: cluster,
		images: map[string]ec2types.Image{}, subnets: map[string]world.Subnet{}, groups: map[string]world.SecurityGroup{},
		parameters: map[string]ssmtypes.Parameter{}, clusters: map[string]string{}, releases: map[release]bool{}, roles: map[string]world.Role{},
		profiles: map[string]bool{}, keys: map[string]bool{}, buckets: map[string]bool{},
	}
}

// install has clients note what they are answered. It is an API option of the SDK's configuration.
func (f *facts) install(stack *middleware.Stack) error {
	note := func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleInitialize(ctx, in)
		if err == nil {
			f.note(awsmiddleware.GetServiceID(ctx), awsmiddleware.GetRegion(ctx), in.Parameters, out.Result)
		}
		return out, metadata, err
	}
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("SlipwayFacts", note), middleware.After)
}

// Get implements client.Reader. It notes the network of a cluster, and the names in the spec of a launch
// template: a plan that creates no version does not read them from AWS.
func (f *facts) Get(ctx context.Context, name client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := f.Reader.Get(ctx, name, object, options...); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch object := object.(type) {
	case *capav1.AWSCluster:
		f.network(object.Spec.NetworkSpec, object.Status.Network)
	case *eksv1.AWSManagedControlPlane:
		f.network(object.Spec.NetworkSpec, object.Status.Network)
		f.cluster(object.Spec.EKSClusterName, cmp.Or(awssdk.ToString(object.Status.Version), awssdk.ToString(object.Spec.Version)))
	case *infrav1.AWSLaunchConfig:
		f.specified(&object.Spec.AWSLaunchTemplate)
	case *infrav1.AWSMachinePool:
		f.specified(object.Spec.AWSLaunchTemplate)
	case *infrav1.AWSManagedMachinePool:
		f.specified(object.Spec.AWSLaunchTemplate)
	}
	return nil
}

// specified notes the names in the spec of a launch template.
func (f *facts) specified(template *infrav1.AWSLaunchTemplate) {
	if template == nil {
		return
	}
	if name := awssdk.ToString(template.SSHKeyName); name != "" {
		f.keys[name] = true
	}
	if profile := template.IamInstanceProfile; profile != "" {
		f.profiles[profileName(nil, &profile)] = true
	}
	for _, group := range template.AdditionalSecurityGroups {
		f.group(awssdk.ToString(group.ID), "")
	}
}

// network notes the network of a cluster.
func (f *facts) network(spec capav1.NetworkSpec, status capav1.NetworkStatus) {
	for _, subnet := range spec.Subnets {
		f.subnet(world.Subnet{ID: cmp.Or(subnet.ResourceID, subnet.ID), VPC: spec.VPC.ID, Zone: subnet.AvailabilityZone, CIDR: subnet.CidrBlock})
	}
	for _, group := range status.SecurityGroups {
		f.group(group.ID, spec.VPC.ID)
	}
}

// subnet notes a subnet, unless more is known about it.
func (f *facts) subnet(subnet world.Subnet) {
	if known, is := f.subnets[subnet.ID]; subnet.ID != "" && (!is || known.Zone == "") {
		f.subnets[subnet.ID] = subnet
	}
}

// group notes a security group, unless more is known about it.
func (f *facts) group(id, vpc string) {
	if known, is := f.groups[id]; id != "" && (!is || known.VPC == "") {
		f.groups[id] = world.SecurityGroup{ID: id, Name: "group " + id, Description: id, VPC: vpc}
	}
}

// regional are the services whose clients have the region of the pool. Others have one region for all.
var regional = []string{ec2.ServiceID, autoscaling.ServiceID, eks.ServiceID}

// note notes a request, and its answer.
func (f *facts) note(service, region string, request, answer any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Contains(regional, service) {
		f.region = region
	}
	f.asked(request)
	f.answered(answer)
	f.ofNodegroups(request, answer)
}

// asked notes a request.
func (f *facts) asked(request any) {
	switch request := request.(type) {
	case *autoscaling.CreateAutoScalingGroupInput:
		f.subnetsOf(request.VPCZoneIdentifier)
	case *autoscaling.UpdateAutoScalingGroupInput:
		f.subnetsOf(request.VPCZoneIdentifier)
	case *ec2.CreateLaunchTemplateInput:
		f.requested(request.LaunchTemplateData)
	case *ec2.CreateLaunchTemplateVersionInput:
		f.requested(request.LaunchTemplateData)
	case *s3.HeadObjectInput:
		f.buckets[awssdk.ToString(request.Bucket)] = true
	case *s3.PutObjectInput:
		f.buckets[awssdk.ToString(request.Bucket)] = true
	}
}

// answered notes an answer.
func (f *facts) answered(answer any) {
	switch answer := answer.(type) {
	case *ec2.DescribeImagesOutput:
		for _, image := range answer.Images {
			f.images[awssdk.ToString(image.ImageId)] = image
		}
	case *autoscaling.DescribeAutoScalingGroupsOutput:
		for _, group := range answer.AutoScalingGroups {
			f.subnetsOf(group.VPCZoneIdentifier)
		}
	case *ec2.DescribeSubnetsOutput:
		for _, subnet := range answer.Subnets {
			f.subnets[awssdk.ToString(subnet.SubnetId)] = subnetOf(subnet)
		}
	case *ec2.DescribeSecurityGroupsOutput:
		for _, group := range answer.SecurityGroups {
			f.groups[awssdk.ToString(group.GroupId)] = groupOf(group)
		}
	case *ec2.DescribeLaunchTemplateVersionsOutput:
		for _, version := range answer.LaunchTemplateVersions {
			f.present(version.LaunchTemplateData)
		}
	case *ssm.GetParameterOutput:
		if answer.Parameter != nil {
			f.parameters[awssdk.ToString(answer.Parameter.Name)] = *answer.Parameter
		}
	case *eks.DescribeClusterOutput:
		if answer.Cluster != nil {
			f.cluster(awssdk.ToString(answer.Cluster.Name), awssdk.ToString(answer.Cluster.Version))
		}
	}
}

// subnetsOf notes the subnets of a group.
func (f *facts) subnetsOf(list *string) {
	for id := range strings.SplitSeq(awssdk.ToString(list), ",") {
		f.subnet(world.Subnet{ID: id})
	}
}

// requested notes the names in a launch template version that is created.
func (f *facts) requested(data *ec2types.RequestLaunchTemplateData) {
	if data == nil {
		return
	}
	f.keys[awssdk.ToString(data.KeyName)] = true
	for _, id := range data.SecurityGroupIds {
		f.group(id, "")
	}
	for _, card := range data.NetworkInterfaces {
		for _, id := range card.Groups {
			f.group(id, "")
		}
	}
	if profile := data.IamInstanceProfile; profile != nil {
		f.profiles[profileName(profile.Name, profile.Arn)] = true
	}
}

// present notes the names in a launch template version that exists.
func (f *facts) present(data *ec2types.ResponseLaunchTemplateData) {
	if data == nil {
		return
	}
	request := &ec2types.RequestLaunchTemplateData{KeyName: data.KeyName, SecurityGroupIds: data.SecurityGroupIds}
	for _, card := range data.NetworkInterfaces {
		request.NetworkInterfaces = append(request.NetworkInterfaces, ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{Groups: card.Groups})
	}
	if profile := data.IamInstanceProfile; profile != nil {
		request.IamInstanceProfile = &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: profile.Name, Arn: profile.Arn}
	}
	f.requested(request)
}

// profileName returns the name of an instance profile.
func profileName(name, arn *string) string {
	if name != nil {
		return *name
	}
	path := awssdk.ToString(arn)
	return path[strings.LastIndex(path, "/")+1:]
}

// errNoSubnets reports that the network of a pool is not known.
var errNoSubnets = errors.New("the pool has no subnet that is known")

// world returns the world that a simulated AWS starts with.
func (f *facts) world() (*world.World, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.subnets) == 0 {
		return nil, errNoSubnets
	}
	standard := world.Default()
	region := world.Region{Name: f.region}
	f.addNetwork(&region)
	for _, id := range slices.Sorted(maps.Keys(f.images)) {
		region.Images = append(region.Images, imageOf(f.images[id]))
	}
	f.addEKSImages(&region, standard)
	for _, name := range named(f.keys) {
		region.KeyPairs = append(region.KeyPairs, world.KeyPair{ID: "key-" + name, Name: name, Type: "rsa"})
	}
	for _, name := range slices.Sorted(maps.Keys(f.parameters)) {
		parameter := f.parameters[name]
		region.Parameters = append(region.Parameters, world.Parameter{
			Name: name, Type: string(parameter.Type), Value: awssdk.ToString(parameter.Value), DataType: awssdk.ToString(parameter.DataType),
			Public: strings.HasPrefix(name, "/aws/"),
		})
	}
	for _, name := range named(f.buckets) {
		region.Buckets = append(region.Buckets, world.Bucket{Name: name})
	}
	made := &world.World{Name: "copy", InstanceTypes: world.Catalogue(), Roles: slices.Clone(standard.Roles), InstanceProfiles: slices.Clone(standard.InstanceProfiles)}
	f.addRoles(made)
	for _, name := range named(f.profiles) {
		if !slices.ContainsFunc(made.InstanceProfiles, func(known world.InstanceProfile) bool { return known.Name == name }) {
			made.Roles = append(made.Roles, world.Role{Name: "role-of-" + name, TrustedPrincipals: []string{"ec2.amazonaws.com"}})
			made.InstanceProfiles = append(made.InstanceProfiles, world.InstanceProfile{Name: name, Role: "role-of-" + name})
		}
	}
	made.Regions = []world.Region{region}
	return made, nil
}

const (
	// anyNetwork contains the addresses of every subnet, and anySubnet are those of one that is not
	// described.
	anyNetwork, anySubnet = "0.0.0.0/0", "10.0.0.0/16"
	// anyVPC is the VPC of a network that is not described.
	anyVPC = "vpc-00000000000000000"
)

// addNetwork adds VPCs, zones, subnets, security groups, and EKS clusters.
func (f *facts) addNetwork(region *world.Region) {
	vpc := anyVPC
	for _, id := range slices.Sorted(maps.Keys(f.subnets)) {
		vpc = cmp.Or(f.subnets[id].VPC, vpc)
	}
	vpcs, zones := map[string]bool{}, map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(f.subnets)) {
		subnet := f.subnets[id]
		subnet.VPC, subnet.Zone, subnet.CIDR = cmp.Or(subnet.VPC, vpc), cmp.Or(subnet.Zone, f.region+"a"), cmp.Or(subnet.CIDR, anySubnet)
		vpcs[subnet.VPC], zones[subnet.Zone] = true, true
		region.Subnets = append(region.Subnets, subnet)
	}
	for _, id := range slices.Sorted(maps.Keys(f.groups)) {
		group := f.groups[id]
		group.VPC = cmp.Or(group.VPC, vpc)
		vpcs[group.VPC] = true
		region.SecurityGroups = append(region.SecurityGroups, group)
	}
	for _, id := range slices.Sorted(maps.Keys(vpcs)) {
		region.VPCs = append(region.VPCs, world.VPC{ID: id, CIDR: anyNetwork})
	}
	for _, name := range slices.Sorted(maps.Keys(zones)) {
		region.Zones = append(region.Zones, world.Zone{Name: name, ID: name})
	}
	for _, name := range slices.Sorted(maps.Keys(f.clusters)) {
		region.Clusters = append(region.Clusters, world.Cluster{Name: name, Version: f.versionOf(name), Subnets: slices.Sorted(maps.Keys(f.subnets))})
	}
}

func subnetOf(subnet ec2types.Subnet) world.Subnet {
	return world.Subnet{
		ID: awssdk.ToString(subnet.SubnetId), VPC: awssdk.ToString(subnet.VpcId), Zone: awssdk.ToString(subnet.AvailabilityZone), CIDR: awssdk.ToString(subnet.CidrBlock),
		MapPublicIPOnLaunch: awssdk.ToBool(subnet.MapPublicIpOnLaunch), DefaultForZone: awssdk.ToBool(subnet.DefaultForAz), Tags: tagsOf(subnet.Tags),
	}
}

func groupOf(group ec2types.SecurityGroup) world.SecurityGroup {
	return world.SecurityGroup{
		ID: awssdk.ToString(group.GroupId), Name: awssdk.ToString(group.GroupName), Description: awssdk.ToString(group.Description),
		VPC: awssdk.ToString(group.VpcId), Tags: tagsOf(group.Tags),
	}
}

// named returns the names of a set, without an empty one.
func named(set map[string]bool) []string {
	names := slices.Sorted(maps.Keys(set))
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

func tagsOf(tags []ec2types.Tag) map[string]string {
	values := map[string]string{}
	for _, tag := range tags {
		values[awssdk.ToString(tag.Key)] = awssdk.ToString(tag.Value)
	}
	return values
}

// imageOf returns an image as every account sees it.
func imageOf(image ec2types.Image) world.Image {
	made := world.Image{
		ID: awssdk.ToString(image.ImageId), Name: cmp.Or(awssdk.ToString(image.Name), awssdk.ToString(image.ImageId)), Description: awssdk.ToString(image.Description),
		OwnerID: awssdk.ToString(image.OwnerId), OwnerAlias: awssdk.ToString(image.ImageOwnerAlias), Architecture: string(image.Architecture),
		State: string(image.State), RootDeviceName: awssdk.ToString(image.RootDeviceName), VirtualizationType: string(image.VirtualizationType),
		Platform: string(image.Platform), PlatformDetails: awssdk.ToString(image.PlatformDetails), ENASupport: awssdk.ToBool(image.EnaSupport), BootMode: string(image.BootMode),
		IMDSSupport: string(image.ImdsSupport), TPMSupport: string(image.TpmSupport), Tags: tagsOf(image.Tags),
	}
	if created, err := time.Parse(time.RFC3339, awssdk.ToString(image.CreationDate)); err == nil {
		made.CreationDate = created
	}
	for _, device := range image.BlockDeviceMappings {
		if volume := device.Ebs; volume != nil {
			made.BlockDevices = append(made.BlockDevices, world.BlockDevice{
				DeviceName: awssdk.ToString(device.DeviceName), SnapshotID: awssdk.ToString(volume.SnapshotId), SizeGiB: awssdk.ToInt32(volume.VolumeSize),
				VolumeType: string(volume.VolumeType), IOPS: awssdk.ToInt32(volume.Iops), Throughput: awssdk.ToInt32(volume.Throughput),
				DeleteOnTermination: awssdk.ToBool(volume.DeleteOnTermination), Encrypted: awssdk.ToBool(volume.Encrypted),
			})
		}
	}
	return made
}
