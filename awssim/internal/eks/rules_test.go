package eks_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

type (
	data   = ec2types.RequestLaunchTemplateData
	create = eks.CreateNodegroupInput
)

// TestProhibitedInLaunchTemplate holds which members a launch template of a managed node group must
// not have, whether the group is created from it or updated to it.
func TestProhibitedInLaunchTemplate(t *testing.T) {
	t.Parallel()
	f := start(t)
	good := f.template(withType("m5.large"))
	f.active(newGroup(0, onTemplate(good, "1")))
	rows := []struct {
		reason string
		change func(*data)
		words  string
	}{
		{"an instance profile", func(d *data) {
			d.IamInstanceProfile = &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("nodes.cluster-api-provider-aws.sigs.k8s.io")}
		}, "should not specify an instance profile"},
		{"a subnet", func(d *data) {
			d.NetworkInterfaces = []ec2types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{{DeviceIndex: aws.Int32(0), SubnetId: aws.String(subnetA)}}
		}, "subnet"},
		{"what shutdown does: stop", func(d *data) { d.InstanceInitiatedShutdownBehavior = ec2types.ShutdownBehaviorStop }, "shutdown behavior"},
		{"what shutdown does: terminate", func(d *data) { d.InstanceInitiatedShutdownBehavior = ec2types.ShutdownBehaviorTerminate }, "shutdown behavior"},
		{"hibernation", func(d *data) {
			d.HibernationOptions = &ec2types.LaunchTemplateHibernationOptionsRequest{Configured: aws.Bool(false)}
		}, "hibernation"},
		{"Spot", func(d *data) {
			d.InstanceMarketOptions = &ec2types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: ec2types.MarketTypeSpot}
		}, "Spot"},
		{"instance requirements", func(d *data) {
			d.InstanceType = ""
			d.InstanceRequirements = &ec2types.InstanceRequirementsRequest{VCpuCount: &ec2types.VCpuCountRangeRequest{Min: aws.Int32(1)}, MemoryMiB: &ec2types.MemoryMiBRequest{Min: aws.Int32(1)}}
		}, "instance requirements"},
		{"an image by parameter", func(d *data) { d.ImageId = aws.String("resolve:ssm:/a") }, "Systems Manager"},
	}
	for i, row := range rows {
		id := f.template(withType("m5.large"), row.change)
		f.refuses(row.reason+", at creation", newGroup(0, onTemplate(id, "1"), named(fmt.Sprintf("n%d", i))), "InvalidParameterException", row.words)
		version := f.version(good, withType("m5.large"), row.change)
		words := row.words
		if row.reason == "an image by parameter" {
			words = "image id" // a group that has EKS's image cannot get its own
		}
		fails(f, f.eks.UpdateNodegroupVersion, newVersion(toTemplate(good, version)), "InvalidParameterException", words)
	}
}

func named(name string) func(*create) {
	return func(in *create) { in.NodegroupName = aws.String(name) }
}

func withTaint(key, value string) func(*create) {
	return func(in *create) {
		in.Taints = []types.Taint{{Key: aws.String(key), Value: aws.String(value), Effect: types.TaintEffectNoSchedule}}
	}
}

// refuses wants a creation to be refused.
func (f *fixture) refuses(reason string, in *create, code, words string) {
	f.t.Helper()
	_, err := f.eks.CreateNodegroup(f.t.Context(), in)
	if got, message := errorOf(err); got != code || !strings.Contains(message, words) {
		f.t.Errorf("%s: %s: %s, want %s with %q", reason, got, message, code, words)
	}
}

func TestCreationRules(t *testing.T) {
	t.Parallel()
	f := start(t)
	typed, custom, plain := f.template(withType("m5.large")), f.template(withImage(f.image)), f.template()
	block := f.template(withImage(f.image), withType("p5.48xlarge"), withMarket(ec2types.MarketTypeCapacityBlock))
	f.reserve(blockID, beginning, beginning.Add(day))
	f.reserved(awssim.CapacityReservation{ID: "cr-00000000000000001", InstanceType: "p5.48xlarge", Zone: "us-east-1a", Count: 1})
	reserved := f.template(withImage(f.image), inReservation(blockID))
	unknown, onDemand := f.template(withImage(f.image), inReservation("cr-00000000000000009")), f.template(withImage(f.image), inReservation("cr-00000000000000001"))
	inBlock := func(template string, subnets ...string) func(*create) {
		return func(in *create) {
			in.CapacityType, in.LaunchTemplate, in.Subnets = types.CapacityTypesCapacityBlock, spec(template, "1"), subnets
		}
	}
	call(f, f.iam.CreateRole, &iam.CreateRoleInput{RoleName: aws.String("bare"), AssumeRolePolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`)})
	other := call(f, f.ec2.CreateVpc, &ec2.CreateVpcInput{CidrBlock: aws.String("10.9.0.0/16")}).Vpc
	elsewhere := call(f, f.ec2.CreateSubnet, &ec2.CreateSubnetInput{VpcId: other.VpcId, CidrBlock: aws.String("10.9.0.0/24"), AvailabilityZone: aws.String("us-east-1a")}).Subnet
	scaling := func(low, desired, high int32) func(*create) {
		return func(in *create) {
			in.ScalingConfig = &types.NodegroupScalingConfig{MinSize: aws.Int32(low), DesiredSize: aws.Int32(desired), MaxSize: aws.Int32(high)}
		}
	}
	const parameter, request = "InvalidParameterException", "InvalidRequestException"
	rows := []struct {
		reason      string
		change      func(*create)
		code, words string
	}{
		{"nothing", func(*create) {}, "", ""},
		{"a name with a dot", named("a.b"), parameter, "invalid characters"},
		{"a name of 64 characters", named(strings.Repeat("a", 64)), parameter, "invalid characters"},
		{"a name of 63 characters", named(strings.Repeat("a", 63)), "", ""},
		{"a name that begins with a hyphen", named("-a"), parameter, "invalid characters"},
		{"a cluster that does not exist", func(in *create) { in.ClusterName = aws.String("none") }, "ResourceNotFoundException", "No cluster found for name: none."},
		{"a role that does not exist", func(in *create) { in.NodeRole = aws.String("arn:aws:iam::123456789012:role/none") }, parameter, "The role with name none cannot be found"},
		{"a role that EC2 can not assume", func(in *create) {
			in.NodeRole = aws.String("arn:aws:iam::123456789012:role/eks-controlplane.cluster-api-provider-aws.sigs.k8s.io")
		}, parameter, "Following required service principals [ec2.amazonaws.com] were not found"},
		{"a role without policies", func(in *create) { in.NodeRole = aws.String("arn:aws:iam::123456789012:role/bare") }, parameter, "AmazonEKSWorkerNodePolicy"},
		{"a subnet that does not exist", func(in *create) { in.Subnets = []string{"subnet-00000000000000000"} }, parameter, "does not exist"},
		{"a subnet of another VPC", func(in *create) { in.Subnets = []string{*elsewhere.SubnetId} }, parameter, "same VPC"},
		{"min above desired", scaling(2, 1, 3), parameter, "Minimum capacity 2 can't be greater than desired size 1"},
		{"desired above max", scaling(0, 4, 3), parameter, "desired capacity 4 can't be greater than max size 3"},
		{"max of zero", scaling(0, 0, 0), parameter, "greater than or equal to 1"},
		{"negative min", scaling(-1, 0, 1), parameter, "greater than or equal to 0"},
		{"more nodes than the quota", scaling(0, 0, 451), parameter, "450"},
		{"as many nodes as the quota", scaling(0, 0, 450), "", ""},
		{"neither number nor percentage", withUpdateConfig(types.NodegroupUpdateConfig{}), parameter, "exactly one"},
		{"number and percentage", withUpdateConfig(types.NodegroupUpdateConfig{MaxUnavailable: aws.Int32(1), MaxUnavailablePercentage: aws.Int32(1)}), parameter, "exactly one"},
		{"more unavailable than there can be", withUpdateConfig(types.NodegroupUpdateConfig{MaxUnavailable: aws.Int32(11)}), parameter, "max size of the node group"},
		{"a percentage above 100", withUpdateConfig(types.NodegroupUpdateConfig{MaxUnavailablePercentage: aws.Int32(101)}), parameter, "less than or equal to 100"},
		{"an unknown strategy", withUpdateConfig(types.NodegroupUpdateConfig{MaxUnavailable: aws.Int32(1), UpdateStrategy: "FAST"}), parameter, "updateStrategy"},
		{"a label of EKS's own", func(in *create) { in.Labels = map[string]string{"eks.amazonaws.com/x": "1"} }, parameter, "reserved prefixes"},
		{"a label of Kubernetes's own", func(in *create) { in.Labels = map[string]string{"topology.kubernetes.io/zone": "1"} }, parameter, "reserved prefixes"},
		{"a long label", func(in *create) { in.Labels = map[string]string{strings.Repeat("k", 64): "1"} }, parameter, "failed to satisfy constraint: Member must have length"},
		{"a long value", func(in *create) { in.Labels = map[string]string{"k": strings.Repeat("v", 64)} }, parameter, "failed to satisfy constraint: Member must have length"},
		{"a long label with a prefix", func(in *create) {
			in.Labels = map[string]string{strings.Repeat("p", 40) + "/" + strings.Repeat("k", 23): "1"}
		}, parameter, "failed to satisfy constraint: Member must have length"},
		{"an empty value", func(in *create) { in.Labels = map[string]string{"k": ""} }, parameter, "failed to satisfy constraint: Member must have length"},
		{"a long taint", withTaint(strings.Repeat("k", 64), ""), parameter, "failed to satisfy constraint: Member must have length"},
		{"a long taint with a prefix", withTaint(strings.Repeat("p", 40)+"/"+strings.Repeat("k", 23), ""), parameter, "failed to satisfy constraint: Member must have length"},
		{"a taint with a long value", withTaint("k", strings.Repeat("v", 64)), parameter, "less than or equal to 63"},
		{"a taint of 63 characters", withTaint(strings.Repeat("p", 40)+"/"+strings.Repeat("k", 22), strings.Repeat("v", 63)), "", ""},
		{"a taint without effect", func(in *create) { in.Taints = []types.Taint{{Key: aws.String("k")}} }, parameter, "effect"},
		{"a taint with Kubernetes's spelling", func(in *create) { in.Taints = []types.Taint{{Key: aws.String("k"), Effect: "NoSchedule"}} }, parameter, "effect"},
		{"a taint twice", func(in *create) {
			in.Taints = []types.Taint{{Key: aws.String("k"), Effect: types.TaintEffectNoSchedule}, {Key: aws.String("k"), Value: aws.String("v"), Effect: types.TaintEffectNoSchedule}}
		}, parameter, "twice"},
		{"51 taints", func(in *create) {
			for i := range 51 {
				in.Taints = append(in.Taints, types.Taint{Key: aws.String(fmt.Sprint("k", i)), Effect: types.TaintEffectNoSchedule})
			}
		}, parameter, "50 taints"},
		{"both thresholds", func(in *create) {
			in.NodeRepairConfig = &types.NodeRepairConfig{MaxUnhealthyNodeThresholdCount: aws.Int32(1), MaxUnhealthyNodeThresholdPercentage: aws.Int32(1)}
		}, parameter, "both"},
		{"both bounds", func(in *create) {
			in.NodeRepairConfig = &types.NodeRepairConfig{MaxParallelNodesRepairedCount: aws.Int32(1), MaxParallelNodesRepairedPercentage: aws.Int32(1)}
		}, parameter, "both"},
		{"half an override", func(in *create) {
			in.NodeRepairConfig = &types.NodeRepairConfig{NodeRepairConfigOverrides: []types.NodeRepairConfigOverrides{{RepairAction: types.RepairActionReboot}}}
		}, parameter, "all of its values"},
		{"a tag of AWS's own", func(in *create) { in.Tags = map[string]string{"aws:a": "1"} }, parameter, "aws:"},
		{"an unknown AMI type", func(in *create) { in.AmiType = "AL3" }, parameter, "amiType"},
		{"an AMI type that is not published for the version", func(in *create) { in.AmiType = types.AMITypesAl2X8664 }, parameter, "AMI Type AL2_x86_64 is only supported for kubernetes versions 1.32 or earlier"},
		{"an instance type of another architecture", func(in *create) { in.InstanceTypes = []string{"m6g.large"} }, parameter, "[m6g.large] is not a valid instance type for requested amiType AL2023_x86_64_STANDARD"},
		{"an instance type with a GPU and an image without", func(in *create) { in.InstanceTypes = []string{"g5.xlarge"} }, parameter, "not a valid instance type"},
		{"an image for GPUs and an instance type without", func(in *create) {
			in.AmiType, in.InstanceTypes = types.AMITypesAl2023X8664Nvidia, []string{"m5.large"}
		}, parameter, "not a valid instance type"},
		{"an instance type that does not exist", func(in *create) { in.InstanceTypes = []string{"m99.large"} }, parameter, "do not exist: [m99.large]"},
		{"21 instance types", func(in *create) { in.InstanceTypes = repeat("m5.large", 21) }, parameter, "at most 20"},
		{"another version than the cluster's", func(in *create) { in.Version = aws.String("1.34") }, parameter, "should be equal to Cluster kubernetes version 1.35"},
		{"the cluster's version", func(in *create) { in.Version = aws.String("1.35") }, "", ""},
		{"a release that does not exist", func(in *create) { in.ReleaseVersion = aws.String("1.35.0-19990101") }, parameter, "release version 1.35.0-19990101 is not valid"},
		{"CUSTOM without a template", func(in *create) { in.AmiType = types.AMITypesCustom }, parameter, "image id"},
		{"CUSTOM and a template without an image", func(in *create) {
			in.AmiType, in.LaunchTemplate = types.AMITypesCustom, spec(plain, "1")
		}, parameter, "image id"},
		{"CUSTOM and a template with an image", func(in *create) { in.AmiType, in.LaunchTemplate = types.AMITypesCustom, spec(custom, "1") }, "", ""},
		{"a key that does not exist", func(in *create) { in.RemoteAccess = &types.RemoteAccessConfig{Ec2SshKey: aws.String("none")} }, parameter, "none"},
		{"source groups without a key", func(in *create) {
			in.RemoteAccess = &types.RemoteAccessConfig{SourceSecurityGroups: []string{"sg-0c1000000000000ab"}}
		}, parameter, "ec2SshKey"},

		{"a template by id and name", func(in *create) {
			in.LaunchTemplate = &types.LaunchTemplateSpecification{Id: aws.String(plain), Name: aws.String("template-1")}
		}, parameter, "either the launch template ID or the launch template name"},
		{"a template by name, of its default version", func(in *create) {
			in.LaunchTemplate = &types.LaunchTemplateSpecification{Name: aws.String("template-1")}
		}, "", ""},
		{"a template that does not exist", onTemplate("lt-00000000000000000", "1"), parameter, "lt-00000000000000000"},
		{"a version that does not exist", onTemplate(plain, "7"), parameter, "7"},
		{"disk size and template", func(in *create) { in.DiskSize, in.LaunchTemplate = aws.Int32(20), spec(plain, "1") }, parameter, "Disk size must be specified within the launch template."},
		{"remote access and template", func(in *create) {
			in.RemoteAccess, in.LaunchTemplate = &types.RemoteAccessConfig{Ec2SshKey: aws.String("default")}, spec(plain, "1")
		}, parameter, "Remote access configuration cannot be specified with a launch template."},
		{"instance types in both places", func(in *create) { in.InstanceTypes, in.LaunchTemplate = []string{"m5.large"}, spec(typed, "1") }, request, "Cannot specify instance types in launch template and API request"},
		{"instance types beside a template without", func(in *create) { in.InstanceTypes, in.LaunchTemplate = []string{"m5.large"}, spec(plain, "1") }, "", ""},
		{"AMI type and image", func(in *create) {
			in.AmiType, in.LaunchTemplate = types.AMITypesAl2023X8664Standard, spec(custom, "1")
		}, parameter, "You cannot specify an AMI Type other than CUSTOM"},
		{"version and image", func(in *create) { in.Version, in.LaunchTemplate = aws.String("1.35"), spec(custom, "1") }, request, "when using custom AMIs"},
		{"release and image", func(in *create) { in.ReleaseVersion, in.LaunchTemplate = aws.String("x"), spec(custom, "1") }, request, "when using custom AMIs"},

		{"an unknown capacity type", func(in *create) { in.CapacityType = "CHEAP" }, parameter, "capacityType"},
		{"a capacity block without a template", func(in *create) { in.CapacityType = types.CapacityTypesCapacityBlock }, parameter, "requires a launch template"},
		{"a capacity block and a template that asks for none", func(in *create) {
			in.CapacityType, in.LaunchTemplate = types.CapacityTypesCapacityBlock, spec(typed, "1")
		}, parameter, "market type capacity-block"},
		{"a capacity block without a reservation", inBlock(block, subnetA), parameter, "capacity reservation ID"},
		{"a capacity block that does not exist", inBlock(unknown, subnetA), parameter, "requires a Capacity Block"},
		{"a reservation that is no capacity block", inBlock(onDemand, subnetA), parameter, "requires a Capacity Block"},
		{"a capacity block in several zones", inBlock(reserved, subnetA, subnetB), parameter, "Availability Zone of the capacity reservation"},
		{"a capacity block in another zone", inBlock(reserved, subnetB), parameter, "Availability Zone of the capacity reservation"},
		{"a capacity block", inBlock(reserved, subnetA), "", ""},
		{"a template that asks for a capacity block, on demand", onTemplate(block, "1"), parameter, "requires the capacity type CAPACITY_BLOCK"},

		{"a warm pool of a custom image", func(in *create) { in.WarmPoolConfig, in.LaunchTemplate = pool(""), spec(custom, "1") }, parameter, "custom AMI"},
		{"a warm pool of Spot", func(in *create) { in.WarmPoolConfig, in.CapacityType = pool(""), types.CapacityTypesSpot }, parameter, "SPOT"},
		{"a warm pool of hibernated Bottlerocket", func(in *create) {
			in.WarmPoolConfig, in.AmiType = pool(types.WarmPoolStateHibernated), types.AMITypesBottlerocketX8664
		}, parameter, "Hibernated"},
		{"a warm pool with an unknown state", func(in *create) { in.WarmPoolConfig = pool("WARM") }, parameter, "poolState"},
		{"a warm pool that takes Bottlerocket back", func(in *create) {
			in.WarmPoolConfig, in.AmiType = pool(""), types.AMITypesBottlerocketX8664
			in.WarmPoolConfig.ReuseOnScaleIn = aws.Bool(true)
		}, parameter, "reuseOnScaleIn"},
	}
	for i, row := range rows {
		in := newGroup(0, named(fmt.Sprintf("group-%d", i)), row.change)
		f.refuses(row.reason, in, row.code, row.words)
		if row.code == "" {
			call(f, f.eks.DeleteNodegroup, &eks.DeleteNodegroupInput{ClusterName: in.ClusterName, NodegroupName: in.NodegroupName})
		}
	}
}

func withMarket(market ec2types.MarketType) func(*data) {
	return func(d *data) {
		d.InstanceMarketOptions = &ec2types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: market}
	}
}

func pool(state types.WarmPoolState) *types.WarmPoolConfig {
	return &types.WarmPoolConfig{Enabled: aws.Bool(true), PoolState: state}
}

func TestQuotaOfGroups(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *awssim.Options) {
		w := *world.Default()
		w.Quotas = map[string]int{world.QuotaNodeGroups: 2}
		o.World = &w
	})
	for i, code := range []string{"", "", "ResourceLimitExceededException"} {
		f.refuses("group "+fmt.Sprint(i), newGroup(0, named(fmt.Sprint("g", i))), code, "")
	}
}

func TestUpdateRules(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.setCluster("1.33")
	plain, typed, custom := f.template(), f.template(withType("m5.large")), f.template(withImage(f.image))
	groups := map[string]*create{
		"none":     newGroup(0),
		"template": newGroup(0, onTemplate(typed, "1")),
		"types":    newGroup(0, onTemplate(plain, "1"), func(in *create) { in.InstanceTypes = []string{"c5.large"} }),
		"custom":   newGroup(0, onTemplate(custom, "1")),
	}
	for name, in := range groups {
		named(name)(in)
		call(f, f.eks.CreateNodegroup, in)
	}
	f.until(time.Minute, "ACTIVE", func() bool {
		for name := range groups {
			if f.group(name).Status != types.NodegroupStatusActive {
				return false
			}
		}
		return true
	})
	f.setCluster("1.35")
	withImageOfOwn, typedInPlain := f.version(typed, withImage(f.image)), f.version(plain, withType("m5.large"))
	customWithout := f.version(custom)
	const parameter, request = "InvalidParameterException", "InvalidRequestException"
	rows := []struct {
		reason, group string
		change        func(*eks.UpdateNodegroupVersionInput)
		code, words   string
	}{
		{"a group that does not exist", "missing", func(*eks.UpdateNodegroupVersionInput) {}, "ResourceNotFoundException", "No node group found for name: missing."},
		{"a template for a group without", "none", toTemplate(typed, "1"), parameter, "not created with a launch template"},
		{"another template", "template", toTemplate(plain, "1"), parameter, "must match"},
		{"an image in the template of a group on EKS's", "template", toTemplate(typed, withImageOfOwn), parameter, "image id"},
		{"no image in the template of a group on its own", "custom", toTemplate(custom, customWithout), parameter, "image id"},
		{"an instance type in the template of a group with types", "types", toTemplate(plain, typedInPlain), request, "instance types"},
		{"a version that does not exist", "template", toTemplate(typed, "9"), parameter, "9"},
		{"version of a custom image", "custom", toVersion("1.34", ""), request, "when using custom AMIs"},
		{"two minors at once", "none", toVersion("1.35", ""), parameter, "Nodegroup Kubernetes version should be equal to"},
		{"two minors at once, since the cluster's is the default", "template", toTemplate(typed, "1"), parameter, "should be equal to"},
		{"a version above the cluster's", "none", toVersion("1.36", ""), parameter, "should be equal to"},
		{"a version below the group's", "none", toVersion("1.32", ""), parameter, "should be equal to"},
		{"a version that is none", "none", toVersion("latest", ""), parameter, "should be equal to"},
		{"a release that does not exist", "none", toVersion("1.34", "1.34.0-19990101"), parameter, "is not valid"},
		{"one minor", "none", toVersion("1.34", ""), "", ""},
		{"one minor, with the template", "template", func(in *eks.UpdateNodegroupVersionInput) {
			in.LaunchTemplate, in.Version = spec(typed, "1"), aws.String("1.34")
		}, "", ""},
		{"a custom image is of no version", "custom", toTemplate(custom, "1"), "", ""},
	}
	for _, row := range rows {
		in := newVersion(row.change)
		in.NodegroupName = aws.String(row.group)
		_, err := f.eks.UpdateNodegroupVersion(t.Context(), in)
		if got, message := errorOf(err); got != row.code || !strings.Contains(message, row.words) {
			t.Errorf("%s: %s: %s, want %s with %q", row.reason, got, message, row.code, row.words)
		}
	}
	f.step(time.Minute)
	if g := f.group("none"); *g.Version != "1.34" || !strings.HasPrefix(*g.ReleaseVersion, "1.34.0-") || g.Status != types.NodegroupStatusActive {
		t.Errorf("the group is %s on %s %s", g.Status, *g.Version, *g.ReleaseVersion)
	}
}

func toVersion(version, release string) func(*eks.UpdateNodegroupVersionInput) {
	return func(in *eks.UpdateNodegroupVersionInput) {
		in.Version = aws.String(version)
		if release != "" {
			in.ReleaseVersion = aws.String(release)
		}
	}
}
