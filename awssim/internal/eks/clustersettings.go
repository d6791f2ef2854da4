package eks

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
)

// newSettings returns the settings of a new cluster, with the defaults for what the request leaves
// out.
func (api *clusterActions) newSettings(in *eks.CreateClusterInput) (clusterSettings, error) {
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
		func() error { return api.roles.checkClusterRole(val(in.RoleArn)) },
		func() error { return api.networks.checkClusterSubnets(in.ResourcesVpcConfig.SubnetIds, "") },
		func() error {
			return api.networks.checkSecurityGroups(in.ResourcesVpcConfig.SecurityGroupIds, api.networks.vpcOf(in.ResourcesVpcConfig.SubnetIds[0]))
		},
		func() error { return n.setEndpointAccess(in.ResourcesVpcConfig) },
		func() error { return n.setLogging(in.Logging) },
		func() error {
			return api.networks.checkNetwork(in.KubernetesNetworkConfig, in.ResourcesVpcConfig.SubnetIds[0])
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

// notSimulated refuses requests for features that the simulator would ignore: EKS Auto Mode, local
// clusters, provisioned control planes, settings of their components, and egress modes. A request
// may turn them off explicitly, as Terraform's requests do.
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

// checkAutoMode refuses Auto Mode, and requests that turn off only a part of it. The wording is
// from issues of terraform-aws-modules/terraform-aws-eks.
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

// checkEncryption allows at most one configuration, which encrypts secrets (SDK EncryptionConfig;
// botocore, EncryptionConfigList). The wording is an inference.
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

// setEndpointAccess sets the access to the endpoint (UG cluster-endpoint). The wording for a
// cluster without any access is from eksctl. The wording about blocks is an inference.
func (n *clusterSettings) setEndpointAccess(v *types.VpcConfigRequest) error {
	if v.EndpointPublicAccess != nil {
		n.publicAccess = *v.EndpointPublicAccess
	}
	if v.EndpointPrivateAccess != nil {
		n.privateAccess = *v.EndpointPrivateAccess
	}
	if len(v.PublicAccessCidrs) > 0 {
		n.publicCIDRs = slices.Clone(v.PublicAccessCidrs)
	}
	if !n.publicAccess && !n.privateAccess {
		return invalid("Private and public endpoint access cannot be false")
	}
	for _, cidr := range n.publicCIDRs {
		if block, err := netip.ParsePrefix(cidr); err != nil || block.Masked() != block {
			return invalid("The following CIDRs are invalid in publicAccessCidrs: [%s]", cidr)
		}
	}
	return nil
}

// setLogging turns the logs on and off that a request names.
func (n *clusterSettings) setLogging(l *types.Logging) error {
	if l == nil {
		return nil
	}
	on := map[types.LogType]bool{}
	for _, kind := range n.logs {
		on[kind] = true
	}
	seen := map[types.LogType]bool{}
	for _, entry := range l.ClusterLogging {
		for _, kind := range entry.Types {
			if err := checkEnum("logging type", kind, kind.Values()); err != nil {
				return err
			}
			if seen[kind] {
				return invalid("Log type %s is there twice.", kind) // inference
			}
			seen[kind], on[kind] = true, val(entry.Enabled)
		}
	}
	n.logs = nil
	for _, kind := range types.LogType("").Values() {
		if on[kind] {
			n.logs = append(n.logs, kind)
		}
	}
	return nil
}

// setAuthenticationMode changes the authentication mode, one step towards API and never back (UG
// setting-up-access-entries). The wording is from issues of terraform-provider-aws.
func (n *clusterSettings) setAuthenticationMode(from, to types.AuthenticationMode) error {
	way := []types.AuthenticationMode{types.AuthenticationModeConfigMap, types.AuthenticationModeApiAndConfigMap, types.AuthenticationModeApi}
	if err := checkEnum("authenticationMode", to, way); err != nil {
		return err
	}
	if step := slices.Index(way, to) - slices.Index(way, from); step < 0 || step > 1 {
		return invalid("Unsupported authentication mode update from %s to %s", from, to)
	}
	n.access.AuthenticationMode = to
	return nil
}

// logging returns which logs of the control plane are sent to CloudWatch: one entry for the enabled
// logs, and one for the others.
func (c *cluster) logging() *types.Logging {
	on, off := []types.LogType{}, []types.LogType{}
	for _, kind := range types.LogType("").Values() {
		if slices.Contains(c.logs, kind) {
			on = append(on, kind)
		} else {
			off = append(off, kind)
		}
	}
	logging := &types.Logging{ClusterLogging: []types.LogSetup{}}
	if len(on) > 0 {
		logging.ClusterLogging = append(logging.ClusterLogging, types.LogSetup{Enabled: ptr(true), Types: on})
	}
	if len(off) > 0 {
		logging.ClusterLogging = append(logging.ClusterLogging, types.LogSetup{Enabled: ptr(false), Types: off})
	}
	return logging
}
