package eks

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// Bounds of clusters (UG service-quotas; SDK CreateClusterInput.ResourcesVpcConfig).
const (
	defaultClusters          = 100
	maxClusterSecurityGroups = 5
	clusterRole              = "AWSServiceRoleForAmazonEKS"
	clusterService           = "eks.amazonaws.com"
)

// clusterNames is the pattern of AWS's model of EKS (botocore, eks, shape ClusterName).
var clusterNames = regexp.MustCompile(`^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$`)

func (s *service) createCluster(c *sim.Call, in *eks.CreateClusterInput) (*eks.CreateClusterOutput, error) {
	if !clusterNames.MatchString(val(in.Name)) {
		// inference for the words
		return nil, invalid("The cluster name %q does not match ^[0-9A-Za-z][A-Za-z0-9\\-_]*, or has more than 100 characters.", val(in.Name))
	}
	request := shape.Clone(*in)
	if out, err := replay[eks.CreateClusterOutput](s, c.Action, in.ClientRequestToken, request); out != nil || err != nil {
		return out, err
	}
	if s.clusters[*in.Name] != nil { // message seen in aws-controllers-k8s and terraform-provider-aws issues
		return nil, inUse("Cluster already exists with name: %s", *in.Name)
	}
	if quota := s.kernel.World().Quota(world.QuotaClusters, defaultClusters); len(s.clusters) >= quota {
		// inference for the words
		return nil, sim.Errorf(codeLimitExceeded, "Cannot exceed quota for the number of clusters: %d", quota)
	}
	version, err := s.clusterVersion(in.Version)
	if err != nil {
		return nil, err
	}
	n, err := s.newClusterSettings(in)
	if err != nil {
		return nil, err
	}
	k := s.newCluster(*in.Name)
	k.Cluster = world.Cluster{Name: *in.Name, Version: version, Subnets: slices.Clone(in.ResourcesVpcConfig.SubnetIds), Tags: merged(in.Tags)}
	k.id, k.role, k.clusterSettings = strings.ToUpper(s.kernel.NewID("", 32)), *in.RoleArn, n
	k.vpc = s.vpcOf(k.Subnets[0])
	k.ServiceCIDR = s.serviceCIDR(k.vpc, in.KubernetesNetworkConfig)
	if k.access.AuthenticationMode != types.AuthenticationModeConfigMap && (in.AccessConfig == nil || in.AccessConfig.BootstrapClusterCreatorAdminPermissions == nil ||
		*in.AccessConfig.BootstrapClusterCreatorAdminPermissions) {
		s.admitCreator(k, c.Principal)
	}
	s.becomeCluster(k, types.ClusterStatusCreating)
	s.kernel.After(max(s.kernel.Behavior().ClusterTimes.Creating, reaction), func() { s.clusterCreated(k) })
	iam.EnsureServiceLinkedRole(c.Account, clusterRole, clusterService)
	out := &eks.CreateClusterOutput{Cluster: s.describe(k)}
	s.remember(c.Action, in.ClientRequestToken, request, out)
	return out, nil
}

// clusterCreated completes a creation: with a security group, or FAILED.
func (s *service) clusterCreated(k *cluster) {
	if s.clusters[k.Name] != k || k.status != types.ClusterStatusCreating {
		return
	}
	group, err := s.makeClusterGroup(k.Name, k.vpc)
	if err != nil {
		s.becomeCluster(k, types.ClusterStatusFailed)
		return
	}
	k.securityGroup = group
	s.becomeCluster(k, types.ClusterStatusActive)
}

// newClusterSettings checks what a new cluster is asked to be and fills in the defaults.
func (s *service) newClusterSettings(in *eks.CreateClusterInput) (clusterSettings, error) {
	// SDK CreateAccessConfigRequest.AuthenticationMode: CONFIG_MAP by default for the API,
	// API_AND_CONFIG_MAP in the console.
	n := clusterSettings{
		publicAccess: true, publicCIDRs: []string{everywhere}, support: types.SupportTypeExtended, encryption: shape.Clone(in.EncryptionConfig),
		access: types.AccessConfigResponse{AuthenticationMode: types.AuthenticationModeConfigMap}, protected: val(in.DeletionProtection),
	}
	if in.AccessConfig != nil && in.AccessConfig.AuthenticationMode != "" {
		n.access.AuthenticationMode = in.AccessConfig.AuthenticationMode
	}
	if in.UpgradePolicy != nil && in.UpgradePolicy.SupportType != "" {
		n.support = in.UpgradePolicy.SupportType
	}
	if in.ZonalShiftConfig != nil {
		n.zonalShift = &types.ZonalShiftConfigResponse{Enabled: ptr(val(in.ZonalShiftConfig.Enabled))}
	}
	n.noAutoMode = in.ComputeConfig != nil // and all the rest of it: checkAutoMode
	if in.RemoteNetworkConfig != nil {
		remote := shape.Convert[types.RemoteNetworkConfigResponse](*in.RemoteNetworkConfig)
		n.remote = &remote
	}
	if in.ResourcesVpcConfig == nil {
		return n, invalid("resourcesVpcConfig is required.")
	}
	checks := []func() error{
		func() error { return notSimulated(in) },
		func() error { return s.checkClusterRole(val(in.RoleArn)) },
		func() error { return s.checkClusterSubnets(in.ResourcesVpcConfig.SubnetIds, "") },
		func() error {
			return s.checkSecurityGroups(in.ResourcesVpcConfig.SecurityGroupIds, s.vpcOf(in.ResourcesVpcConfig.SubnetIds[0]))
		},
		func() error { return n.setEndpointAccess(in.ResourcesVpcConfig) },
		func() error { return n.setLogging(in.Logging) },
		func() error { return s.checkNetwork(in.KubernetesNetworkConfig, in.ResourcesVpcConfig.SubnetIds[0]) },
		func() error { return checkEncryption(in.EncryptionConfig) },
		func() error {
			return checkEnum("authenticationMode", n.access.AuthenticationMode, n.access.AuthenticationMode.Values())
		},
		func() error { return checkEnum("supportType", n.support, n.support.Values()) },
		func() error { return checkTags(in.Tags) },
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return n, err
		}
	}
	n.securityGroups = slices.Clone(in.ResourcesVpcConfig.SecurityGroupIds)
	return n, nil
}

// notSimulated refuses what would be ignored: EKS Auto Mode, local clusters, provisioned control
// planes, settings of their components, and other ways out of the VPC. A request may say that it
// wants none of them, as Terraform's does.
func notSimulated(in *eks.CreateClusterInput) error {
	if err := checkAutoMode(in); err != nil {
		return err
	}
	switch {
	case in.OutpostConfig != nil:
		return invalid("The simulated EKS has no local clusters on Outposts.")
	case in.ControlPlaneScalingConfig != nil && in.ControlPlaneScalingConfig.Tier != types.ProvisionedControlPlaneTierStandard:
		return invalid("The simulated EKS has no provisioned control planes.")
	case in.KubeApiServerConfig != nil, in.KubeControllerManagerConfig != nil, in.KubeSchedulerConfig != nil:
		return invalid("The simulated EKS does not configure components of the control plane.")
	case in.ResourcesVpcConfig != nil && in.ResourcesVpcConfig.ControlPlaneEgressMode != "" && in.ResourcesVpcConfig.ControlPlaneEgressMode != types.ControlPlaneEgressModeTypeAwsManaged:
		return invalid("The simulated EKS has no control plane egress modes.")
	}
	return nil
}

// checkAutoMode refuses Auto Mode, and what is only a part of being without it (words seen in
// terraform-aws-modules/terraform-aws-eks issues).
func checkAutoMode(in *eks.CreateClusterInput) error {
	var named int
	var wanted bool
	if in.ComputeConfig != nil {
		named, wanted = named+1, val(in.ComputeConfig.Enabled)
	}
	if in.StorageConfig != nil && in.StorageConfig.BlockStorage != nil {
		named, wanted = named+1, wanted || val(in.StorageConfig.BlockStorage.Enabled)
	}
	if in.KubernetesNetworkConfig != nil && in.KubernetesNetworkConfig.ElasticLoadBalancing != nil {
		named, wanted = named+1, wanted || val(in.KubernetesNetworkConfig.ElasticLoadBalancing.Enabled)
	}
	switch {
	case wanted:
		return invalid("The simulated EKS has no Auto Mode.")
	case named != 0 && named != 3:
		return invalid("For EKS Auto Mode, please ensure that all required configs, including computeConfig, kubernetesNetworkConfig, and blockStorage are all either fully enabled or fully disabled.")
	}
	return nil
}

// checkClusterRole requires a role that EKS may assume (UG cluster-iam-role; message seen in
// terraform-aws-eks and eksctl issues). EKS does not check its policies here, which is an
// inference.
func (s *service) checkClusterRole(arn string) error {
	if !strings.HasPrefix(arn, "arn:") {
		return invalid("Invalid Role ARN %q.", arn)
	}
	if role, ok := s.role(arn); !ok || !role.TrustsService(clusterService) {
		return invalid("Role with arn: %s, could not be assumed because it does not exist or the trusted entity is not correct", arn)
	}
	return nil
}

// checkClusterSubnets wants two zones of one VPC (awsdocs/amazon-eks-user-guide#795 for the words;
// SDK UpdateClusterConfig: not of another VPC than before). The words about the VPC are an
// inference.
func (s *service) checkClusterSubnets(subnets []string, vpc string) error {
	for _, id := range subnets {
		if _, ok := ec2.LookupSubnet(s.region, id); !ok {
			return invalid("The subnet ID '%s' does not exist (Service: AmazonEC2; Status Code: 400; Error Code: InvalidSubnetID.NotFound)", id)
		}
		if vpc == "" {
			vpc = s.vpcOf(id)
		}
		if s.vpcOf(id) != vpc {
			return invalid("Subnets specified must be in the same VPC: %s is not in %s.", id, vpc)
		}
	}
	if s.zones(subnets) < 2 {
		return invalid("Subnets specified must be in at least two different AZs")
	}
	return nil
}

func (s *service) vpcOf(subnet string) string {
	found, _ := ec2.LookupSubnet(s.region, subnet)
	return val(found.VpcId)
}

// checkSecurityGroups wants groups of the cluster's VPC. The words are an inference after those
// about subnets.
func (s *service) checkSecurityGroups(groups []string, vpc string) error {
	if len(groups) > maxClusterSecurityGroups {
		return invalid("A cluster can have at most %d security groups.", maxClusterSecurityGroups)
	}
	for _, id := range groups {
		found, err := call[awsec2.DescribeSecurityGroupsOutput](s, "ec2", "DescribeSecurityGroups", &awsec2.DescribeSecurityGroupsInput{GroupIds: []string{id}})
		if err != nil {
			failure := sim.AsError(err)
			return invalid("%s (Service: AmazonEC2; Status Code: 400; Error Code: %s)", failure.Message, failure.Code)
		}
		if val(found.SecurityGroups[0].VpcId) != vpc {
			return invalid("Security group %s does not belong to the VPC of the subnets: %s.", id, vpc)
		}
	}
	return nil
}

// privateBlocks are the ranges that the addresses of services may be in (SDK
// KubernetesNetworkConfigRequest.ServiceIpv4Cidr).
var privateBlocks = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16")}

// checkNetwork holds the rules of the addresses of services (SDK KubernetesNetworkConfigRequest).
// VPCs have no IPv6 here. The words are an inference.
func (s *service) checkNetwork(n *types.KubernetesNetworkConfigRequest, subnet string) error {
	if n == nil {
		return nil
	}
	if err := checkEnum("ipFamily", n.IpFamily, n.IpFamily.Values()); err != nil {
		return err
	}
	if n.IpFamily == types.IpFamilyIpv6 {
		return invalid("The VPC and subnets must have IPv6 CIDR blocks assigned to them for ipFamily ipv6.")
	}
	if n.ServiceIpv4Cidr == nil {
		return nil
	}
	block, err := netip.ParsePrefix(*n.ServiceIpv4Cidr)
	if err != nil || block.Masked() != block || block.Bits() < 12 || block.Bits() > 24 || !slices.ContainsFunc(privateBlocks, func(p netip.Prefix) bool { return contains(p, block) }) {
		return invalid("serviceIpv4Cidr %s must be a block between /24 and /12 within 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16.", *n.ServiceIpv4Cidr)
	}
	if vpc := s.cidrOf(s.vpcOf(subnet)); vpc.Overlaps(block) {
		return invalid("serviceIpv4Cidr %s overlaps with CIDR block %s of the VPC.", block, vpc)
	}
	return nil
}

func contains(outer, inner netip.Prefix) bool {
	return outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}

// cidrOf returns the block of a VPC, which is not valid if there is none.
func (s *service) cidrOf(vpc string) netip.Prefix {
	found, err := call[awsec2.DescribeVpcsOutput](s, "ec2", "DescribeVpcs", &awsec2.DescribeVpcsInput{VpcIds: []string{vpc}})
	if err != nil || len(found.Vpcs) == 0 {
		return netip.Prefix{}
	}
	block, err := netip.ParsePrefix(val(found.Vpcs[0].CidrBlock))
	if err != nil {
		return netip.Prefix{}
	}
	return block
}

// serviceCIDR returns the addresses of services: the requested ones, or the one of the two defaults
// which does not overlap the VPC (UG network-reqs).
func (s *service) serviceCIDR(vpc string, n *types.KubernetesNetworkConfigRequest) string {
	if n != nil && n.ServiceIpv4Cidr != nil {
		return *n.ServiceIpv4Cidr
	}
	if s.cidrOf(vpc).Overlaps(netip.MustParsePrefix(defaultServiceCIDR)) {
		return "10.100.0.0/16"
	}
	return defaultServiceCIDR
}

// checkEncryption: secrets are all that a key can be for, and there is one configuration at most
// (SDK EncryptionConfig; botocore, EncryptionConfigList). The words are an inference.
func checkEncryption(configs []types.EncryptionConfig) error {
	if len(configs) > 1 {
		return invalid("At most one encryptionConfig can be specified.")
	}
	for _, c := range configs {
		if !slices.Equal(c.Resources, []string{"secrets"}) { //nolint:staticcheck // clients still send what is deprecated
			return invalid("The only supported value for encryptionConfig resources is [secrets].")
		}
		if c.Provider == nil || !strings.HasPrefix(val(c.Provider.KeyArn), "arn:aws:kms:") {
			return invalid("encryptionConfig must have a provider with the ARN of a KMS key.")
		}
	}
	return nil
}
