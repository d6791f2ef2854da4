package v1beta2_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/examples"
)

const managedPoolBase = `
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSManagedMachinePool
metadata: {name: pool, namespace: default}
spec:
  scaling: {minSize: 1, maxSize: 3}
`

// managedPoolCases hold for spec of an AWSManagedMachinePool.
var managedPoolCases = slices.Concat(managedTemplateCases, managedImageCases, managedGroupCases)

// managedTemplateCases are about what EKS wants of the launch template, and of the node group beside one.
var managedTemplateCases = []ruleCase{
	{
		rule: "LT1", reason: "EC2's names", accept: `{awsLaunchTemplate: {name: my/nodes}}`, refuse: `{awsLaunchTemplate: {name: ab}}`,
		says: "3 to 128 letters",
	},
	{
		rule: "EK1", reason: "the instance profile is the node role's",
		accept: `{awsLaunchTemplate: {iamInstanceProfile: ""}, roleName: nodes}`,
		refuse: `{awsLaunchTemplate: {iamInstanceProfile: nodes}}`, says: "name the role in roleName",
	},
	{
		rule: "EK5", reason: "Spot is the node group's to ask for",
		accept: `{awsLaunchTemplate: {marketType: OnDemand}, capacityType: spot}`,
		refuse: `{awsLaunchTemplate: {marketType: Spot}, capacityType: spot}`, says: "set capacityType to spot",
	},
	{
		rule: "EK5", reason: "whichever way the launch template asks",
		accept: `{awsLaunchTemplate: {}, capacityType: spot}`,
		refuse: `{awsLaunchTemplate: {spotMarketOptions: {}}}`, says: "set capacityType to spot",
	},
	{
		rule: "EK9", reason: "the root volume is the launch template's",
		accept: `{awsLaunchTemplate: {rootVolume: {size: 50}}}`, refuse: `{awsLaunchTemplate: {}, diskSize: 50}`,
		says: "set awsLaunchTemplate.rootVolume.size",
	},
	{
		rule: "EK9", reason: "the disk size alone is as good as ever, and so it is of the least and the most",
		accept: `{diskSize: 1}`, refuse: `{launchConfigRef: {name: config}, diskSize: 50}`,
		says: "takes the size of its root volume from there",
	},
	{
		rule: "EK10", reason: "the key pair is the launch template's",
		accept: `{awsLaunchTemplate: {sshKeyName: default}}`, refuse: `{awsLaunchTemplate: {}, remoteAccess: {sshKeyName: default}}`,
		says: "remove remoteAccess",
	},
	{
		rule: "EK11", reason: "one place for the instance type",
		accept: `{awsLaunchTemplate: {instanceType: m5.large}, instanceType: ""}`,
		refuse: `{awsLaunchTemplate: {}, instanceType: m5.large}`, says: "set awsLaunchTemplate.instanceType, or instanceTypes",
	},
	{
		rule: "EK11", reason: "types of the node group, or one of the launch template",
		accept: `{awsLaunchTemplate: {}, instanceTypes: [m5.large, m6i.large]}`,
		refuse: `{awsLaunchTemplate: {instanceType: m5.large}, instanceTypes: [m5.large]}`,
		says:   "remove awsLaunchTemplate.instanceType, or instanceTypes",
	},
	{
		rule: "EK11", reason: "one list, without a launch template too",
		accept: `{instanceTypes: [m5.large, m6i.large]}`, refuse: `{instanceType: m5.large, instanceTypes: [m6i.large]}`,
		says: "say the same",
	},
	{
		rule: "EK11", reason: "20 types in a node group", accept: instanceTypes(20), refuse: instanceTypes(21), says: "at most 20 items",
	},
	{
		rule: "SL21", reason: "one launch template",
		accept: `{launchConfigRef: {name: config}}`, refuse: `{launchConfigRef: {name: config}, awsLaunchTemplate: {}}`,
		says: "a node group has one launch template",
	},
	{
		rule: "SL24", reason: "no template is lost that there never was",
		accept: `{awsLaunchTemplate: {}, templateLossPolicy: Replace}`, refuse: `{templateLossPolicy: Report}`,
		says: "is about the launch template",
	},
	{
		rule: "SL24", reason: "an AWSLaunchConfig keeps its own versions",
		accept: `{awsLaunchTemplate: {}, versionsToKeep: 3}`, refuse: `{launchConfigRef: {name: config}, versionsToKeep: 3}`,
		says: "a versionsToKeep of its own",
	},
	{
		rule: "EK26", reason: "a Capacity Block is named by the launch template",
		accept: `{capacityType: capacityBlock, awsLaunchTemplate: {marketType: CapacityBlock, instanceType: p5.48xlarge, capacityReservationId: cr-1}}`,
		refuse: `{capacityType: capacityBlock, awsLaunchTemplate: {instanceType: p5.48xlarge}}`, says: "needs a launch template that names the block",
	},
	{
		rule: "EK26", reason: "or by that of an AWSLaunchConfig",
		accept: `{capacityType: capacityBlock, launchConfigRef: {name: config}}`, refuse: `{capacityType: capacityBlock}`,
		says: "needs a launch template that names the block",
	},
	{
		rule: "EK27", reason: "and asked for by the node group",
		accept: `{capacityType: onDemand, awsLaunchTemplate: {capacityReservationId: cr-1}}`,
		refuse: `{awsLaunchTemplate: {marketType: CapacityBlock, instanceType: p5.48xlarge, capacityReservationId: cr-1}}`,
		says:   "set capacityType to capacityBlock",
	},
}

// managedImageCases are about whose image nodes boot: EKS's, or one of the launch template's.
var managedImageCases = []ruleCase{
	{
		rule: "EK12", reason: "without ami EKS chooses, by the family and the release that are asked for",
		accept: `{amiType: BOTTLEROCKET_x86_64, amiVersion: 1.50.0-abc, awsLaunchTemplate: {ami: {}}}`,
		refuse: `{amiType: BOTTLEROCKET_x86_64, awsLaunchTemplate: {ami: {id: ami-0123456789abcdef0}}}`,
		says:   "a launch template without ami keeps the image that EKS chooses",
	},
	{
		rule: "EK12", reason: "CAPA's default of amiType says nothing, and neither does CUSTOM",
		accept: `{amiType: AL2_x86_64, awsLaunchTemplate: {ami: {id: ami-0123456789abcdef0}}}`,
		refuse: `{amiType: AL2_x86_64_GPU, awsLaunchTemplate: {ami: {eksLookupType: AmazonLinux2023}}}`, says: "set amiType to CUSTOM",
	},
	{
		rule: "EK12", reason: "a look-up by name is an image too",
		accept: `{amiType: CUSTOM, awsLaunchTemplate: {imageLookupOrg: "123456789012"}}`,
		refuse: `{amiType: AL2023_x86_64_STANDARD, awsLaunchTemplate: {imageLookupBaseOS: ubuntu-24.04}}`, says: "set amiType to CUSTOM",
	},
	{
		rule: "EK12", reason: "an image has no release",
		accept: `{amiVersion: 1.34.1-20251103}`, refuse: `{amiVersion: 1.34.1-20251103, awsLaunchTemplate: {ami: {id: ami-0123456789abcdef0}}}`,
		says: "remove amiVersion; a launch template without ami",
	},
	{
		rule: "EK12", reason: "neither has one that is looked up",
		accept: `{amiType: AL2023_ARM_64_STANDARD, amiVersion: 1.34.1-20251103}`,
		refuse: `{amiType: CUSTOM, amiVersion: 1.34.1-20251103, awsLaunchTemplate: {}}`, says: "stands for one of your own",
	},
	{
		rule: "EK13", reason: "an image that is looked up needs a place to be in",
		accept: `{amiType: CUSTOM, awsLaunchTemplate: {}}`, refuse: `{amiType: CUSTOM}`, says: "set awsLaunchTemplate",
	},
	{
		rule: "EK28", reason: "warm pools are for EKS's images",
		accept: `{amiType: AL2023_x86_64_STANDARD, warmPool: {state: Hibernated, minSize: 1}}`,
		refuse: `{amiType: CUSTOM, awsLaunchTemplate: {}, warmPool: {}}`, says: "images that it chooses alone",
	},
	{
		rule: "EK28", reason: "Bottlerocket does not hibernate",
		accept: `{amiType: BOTTLEROCKET_ARM_64, warmPool: {state: Running}}`,
		refuse: `{amiType: BOTTLEROCKET_ARM_64, warmPool: {state: Hibernated}}`, says: "Bottlerocket instances neither hibernate",
	},
	{
		rule: "EK28", reason: "Bottlerocket does not go back",
		accept: `{amiType: AL2023_ARM_64_STANDARD, warmPool: {reuseOnScaleIn: true}}`,
		refuse: `{amiType: BOTTLEROCKET_x86_64_FIPS, warmPool: {reuseOnScaleIn: true}}`, says: "nor go back to the warm pool",
	},
	{
		rule: "EK28", reason: "Spot Instances do not wait",
		accept: `{capacityType: onDemand, warmPool: {}}`, refuse: `{capacityType: spot, warmPool: {}}`, says: "On-Demand Instances alone",
	},
}

// managedGroupCases are about the node group itself.
var managedGroupCases = []ruleCase{
	{
		rule: "EK23", reason: "as CAPA names it by default", accept: `{eksNodegroupName: default_my-pool}`, refuse: `{eksNodegroupName: my.pool}`,
		says: "letters, digits, - and _ alone",
	},
	{
		rule: "EK23", reason: "63 characters", accept: `{eksNodegroupName: "` + strings.Repeat("a", 63) + `"}`,
		refuse: `{eksNodegroupName: "` + strings.Repeat("a", 64) + `"}`, says: "may not be more than 63",
	},
	{
		rule: "EK24", reason: "a size within bounds", accept: `{scaling: {minSize: 0, maxSize: 1}}`, refuse: `{scaling: {minSize: 4, maxSize: 3}}`,
		says: "minSize must not be above maxSize",
	},
	{
		rule: "EK24", reason: "EKS has no group that can not grow", accept: `{scaling: {minSize: null, maxSize: 5}}`,
		refuse: `{scaling: {minSize: 0, maxSize: 0}}`, says: "should be greater than or equal to 1",
	},
	{
		rule: "EK25", reason: "a number or a share", accept: `{updateConfig: {maxUnavailable: 100, updateStrategy: Minimal, force: true}}`,
		refuse: `{updateConfig: {maxUnavailable: 1, maxUnavailablePercentage: 1}}`, says: "give either maxUnavailable or maxUnavailablePercentage",
	},
	{
		rule: "EK25", reason: "and one of them", accept: `{updateConfig: {maxUnavailablePercentage: 33}}`, refuse: `{updateConfig: {force: true}}`,
		says: "give either maxUnavailable or maxUnavailablePercentage",
	},
	{
		rule: "EK29", reason: "labels have a form", accept: `{labels: {example.com/team: a, env: prod.1}}`, refuse: `{labels: {env: ""}}`,
		says: "1 to 63 characters",
	},
	{
		rule: "EK29", reason: "in keys too", accept: `{labels: {a: b}}`, refuse: `{labels: {"a b": c}}`, says: "1 to 63 characters",
	},
	{
		rule: "EK29", reason: "some labels are EKS's", accept: `{labels: {node.example.com/kind: a}}`,
		refuse: `{labels: {eks.amazonaws.com/nodegroup: a}}`, says: "EKS refuses them",
	},
	{
		rule: "EK29", reason: "a taint once, for each effect",
		accept: `{taints: [{key: a, value: "", effect: no-schedule}, {key: a, value: b, effect: no-execute}]}`,
		refuse: `{taints: [{key: a, value: b, effect: no-schedule}, {key: a, value: c, effect: no-schedule}]}`, says: "same key and effect",
	},
	{
		rule: "EK30", reason: "a number or a share of repairs",
		accept: `{nodeRepairConfig: {enabled: true, maxParallelNodesRepairedCount: 1, maxUnhealthyNodeThresholdPercentage: 20, nodeRepairConfigOverrides:
			[{nodeMonitoringCondition: NetworkingReady, nodeUnhealthyReason: InterfaceNotUp, minRepairWaitTimeMins: 5, repairAction: Reboot}]}}`,
		refuse: `{nodeRepairConfig: {maxParallelNodesRepairedCount: 1, maxParallelNodesRepairedPercentage: 1}}`,
		says:   "give either maxParallelNodesRepairedCount",
	},
	{
		rule: "EK30", reason: "a number or a share of the unhealthy",
		accept: `{nodeRepairConfig: {enabled: false, maxUnhealthyNodeThresholdCount: 2}}`,
		refuse: `{nodeRepairConfig: {maxUnhealthyNodeThresholdCount: 1, maxUnhealthyNodeThresholdPercentage: 1}}`,
		says:   "give either maxUnhealthyNodeThresholdCount",
	},
	{
		rule: "LT8", reason: "a version is kept", accept: `{awsLaunchTemplate: {}, versionsToKeep: 1}`,
		refuse: `{awsLaunchTemplate: {}, versionsToKeep: 0}`, says: "should be greater than or equal to 1",
	},
	{
		rule: "SL20", reason: "public is public, as in CAPA", accept: `{remoteAccess: {public: true, sourceSecurityGroups: []}}`,
		refuse: `{remoteAccess: {public: true, sourceSecurityGroups: [sg-1]}}`, says: "public lets everybody connect",
	},
	{
		rule: "SL22", reason: "a role is named", accept: `{roleName: nodes.example.com}`, refuse: `{roleName: "arn:aws:iam::123456789012:role/nodes"}`,
		says: "give the name of an IAM role",
	},
	{
		rule: "SL22", reason: "a path has slashes at its ends", accept: `{rolePath: /nodes/}`, refuse: `{rolePath: /nodes}`,
		says: "begins and ends with a slash",
	},
	{
		rule: "SL22", reason: "a boundary is a policy", accept: `{rolePermissionsBoundary: "arn:aws:iam::123456789012:policy/boundary"}`,
		refuse: `{rolePermissionsBoundary: boundary}`, says: "give the ARN of an IAM policy",
	},
	{
		rule: "SL22", reason: "policies have ARNs, AWS's own too", accept: `{roleAdditionalPolicies: ["arn:aws-cn:iam::aws:policy/AmazonSSMManagedInstanceCore"]}`,
		refuse: `{roleAdditionalPolicies: [AmazonSSMManagedInstanceCore]}`, says: "give the ARNs of IAM policies",
	},
	{
		rule: "HK1", reason: "hooks are those of an AWSMachinePool",
		accept: `{lifecycleHooks: [{name: a, lifecycleTransition: "autoscaling:EC2_INSTANCE_LAUNCHING"}]}`,
		refuse: `{lifecycleHooks: [{name: slipway-a, lifecycleTransition: "autoscaling:EC2_INSTANCE_LAUNCHING"}]}`, says: "the controller's own",
	},
}

func instanceTypes(n int) string {
	var types []string
	for i := range n {
		types = append(types, fmt.Sprintf("m%d.large", i))
	}
	return "{instanceTypes: [" + strings.Join(types, ", ") + "]}"
}

// managedHookCases and managedTagCases are refused there as they are for an AWSMachinePool, whose tests say more of them.
func managedSharedRefusals() []ruleCase {
	var cases []ruleCase
	for _, c := range slices.Concat(hookCases, sharedCases) {
		if strings.Contains(c.refuse, "lifecycleHooks") || strings.Contains(c.refuse, "additionalTags") {
			cases = append(cases, c)
		}
	}
	return cases
}

// TestCAPAManagedManifestsApply holds shapes of manifests and of stored objects that work with CAPA.
func TestCAPAManagedManifestsApply(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason, spec string
	}{
		{"nothing at all", `{}`},
		{"as CAPA's webhook leaves it", `{eksNodegroupName: default_pool, amiType: AL2_x86_64, capacityType: onDemand, updateConfig: {maxUnavailable: 1}}`},
		{"a template engine leaves empty strings behind", `{eksNodegroupName: "", roleName: "", rolePath: "", rolePermissionsBoundary: "",
			awsLaunchTemplate: {name: "", iamInstanceProfile: "", instanceType: "", ami: {id: ""}}}`},
		{"without a launch template, as in CAPA's documentation", `{instanceType: t3.large, diskSize: 40, scaling: {minSize: 1, maxSize: 10},
			remoteAccess: {sshKeyName: default, public: true}, labels: {a: b}, taints: [{key: a, value: b, effect: prefer-no-schedule}]}`},
		{"with a launch template, as in CAPA's end-to-end tests", `{amiType: CUSTOM, awsLaunchTemplate: {instanceType: t3.large}}`},
		{"with an image of one's own, and the default of amiType", `{awsLaunchTemplate: {instanceType: t3.large, ami: {id: ami-0123456789abcdef0}}}`},
		{"Spot with taints and policies", `{capacityType: spot, roleAdditionalPolicies: ["arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"],
			roleName: nodes, subnetIDs: [subnet-1], availabilityZones: [us-east-1a], availabilityZoneSubnetType: private}`},
		{"bounds of one side", `{scaling: {minSize: 1}}`},
		{"no bounds", `{scaling: {}, nodeRepairConfig: {}, remoteAccess: {}}`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			for _, version := range []string{"v1beta1", "v1beta2"} {
				base := strings.Replace(managedPoolBase, "v1beta2", version, 1)
				if _, err := resource(t, "AWSManagedMachinePool", version).Create(t.Context(), object(t, base, "spec: {scaling: null}", "spec: "+c.spec)); err != nil {
					t.Errorf("%s: %v", version, err)
				}
			}
		})
	}
}

// TestManagedExampleApplies holds that the example is taken as it is.
func TestManagedExampleApplies(t *testing.T) {
	t.Parallel()
	_, document, found := strings.Cut(examples.ManagedMachinePool, "\n---\napiVersion: infrastructure.")
	if !found {
		t.Fatal("the example has no AWSManagedMachinePool")
	}
	if _, err := resource(t, "AWSManagedMachinePool", "v1beta2").Create(t.Context(), object(t, "apiVersion: infrastructure."+document)); err != nil {
		t.Error(err)
	}
}

// TestManagedDefaults holds CAPA's defaults, and that nothing else is filled in: the user's spec is the user's.
func TestManagedDefaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ reason, given, stored string }{
		{"the family and how instances are bought", `{}`, `{amiType: AL2_x86_64, capacityType: onDemand}`},
		{"repair is off", `{nodeRepairConfig: {}}`, `{amiType: AL2_x86_64, capacityType: onDemand, nodeRepairConfig: {enabled: false}}`},
		{"nothing in what EKS has defaults for", `{warmPool: {}, updateConfig: {maxUnavailable: 1}, awsLaunchTemplate: {}}`,
			`{amiType: AL2_x86_64, capacityType: onDemand, warmPool: {}, updateConfig: {maxUnavailable: 1}, awsLaunchTemplate: {}}`},
	} {
		got, err := resource(t, "AWSManagedMachinePool", "v1beta2").Create(t.Context(), object(t, managedPoolBase, "spec: "+c.given))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(object(t, managedPoolBase, "spec: "+c.stored), got); diff != "" {
			t.Errorf("%s: stored (-want +got):\n%s", c.reason, diff)
		}
	}
}

// TestOwnImage holds whose image nodes boot; the rules EK12 and EK21 say the same in CEL.
func TestOwnImage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason, spec string
		want         bool
	}{
		{"EKS chooses by default", `{}`, false},
		{"the family alone", `{amiType: BOTTLEROCKET_ARM_64}`, false},
		{"a launch template without an image", `{awsLaunchTemplate: {instanceType: m5.large, ami: {id: ""}}}`, false},
		{"an image", `{awsLaunchTemplate: {ami: {id: ami-0123456789abcdef0}}}`, true},
		{"an image that EKS published", `{awsLaunchTemplate: {ami: {eksLookupType: AmazonLinux2023}}}`, true},
		{"an image by its name", `{awsLaunchTemplate: {imageLookupFormat: "golden-{{.K8sVersion}}"}}`, true},
		{"an image that is looked up without further words", `{amiType: CUSTOM, awsLaunchTemplate: {}}`, true},
		{"that of an AWSLaunchConfig", `{amiType: CUSTOM, launchConfigRef: {name: config}}`, true},
	} {
		stored, err := resource(t, "AWSManagedMachinePool", "v1beta2").Create(t.Context(), object(t, managedPoolBase, "spec: "+c.spec))
		if err != nil {
			t.Fatalf("%s: %v", c.reason, err)
		}
		var pool infrav1.AWSManagedMachinePool
		toGo(t, stored, &pool)
		if got := pool.Spec.OwnImage(); got != c.want {
			t.Errorf("%s: own image is %v", c.reason, got)
		}
	}
}
