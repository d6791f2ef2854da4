package v1beta2_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/examples"
	"github.com/slipway-project/slipway/internal/apitest/managedcases"
)

const managedPoolBase = managedcases.Base

// managedPoolCases hold for spec of an AWSManagedMachinePool.
var managedPoolCases = ruleCasesOf(managedcases.Rules)

func ruleCasesOf(cases []managedcases.Case) []ruleCase {
	var converted []ruleCase
	for _, c := range cases {
		converted = append(converted, ruleCase{rule: c.Rule, reason: c.Reason, accept: c.Accept, refuse: c.Refuse, says: c.Says})
	}
	return converted
}

// managedHookCases and managedTagCases are refused there as they are for an AWSMachinePool, whose
// tests cover them in more detail.
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

// TestManagedDefaults holds CAPA's defaults, and that nothing else is filled in: the user's spec is
// the user's.
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
