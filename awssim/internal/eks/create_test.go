package eks_test

import (
	"encoding/base64"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

func tagMap(tags []ec2types.Tag) map[string]string {
	m := map[string]string{}
	for _, t := range tags {
		m[*t.Key] = *t.Value
	}
	return m
}

// TestCreateFromLaunchTemplate creates a group on a user's template: EKS copies the template into
// one of its own, adds what is missing, and runs an Auto Scaling group on the copy.
func TestCreateFromLaunchTemplate(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template(withType("m5.large"), func(d *ec2types.RequestLaunchTemplateData) {
		d.TagSpecifications = []ec2types.LaunchTemplateTagSpecificationRequest{{ResourceType: "instance", Tags: []ec2types.Tag{{Key: aws.String("team"), Value: aws.String("a")}}}}
	})
	out := call(f, f.eks.CreateNodegroup, newGroup(3, onTemplate(template, "$Latest"), func(in *eks.CreateNodegroupInput) {
		in.Labels, in.Tags = map[string]string{"pool": "a"}, map[string]string{"cost": "1"}
		in.Taints = []types.Taint{{Key: aws.String("dedicated"), Value: aws.String("x"), Effect: types.TaintEffectNoSchedule}}
	}))
	if out.Nodegroup.Status != types.NodegroupStatusCreating || len(out.Nodegroup.Resources.AutoScalingGroups) != 0 {
		t.Errorf("at first the group is %s with %v", out.Nodegroup.Status, out.Nodegroup.Resources.AutoScalingGroups)
	}
	took := f.awaitStatus(types.NodegroupStatusActive)
	if took < pending+boot {
		t.Errorf("ACTIVE after %s, before a node can be Ready", took)
	}
	g := f.group("nodes")
	wantSpec := &types.LaunchTemplateSpecification{Id: aws.String(template), Name: aws.String("template-1"), Version: aws.String("1")}
	if diff := cmp.Diff(wantSpec, g.LaunchTemplate, cmp.AllowUnexported(types.LaunchTemplateSpecification{})); diff != "" {
		t.Errorf("launchTemplate (-want +got):\n%s", diff)
	}
	if g.AmiType != types.AMITypesAl2023X8664Standard || *g.Version != "1.35" || !strings.HasPrefix(*g.ReleaseVersion, "1.35.0-2025") || g.DiskSize != nil {
		t.Errorf("the group runs %s %s %s, disk %v", g.AmiType, *g.Version, *g.ReleaseVersion, g.DiskSize)
	}

	asg := f.autoScalingGroup()
	_, id, _ := strings.Cut(*asg.AutoScalingGroupName, "eks-nodes-")
	if id == "" || !strings.HasSuffix(*g.NodegroupArn, "/"+id) {
		t.Errorf("the Auto Scaling group is %s of %s", *asg.AutoScalingGroupName, *g.NodegroupArn)
	}
	tags := map[string]string{}
	for _, tag := range asg.Tags {
		tags[*tag.Key] = *tag.Value
	}
	if diff := cmp.Diff(map[string]string{
		"eks:cluster-name": "demo", "eks:nodegroup-name": "nodes", "kubernetes.io/cluster/demo": "owned",
		"k8s.io/cluster-autoscaler/enabled": "true", "k8s.io/cluster-autoscaler/demo": "owned",
	}, tags); diff != "" {
		t.Errorf("tags of the Auto Scaling group (-want +got):\n%s", diff)
	}
	copied := asg.MixedInstancesPolicy.LaunchTemplate.LaunchTemplateSpecification
	if *copied.LaunchTemplateName != "eks-"+id || *copied.LaunchTemplateId == template || *copied.Version != "1" {
		t.Errorf("the group launches from %s %s", *copied.LaunchTemplateName, *copied.Version)
	}
	versions := call(f, f.ec2.DescribeLaunchTemplateVersions, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: copied.LaunchTemplateId})
	d := versions.LaunchTemplateVersions[0].LaunchTemplateData
	if d.InstanceType != "m5.large" || !*d.EbsOptimized || *d.IamInstanceProfile.Name != "eks-"+id || len(d.SecurityGroupIds) != 1 {
		t.Errorf("the copy has type %s, profile %v, groups %v", d.InstanceType, d.IamInstanceProfile, d.SecurityGroupIds)
	}
	data, _ := base64.StdEncoding.DecodeString(*d.UserData)
	for _, want := range []string{"application/node.eks.aws", "name: demo", "pool=a", "eks.amazonaws.com/sourceLaunchTemplateVersion=1", "dedicated=x:NoSchedule"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the user data lacks %q:\n%s", want, data)
		}
	}
	instances := call(f, f.ec2.DescribeInstances, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{{Name: aws.String("tag:eks:nodegroup-name"), Values: []string{"nodes"}}}})
	if len(instances.Reservations) != 3 {
		t.Fatalf("%d instances run", len(instances.Reservations))
	}
	got := tagMap(instances.Reservations[0].Instances[0].Tags)
	for key, want := range map[string]string{"team": "a", "eks:cluster-name": "demo", "kubernetes.io/cluster/demo": "owned", "aws:autoscaling:groupName": *asg.AutoScalingGroupName} {
		if got[key] != want {
			t.Errorf("an instance has the tag %s=%q, want %q", key, got[key], want)
		}
	}
	if _, tagged := got["cost"]; tagged {
		t.Error("tags of a node group do not propagate")
	}
	profiles := call(f, f.iam.ListInstanceProfilesForRole, &iam.ListInstanceProfilesForRoleInput{RoleName: aws.String(role[strings.LastIndex(role, "/")+1:])})
	if len(profiles.InstanceProfiles) != 1 {
		t.Errorf("the node role is in %d instance profiles", len(profiles.InstanceProfiles))
	}
}

func TestCreateWithoutLaunchTemplate(t *testing.T) {
	t.Parallel()
	f := start(t)
	g := f.active(newGroup(1, func(in *eks.CreateNodegroupInput) {
		in.AmiType, in.InstanceTypes, in.DiskSize = types.AMITypesAl2023Arm64Standard, []string{"m6g.large", "m7g.large"}, aws.Int32(60)
		in.RemoteAccess = &types.RemoteAccessConfig{Ec2SshKey: aws.String("default")}
		in.CapacityType = types.CapacityTypesSpot
	}))
	if *g.DiskSize != 60 || g.LaunchTemplate != nil || g.Resources.RemoteAccessSecurityGroup == nil || !slices.Equal(g.InstanceTypes, []string{"m6g.large", "m7g.large"}) {
		t.Errorf("the group has disk %d, template %v, %v", *g.DiskSize, g.LaunchTemplate, g.Resources)
	}
	instances := call(f, f.ec2.DescribeInstances, &ec2.DescribeInstancesInput{})
	i := instances.Reservations[0].Instances[0]
	if i.InstanceLifecycle != ec2types.InstanceLifecycleTypeSpot || i.Architecture != "arm64" || *i.KeyName != "default" || len(i.SecurityGroups) != 2 {
		t.Errorf("the instance is %s, %s, with key %s and %d groups", i.InstanceLifecycle, i.Architecture, *i.KeyName, len(i.SecurityGroups))
	}
	defaults := call(f, f.eks.CreateNodegroup, &eks.CreateNodegroupInput{
		ClusterName: aws.String(clusterName), NodegroupName: aws.String("defaults"), NodeRole: aws.String(role), Subnets: []string{subnetA},
	}).Nodegroup
	if *defaults.ScalingConfig.MinSize != 1 || *defaults.ScalingConfig.MaxSize != 2 || *defaults.ScalingConfig.DesiredSize != 2 || *defaults.DiskSize != 20 ||
		*defaults.UpdateConfig.MaxUnavailable != 1 || !slices.Equal(defaults.InstanceTypes, []string{"t3.medium"}) || defaults.CapacityType != types.CapacityTypesOnDemand {
		t.Errorf("the defaults are %+v", defaults)
	}
}

func TestCreateFromCustomImage(t *testing.T) {
	t.Parallel()
	f := start(t)
	own := base64.StdEncoding.EncodeToString([]byte("#!/bin/sh\njoin"))
	template := f.template(withImage(f.image), func(d *ec2types.RequestLaunchTemplateData) {
		d.UserData, d.SecurityGroupIds = aws.String(own), []string{"sg-0c1000000000000ab"}
	})
	g := f.active(newGroup(1, onTemplate(template, "1")))
	if g.AmiType != types.AMITypesCustom || *g.ReleaseVersion != f.image {
		t.Errorf("the group is %s of release %s", g.AmiType, *g.ReleaseVersion)
	}
	instance := call(f, f.ec2.DescribeInstances, &ec2.DescribeInstancesInput{}).Reservations[0].Instances[0]
	seen, _ := f.sim.Region(account, region).Instance(*instance.InstanceId)
	if *instance.ImageId != f.image || instance.InstanceType != "t3.medium" || seen.UserData != "#!/bin/sh\njoin" {
		t.Errorf("the instance is a %s of %s with user data %q: EKS merges nothing into that of a custom image", instance.InstanceType, *instance.ImageId, seen.UserData)
	}
	if len(instance.SecurityGroups) != 1 || *instance.SecurityGroups[0].GroupId != "sg-0c1000000000000ab" {
		t.Errorf("the instance has the groups %v: EKS adds none to custom ones", instance.SecurityGroups)
	}
}

func TestDeleteRemovesWhatEKSMade(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template()
	before, _ := f.sim.Region(account, region).State()
	f.active(newGroup(2, onTemplate(template, "1")))
	if out := call(f, f.eks.DeleteNodegroup, &eks.DeleteNodegroupInput{ClusterName: aws.String(clusterName), NodegroupName: aws.String("nodes")}); out.Nodegroup.Status != types.NodegroupStatusDeleting {
		t.Errorf("the group is %s", out.Nodegroup.Status)
	}
	took := f.until(time.Hour, "gone", func() bool {
		return len(call(f, f.eks.ListNodegroups, &eks.ListNodegroupsInput{ClusterName: aws.String(clusterName)}).Nodegroups) == 0
	})
	if took < shuttingDown {
		t.Errorf("gone after %s, before its instances are", took)
	}
	fails(f, f.eks.DescribeNodegroup, &eks.DescribeNodegroupInput{ClusterName: aws.String(clusterName), NodegroupName: aws.String("nodes")},
		"ResourceNotFoundException", "No node group found for name: nodes.")
	after, _ := f.sim.Region(account, region).State()
	for _, service := range []string{"eks", "iam"} {
		if diff := cmp.Diff(before[service], after[service], cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("%s is not as it was (-before +after):\n%s", service, diff)
		}
	}
	templates := call(f, f.ec2.DescribeLaunchTemplates, &ec2.DescribeLaunchTemplatesInput{}).LaunchTemplates
	if len(templates) != 1 || *templates[0].LaunchTemplateId != template {
		t.Errorf("%d templates are left", len(templates))
	}
	if groups := call(f, f.asg.DescribeAutoScalingGroups, &autoscaling.DescribeAutoScalingGroupsInput{}).AutoScalingGroups; len(groups) != 0 {
		t.Errorf("%d Auto Scaling groups are left", len(groups))
	}
}

func TestCreateIsIdempotentByItsToken(t *testing.T) {
	t.Parallel()
	f := start(t)
	in := newGroup(1, func(in *eks.CreateNodegroupInput) { in.ClientRequestToken = aws.String("one") })
	first := call(f, f.eks.CreateNodegroup, in).Nodegroup
	if again := call(f, f.eks.CreateNodegroup, in).Nodegroup; *again.NodegroupArn != *first.NodegroupArn {
		t.Errorf("the second call made %s", *again.NodegroupArn)
	}
	other := newGroup(2, func(in *eks.CreateNodegroupInput) { in.ClientRequestToken = aws.String("one") })
	fails(f, f.eks.CreateNodegroup, other, "InvalidParameterException", "token")
	fails(f, f.eks.CreateNodegroup, newGroup(1), "ResourceInUseException", "NodeGroup already exists with name nodes and cluster name demo")
	last := f.sim.Calls()[len(f.sim.Calls())-3]
	if last.Service != "eks" || last.Action != "CreateNodegroup" || last.ClientToken != "one" {
		t.Errorf("the call log has %+v", last)
	}
}

func TestListNodegroupsInPages(t *testing.T) {
	t.Parallel()
	f := start(t)
	for _, name := range []string{"c", "a", "b"} {
		call(f, f.eks.CreateNodegroup, newGroup(0, func(in *eks.CreateNodegroupInput) { in.NodegroupName = aws.String(name) }))
	}
	var got []string
	pages := eks.NewListNodegroupsPaginator(f.eks, &eks.ListNodegroupsInput{ClusterName: aws.String(clusterName), MaxResults: aws.Int32(2)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, page.Nodegroups...)
	}
	if !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("listed %v", got)
	}
	fails(f, f.eks.ListNodegroups, &eks.ListNodegroupsInput{ClusterName: aws.String("other")}, "ResourceNotFoundException", "No cluster found for name: other.")
	if clusters := call(f, f.eks.ListClusters, &eks.ListClustersInput{}).Clusters; !slices.Equal(clusters, []string{clusterName}) {
		t.Errorf("the clusters are %v", clusters)
	}
	cluster := call(f, f.eks.DescribeCluster, &eks.DescribeClusterInput{Name: aws.String(clusterName)}).Cluster
	if *cluster.Version != "1.35" || cluster.Status != types.ClusterStatusActive || *cluster.ResourcesVpcConfig.VpcId != "vpc-0a10000000000000a" ||
		!strings.HasPrefix(*cluster.ResourcesVpcConfig.ClusterSecurityGroupId, "sg-") {
		t.Errorf("the cluster is %+v", cluster)
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	f := start(t)
	g := f.active(newGroup(0, func(in *eks.CreateNodegroupInput) { in.Tags = map[string]string{"a": "1", "b": "2"} }))
	call(f, f.eks.TagResource, &eks.TagResourceInput{ResourceArn: g.NodegroupArn, Tags: map[string]string{"b": "3", "c": "4"}})
	call(f, f.eks.UntagResource, &eks.UntagResourceInput{ResourceArn: g.NodegroupArn, TagKeys: []string{"a", "missing"}})
	want := map[string]string{"b": "3", "c": "4"}
	got := call(f, f.eks.ListTagsForResource, &eks.ListTagsForResourceInput{ResourceArn: g.NodegroupArn}).Tags
	if !maps.Equal(got, want) || !maps.Equal(f.group("nodes").Tags, want) {
		t.Errorf("the tags are %v", got)
	}
	fails(f, f.eks.TagResource, &eks.TagResourceInput{ResourceArn: g.NodegroupArn, Tags: map[string]string{"aws:x": "1"}}, "BadRequestException", "aws:")
	fails(f, f.eks.TagResource, &eks.TagResourceInput{ResourceArn: aws.String(*g.NodegroupArn + "x"), Tags: want}, "NotFoundException", "")
}

// TestReadLag holds that Describe actions lag as in other services; writes do not.
func TestReadLag(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *awssim.Options) { o.Behavior.ReadLag = 5 * time.Second })
	f.step(time.Minute)
	call(f, f.eks.CreateNodegroup, newGroup(0))
	fails(f, f.eks.DescribeNodegroup, &eks.DescribeNodegroupInput{ClusterName: aws.String(clusterName), NodegroupName: aws.String("nodes")}, "ResourceNotFoundException", "")
	f.step(5 * time.Second)
	f.group("nodes")
}
