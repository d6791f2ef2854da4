package integration

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

type managedField = fieldOf[managedSpec, inEKS]

const (
	publicSubnetA = "subnet-0b1000000000000aa"
	ssmPolicy     = "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
	boundary      = "arn:aws:iam::aws:policy/PowerUserAccess"
	givenGroup    = "given-by-the-user"
	givenRole     = "nodes-of-ours"
	givenTemplate = "template-of-ours"
)

// managedFields are changed together, one stage after another. Each leaf of the spec has a row here
// or in managedAtCreation, or is in managedElsewhere.
var managedFields = [][]managedField{
	{
		{"scaling.minSize", func(s *managedSpec) { s.Scaling.MinSize = ptr.To[int32](2) }, func(g inEKS) bool { return *g.ScalingConfig.MinSize == 2 }},
		{"scaling.maxSize", func(s *managedSpec) { s.Scaling.MaxSize = ptr.To[int32](5) }, func(g inEKS) bool { return *g.ScalingConfig.MaxSize == 5 }},
		{"labels", func(s *managedSpec) { s.Labels = map[string]string{"tier": "web"} }, func(g inEKS) bool { return g.Labels["tier"] == "web" }},
		taintField("key", func(t ekstypes.Taint) bool { return *t.Key == "dedicated" }),
		taintField("value", func(t ekstypes.Taint) bool { return *t.Value == "web" }),
		taintField("effect", func(t ekstypes.Taint) bool { return t.Effect == ekstypes.TaintEffectPreferNoSchedule }),
		{"updateConfig.maxUnavailable", func(s *managedSpec) {
			s.UpdateConfig = &infrav1.UpdateConfig{MaxUnavailable: ptr.To[int32](2)}
		}, func(g inEKS) bool { return aws.ToInt32(g.UpdateConfig.MaxUnavailable) == 2 }},
		{"updateConfig.updateStrategy", func(s *managedSpec) { s.UpdateConfig.UpdateStrategy = infrav1.NodegroupUpdateStrategyMinimal },
			func(g inEKS) bool {
				return g.UpdateConfig.UpdateStrategy == ekstypes.NodegroupUpdateStrategiesMinimal
			}},
		// Nothing evicts the pods of these nodes: without force the update that brings the tags to
		// nodes would fail, and the node group keep its version.
		{"updateConfig.force", func(s *managedSpec) { s.UpdateConfig.Force = true }, func(g inEKS) bool { return *g.LaunchTemplate.Version == "2" }},
		{"additionalTags", func(s *managedSpec) { s.AdditionalTags = infrav1.Tags{"team": "blue"} }, func(g inEKS) bool {
			return g.Tags["team"] == "blue" && slices.ContainsFunc(g.asg.Tags, func(tag asgtypes.TagDescription) bool { return *tag.Key == "team" && *tag.Value == "blue" })
		}},
		{"roleAdditionalPolicies", func(s *managedSpec) { s.RoleAdditionalPolicies = []string{ssmPolicy} }, func(g inEKS) bool { return slices.Contains(g.policies, ssmPolicy) }},
		{"rolePermissionsBoundary", func(s *managedSpec) { s.RolePermissionsBoundary = boundary }, func(g inEKS) bool {
			return g.role.PermissionsBoundary != nil && *g.role.PermissionsBoundary.PermissionsBoundaryArn == boundary
		}},
		repairField("enabled", func(*infrav1.NodeRepairConfig) {}, func(r *ekstypes.NodeRepairConfig) bool { return *r.Enabled }),
		repairField("maxParallelNodesRepairedCount", func(c *infrav1.NodeRepairConfig) { c.MaxParallelNodesRepairedCount = ptr.To[int32](3) },
			func(r *ekstypes.NodeRepairConfig) bool { return aws.ToInt32(r.MaxParallelNodesRepairedCount) == 3 }),
		repairField("maxUnhealthyNodeThresholdCount", func(c *infrav1.NodeRepairConfig) { c.MaxUnhealthyNodeThresholdCount = ptr.To[int32](4) },
			func(r *ekstypes.NodeRepairConfig) bool { return aws.ToInt32(r.MaxUnhealthyNodeThresholdCount) == 4 }),
		overrideField("nodeMonitoringCondition", func(o ekstypes.NodeRepairConfigOverrides) bool {
			return *o.NodeMonitoringCondition == "NetworkingReady"
		}),
		overrideField("nodeUnhealthyReason", func(o ekstypes.NodeRepairConfigOverrides) bool { return *o.NodeUnhealthyReason == "InterfaceNotUp" }),
		overrideField("minRepairWaitTimeMins", func(o ekstypes.NodeRepairConfigOverrides) bool { return *o.MinRepairWaitTimeMins == 5 }),
		overrideField("repairAction", func(o ekstypes.NodeRepairConfigOverrides) bool { return o.RepairAction == ekstypes.RepairActionReboot }),
		managedHookField("name", func(asgtypes.LifecycleHook) bool { return true }),
		managedHookField("notificationTargetARN", func(h asgtypes.LifecycleHook) bool { return aws.ToString(h.NotificationTargetARN) == queueOne }),
		managedHookField("roleARN", func(h asgtypes.LifecycleHook) bool { return aws.ToString(h.RoleARN) == roleOne }),
		managedHookField("lifecycleTransition", func(h asgtypes.LifecycleHook) bool {
			return *h.LifecycleTransition == "autoscaling:EC2_INSTANCE_TERMINATING"
		}),
		managedHookField("heartbeatTimeout", func(h asgtypes.LifecycleHook) bool { return *h.HeartbeatTimeout == 30 }),
		managedHookField("defaultResult", func(h asgtypes.LifecycleHook) bool { return *h.DefaultResult == "CONTINUE" }),
		managedHookField("notificationMetadata", func(h asgtypes.LifecycleHook) bool { return aws.ToString(h.NotificationMetadata) == "hello" }),
		warmField("minSize", func(p *asgtypes.WarmPoolConfiguration) bool { return *p.MinSize == 1 }),
		warmField("maxGroupPreparedCapacity", func(p *asgtypes.WarmPoolConfiguration) bool { return *p.MaxGroupPreparedCapacity == 4 }),
		warmField("state", func(p *asgtypes.WarmPoolConfiguration) bool { return p.PoolState == "Running" }),
		warmField("reuseOnScaleIn", func(p *asgtypes.WarmPoolConfiguration) bool { return *p.InstanceReusePolicy.ReuseOnScaleIn }),
	},
	{
		{"updateConfig.maxUnavailablePercentage", func(s *managedSpec) {
			s.UpdateConfig.MaxUnavailable, s.UpdateConfig.MaxUnavailablePercentage = nil, ptr.To[int32](100)
		}, func(g inEKS) bool { return aws.ToInt32(g.UpdateConfig.MaxUnavailablePercentage) == 100 }},
		repairField("maxParallelNodesRepairedPercentage", func(c *infrav1.NodeRepairConfig) {
			c.MaxParallelNodesRepairedCount, c.MaxParallelNodesRepairedPercentage = nil, ptr.To[int32](30)
		}, func(r *ekstypes.NodeRepairConfig) bool {
			return aws.ToInt32(r.MaxParallelNodesRepairedPercentage) == 30
		}),
		repairField("maxUnhealthyNodeThresholdPercentage", func(c *infrav1.NodeRepairConfig) {
			c.MaxUnhealthyNodeThresholdCount, c.MaxUnhealthyNodeThresholdPercentage = nil, ptr.To[int32](40)
		}, func(r *ekstypes.NodeRepairConfig) bool {
			return aws.ToInt32(r.MaxUnhealthyNodeThresholdPercentage) == 40
		}),
		{"amiVersion", func(s *managedSpec) { s.AMIVersion = ptr.To(newerRelease) }, func(g inEKS) bool { return *g.ReleaseVersion == newerRelease }},
		templateField("instanceType", func(t *infrav1.AWSLaunchTemplate) { t.InstanceType = "m5.xlarge" },
			func(d *ec2types.ResponseLaunchTemplateData) bool { return d.InstanceType == "m5.xlarge" }),
		templateField("rootVolume.deviceName", func(t *infrav1.AWSLaunchTemplate) {
			t.RootVolume = &infrav1.Volume{DeviceName: "/dev/of-another-image", Size: 40, Type: "gp3", IOPS: 3001, Throughput: ptr.To[int64](126), Encrypted: ptr.To(true), EncryptionKey: "alias/nodes"}
		}, func(d *ec2types.ResponseLaunchTemplateData) bool { // the image decides
			return device(d, "/dev/of-another-image") == nil && device(d, rootDevice) != nil
		}),
		volumeField("rootVolume.size", rootDevice, func(v *ec2types.LaunchTemplateEbsBlockDevice) bool { return *v.VolumeSize == 40 }),
		volumeField("rootVolume.type", rootDevice, func(v *ec2types.LaunchTemplateEbsBlockDevice) bool { return v.VolumeType == "gp3" }),
		volumeField("rootVolume.iops", rootDevice, func(v *ec2types.LaunchTemplateEbsBlockDevice) bool { return aws.ToInt32(v.Iops) == 3001 }),
		volumeField("rootVolume.throughput", rootDevice, func(v *ec2types.LaunchTemplateEbsBlockDevice) bool { return aws.ToInt32(v.Throughput) == 126 }),
		volumeField("rootVolume.encrypted", rootDevice, func(v *ec2types.LaunchTemplateEbsBlockDevice) bool { return aws.ToBool(v.Encrypted) }),
		volumeField("rootVolume.encryptionKey", rootDevice, func(v *ec2types.LaunchTemplateEbsBlockDevice) bool { return aws.ToString(v.KmsKeyId) == "alias/nodes" }),
		templateField("nonRootVolumes[].deviceName", func(t *infrav1.AWSLaunchTemplate) {
			t.NonRootVolumes = []infrav1.Volume{{DeviceName: "/dev/sdb", Size: 50, Type: "gp3", IOPS: 3002, Throughput: ptr.To[int64](127), Encrypted: ptr.To(true), EncryptionKey: "alias/data"}}
		}, func(d *ec2types.ResponseLaunchTemplateData) bool { return device(d, "/dev/sdb") != nil }),
		volumeField("nonRootVolumes[].size", "/dev/sdb", func(v *ec2types.LaunchTemplateEbsBlockDevice) bool { return *v.VolumeSize == 50 }),
		volumeField("nonRootVolumes[].type", "/dev/sdb", func(v *ec2types.LaunchTemplateEbsBlockDevice) bool { return v.VolumeType == "gp3" }),
		volumeField("nonRootVolumes[].iops", "/dev/sdb", func(v *ec2types.LaunchTemplateEbsBlockDevice) bool { return aws.ToInt32(v.Iops) == 3002 }),
		volumeField("nonRootVolumes[].throughput", "/dev/sdb", func(v *ec2types.LaunchTemplateEbsBlockDevice) bool { return aws.ToInt32(v.Throughput) == 127 }),
		volumeField("nonRootVolumes[].encrypted", "/dev/sdb", func(v *ec2types.LaunchTemplateEbsBlockDevice) bool { return aws.ToBool(v.Encrypted) }),
		volumeField("nonRootVolumes[].encryptionKey", "/dev/sdb", func(v *ec2types.LaunchTemplateEbsBlockDevice) bool { return aws.ToString(v.KmsKeyId) == "alias/data" }),
		templateField("sshKeyName", func(t *infrav1.AWSLaunchTemplate) { t.SSHKeyName = ptr.To("") },
			// unset, it is the cluster's
			func(d *ec2types.ResponseLaunchTemplateData) bool { return d.KeyName == nil }),
		templateField("additionalSecurityGroups[].id", func(t *infrav1.AWSLaunchTemplate) {
			t.AdditionalSecurityGroups = []infrav1.AWSResourceReference{{ID: ptr.To(defaultGroup)}, {Filters: []infrav1.Filter{{Name: "group-name", Values: []string{"lb"}}}}}
		}, func(d *ec2types.ResponseLaunchTemplateData) bool { return slices.Contains(groupsOf(d), defaultGroup) }),
		templateField("additionalSecurityGroups[].filters[].name", func(*infrav1.AWSLaunchTemplate) {},
			func(d *ec2types.ResponseLaunchTemplateData) bool { return slices.Contains(groupsOf(d), lbGroup) }),
		templateField("additionalSecurityGroups[].filters[].values", func(*infrav1.AWSLaunchTemplate) {},
			func(d *ec2types.ResponseLaunchTemplateData) bool { return slices.Contains(groupsOf(d), lbGroup) }),
		metadataField("httpEndpoint", func(o *ec2types.LaunchTemplateInstanceMetadataOptions) bool { return o.HttpEndpoint == "enabled" }),
		metadataField("httpProtocolIpv6", func(o *ec2types.LaunchTemplateInstanceMetadataOptions) bool { return o.HttpProtocolIpv6 == "enabled" }),
		metadataField("httpPutResponseHopLimit", func(o *ec2types.LaunchTemplateInstanceMetadataOptions) bool { return *o.HttpPutResponseHopLimit == 3 }),
		metadataField("httpTokens", func(o *ec2types.LaunchTemplateInstanceMetadataOptions) bool { return o.HttpTokens == "required" }),
		metadataField("instanceMetadataTags", func(o *ec2types.LaunchTemplateInstanceMetadataOptions) bool {
			return o.InstanceMetadataTags == "disabled"
		}),
		templateField("enclaveOptions.enabled", func(t *infrav1.AWSLaunchTemplate) { t.EnclaveOptions = &infrav1.EnclaveOptions{Enabled: ptr.To(true)} },
			func(d *ec2types.ResponseLaunchTemplateData) bool {
				return d.EnclaveOptions != nil && *d.EnclaveOptions.Enabled
			}),
		hostnameField("hostnameType", func(o *ec2types.LaunchTemplatePrivateDnsNameOptions) bool { return o.HostnameType == "resource-name" }),
		hostnameField("enableResourceNameDnsARecord", func(o *ec2types.LaunchTemplatePrivateDnsNameOptions) bool {
			return aws.ToBool(o.EnableResourceNameDnsARecord)
		}),
		hostnameField("enableResourceNameDnsAAAARecord", func(o *ec2types.LaunchTemplatePrivateDnsNameOptions) bool {
			return aws.ToBool(o.EnableResourceNameDnsAAAARecord)
		}),
		templateField("capacityReservationPreference", func(t *infrav1.AWSLaunchTemplate) {
			t.CapacityReservationPreference = infrav1.CapacityReservationPreferenceNone
		},
			func(d *ec2types.ResponseLaunchTemplateData) bool {
				return d.CapacityReservationSpecification != nil && d.CapacityReservationSpecification.CapacityReservationPreference == "none"
			}),
	},
	{
		// Every field that can be removed is removed, and leaves nothing in AWS: the comparison
		// with a recreated pool holds that.
		{"", func(s *managedSpec) {
			*s = managedSpec{
				ProviderIDList: s.ProviderIDList, AMIType: s.AMIType, AMIVersion: s.AMIVersion, AvailabilityZones: s.AvailabilityZones, CapacityType: s.CapacityType,
				Scaling: &infrav1.ManagedMachinePoolScaling{}, UpdateConfig: &infrav1.UpdateConfig{MaxUnavailable: ptr.To[int32](2), Force: true},
				AWSLaunchTemplate: &infrav1.AWSLaunchTemplate{InstanceType: "t3.large"},
			}
		}, func(g inEKS) bool {
			return len(g.Labels)+len(g.Taints)+len(g.hooks) == 0 && g.asg.WarmPoolConfiguration == nil && !slices.Contains(g.policies, ssmPolicy) && g.launches.InstanceType == "t3.large"
		}},
	},
}

// managedAtCreation are the fields that EKS fixes when it creates a node group, each with pools
// that have it from the beginning. The rules EK20 to EK23 hold that later changes are refused.
var managedAtCreation = map[string][]managedField{
	"without-template": {
		{"eksNodegroupName", func(s *managedSpec) {
			s.EKSNodegroupName, s.AWSLaunchTemplate, s.AvailabilityZones = givenGroup, nil, nil
		},
			func(g inEKS) bool { return *g.NodegroupName == givenGroup }},
		{"subnetIDs", func(s *managedSpec) { s.SubnetIDs = []string{privateSubnetB} }, func(g inEKS) bool { return slices.Equal(g.Subnets, []string{privateSubnetB}) }},
		{"amiType", func(s *managedSpec) { s.AMIType = ptr.To(infrav1.AMITypeBottlerocketX86) },
			func(g inEKS) bool { return g.AmiType == ekstypes.AMITypesBottlerocketX8664 }},
		{"diskSize", func(s *managedSpec) { s.DiskSize = ptr.To[int32](33) }, func(g inEKS) bool { return aws.ToInt32(g.DiskSize) == 33 }},
		{"instanceType", func(s *managedSpec) { s.InstanceType = ptr.To("m5.xlarge") }, func(g inEKS) bool { return slices.Equal(g.InstanceTypes, []string{"m5.xlarge"}) }},
		{"roleName", func(s *managedSpec) { s.RoleName = givenRole }, func(g inEKS) bool { return *g.role.RoleName == givenRole }},
		{"rolePath", func(s *managedSpec) { s.RolePath = "/nodes/" }, func(g inEKS) bool { return strings.HasSuffix(*g.NodeRole, ":role/nodes/"+givenRole) }},
		{"remoteAccess.sshKeyName", func(s *managedSpec) {
			s.RemoteAccess = &infrav1.ManagedRemoteAccess{SSHKeyName: ptr.To("default"), SourceSecurityGroups: []string{lbGroup}}
		}, func(g inEKS) bool { return *g.RemoteAccess.Ec2SshKey == "default" }},
		{"remoteAccess.sourceSecurityGroups", func(*managedSpec) {}, func(g inEKS) bool { return slices.Contains(g.RemoteAccess.SourceSecurityGroups, lbGroup) }},
	},
	"public": {
		{"availabilityZones", func(s *managedSpec) { s.AvailabilityZones, s.AWSLaunchTemplate = []string{"us-east-1a"}, nil },
			func(g inEKS) bool { return slices.Equal(g.Subnets, []string{publicSubnetA}) }},
		{"availabilityZoneSubnetType", func(s *managedSpec) { s.AvailabilityZoneSubnetType = ptr.To(infrav1.AZSubnetTypePublic) },
			func(g inEKS) bool { return slices.Equal(g.Subnets, []string{publicSubnetA}) }},
		{"capacityType", func(s *managedSpec) { s.CapacityType = ptr.To(infrav1.ManagedMachinePoolCapacityTypeSpot) },
			func(g inEKS) bool { return g.CapacityType == ekstypes.CapacityTypesSpot }},
		{"instanceTypes", func(s *managedSpec) { s.InstanceTypes = []string{"m5.large", "m5.xlarge"} },
			func(g inEKS) bool { return slices.Equal(g.InstanceTypes, []string{"m5.large", "m5.xlarge"}) }},
		{"remoteAccess.public", func(s *managedSpec) { s.RemoteAccess = &infrav1.ManagedRemoteAccess{Public: true} },
			func(g inEKS) bool {
				return *g.RemoteAccess.Ec2SshKey == "default" && len(g.RemoteAccess.SourceSecurityGroups) == 0
			}},
	},
	"named-template": {
		templateField("name", func(t *infrav1.AWSLaunchTemplate) { t.Name = givenTemplate }, nil),
	},
}

// managedElsewhere are leaves whose effect is held by other tests, by what their paths begin with.
var managedElsewhere = map[string]string{
	"providerIDList":                          "the controller writes it: managedSettled",
	"launchConfigRef.":                        "TestManagedLaunchConfigRef",
	"launchConfigTemplateRef.name":            "TestManagedTemplate",
	"launchConfigTemplateRef.namespace":       "TestManagedTemplateElsewhere",
	"rollout":                                 "TestManagedApproval",
	"pinnedVersion":                           "TestManagedPinned",
	"versionsToKeep":                          "TestManagedPruning",
	"templateLossPolicy":                      "TestManagedTemplateLost",
	"awsLaunchTemplate.ami.":                  "TestManagedOwnImage",
	"awsLaunchTemplate.imageLookup":           "TestManagedOwnImage",
	"awsLaunchTemplate.versionNumber":         "refused: rule LT6",
	"awsLaunchTemplate.iamInstanceProfile":    "refused: rule EK1",
	"awsLaunchTemplate.spotMarketOptions.":    "refused: rule EK5",
	"awsLaunchTemplate.marketType":            "TestManagedCapacityBlock",
	"awsLaunchTemplate.capacityReservationId": "TestManagedCapacityBlock",
}

func taintField(member string, effect func(ekstypes.Taint) bool) managedField {
	return managedField{"taints[]." + member, func(s *managedSpec) {
		s.Taints = []infrav1.Taint{{Key: "dedicated", Value: "web", Effect: infrav1.TaintEffectPreferNoSchedule}}
	}, func(g inEKS) bool { return len(g.Taints) == 1 && effect(g.Taints[0]) }}
}

func repairField(member string, change func(*infrav1.NodeRepairConfig), effect func(*ekstypes.NodeRepairConfig) bool) managedField {
	return managedField{"nodeRepairConfig." + member, func(s *managedSpec) {
		if s.NodeRepairConfig == nil {
			s.NodeRepairConfig = &infrav1.NodeRepairConfig{Enabled: ptr.To(true)}
		}
		change(s.NodeRepairConfig)
	}, func(g inEKS) bool { return g.NodeRepairConfig != nil && effect(g.NodeRepairConfig) }}
}

func overrideField(member string, effect func(ekstypes.NodeRepairConfigOverrides) bool) managedField {
	return repairField("nodeRepairConfigOverrides[]."+member, func(c *infrav1.NodeRepairConfig) {
		c.NodeRepairConfigOverrides = []infrav1.NodeRepairConfigOverride{
			{NodeMonitoringCondition: "NetworkingReady", NodeUnhealthyReason: "InterfaceNotUp", MinRepairWaitTimeMins: 5, RepairAction: infrav1.NodeRepairReboot},
		}
	}, func(r *ekstypes.NodeRepairConfig) bool {
		return len(r.NodeRepairConfigOverrides) == 1 && effect(r.NodeRepairConfigOverrides[0])
	})
}

// managedHookField has the hook of an instance on its way out: one on the way in would keep nodes
// from coming.
func managedHookField(member string, effect func(asgtypes.LifecycleHook) bool) managedField {
	return managedField{"lifecycleHooks[]." + member, func(s *managedSpec) {
		s.AWSLifecycleHooks = []infrav1.AWSLifecycleHook{{
			Name: "ours", NotificationTargetARN: ptr.To(queueOne), RoleARN: ptr.To(roleOne), LifecycleTransition: infrav1.LifecycleTransitionInstanceTerminating,
			HeartbeatTimeout: after(30 * time.Second), DefaultResult: ptr.To(infrav1.LifecycleHookDefaultResultContinue), NotificationMetadata: ptr.To("hello"),
		}}
	}, func(g inEKS) bool { hook, exists := g.hooks["ours"]; return exists && effect(hook) }}
}

func warmField(member string, effect func(*asgtypes.WarmPoolConfiguration) bool) managedField {
	return managedField{"warmPool." + member, func(s *managedSpec) {
		s.WarmPool = &infrav1.WarmPool{MinSize: 1, MaxGroupPreparedCapacity: ptr.To[int32](4), State: "Running", ReuseOnScaleIn: true}
	}, func(g inEKS) bool { return g.asg.WarmPoolConfiguration != nil && effect(g.asg.WarmPoolConfiguration) }}
}

// templateField is recognized in what EKS launches, which is a copy. Without an effect it is the
// template's name.
func templateField(member string, change func(*infrav1.AWSLaunchTemplate), effect func(*ec2types.ResponseLaunchTemplateData) bool) managedField {
	return managedField{"awsLaunchTemplate." + member, func(s *managedSpec) { change(s.AWSLaunchTemplate) }, func(g inEKS) bool {
		if effect == nil {
			return *g.LaunchTemplate.Name == givenTemplate
		}
		return g.launches != nil && effect(g.launches)
	}}
}

func volumeField(member, name string, effect func(*ec2types.LaunchTemplateEbsBlockDevice) bool) managedField {
	return templateField(member, func(*infrav1.AWSLaunchTemplate) {}, func(d *ec2types.ResponseLaunchTemplateData) bool {
		volume := device(d, name)
		return volume != nil && effect(volume)
	})
}

func metadataField(member string, effect func(*ec2types.LaunchTemplateInstanceMetadataOptions) bool) managedField {
	return templateField("instanceMetadataOptions."+member, func(t *infrav1.AWSLaunchTemplate) {
		t.InstanceMetadataOptions = &infrav1.InstanceMetadataOptions{
			HTTPEndpoint: "enabled", HTTPProtocolIPv6: "enabled", HTTPPutResponseHopLimit: 3, HTTPTokens: "required", InstanceMetadataTags: "disabled",
		}
	}, func(d *ec2types.ResponseLaunchTemplateData) bool {
		return d.MetadataOptions != nil && effect(d.MetadataOptions)
	})
}

func hostnameField(member string, effect func(*ec2types.LaunchTemplatePrivateDnsNameOptions) bool) managedField {
	return templateField("privateDnsName."+member, func(t *infrav1.AWSLaunchTemplate) {
		t.PrivateDNSName = &infrav1.PrivateDNSName{
			HostnameType: ptr.To("resource-name"), EnableResourceNameDNSARecord: ptr.To(true), EnableResourceNameDNSAAAARecord: ptr.To(true),
		}
	}, func(d *ec2types.ResponseLaunchTemplateData) bool {
		return d.PrivateDnsNameOptions != nil && effect(d.PrivateDnsNameOptions)
	})
}

// TestEveryManagedFieldHasARow holds that no field of the spec is without a test of its effect.
func TestEveryManagedFieldHasARow(t *testing.T) {
	t.Parallel()
	stages := slices.Clone(managedFields)
	for _, rows := range managedAtCreation {
		stages = append(stages, rows)
	}
	expectEveryLeaf(t, reflect.TypeFor[managedSpec](), pathsOf(stages...), managedElsewhere)
}
