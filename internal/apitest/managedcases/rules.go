// Package managedcases owns what the API server takes and refuses of an AWSManagedMachinePool, as
// tables: the tests of the definition try them with the API server's libraries, and the laboratory
// with an API server.
package managedcases

import (
	"fmt"
	"slices"
	"strings"
)

// Base is an AWSManagedMachinePool, in YAML, that the patches of cases are merged into.
const Base = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedMachinePool
metadata: {name: pool, namespace: default}
spec:
  scaling: {minSize: 1, maxSize: 3}
`

// Case is one rule of the validation matrix with a neighbor on either side of it: what it must let
// through, and what it must refuse with a message that says what to do. Both are merge patches, in
// YAML, for the spec of Base.
type Case struct{ Rule, Reason, Accept, Refuse, Says string }

// Rules hold of every spec.
var Rules = slices.Concat(templateCases, sharingCases, imageCases, groupCases)

// sharingCases are about launch configs that the pool refers to.
var sharingCases = []Case{
	{
		Rule: "SL21", Reason: "one launch template, and no template beside it", Accept: `{launchConfigTemplateRef: {name: nodes}, versionsToKeep: 3}`,
		Refuse: `{launchConfigTemplateRef: {name: nodes}, launchConfigRef: {name: config}}`, Says: "at most one of awsLaunchTemplate, launchConfigRef, and launchConfigTemplateRef may be set",
	},
	{
		Rule: "SL24", Reason: "a launch template of the pool's own is held", Accept: `{awsLaunchTemplate: {}, rollout: Manual, pinnedVersion: 3}`,
		Refuse: `{launchConfigRef: {name: config}, pinnedVersion: 3}`, Says: "rollout and pinnedVersion apply to the pool's own launch template, but the pool has none",
	},
	{
		Rule: "EK13", Reason: "the image of a template", Accept: `{launchConfigTemplateRef: {name: nodes}, amiType: CUSTOM}`, Refuse: `{amiType: CUSTOM}`,
		Says: "amiType CUSTOM means the image of a launch template, but the pool has no launch template",
	},
}

// templateCases cover the requirements of EKS for the launch template, and for a node group that
// has one.
var templateCases = []Case{
	{
		Rule: "LT1", Reason: "EC2's names", Accept: `{awsLaunchTemplate: {name: my/nodes}}`, Refuse: `{awsLaunchTemplate: {name: ab}}`,
		Says: "a launch template name must have 3 to 128 characters",
	},
	{
		Rule: "EK1", Reason: "the instance profile is the node role's",
		Accept: `{awsLaunchTemplate: {iamInstanceProfile: ""}, roleName: nodes}`,
		Refuse: `{awsLaunchTemplate: {iamInstanceProfile: nodes}}`, Says: "EKS assigns the instance profile of the node role to instances",
	},
	{
		Rule: "EK5", Reason: "Spot is the node group's to ask for",
		Accept: `{awsLaunchTemplate: {marketType: OnDemand}, capacityType: spot}`,
		Refuse: `{awsLaunchTemplate: {marketType: Spot}, capacityType: spot}`, Says: "set capacityType to spot",
	},
	{
		Rule: "EK5", Reason: "whichever way the launch template asks",
		Accept: `{awsLaunchTemplate: {}, capacityType: spot}`,
		Refuse: `{awsLaunchTemplate: {spotMarketOptions: {}}}`, Says: "set capacityType to spot",
	},
	{
		Rule: "EK9", Reason: "the root volume is the launch template's",
		Accept: `{awsLaunchTemplate: {rootVolume: {size: 50}}}`, Refuse: `{awsLaunchTemplate: {}, diskSize: 50}`,
		Says: "set awsLaunchTemplate.rootVolume.size",
	},
	{
		Rule: "EK9", Reason: "the disk size alone is as good as ever, and so it is of the least and the most",
		Accept: `{diskSize: 1}`, Refuse: `{launchConfigRef: {name: config}, diskSize: 50}`,
		Says: "the launch template of the pool determines the size of its root volume",
	},
	{
		Rule: "EK10", Reason: "the key pair is the launch template's",
		Accept: `{awsLaunchTemplate: {sshKeyName: default}}`, Refuse: `{awsLaunchTemplate: {}, remoteAccess: {sshKeyName: default}}`,
		Says: "remove remoteAccess",
	},
	{
		Rule: "EK11", Reason: "one place for the instance type",
		Accept: `{awsLaunchTemplate: {instanceType: m5.large}, instanceType: ""}`,
		Refuse: `{awsLaunchTemplate: {}, instanceType: m5.large}`, Says: "set awsLaunchTemplate.instanceType, or instanceTypes",
	},
	{
		Rule: "EK11", Reason: "types of the node group, or one of the launch template",
		Accept: `{awsLaunchTemplate: {}, instanceTypes: [m5.large, m6i.large]}`,
		Refuse: `{awsLaunchTemplate: {instanceType: m5.large}, instanceTypes: [m5.large]}`,
		Says:   "remove awsLaunchTemplate.instanceType, or instanceTypes",
	},
	{
		Rule: "EK11", Reason: "one list, without a launch template too",
		Accept: `{instanceTypes: [m5.large, m6i.large]}`, Refuse: `{instanceType: m5.large, instanceTypes: [m6i.large]}`,
		Says: "instanceType and instanceTypes are mutually exclusive",
	},
	{
		Rule: "EK11", Reason: "20 types in a node group", Accept: instanceTypes(20), Refuse: instanceTypes(21), Says: "at most 20 items",
	},
	{
		Rule: "SL21", Reason: "one launch template",
		Accept: `{launchConfigRef: {name: config}}`, Refuse: `{launchConfigRef: {name: config}, awsLaunchTemplate: {}}`,
		Says: "at most one of awsLaunchTemplate, launchConfigRef, and launchConfigTemplateRef may be set",
	},
	{
		Rule: "SL24", Reason: "no template is lost that there never was",
		Accept: `{awsLaunchTemplate: {}, templateLossPolicy: Replace}`, Refuse: `{templateLossPolicy: Report}`,
		Says: "templateLossPolicy applies to the launch template, but the pool has none",
	},
	{
		Rule: "SL24", Reason: "an AWSLaunchConfig keeps its own versions",
		Accept: `{awsLaunchTemplate: {}, versionsToKeep: 3}`, Refuse: `{launchConfigRef: {name: config}, versionsToKeep: 3}`,
		Says: "versionsToKeep applies to the pool's own launch template, but the pool has none",
	},
	{
		Rule: "EK26", Reason: "a Capacity Block is named by the launch template",
		Accept: `{capacityType: capacityBlock, awsLaunchTemplate: {marketType: CapacityBlock, instanceType: p5.48xlarge, capacityReservationId: cr-1}}`,
		Refuse: `{capacityType: capacityBlock, awsLaunchTemplate: {instanceType: p5.48xlarge}}`, Says: "capacityType capacityBlock requires a launch template with a Capacity Block",
	},
	{
		Rule: "EK26", Reason: "or by that of an AWSLaunchConfig",
		Accept: `{capacityType: capacityBlock, launchConfigRef: {name: config}}`, Refuse: `{capacityType: capacityBlock}`,
		Says: "capacityType capacityBlock requires a launch template with a Capacity Block",
	},
	{
		Rule: "EK27", Reason: "and asked for by the node group",
		Accept: `{capacityType: onDemand, awsLaunchTemplate: {capacityReservationId: cr-1}}`,
		Refuse: `{awsLaunchTemplate: {marketType: CapacityBlock, instanceType: p5.48xlarge, capacityReservationId: cr-1}}`,
		Says:   "set capacityType to capacityBlock",
	},
}

// imageCases are about whose image nodes boot: EKS's, or one of the launch template's.
var imageCases = []Case{
	{
		Rule: "EK12", Reason: "without ami EKS chooses, by the family and the release that are asked for",
		Accept: `{amiType: BOTTLEROCKET_x86_64, amiVersion: 1.50.0-abc, awsLaunchTemplate: {ami: {}}}`,
		Refuse: `{amiType: BOTTLEROCKET_x86_64, awsLaunchTemplate: {ami: {id: ami-0123456789abcdef0}}}`,
		Says:   "awsLaunchTemplate specifies an image (ami, or imageLookup...), so EKS does not choose one: set amiType to CUSTOM, or omit it; without an image in awsLaunchTemplate, EKS chooses it by amiType and amiVersion",
	},
	{
		Rule: "EK12", Reason: "CAPA's default of amiType says nothing, and neither does CUSTOM",
		Accept: `{amiType: AL2_x86_64, awsLaunchTemplate: {ami: {id: ami-0123456789abcdef0}}}`,
		Refuse: `{amiType: AL2_x86_64_GPU, awsLaunchTemplate: {ami: {eksLookupType: AmazonLinux2023}}}`, Says: "set amiType to CUSTOM",
	},
	{
		Rule: "EK12", Reason: "a look-up by name is an image too",
		Accept: `{amiType: CUSTOM, awsLaunchTemplate: {imageLookupOrg: "123456789012"}}`,
		Refuse: `{amiType: AL2023_x86_64_STANDARD, awsLaunchTemplate: {imageLookupBaseOS: ubuntu-24.04}}`, Says: "set amiType to CUSTOM",
	},
	{
		Rule: "EK12", Reason: "an image has no release",
		Accept: `{amiVersion: 1.34.1-20251103}`, Refuse: `{amiVersion: 1.34.1-20251103, awsLaunchTemplate: {ami: {id: ami-0123456789abcdef0}}}`,
		Says: "awsLaunchTemplate specifies an image (ami, or imageLookup...), so EKS does not choose one: remove amiVersion; without an image in awsLaunchTemplate, EKS chooses it by amiType and amiVersion",
	},
	{
		Rule: "EK12", Reason: "neither has one that is looked up",
		Accept: `{amiType: AL2023_ARM_64_STANDARD, amiVersion: 1.34.1-20251103}`,
		Refuse: `{amiType: CUSTOM, amiVersion: 1.34.1-20251103, awsLaunchTemplate: {}}`, Says: "amiVersion is only valid for images that EKS chooses, but amiType CUSTOM means your own image",
	},
	{
		Rule: "EK13", Reason: "an image that is looked up needs a place to be in",
		Accept: `{amiType: CUSTOM, awsLaunchTemplate: {}}`, Refuse: `{amiType: CUSTOM}`, Says: "set awsLaunchTemplate",
	},
	{
		Rule: "EK28", Reason: "warm pools are for EKS's images",
		Accept: `{amiType: AL2023_x86_64_STANDARD, warmPool: {state: Hibernated, minSize: 1}}`,
		Refuse: `{amiType: CUSTOM, awsLaunchTemplate: {}, warmPool: {}}`, Says: "only for images that it chooses",
	},
	{
		Rule: "EK28", Reason: "Bottlerocket does not hibernate",
		Accept: `{amiType: BOTTLEROCKET_ARM_64, warmPool: {state: Running}}`,
		Refuse: `{amiType: BOTTLEROCKET_ARM_64, warmPool: {state: Hibernated}}`, Says: "Bottlerocket instances can neither hibernate nor return to the warm pool",
	},
	{
		Rule: "EK28", Reason: "Bottlerocket does not go back",
		Accept: `{amiType: AL2023_ARM_64_STANDARD, warmPool: {reuseOnScaleIn: true}}`,
		Refuse: `{amiType: BOTTLEROCKET_x86_64_FIPS, warmPool: {reuseOnScaleIn: true}}`, Says: "Bottlerocket instances can neither hibernate nor return to the warm pool",
	},
	{
		Rule: "EK28", Reason: "Spot Instances do not wait",
		Accept: `{capacityType: onDemand, warmPool: {}}`, Refuse: `{capacityType: spot, warmPool: {}}`, Says: "only On-Demand Instances",
	},
}

// groupCases are about the node group itself.
var groupCases = []Case{
	{
		Rule: "EK23", Reason: "as CAPA names it by default", Accept: `{eksNodegroupName: default_my-pool}`, Refuse: `{eksNodegroupName: my.pool}`,
		Says: "a node group name must begin with a letter or a digit, and contain only letters, digits, -, and _",
	},
	{
		Rule: "EK23", Reason: "63 characters", Accept: `{eksNodegroupName: "` + strings.Repeat("a", 63) + `"}`,
		Refuse: `{eksNodegroupName: "` + strings.Repeat("a", 64) + `"}`, Says: "may not be more than 63",
	},
	{
		Rule: "EK24", Reason: "a size within bounds", Accept: `{scaling: {minSize: 0, maxSize: 1}}`, Refuse: `{scaling: {minSize: 4, maxSize: 3}}`,
		Says: "minSize must be less than or equal to maxSize",
	},
	{
		Rule: "EK24", Reason: "EKS has no group that cannot grow", Accept: `{scaling: {minSize: null, maxSize: 5}}`,
		Refuse: `{scaling: {minSize: 0, maxSize: 0}}`, Says: "should be greater than or equal to 1",
	},
	{
		Rule: "EK25", Reason: "a number or a share", Accept: `{updateConfig: {maxUnavailable: 100, updateStrategy: Minimal, force: true}}`,
		Refuse: `{updateConfig: {maxUnavailable: 1, maxUnavailablePercentage: 1}}`, Says: "exactly one of maxUnavailable and " +
			"maxUnavailablePercentage must be set",
	},
	{
		Rule: "EK25", Reason: "and one of them", Accept: `{updateConfig: {maxUnavailablePercentage: 33}}`, Refuse: `{updateConfig: {force: true}}`,
		Says: "exactly one of maxUnavailable and maxUnavailablePercentage must be set",
	},
	{
		Rule: "EK29", Reason: "labels have a form", Accept: `{labels: {example.com/team: a, env: prod.1}}`, Refuse: `{labels: {env: ""}}`,
		Says: "1 to 63 characters",
	},
	{
		Rule: "EK29", Reason: "in keys too", Accept: `{labels: {a: b}}`, Refuse: `{labels: {"a b": c}}`, Says: "1 to 63 characters",
	},
	{
		Rule: "EK29", Reason: "some labels are EKS's", Accept: `{labels: {node.example.com/kind: a}}`,
		Refuse: `{labels: {eks.amazonaws.com/nodegroup: a}}`, Says: "labels of eks.amazonaws.com, kubernetes.io, and k8s.io are reserved",
	},
	{
		Rule: "EK29", Reason: "a kubelet does not start with labels of most subdomains of kubernetes.io", Accept: `{labels: {node.kubernetes.io/team: a, kubelet.kubernetes.io/b: c, topology.kubernetes.io/zone: d}}`,
		Refuse: `{labels: {node-role.kubernetes.io/worker: a}}`, Says: "labels of eks.amazonaws.com, kubernetes.io, and k8s.io are reserved",
	},
	{
		Rule: "EK29", Reason: "nor of k8s.io", Accept: `{labels: {mykubernetes.io/a: b, kubernetes.io.example.com/a: b}}`,
		Refuse: `{labels: {app.k8s.io/a: b}}`, Says: "labels of eks.amazonaws.com, kubernetes.io, and k8s.io are reserved",
	},
	{
		Rule: "EK29", Reason: "a taint once, for each effect",
		Accept: `{taints: [{key: a, value: "", effect: no-schedule}, {key: a, value: b, effect: no-execute}]}`,
		Refuse: `{taints: [{key: a, value: b, effect: no-schedule}, {key: a, value: c, effect: no-schedule}]}`, Says: "every item of taints must have a unique combination of key and effect",
	},
	{
		Rule: "EK30", Reason: "a number or a share of repairs",
		Accept: `{nodeRepairConfig: {enabled: true, maxParallelNodesRepairedCount: 1, maxUnhealthyNodeThresholdPercentage: 20, nodeRepairConfigOverrides:
			[{nodeMonitoringCondition: NetworkingReady, nodeUnhealthyReason: InterfaceNotUp, minRepairWaitTimeMins: 5, repairAction: Reboot}]}}`,
		Refuse: `{nodeRepairConfig: {maxParallelNodesRepairedCount: 1, maxParallelNodesRepairedPercentage: 1}}`,
		Says:   "at most one of maxParallelNodesRepairedCount and maxParallelNodesRepairedPercentage may be set",
	},
	{
		Rule: "EK30", Reason: "a number or a share of the unhealthy",
		Accept: `{nodeRepairConfig: {enabled: false, maxUnhealthyNodeThresholdCount: 2}}`,
		Refuse: `{nodeRepairConfig: {maxUnhealthyNodeThresholdCount: 1, maxUnhealthyNodeThresholdPercentage: 1}}`,
		Says:   "at most one of maxUnhealthyNodeThresholdCount and maxUnhealthyNodeThresholdPercentage may be set",
	},
	{
		Rule: "LT8", Reason: "a version is kept", Accept: `{awsLaunchTemplate: {}, versionsToKeep: 1}`,
		Refuse: `{awsLaunchTemplate: {}, versionsToKeep: 0}`, Says: "should be greater than or equal to 1",
	},
	{
		Rule: "SL20", Reason: "public is public, as in CAPA", Accept: `{remoteAccess: {public: true, sourceSecurityGroups: []}}`,
		Refuse: `{remoteAccess: {public: true, sourceSecurityGroups: [sg-1]}}`, Says: "public allows connections from every address, so sourceSecurityGroups has no effect",
	},
	{
		Rule: "SL22", Reason: "a role is named", Accept: `{roleName: nodes.example.com}`, Refuse: `{roleName: "arn:aws:iam::123456789012:role/nodes"}`,
		Says: "must be the name of an IAM role, not its ARN",
	},
	{
		Rule: "SL22", Reason: "a path has slashes at its ends", Accept: `{rolePath: /nodes/}`, Refuse: `{rolePath: /nodes}`,
		Says: "an IAM path must begin and end with a slash, such as /nodes/",
	},
	{
		Rule: "SL22", Reason: "a boundary is a policy", Accept: `{rolePermissionsBoundary: "arn:aws:iam::123456789012:policy/boundary"}`,
		Refuse: `{rolePermissionsBoundary: boundary}`, Says: "must be the ARN of an IAM policy (arn:aws:iam::<account>:policy/<name>)",
	},
	{
		Rule: "SL22", Reason: "policies have ARNs, AWS's own too", Accept: `{roleAdditionalPolicies: ["arn:aws-cn:iam::aws:policy/AmazonSSMManagedInstanceCore"]}`,
		Refuse: `{roleAdditionalPolicies: [AmazonSSMManagedInstanceCore]}`, Says: "must be ARNs of IAM policies (arn:aws:iam::aws:policy/<name>)",
	},
	{
		Rule: "HK1", Reason: "hooks are those of an AWSMachinePool",
		Accept: `{lifecycleHooks: [{name: a, lifecycleTransition: "autoscaling:EC2_INSTANCE_LAUNCHING"}]}`,
		Refuse: `{lifecycleHooks: [{name: slipway-a, lifecycleTransition: "autoscaling:EC2_INSTANCE_LAUNCHING"}]}`, Says: "lifecycle hook names that begin with slipway- are reserved for Slipway",
	},
}

func instanceTypes(n int) string {
	var types []string
	for i := range n {
		types = append(types, fmt.Sprintf("m%d.large", i))
	}
	return "{instanceTypes: [" + strings.Join(types, ", ") + "]}"
}
