package eks

import (
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

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
	if out, err := replay[eks.CreateClusterOutput](s.tokens, c.Action, in.ClientRequestToken, request); out != nil || err != nil {
		return out, err
	}
	if s.clusters.byName[*in.Name] != nil { // message seen in aws-controllers-k8s and terraform-provider-aws issues
		return nil, inUse("Cluster already exists with name: %s", *in.Name)
	}
	if quota := s.kernel.World().Quota(world.QuotaClusters, defaultClusters); len(s.clusters.byName) >= quota {
		// inference for the words
		return nil, sim.Errorf(codeLimitExceeded, "Cannot exceed quota for the number of clusters: %d", quota)
	}
	version, err := s.catalog.clusterVersion(in.Version)
	if err != nil {
		return nil, err
	}
	n, err := s.newClusterSettings(in)
	if err != nil {
		return nil, err
	}
	k := s.clusters.add(*in.Name)
	k.Cluster = world.Cluster{Name: *in.Name, Version: version, Subnets: slices.Clone(in.ResourcesVpcConfig.SubnetIds), Tags: merged(in.Tags)}
	k.id, k.role, k.clusterSettings = strings.ToUpper(s.kernel.NewID("", 32)), *in.RoleArn, n
	k.vpc = s.networks.vpcOf(k.Subnets[0])
	k.ServiceCIDR = s.networks.serviceCIDR(k.vpc, in.KubernetesNetworkConfig)
	if k.access.AuthenticationMode != types.AuthenticationModeConfigMap && (in.AccessConfig == nil || in.AccessConfig.BootstrapClusterCreatorAdminPermissions == nil ||
		*in.AccessConfig.BootstrapClusterCreatorAdminPermissions) {
		s.accessEntries.admitCreator(k, c.Principal)
	}
	s.clusters.setStatus(k, types.ClusterStatusCreating)
	s.kernel.After(max(s.kernel.Behavior().ClusterTimes.Creating, reaction), func() { s.clusterCreated(k) })
	iam.EnsureServiceLinkedRole(c.Account, clusterRole, clusterService)
	out := &eks.CreateClusterOutput{Cluster: s.clusters.describe(k)}
	s.tokens.remember(c.Action, in.ClientRequestToken, request, out)
	return out, nil
}

// clusterCreated completes a creation: with a security group, or FAILED.
func (s *service) clusterCreated(k *cluster) {
	if s.clusters.byName[k.Name] != k || k.status != types.ClusterStatusCreating {
		return
	}
	group, err := s.clusters.createSecurityGroup(k.Name, k.vpc)
	if err != nil {
		s.clusters.setStatus(k, types.ClusterStatusFailed)
		return
	}
	k.securityGroup = group
	s.clusters.setStatus(k, types.ClusterStatusActive)
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
		func() error { return s.roles.checkClusterRole(val(in.RoleArn)) },
		func() error { return s.networks.checkClusterSubnets(in.ResourcesVpcConfig.SubnetIds, "") },
		func() error {
			return s.networks.checkSecurityGroups(in.ResourcesVpcConfig.SecurityGroupIds, s.networks.vpcOf(in.ResourcesVpcConfig.SubnetIds[0]))
		},
		func() error { return n.setEndpointAccess(in.ResourcesVpcConfig) },
		func() error { return n.setLogging(in.Logging) },
		func() error {
			return s.networks.checkNetwork(in.KubernetesNetworkConfig, in.ResourcesVpcConfig.SubnetIds[0])
		},
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
