package v1beta2_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-project/slipway/internal/apitest"
)

// ruleCase is one rule with a neighbor on either side of it: what it must let through, and what it
// must refuse with a message that says what to do. Both are merge patches for an object that is
// accepted as it is.
type ruleCase struct {
	rule   string
	reason string
	accept string
	refuse string
	says   string
}

func tags(n int) string { return "{additionalTags: " + tagMap(n) + "}" }

func tagMap(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("k%d: v", i))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// poolCases are about what every pool has.
var poolCases = []ruleCase{
	{
		rule: "LT1", reason: "EC2's alphabet for template names",
		accept: `{awsLaunchTemplate: {name: "team/(a).b_c-1"}}`, refuse: `{awsLaunchTemplate: {name: "a b c"}}`,
		says: "a launch template name must have 3 to 128 characters",
	},
	{
		rule: "LT1", reason: "the empty name is no name", accept: `{awsLaunchTemplate: {name: ""}}`,
		refuse: `{awsLaunchTemplate: {name: ab}}`, says: "a launch template name must have 3 to 128 characters",
	},
	{
		rule: "AS2", reason: "a group has to know a type to launch",
		accept: `{awsLaunchTemplate: {instanceType: null}, mixedInstancesPolicy: {overrides: [{instanceType: m5.large}]}}`,
		refuse: `{awsLaunchTemplate: {instanceType: ""}, mixedInstancesPolicy: {overrides: []}}`,
		says:   "set awsLaunchTemplate.instanceType",
	},
	{
		rule: "AS3", reason: "Auto Scaling calls such a template incompatible",
		accept: `{mixedInstancesPolicy: {instancesDistribution: {onDemandPercentageAboveBaseCapacity: 0}}}`,
		refuse: `{mixedInstancesPolicy: {}, awsLaunchTemplate: {spotMarketOptions: {}}}`,
		says:   "remove awsLaunchTemplate.spotMarketOptions",
	},
	{
		rule: "AS3", reason: "marketType asks for Spot too",
		accept: `{mixedInstancesPolicy: {}, awsLaunchTemplate: {marketType: OnDemand}}`,
		refuse: `{mixedInstancesPolicy: {}, awsLaunchTemplate: {marketType: Spot}}`,
		says:   "remove awsLaunchTemplate.spotMarketOptions",
	},
	{
		rule: "CB1", reason: "AWS does not mix Capacity Blocks",
		accept: `{awsLaunchTemplate: {marketType: CapacityBlock, capacityReservationId: cr-0123456789abcdef0}}`,
		refuse: `{awsLaunchTemplate: {marketType: CapacityBlock, capacityReservationId: cr-0123456789abcdef0},
			mixedInstancesPolicy: {}}`,
		says: "Capacity Blocks cannot be used with mixedInstancesPolicy",
	},
	{
		rule: "AS9", reason: "bounds in order", accept: `{minSize: 3, maxSize: 3}`, refuse: `{minSize: 4, maxSize: 3}`,
		says: "minSize must be less than or equal to maxSize",
	},
	{
		rule: "AS9", reason: "no negative size", accept: `{minSize: 0}`, refuse: `{minSize: -1}`,
		says: "greater than or equal to 0",
	},
	{
		rule: "SL1", reason: "a subnet is named or described, as in CAPA",
		accept: `{subnets: [{id: subnet-1}, {filters: [{name: "tag:role", values: [nodes]}]}]}`,
		refuse: `{subnets: [{}]}`, says: "exactly one of id and filters must be set",
	},
}

var launchConfigCases = slices.Concat(madeConfigCases, existingCases)

var madeConfigCases = []ruleCase{
	{
		rule: "SL7", reason: "Ignition reads S3, not SSM", accept: `{bootstrap: {dataSecretName: s, storage: S3, ignition: {}}}`,
		refuse: `{bootstrap: {dataSecretName: s, storage: SSM, ignition: {}}}`, says: "set storage to S3 or UserData",
	},
	{
		rule: "SL7", reason: "one place for the data, in place",
		accept: `{bootstrap: {dataSecretName: s, storage: UserData, ignition: {storageType: UnencryptedUserData}}}`,
		refuse: `{bootstrap: {dataSecretName: s, storage: UserData, ignition: {}}}`, says: "set ignition.storageType to UnencryptedUserData",
	},
	{
		rule: "SL7", reason: "one place for the data, in S3", accept: `{bootstrap: {dataSecretName: s, storage: S3, ignition: {}}}`,
		refuse: `{bootstrap: {dataSecretName: s, storage: S3, ignition: {storageType: UnencryptedUserData}}}`,
		says:   "set ignition.storageType to ClusterObjectStore",
	},
	{
		rule: "LT1", reason: "EC2's alphabet for template names",
		accept: `{launchTemplateName: "team/(a).b_c-1"}`, refuse: `{launchTemplateName: "a*b"}`, says: "a launch template name must have 3 to 128 characters",
	},
	{
		rule: "LT1", reason: "one field for one thing", accept: `{name: ""}`, refuse: `{name: nodes}`,
		says: "name is not supported",
	},
	{
		rule: "SL3", reason: "images are looked up for a version", accept: `{kubernetesVersion: v1.34.2+k3s1}`,
		refuse: `{kubernetesVersion: "1.34"}`, says: "must be a Kubernetes version, such as v1.34.2",
	},
	{
		rule: "SL29", reason: "a dry run is of a type", accept: `{verify: DryRun}`, refuse: `{instanceType: "", verify: DryRun}`, says: "a dry run requires an instance type",
	},
	{
		rule: "SL29", reason: "and of an image", accept: `{verify: DryRun, nodegroup: {amiType: CUSTOM}}`,
		refuse: `{verify: DryRun, nodegroup: {amiType: AL2023_x86_64_STANDARD}}`, says: "a dry run needs an image, but EKS chooses the image of this pool",
	},
	{
		rule: "EK2", reason: "a node group has subnets", accept: `{nodegroup: {amiType: CUSTOM}, networkInterfaces: [{deviceIndex: 0}]}`,
		refuse: `{nodegroup: {amiType: CUSTOM}, networkInterfaces: [{deviceIndex: 0, subnet: {id: subnet-1}}]}`, says: "EKS rejects launch templates that specify subnets, because a node group has its own",
	},
	{
		rule: "EK3", reason: "EKS ends instances", accept: `{instanceInitiatedShutdownBehavior: terminate}`,
		refuse: `{nodegroup: {amiType: CUSTOM}, instanceInitiatedShutdownBehavior: stop}`, says: "remove instanceInitiatedShutdownBehavior",
	},
	{
		rule: "EK4", reason: "nodes of EKS do not hibernate", accept: `{hibernationOptions: {configured: true}}`,
		refuse: `{nodegroup: {amiType: CUSTOM}, hibernationOptions: {configured: false}}`, says: "remove hibernationOptions",
	},
	{
		rule: "EK5", reason: "the node group asks for Spot", accept: `{nodegroup: {amiType: CUSTOM}, instanceMarketOptions: {marketType: capacity-block}, capacityReservationId: cr-1}`,
		refuse: `{nodegroup: {amiType: CUSTOM}, instanceMarketOptions: {marketType: spot}}`, says: "a node group requests Spot Instances with its capacityType, and EKS rejects launch templates that request them",
	},
	{
		rule: "EK6", reason: "the node group lists types", accept: `{instanceType: null, instanceRequirements: {vCPUCount: {min: 1}, memoryMiB: {min: 1}}}`,
		refuse: `{instanceType: null, nodegroup: {amiType: CUSTOM}, instanceRequirements: {vCPUCount: {min: 1}, memoryMiB: {min: 1}}}`,
		says:   "EKS node groups must list their instance types",
	},
}

// Templates of pools refuse what the pools refuse, and what is of one pool alone.
var (
	machinePoolTemplateCases = []ruleCase{
		{
			rule: "SL30", reason: "the group is of one pool", accept: `{minSize: 2}`, refuse: `{providerID: "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:1"}`,
			says: "Slipway sets providerID and providerIDList of each pool",
		},
		{
			rule: "SL30", reason: "so are its instances", accept: `{minSize: 2}`, refuse: `{providerIDList: ["aws:///us-east-1a/i-1"]}`,
			says: "Slipway sets providerID and providerIDList of each pool",
		},
		{rule: "AS9", reason: "bounds in order, as in a pool", accept: `{minSize: 3}`, refuse: `{minSize: 4}`, says: "minSize must be less than or equal to " +
			"maxSize"},
	}
	managedPoolTemplateCases = []ruleCase{
		{
			rule: "SL30", reason: "instances are of one pool", accept: `{labels: {team: payments}}`, refuse: `{providerIDList: ["aws:///us-east-1a/i-1"]}`,
			says: "Slipway sets providerIDList of each pool",
		},
		{
			rule: "SL31", reason: "two pools of a cluster cannot have one node group", accept: `{eksNodegroupName: ""}`, refuse: `{eksNodegroupName: nodes}`,
			says: "node group names are unique in a cluster, but a template is used for many pools",
		},
	}
)

const bootstrapIgnition = "spec: {bootstrap: {dataSecretName: s, ignition: %s}}"

// ruleGroup is the cases for a version of a kind, and where their patches go in a base object.
type ruleGroup struct {
	kind, version, base, wrap string
	cases                     []ruleCase
}

func ruleGroups() []ruleGroup {
	return []ruleGroup{
		{"AWSMachinePool", "v1beta2", machinePoolBase, "spec: {awsLaunchTemplate: %s}", launchTemplateCases},
		{"AWSMachinePool", "v1beta1", machinePoolBase, "spec: {awsLaunchTemplate: %s}", launchTemplateCases},
		{"AWSLaunchConfig", "v1beta2", launchConfigBase, "spec: %s", launchTemplateCases},
		{"AWSMachinePool", "v1beta2", machinePoolBase, "spec: %s", sharedCases},
		{"AWSLaunchConfig", "v1beta2", launchConfigBase, "spec: %s", sharedCases},
		{"AWSMachinePool", "v1beta2", machinePoolBase, "spec: %s", machinePoolCases},
		{"AWSLaunchConfig", "v1beta2", launchConfigBase, "spec: %s", launchConfigCases},
		{"AWSLaunchConfig", "v1beta2", launchConfigBase, "spec: %s", launchDataCases},
		{"AWSLaunchConfig", "v1beta2", launchConfigBase, "spec: %s", launchPlaceCases},
		{"AWSLaunchConfigTemplate", "v1beta2", launchConfigTemplateBase, inTemplate, launchTemplateCases},
		{"AWSLaunchConfigTemplate", "v1beta2", launchConfigTemplateBase, inTemplate, append(launchConfigTemplateCases, sharedCases...)},
		{"AWSLaunchConfigTemplate", "v1beta2", launchConfigTemplateBase, inTemplate, launchDataCases},
		{"AWSManagedMachinePool", "v1beta2", managedPoolBase, "spec: %s", managedPoolCases},
		{"AWSManagedMachinePool", "v1beta1", managedPoolBase, "spec: %s", managedPoolCases},
		{"AWSMachinePoolTemplate", "v1beta2", machinePoolTemplateBase, "spec: {template: {spec: %s}}", machinePoolTemplateCases},
		{"AWSManagedMachinePoolTemplate", "v1beta2", managedPoolTemplateBase, "spec: {template: {spec: %s}}", managedPoolTemplateCases},
		{"AWSMachinePool", "v1beta2", machinePoolBase, "spec: {ignition: %s}", ignitionCases},
		{"AWSLaunchConfig", "v1beta2", launchConfigBase, bootstrapIgnition, ignitionCases},
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	for _, group := range ruleGroups() {
		served := resource(t, group.kind, group.version)
		for _, c := range group.cases {
			accepted := object(t, group.base, fmt.Sprintf(group.wrap, c.accept))
			refused := object(t, group.base, fmt.Sprintf(group.wrap, c.refuse))

			t.Run(fmt.Sprintf("%s/%s/%s/%s", group.kind, group.version, c.rule, c.reason), func(t *testing.T) {
				t.Parallel()
				if _, err := served.Create(t.Context(), accepted); err != nil {
					t.Errorf("creating what is allowed (%s): %v", c.reason, err)
				}
				_, err := served.Create(t.Context(), refused)
				refusedWith(t, "creating", c, err)

				before := object(t, group.base, `metadata: {labels: {was: here}}`)
				if group.kind == "AWSManagedMachinePool" || strings.Contains(c.accept, "existing:") {
					// most of a node group cannot be changed, nor what a launch config follows:
					// TestTransitions
					before = accepted
				}
				stored, err := served.Create(t.Context(), before)
				if err != nil {
					t.Fatalf("creating the object to update: %v", err)
				}
				if strings.HasPrefix(c.rule, "LT1") {
					return // names cannot be edited at all: TestTransitions
				}
				updated, err := served.Update(t.Context(), stored, accepted)
				if err != nil {
					t.Errorf("updating to what is allowed (%s): %v", c.reason, err)
				}
				changes(t, served, stored, updated, err)
				updated, err = served.Update(t.Context(), stored, refused)
				refusedWith(t, "updating", c, err)
				changes(t, served, stored, updated, err)
			})
		}
	}
}

func name(object map[string]any) any { return object["metadata"].(map[string]any)["name"] }

// changes holds that an update of the spec has the same outcome, given as err, if only what changed is
// validated, as the API server of the simulation does.
func changes(t *testing.T, served *apitest.Resource, before, after map[string]any, err error) {
	t.Helper()
	if after == nil || !reflect.DeepEqual(name(before), name(after)) {
		return // more than the spec changed
	}
	if alone := served.ValidateChange(t.Context(), before, after, "spec"); (alone == nil) != (err == nil) {
		t.Errorf("validating the change alone returns %v, and validating the update %v", alone, err)
	}
}

func refusedWith(t *testing.T, what string, c ruleCase, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s what is not allowed (%s) was accepted: %s", what, c.reason, c.refuse)
		return
	}
	if !strings.Contains(err.Error(), c.says) {
		t.Errorf("%s what is not allowed (%s): the message does not say %q:\n%v", what, c.reason, c.says, err)
	}
}
