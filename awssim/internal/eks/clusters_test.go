package eks_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

const (
	clusterRole = "arn:aws:iam::123456789012:role/eks-controlplane.cluster-api-provider-aws.sigs.k8s.io"
	creating    = 8 * time.Minute
	updating    = 9 * time.Minute
	deleting    = 3 * time.Minute
	addonTime   = 30 * time.Second
)

func withClusterTimes(o *awssim.Options) {
	o.Behavior.ClusterTimes = awssim.ClusterTimes{Creating: creating, Updating: updating, Deleting: deleting, Addon: addonTime}
}

func newCluster(change ...func(*eks.CreateClusterInput)) *eks.CreateClusterInput {
	in := &eks.CreateClusterInput{
		Name: aws.String("made"), Version: aws.String("1.34"), RoleArn: aws.String(clusterRole), ResourcesVpcConfig: &types.VpcConfigRequest{SubnetIds: []string{subnetA, subnetB}},
	}
	for _, c := range change {
		c(in)
	}
	return in
}

func (f *fixture) cluster(name string) *types.Cluster {
	f.t.Helper()
	return call(f, f.eks.DescribeCluster, &eks.DescribeClusterInput{Name: aws.String(name)}).Cluster
}

// made creates a cluster and waits until it is ACTIVE.
func (f *fixture) made(change ...func(*eks.CreateClusterInput)) *types.Cluster {
	f.t.Helper()
	call(f, f.eks.CreateCluster, newCluster(change...))
	f.step(creating)
	return f.cluster("made")
}

// updateOf returns an update of the created cluster.
func (f *fixture) updateOf(id *string, addon ...string) *types.Update {
	f.t.Helper()
	in := &eks.DescribeUpdateInput{Name: aws.String("made"), UpdateId: id}
	if len(addon) > 0 {
		in.AddonName = &addon[0]
	}
	return call(f, f.eks.DescribeUpdate, in).Update
}

func TestClusterIsCreatedAndDeleted(t *testing.T) {
	t.Parallel()
	f := start(t, withClusterTimes)
	first := call(f, f.eks.CreateCluster, newCluster(func(in *eks.CreateClusterInput) {
		in.ClientRequestToken = aws.String("once")
		in.Tags = map[string]string{"team": "a"}
	})).Cluster
	if first.Status != types.ClusterStatusCreating || first.Endpoint != nil || first.CertificateAuthority.Data != nil || first.Identity != nil || first.ResourcesVpcConfig.ClusterSecurityGroupId != nil {
		t.Errorf("a cluster that is being created is %+v", first)
	}
	again := call(f, f.eks.CreateCluster, newCluster(func(in *eks.CreateClusterInput) {
		in.ClientRequestToken = aws.String("once")
		in.Tags = map[string]string{"team": "a"}
	})).Cluster
	if *again.Arn != *first.Arn {
		t.Errorf("the repeated request made %s", *again.Arn)
	}
	fails(f, f.eks.CreateCluster, newCluster(), "ResourceInUseException", "Cluster already exists with name: made")
	fails(f, f.eks.CreateNodegroup, newGroup(1, func(in *eks.CreateNodegroupInput) { in.ClusterName = aws.String("made") }), "InvalidRequestException", "CREATING")
	f.step(creating - time.Second)
	if status := f.cluster("made").Status; status != types.ClusterStatusCreating {
		t.Errorf("a second too early the cluster is %s", status)
	}
	f.step(time.Second)
	made := f.cluster("made")
	if made.Status != types.ClusterStatusActive || !strings.HasPrefix(*made.Endpoint, "https://") || *made.CertificateAuthority.Data == "" ||
		!strings.HasPrefix(*made.Identity.Oidc.Issuer, "https://oidc.eks.us-east-1.amazonaws.com/id/") || *made.KubernetesNetworkConfig.ServiceIpv4Cidr != "172.20.0.0/16" ||
		made.AccessConfig.AuthenticationMode != types.AuthenticationModeConfigMap || made.Tags["team"] != "a" {
		t.Errorf("the cluster is %+v", made)
	}
	group := *made.ResourcesVpcConfig.ClusterSecurityGroupId
	found := call(f, f.ec2.DescribeSecurityGroups, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{group}}).SecurityGroups
	if len(found) != 1 || *found[0].VpcId != *made.ResourcesVpcConfig.VpcId {
		t.Errorf("the cluster's security group is %+v", found)
	}
	call(f, f.eks.CreateNodegroup, newGroup(1, func(in *eks.CreateNodegroupInput) { in.ClusterName = aws.String("made") }))
	f.step(5 * time.Minute)
	fails(f, f.eks.DeleteCluster, &eks.DeleteClusterInput{Name: aws.String("made")}, "ResourceInUseException", "Cluster has nodegroups attached")
	call(f, f.eks.DeleteNodegroup, &eks.DeleteNodegroupInput{ClusterName: aws.String("made"), NodegroupName: aws.String("nodes")})
	f.step(5 * time.Minute)
	if status := call(f, f.eks.DeleteCluster, &eks.DeleteClusterInput{Name: aws.String("made")}).Cluster.Status; status != types.ClusterStatusDeleting {
		t.Errorf("the cluster that is being deleted is %s", status)
	}
	f.step(deleting)
	fails(f, f.eks.DescribeCluster, &eks.DescribeClusterInput{Name: aws.String("made")}, "ResourceNotFoundException", "No cluster found for name: made.")
	fails(f, f.ec2.DescribeSecurityGroups, &ec2.DescribeSecurityGroupsInput{GroupIds: []string{group}}, "InvalidGroup.NotFound", group)
}

// TestClusterGetsAnAPIServer holds that a cluster of CreateCluster has no API server until a test
// gives it one.
func TestClusterGetsAnAPIServer(t *testing.T) {
	t.Parallel()
	f := start(t)
	call(f, f.eks.CreateCluster, newCluster())
	given := awssim.Cluster{Name: "made", Version: "1.34", Subnets: []string{subnetA, subnetB}, Endpoint: "https://127.0.0.1:6443", CertificateAuthority: "Y2E="}
	if err := f.sim.Region(account, region).SetCluster(given); err != nil {
		t.Fatal(err)
	}
	f.step(time.Minute)
	if c := f.cluster("made"); c.Status != types.ClusterStatusActive || *c.Endpoint != given.Endpoint || *c.CertificateAuthority.Data != "Y2E=" || *c.RoleArn != clusterRole || c.ResourcesVpcConfig.ClusterSecurityGroupId == nil {
		t.Errorf("the cluster is %+v", c)
	}
}

func TestCreateClusterRules(t *testing.T) {
	t.Parallel()
	f := start(t)
	for _, row := range []struct {
		reason      string
		change      func(*eks.CreateClusterInput)
		code, words string
	}{
		{"a name with a dot", func(in *eks.CreateClusterInput) { in.Name = aws.String("a.b") }, "InvalidParameterException", "a.b"},
		{"one zone", func(in *eks.CreateClusterInput) {
			in.ResourcesVpcConfig.SubnetIds = []string{subnetA, "subnet-0b1000000000000aa"}
		}, "InvalidParameterException", "Subnets specified must be in at least two different AZs"},
		{"a subnet that is not there", func(in *eks.CreateClusterInput) { in.ResourcesVpcConfig.SubnetIds = []string{subnetA, "subnet-0"} }, "InvalidParameterException", "subnet-0"},
		{"a security group that is not there", func(in *eks.CreateClusterInput) {
			in.ResourcesVpcConfig.SecurityGroupIds = []string{"sg-0123456789abcdef0"}
		}, "InvalidParameterException", "InvalidGroup.NotFound"},
		{"a role that is not there", func(in *eks.CreateClusterInput) { in.RoleArn = aws.String(clusterRole + "x") }, "InvalidParameterException", "could not be assumed"},
		{"a role that only EC2 may assume", func(in *eks.CreateClusterInput) {
			in.RoleArn = aws.String("arn:aws:iam::123456789012:role/nodes.cluster-api-provider-aws.sigs.k8s.io")
		}, "InvalidParameterException", "trusted entity is not correct"},
		{"a version that EKS has never had", func(in *eks.CreateClusterInput) { in.Version = aws.String("1.99") }, "InvalidParameterException", "unsupported Kubernetes version"},
		{"a version past its extended support", func(in *eks.CreateClusterInput) { in.Version = aws.String("1.29") }, "InvalidParameterException", "unsupported Kubernetes version"},
		{"a patch version", func(in *eks.CreateClusterInput) { in.Version = aws.String("1.34.1") }, "InvalidParameterException", "unsupported Kubernetes version"},
		{"no way to the endpoint", func(in *eks.CreateClusterInput) { in.ResourcesVpcConfig.EndpointPublicAccess = aws.Bool(false) },
			"InvalidParameterException", "Private and public endpoint access cannot be false"},
		{"services in the VPC's own addresses", func(in *eks.CreateClusterInput) {
			in.KubernetesNetworkConfig = &types.KubernetesNetworkConfigRequest{ServiceIpv4Cidr: aws.String("10.0.0.0/16")}
		}, "InvalidParameterException", "overlaps"},
		{"services in public addresses", func(in *eks.CreateClusterInput) {
			in.KubernetesNetworkConfig = &types.KubernetesNetworkConfigRequest{ServiceIpv4Cidr: aws.String("8.8.0.0/16")}
		}, "InvalidParameterException", "serviceIpv4Cidr"},
		{"a VPC without IPv6", func(in *eks.CreateClusterInput) {
			in.KubernetesNetworkConfig = &types.KubernetesNetworkConfigRequest{IpFamily: types.IpFamilyIpv6}
		}, "InvalidParameterException", "IPv6"},
		{"Auto Mode, which is not simulated", func(in *eks.CreateClusterInput) {
			in.ComputeConfig = &types.ComputeConfigRequest{Enabled: aws.Bool(true)}
		}, "InvalidParameterException", "Auto Mode"},
		{"a part of what is not Auto Mode", func(in *eks.CreateClusterInput) {
			in.ComputeConfig = &types.ComputeConfigRequest{Enabled: aws.Bool(false)}
		}, "InvalidParameterException", "are all either fully enabled or fully disabled"},
		{"a key for other things than secrets", func(in *eks.CreateClusterInput) {
			in.EncryptionConfig = []types.EncryptionConfig{{Resources: []string{"pods"}, Provider: &types.Provider{KeyArn: aws.String("arn:aws:kms:us-east-1:123456789012:key/a")}}}
		}, "InvalidParameterException", "secrets"},
		{"a tag of AWS's", func(in *eks.CreateClusterInput) { in.Tags = map[string]string{"aws:a": "b"} }, "InvalidParameterException", "aws:"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			f := *f
			f.t = t
			fails(&f, f.eks.CreateCluster, newCluster(row.change), row.code, row.words)
		})
	}
	if names := call(f, f.eks.ListClusters, &eks.ListClustersInput{}).Clusters; !slices.Equal(names, []string{clusterName}) {
		t.Errorf("refused requests left clusters %v", names)
	}
}

func TestClusterVersionGoesStepByStep(t *testing.T) {
	t.Parallel()
	f := start(t, withClusterTimes)
	f.made(func(in *eks.CreateClusterInput) { in.Version = aws.String("1.33") })
	upgrade := func(version string) *eks.UpdateClusterVersionInput {
		return &eks.UpdateClusterVersionInput{Name: aws.String("made"), Version: aws.String(version)}
	}
	call(f, f.eks.CreateNodegroup, newGroup(0, func(in *eks.CreateNodegroupInput) { in.ClusterName = aws.String("made") }))
	f.step(5 * time.Minute)
	for _, row := range []struct{ reason, version, words string }{
		{"two minor versions", "1.35", "Unsupported Kubernetes minor version update from 1.33 to 1.35"},
		{"the version that it has", "1.33", "Unsupported Kubernetes minor version update from 1.33 to 1.33"},
		{"back, without an upgrade before", "1.32", "Unsupported Kubernetes minor version update from 1.33 to 1.32"},
		{"no version", "newest", "unsupported Kubernetes version"},
	} {
		if _, err := f.eks.UpdateClusterVersion(t.Context(), upgrade(row.version)); err == nil || !strings.Contains(err.Error(), row.words) {
			t.Errorf("%s: %v", row.reason, err)
		}
	}
	update := call(f, f.eks.UpdateClusterVersion, upgrade("1.34")).Update
	if c := f.cluster("made"); c.Status != types.ClusterStatusUpdating || *c.Version != "1.33" {
		t.Errorf("during the update the cluster is %s of version %s", c.Status, *c.Version)
	}
	fails(f, f.eks.UpdateClusterVersion, upgrade("1.34"), "ResourceInUseException", "Cannot VersionUpdate because cluster made currently has update "+*update.Id+" in progress")
	fails(f, f.eks.DeleteCluster, &eks.DeleteClusterInput{Name: aws.String("made")}, "ResourceInUseException", "nodegroups")
	f.step(updating)
	if got := f.updateOf(update.Id); got.Status != types.UpdateStatusSuccessful || got.Type != types.UpdateTypeVersionUpdate || *got.Params[0].Value != "1.34" {
		t.Errorf("the update is %+v", got)
	}
	if c := f.cluster("made"); c.Status != types.ClusterStatusActive || *c.Version != "1.34" {
		t.Errorf("after the update the cluster is %s of version %s", c.Status, *c.Version)
	}
	fails(f, f.eks.UpdateClusterVersion, upgrade("1.35"), "InvalidRequestException", "Nodegroups nodes must be updated to match cluster version 1.34 before updating cluster version")
	back := call(f, f.eks.UpdateClusterVersion, upgrade("1.33")).Update
	f.step(updating)
	if c := f.cluster("made"); *c.Version != "1.33" || f.updateOf(back.Id).Type != types.UpdateTypeVersionRollback {
		t.Errorf("after going back the cluster is of version %s", *c.Version)
	}
	ids := call(f, f.eks.ListUpdates, &eks.ListUpdatesInput{Name: aws.String("made")}).UpdateIds
	if !slices.Equal(ids, []string{*back.Id, *update.Id}) {
		t.Errorf("the cluster's updates are %v", ids)
	}
}

func TestClusterGoesBackForSevenDays(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.made()
	call(f, f.eks.UpdateClusterVersion, &eks.UpdateClusterVersionInput{Name: aws.String("made"), Version: aws.String("1.35")})
	f.step(8 * 24 * time.Hour)
	fails(f, f.eks.UpdateClusterVersion, &eks.UpdateClusterVersionInput{Name: aws.String("made"), Version: aws.String("1.34")}, "InvalidParameterException",
		"Unsupported Kubernetes minor version update from 1.35 to 1.34")
}

func TestClusterConfigChangesOneThingAtATime(t *testing.T) {
	t.Parallel()
	f := start(t, withClusterTimes)
	f.made()
	name := aws.String("made")
	logs := &types.Logging{ClusterLogging: []types.LogSetup{{Enabled: aws.Bool(true), Types: []types.LogType{types.LogTypeApi, types.LogTypeAudit}}}}
	private := &types.VpcConfigRequest{EndpointPublicAccess: aws.Bool(false), EndpointPrivateAccess: aws.Bool(true)}
	fails(f, f.eks.UpdateClusterConfig, &eks.UpdateClusterConfigInput{Name: name}, "InvalidParameterException", "The type for cluster update was not provided.")
	fails(f, f.eks.UpdateClusterConfig, &eks.UpdateClusterConfigInput{Name: name, Logging: logs, ResourcesVpcConfig: private}, "InvalidParameterException", "Only one type of update")
	fails(f, f.eks.UpdateClusterConfig, &eks.UpdateClusterConfigInput{Name: name, ResourcesVpcConfig: &types.VpcConfigRequest{EndpointPublicAccess: aws.Bool(true)}}, "InvalidParameterException",
		"Cluster is already at the desired configuration with endpointPrivateAccess: false , endpointPublicAccess: true, and Public Endpoint Restrictions: [0.0.0.0/0]")
	type change struct {
		reason string
		in     *eks.UpdateClusterConfigInput
		kind   types.UpdateType
		holds  func(*types.Cluster) bool
	}
	for _, row := range []change{
		{"endpoint access", &eks.UpdateClusterConfigInput{ResourcesVpcConfig: private}, types.UpdateTypeEndpointAccessUpdate, func(c *types.Cluster) bool {
			return c.ResourcesVpcConfig.EndpointPrivateAccess && !c.ResourcesVpcConfig.EndpointPublicAccess
		}},
		{"logs", &eks.UpdateClusterConfigInput{Logging: logs}, types.UpdateTypeLoggingUpdate, func(c *types.Cluster) bool {
			return len(c.Logging.ClusterLogging) == 2 && slices.Equal(c.Logging.ClusterLogging[0].Types, []types.LogType{"api", "audit"}) && *c.Logging.ClusterLogging[0].Enabled
		}},
		{"subnets and security groups", &eks.UpdateClusterConfigInput{ResourcesVpcConfig: &types.VpcConfigRequest{SubnetIds: []string{subnetB, subnetC}, SecurityGroupIds: []string{"sg-0c1000000000000ab"}}},
			types.UpdateTypeVpcConfigUpdate, func(c *types.Cluster) bool {
				return slices.Equal(c.ResourcesVpcConfig.SubnetIds, []string{subnetB, subnetC}) && slices.Equal(c.ResourcesVpcConfig.SecurityGroupIds, []string{"sg-0c1000000000000ab"})
			}},
		{"authentication mode", &eks.UpdateClusterConfigInput{AccessConfig: &types.UpdateAccessConfigRequest{AuthenticationMode: types.AuthenticationModeApiAndConfigMap}},
			types.UpdateTypeAccessConfigUpdate, func(c *types.Cluster) bool {
				return c.AccessConfig.AuthenticationMode == types.AuthenticationModeApiAndConfigMap
			}},
		{"support", &eks.UpdateClusterConfigInput{UpgradePolicy: &types.UpgradePolicyRequest{SupportType: types.SupportTypeStandard}}, types.UpdateTypeUpgradePolicyUpdate,
			func(c *types.Cluster) bool { return c.UpgradePolicy.SupportType == types.SupportTypeStandard }},
		{"no Auto Mode", &eks.UpdateClusterConfigInput{
			ComputeConfig: &types.ComputeConfigRequest{Enabled: aws.Bool(false)}, StorageConfig: &types.StorageConfigRequest{BlockStorage: &types.BlockStorage{Enabled: aws.Bool(false)}},
			KubernetesNetworkConfig: &types.KubernetesNetworkConfigRequest{ElasticLoadBalancing: &types.ElasticLoadBalancing{Enabled: aws.Bool(false)}},
		}, types.UpdateTypeAutoModeUpdate, func(c *types.Cluster) bool {
			return c.ComputeConfig != nil && c.StorageConfig != nil && !*c.ComputeConfig.Enabled
		}},
		{"zonal shift", &eks.UpdateClusterConfigInput{ZonalShiftConfig: &types.ZonalShiftConfigRequest{Enabled: aws.Bool(true)}}, types.UpdateTypeZonalShiftConfigUpdate,
			func(c *types.Cluster) bool { return c.ZonalShiftConfig != nil && *c.ZonalShiftConfig.Enabled }},
		{"deletion protection", &eks.UpdateClusterConfigInput{DeletionProtection: aws.Bool(true)}, types.UpdateTypeDeletionProtectionUpdate, func(c *types.Cluster) bool { return *c.DeletionProtection }},
	} {
		row.in.Name = name
		update := call(f, f.eks.UpdateClusterConfig, row.in).Update
		if row.holds(f.cluster("made")) {
			t.Errorf("%s: changed before the update has ended", row.reason)
		}
		f.step(updating)
		if got := f.updateOf(update.Id); got.Type != row.kind || got.Status != types.UpdateStatusSuccessful || !row.holds(f.cluster("made")) {
			t.Errorf("%s: the update is %+v, the cluster %+v", row.reason, got, f.cluster("made"))
		}
		// the SDK has put one in, with which the request would be the same as before
		row.in.ClientRequestToken = nil
		if code, _ := errorOf(second(f.eks.UpdateClusterConfig(t.Context(), row.in))); code != "InvalidParameterException" {
			t.Errorf("%s, once more: %q", row.reason, code)
		}
	}
	fails(f, f.eks.UpdateClusterConfig, &eks.UpdateClusterConfigInput{Name: name, AccessConfig: &types.UpdateAccessConfigRequest{AuthenticationMode: types.AuthenticationModeConfigMap}},
		"InvalidParameterException", "Unsupported authentication mode update from API_AND_CONFIG_MAP to CONFIG_MAP")
	fails(f, f.eks.DeleteCluster, &eks.DeleteClusterInput{Name: name}, "InvalidRequestException", "deletion protection")
}

func second[T any](_ T, err error) error { return err }

// TestClusterUpdateShowsWhatWasAsked holds that the parameters of updates are as the AWS CLI's
// examples of update-cluster-config show them.
func TestClusterUpdateShowsWhatWasAsked(t *testing.T) {
	t.Parallel()
	f := start(t, withClusterTimes)
	f.made()
	update := call(f, f.eks.UpdateClusterConfig, &eks.UpdateClusterConfigInput{Name: aws.String("made"), Logging: &types.Logging{ClusterLogging: []types.LogSetup{
		{Enabled: aws.Bool(true), Types: types.LogType("").Values()},
	}}}).Update
	want := `{"clusterLogging":[{"types":["api","audit","authenticator","controllerManager","scheduler"],"enabled":true}]}`
	if len(update.Params) != 1 || update.Params[0].Type != types.UpdateParamTypeClusterLogging || *update.Params[0].Value != want {
		shown, _ := json.Marshal(update.Params)
		t.Errorf("the update shows %s", shown)
	}
}

// TestClusterShowsOnlyWhatWasNamed holds that a cluster does not show settings that the request did
// not name: a client such as Terraform would take them for changes by another client.
func TestClusterShowsOnlyWhatWasNamed(t *testing.T) {
	t.Parallel()
	f := start(t, withClusterTimes)
	if c := f.made(); c.ComputeConfig != nil || c.StorageConfig != nil || c.ZonalShiftConfig != nil {
		t.Errorf("a cluster without Auto Mode and zonal shift has %+v, %+v, %+v", c.ComputeConfig, c.StorageConfig, c.ZonalShiftConfig)
	}
	f.made(func(in *eks.CreateClusterInput) {
		in.Name = aws.String("named")
		in.ComputeConfig = &types.ComputeConfigRequest{Enabled: aws.Bool(false)}
		in.StorageConfig = &types.StorageConfigRequest{BlockStorage: &types.BlockStorage{Enabled: aws.Bool(false)}}
		in.KubernetesNetworkConfig = &types.KubernetesNetworkConfigRequest{ElasticLoadBalancing: &types.ElasticLoadBalancing{Enabled: aws.Bool(false)}}
		in.ZonalShiftConfig = &types.ZonalShiftConfigRequest{Enabled: aws.Bool(false)}
	})
	named := f.cluster("named")
	if named.ComputeConfig == nil || *named.ComputeConfig.Enabled || named.StorageConfig == nil || *named.StorageConfig.BlockStorage.Enabled ||
		named.ZonalShiftConfig == nil || *named.ZonalShiftConfig.Enabled {
		t.Errorf("a cluster that was to be without has %+v, %+v, %+v", named.ComputeConfig, named.StorageConfig, named.ZonalShiftConfig)
	}
}

func TestClusterVersionsHaveDates(t *testing.T) {
	t.Parallel()
	f := start(t)
	by := func(in *eks.DescribeClusterVersionsInput) []string {
		var list []string
		for _, v := range call(f, f.eks.DescribeClusterVersions, in).ClusterVersions {
			list = append(list, *v.ClusterVersion)
		}
		return list
	}
	// On 2026-11-01, by the EKS Kubernetes release calendar.
	for _, row := range []struct {
		reason string
		in     *eks.DescribeClusterVersionsInput
		want   []string
	}{
		{"those that are supported", &eks.DescribeClusterVersionsInput{}, []string{"1.36", "1.35", "1.34", "1.33", "1.32", "1.31"}},
		{"in standard support", &eks.DescribeClusterVersionsInput{VersionStatus: types.VersionStatusStandardSupport}, []string{"1.36", "1.35", "1.34"}},
		{"in extended support", &eks.DescribeClusterVersionsInput{VersionStatus: types.VersionStatusExtendedSupport}, []string{"1.33", "1.32", "1.31"}},
		{"the default", &eks.DescribeClusterVersionsInput{DefaultOnly: aws.Bool(true)}, []string{"1.36"}},
		{"by name", &eks.DescribeClusterVersionsInput{ClusterVersions: []string{"1.30"}}, []string{"1.30"}},
	} {
		if got := by(row.in); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.reason, got, row.want)
		}
	}
	if all := by(&eks.DescribeClusterVersionsInput{IncludeAll: aws.Bool(true)}); !slices.Contains(all, "1.22") {
		t.Errorf("all are %v", all)
	}
}

func TestAddons(t *testing.T) {
	t.Parallel()
	f := start(t, withClusterTimes)
	f.made()
	name, cni, dns := aws.String("made"), aws.String("vpc-cni"), aws.String("coredns")
	addon := func(of *string) *types.Addon {
		return call(f, f.eks.DescribeAddon, &eks.DescribeAddonInput{ClusterName: name, AddonName: of}).Addon
	}
	fails(f, f.eks.CreateAddon, &eks.CreateAddonInput{ClusterName: name, AddonName: aws.String("nothing")}, "InvalidParameterException", "Addon specified is not supported")
	fails(f, f.eks.CreateAddon, &eks.CreateAddonInput{ClusterName: name, AddonName: cni, AddonVersion: aws.String("v0")}, "InvalidParameterException", "Addon version specified is not supported")
	fails(f, f.eks.DescribeAddon, &eks.DescribeAddonInput{ClusterName: name, AddonName: cni}, "ResourceNotFoundException", "No addon: vpc-cni found in cluster: made")
	for _, of := range []*string{cni, dns} {
		if a := call(f, f.eks.CreateAddon, &eks.CreateAddonInput{ClusterName: name, AddonName: of}).Addon; a.Status != types.AddonStatusCreating {
			t.Errorf("%s is %s", *of, a.Status)
		}
	}
	fails(f, f.eks.CreateAddon, &eks.CreateAddonInput{ClusterName: name, AddonName: cni}, "ResourceInUseException", "Addon already exists.")
	fails(f, f.eks.UpdateAddon, &eks.UpdateAddonInput{ClusterName: name, AddonName: cni}, "ResourceInUseException", "CREATING")
	f.step(addonTime)
	if a := addon(cni); a.Status != types.AddonStatusActive {
		t.Errorf("vpc-cni is %s", a.Status)
	}
	if a := addon(dns); a.Status != types.AddonStatusDegraded || a.Health.Issues[0].Code != types.AddonIssueCodeInsufficientNumberOfReplicas {
		t.Errorf("without a node coredns is %s: %+v", a.Status, a.Health.Issues)
	}
	call(f, f.eks.CreateNodegroup, newGroup(1, func(in *eks.CreateNodegroupInput) { in.ClusterName = name }))
	f.step(2 * time.Minute)
	if a := addon(dns); a.Status != types.AddonStatusActive || len(a.Health.Issues) > 0 {
		t.Errorf("with a node coredns is %s: %+v", a.Status, a.Health.Issues)
	}
	versions := call(f, f.eks.DescribeAddonVersions, &eks.DescribeAddonVersionsInput{AddonName: cni, KubernetesVersion: aws.String("1.34")}).Addons[0].AddonVersions
	if len(versions) < 2 || *versions[0].AddonVersion != *addon(cni).AddonVersion || !versions[0].Compatibilities[0].DefaultVersion {
		t.Fatalf("the versions are %+v", versions)
	}
	older := versions[1].AddonVersion
	update := call(f, f.eks.UpdateAddon, &eks.UpdateAddonInput{ClusterName: name, AddonName: cni, AddonVersion: older, ConfigurationValues: aws.String(`{"env":{"A":"b"}}`)}).Update
	if a := addon(cni); a.Status != types.AddonStatusUpdating || *a.AddonVersion == *older {
		t.Errorf("during its update vpc-cni is %s of %s", a.Status, *a.AddonVersion)
	}
	f.step(addonTime)
	if a, u := addon(cni), f.updateOf(update.Id, "vpc-cni"); a.Status != types.AddonStatusActive || *a.AddonVersion != *older || *a.ConfigurationValues != `{"env":{"A":"b"}}` || u.Status != types.UpdateStatusSuccessful {
		t.Errorf("after its update vpc-cni is %+v, the update %+v", a, u)
	}
	fails(f, f.eks.UpdateAddon, &eks.UpdateAddonInput{ClusterName: name, AddonName: cni, ConfigurationValues: aws.String("{")}, "InvalidParameterException", "ConfigurationValue")
	call(f, f.eks.TagResource, &eks.TagResourceInput{ResourceArn: addon(cni).AddonArn, Tags: map[string]string{"a": "b"}})
	if a := addon(cni); a.Tags["a"] != "b" {
		t.Errorf("the tags are %v", a.Tags)
	}
	call(f, f.eks.DeleteAddon, &eks.DeleteAddonInput{ClusterName: name, AddonName: cni, Preserve: true})
	f.step(addonTime)
	if list := call(f, f.eks.ListAddons, &eks.ListAddonsInput{ClusterName: name}).Addons; !slices.Equal(list, []string{"coredns"}) {
		t.Errorf("left are %v", list)
	}
}

func TestAccessEntries(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.made()
	name, user := aws.String("made"), aws.String("arn:aws:iam::123456789012:user/team/jo")
	fails(f, f.eks.ListAccessEntries, &eks.ListAccessEntriesInput{ClusterName: name}, "InvalidRequestException", "authentication mode must be set to one of [API, API_AND_CONFIG_MAP]")
	demo := aws.String(clusterName)
	create := &eks.CreateAccessEntryInput{ClusterName: demo, PrincipalArn: user, KubernetesGroups: []string{"viewers"}}
	entry := call(f, f.eks.CreateAccessEntry, create).AccessEntry
	if *entry.Type != "STANDARD" || *entry.Username != *user || !strings.Contains(*entry.AccessEntryArn, ":access-entry/demo/user/123456789012/jo/") {
		t.Errorf("the entry is %+v", entry)
	}
	// the SDK has put one in, with which the request would be the same as before
	create.ClientRequestToken = nil
	fails(f, f.eks.CreateAccessEntry, create, "ResourceInUseException", "already in use on this cluster")
	fails(f, f.eks.CreateAccessEntry, &eks.CreateAccessEntryInput{ClusterName: demo, PrincipalArn: aws.String("jo")}, "InvalidParameterException", "invalid principal")
	fails(f, f.eks.CreateAccessEntry, &eks.CreateAccessEntryInput{ClusterName: demo, PrincipalArn: aws.String(role), Type: aws.String("EC2_LINUX"), KubernetesGroups: []string{"a"}},
		"InvalidParameterException", "EC2_LINUX")
	view := aws.String("arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy")
	associate := &eks.AssociateAccessPolicyInput{ClusterName: demo, PrincipalArn: user, PolicyArn: view, AccessScope: &types.AccessScope{Type: types.AccessScopeTypeNamespace, Namespaces: []string{"a"}}}
	call(f, f.eks.AssociateAccessPolicy, associate)
	policies := call(f, f.eks.ListAssociatedAccessPolicies, &eks.ListAssociatedAccessPoliciesInput{ClusterName: demo, PrincipalArn: user}).AssociatedAccessPolicies
	if len(policies) != 1 || *policies[0].PolicyArn != *view || !slices.Equal(policies[0].AccessScope.Namespaces, []string{"a"}) {
		t.Errorf("the policies are %+v", policies)
	}
	f.active(newGroup(1))
	list := call(f, f.eks.ListAccessEntries, &eks.ListAccessEntriesInput{ClusterName: demo}).AccessEntries
	if diff := cmp.Diff([]string{role, *user}, list); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if nodes := call(f, f.eks.DescribeAccessEntry, &eks.DescribeAccessEntryInput{ClusterName: demo, PrincipalArn: aws.String(role)}).AccessEntry; *nodes.Type != "EC2_LINUX" {
		t.Errorf("the entry of the nodes is %+v", nodes)
	}
	call(f, f.eks.DisassociateAccessPolicy, &eks.DisassociateAccessPolicyInput{ClusterName: demo, PrincipalArn: user, PolicyArn: view})
	call(f, f.eks.DeleteAccessEntry, &eks.DeleteAccessEntryInput{ClusterName: demo, PrincipalArn: user})
	fails(f, f.eks.DescribeAccessEntry, &eks.DescribeAccessEntryInput{ClusterName: demo, PrincipalArn: user}, "ResourceNotFoundException", "could not be found")
}

// TestCreatorOfAClusterIsAdmitted holds that the creator of a cluster is its administrator, unless
// the request says otherwise.
func TestCreatorOfAClusterIsAdmitted(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		config *types.CreateAccessConfigRequest
		want   int
	}{
		{"by default", &types.CreateAccessConfigRequest{AuthenticationMode: types.AuthenticationModeApi}, 1},
		{"not wanted", &types.CreateAccessConfigRequest{AuthenticationMode: types.AuthenticationModeApi, BootstrapClusterCreatorAdminPermissions: aws.Bool(false)}, 0},
	} {
		f := start(t)
		f.made(func(in *eks.CreateClusterInput) { in.AccessConfig = row.config })
		entries := call(f, f.eks.ListAccessEntries, &eks.ListAccessEntriesInput{ClusterName: aws.String("made"), AssociatedPolicyArn: aws.String("arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy")}).AccessEntries
		if len(entries) != row.want {
			t.Errorf("%s: entries %v", row.reason, entries)
		}
	}
}
