package webhooks

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

type warningCase struct {
	rule, reason string
	spec         string
	replicas     *int32
	autoscaled   string
	// version is the Kubernetes version that the MachinePool asks for, in a cluster that has 1.34.
	version string
	says    string // empty: no warning at all
}

// warningCases are pools with a warning and their neighbors without one. Replicas are the replicas
// of the MachinePool; there is none if nil.
var warningCases = []warningCase{
	{rule: "AS10", reason: "within bounds", spec: `{minSize: 1, maxSize: 3}`, replicas: ptr.To[int32](3)},
	{rule: "AS10", reason: "above", spec: `{minSize: 1, maxSize: 3}`, replicas: ptr.To[int32](4), says: `is 4, which is not between 1 and 3`},
	{rule: "AS10", reason: "below", spec: `{minSize: 1, maxSize: 3}`, replicas: ptr.To[int32](0), says: `is 0, which`},
	{rule: "AS10", reason: "an autoscaler's replicas follow", spec: `{minSize: 1, maxSize: 3}`, replicas: ptr.To[int32](9), autoscaled: "external-autoscaler"},
	{rule: "AS10", reason: "which may be switched off", spec: `{minSize: 1, maxSize: 3}`, replicas: ptr.To[int32](9), autoscaled: "false", says: "is 9, which"},
	{rule: "AS13", reason: "room for two", spec: `{maxSize: 5, mixedInstancesPolicy: {overrides: [{weightedCapacity: 4}]}}`},
	{rule: "AS13", reason: "room for one", spec: `{maxSize: 4, mixedInstancesPolicy: {overrides: [{weightedCapacity: 1}, {weightedCapacity: 4}]}}`, says: "can count for 4 units, and the pool has 4"},
	{rule: "AS13", reason: "the MachinePool asks for less than there may be", spec: `{maxSize: 9, mixedInstancesPolicy: {overrides: [{weightedCapacity: 4}]}}`,
		replicas: ptr.To[int32](3), says: "the pool has 3"},
	{rule: "AS17", reason: "Spot where it is likely to stay", spec: `{capacityRebalance: true, mixedInstancesPolicy: {instancesDistribution:
		{onDemandPercentageAboveBaseCapacity: 0, spotAllocationStrategy: price-capacity-optimized}}}`},
	{rule: "AS17", reason: "Spot at the lowest price", spec: `{capacityRebalance: true, mixedInstancesPolicy: {instancesDistribution:
		{onDemandPercentageAboveBaseCapacity: 0, spotAllocationStrategy: lowest-price}}}`, says: "use price-capacity-optimized"},
	{rule: "AS17", reason: "no Spot by default", spec: `{capacityRebalance: true, mixedInstancesPolicy: {}}`, says: "the pool requests none"},
	{rule: "AS17", reason: "Spot by the launch template", spec: `{capacityRebalance: true, awsLaunchTemplate: {marketType: Spot}}`},
	{rule: "RF2W", reason: "to the end", spec: `{refreshPreferences: {checkpointPercentages: [50, 100]}}`},
	{rule: "RF2W", reason: "half way", spec: `{refreshPreferences: {checkpointPercentages: [20, 50]}}`, says: "the last checkpoint, which is 50"},
	{rule: "RF7W", reason: "back", spec: `{refreshPreferences: {alarms: [a], rollback: true}}`},
	{rule: "RF7W", reason: "stuck", spec: `{refreshPreferences: {alarms: [a]}}`, says: "set rollback to true"},
	{rule: "SL11", reason: "CAPA's users disable refreshes and nothing else", spec: `{refreshPreferences: {disable: true, strategy: Rolling}}`},
	{rule: "SL11", reason: "preferences for nothing", spec: `{refreshPreferences: {disable: true, rollback: true, checkpointPercentages: [50], alarms: [a]}}`,
		says: "spec.refreshPreferences"},
	{rule: "SL12", reason: "some processes may stop", spec: `{suspendProcesses: {processes: {azRebalance: true, launch: false, replaceUnhealthy: true}}}`},
	{rule: "SL12", reason: "one is needed", spec: `{suspendProcesses: {processes: {terminate: true}}}`, says: "terminate is suspended"},
	{rule: "SL12", reason: "all are stopped but one", spec: `{suspendProcesses: {all: true, processes: {launch: false}}}`, says: "instanceRefresh and terminate are suspended"},
	{rule: "SL12", reason: "another controller rolls out changes", spec: `{suspendProcesses: {all: true}, refreshPreferences: {disable: true}}`},
	{rule: "SL13", reason: "a balancer to ask", spec: `{healthCheck: {types: [ELB]}, targetGroupARNs: ["arn:x"]}`},
	{rule: "SL13", reason: "no balancer to ask", spec: `{healthCheck: {types: [EBS, ELB]}}`, says: "spec.healthCheck.types"},
	{rule: "SL14", reason: "protection is overruled", spec: `{newInstancesProtectedFromScaleIn: true, refreshPreferences: {scaleInProtectedInstances: Refresh}}`},
	{rule: "SL14", reason: "protection holds", spec: `{newInstancesProtectedFromScaleIn: true}`, says: "set refreshPreferences.scaleInProtectedInstances to Refresh"},
	{rule: "SL15", reason: "time to prepare", spec: `{warmPool: {}, lifecycleHooks: [{name: a, lifecycleTransition: "autoscaling:EC2_INSTANCE_LAUNCHING"}]}`},
	{rule: "SL15", reason: "no time to prepare", spec: `{warmPool: {}}`, says: "spec.warmPool"},
	{rule: "SL16", reason: "the pointer's version", spec: `{ignition: {version: "3.4", storageType: ClusterObjectStore}}`},
	{rule: "SL16", reason: "settings around the data", spec: `{ignition: {version: "3.4", storageType: UnencryptedUserData, proxy: {}}}`},
	{rule: "SL16", reason: "no pointer", spec: `{ignition: {version: "3.4", storageType: UnencryptedUserData}}`, says: "spec.ignition.version"},
	{rule: "SL17", reason: "off", spec: `{nodeDrain: {disable: true}}`},
	{rule: "SL17", reason: "a limit for nothing", spec: `{nodeDrain: {disable: true, timeout: 5m}}`, says: "spec.nodeDrain.timeout"},
	{rule: "SL18", reason: "templates", spec: `{terminationPolicies: [OldestLaunchTemplate, Default]}`},
	{rule: "SL18", reason: "configurations", spec: `{terminationPolicies: [OldestLaunchConfiguration]}`, says: "use OldestLaunchTemplate"},
	{rule: "MD2", reason: "off, with the schema's defaults", spec: `{awsLaunchTemplate: {instanceMetadataOptions: {httpEndpoint: disabled, httpTokens: optional,
		httpPutResponseHopLimit: 1, httpProtocolIpv6: disabled, instanceMetadataTags: disabled}}}`},
	{rule: "MD2", reason: "options for nothing", spec: `{awsLaunchTemplate: {instanceMetadataOptions: {httpEndpoint: disabled, httpTokens: required, httpPutResponseHopLimit: 2}}}`,
		says: "so httpPutResponseHopLimit and httpTokens have no effect"},
	{rule: "SL10", reason: "an image that is kept up", spec: `{awsLaunchTemplate: {ami: {eksLookupType: AmazonLinux2023GPU}}}`},
	{rule: "SL10", reason: "an image of another family", spec: `{awsLaunchTemplate: {ami: {eksLookupType: Bottlerocket}}}`},
	{rule: "SL10", reason: "an image that is not", spec: `{awsLaunchTemplate: {ami: {eksLookupType: AmazonLinux}}}`, says: "use AmazonLinux2023 instead of AmazonLinux"},
}

// launchConfigWarningCases have the spec of an AWSLaunchConfig.
var launchConfigWarningCases = []warningCase{
	{rule: "DP2", reason: "an image with its own kernel", spec: `{ami: {id: ami-01234567}, kernelId: ""}`},
	{rule: "DP2", reason: "a kernel beside it", spec: `{kernelId: aki-01234567, ramDiskId: ari-01234567}`, says: "spec.kernelId and ramDiskId: only paravirtual"},
	{rule: "EK35", reason: "a node group with one interface", spec: `{nodegroup: {amiType: CUSTOM}, networkInterfaces: [{deviceIndex: 0}]}`},
	{rule: "EK35", reason: "a node group with two", spec: `{nodegroup: {amiType: CUSTOM}, networkInterfaces: [{deviceIndex: 0}, {deviceIndex: 1}]}`,
		says: "cannot show node groups"},
	{rule: "MD2", reason: "off, and nothing more", spec: `{metadataOptions: {httpEndpoint: disabled, httpTokens: optional}}`},
	{rule: "MD2", reason: "options for nothing", spec: `{metadataOptions: {httpEndpoint: disabled, httpPutResponseHopLimit: 2}}`, says: "so httpPutResponseHopLimit has no effect"},
}

func TestLaunchConfigWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range launchConfigWarningCases {
		config := &infrav1.AWSLaunchConfig{}
		if err := yaml.UnmarshalStrict([]byte("spec: "+c.spec), config); err != nil {
			t.Fatal(err)
		}
		said, err := launchConfigs{nothing{}}.ValidateCreate(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		judged(t, c, said)
	}
}

// TestWarnings holds that the warning of each rule is the only one, that it describes the subject
// of the rule, and that it is short.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range warningCases {
		t.Run(c.rule+"/"+c.reason, func(t *testing.T) {
			t.Parallel()
			judged(t, c, machinePoolWarnings(subject{pool: poolWith(t, c.spec), wanted: wantedBy(c)}))
		})
	}
}

func wantedBy(c warningCase) wanted {
	if c.replicas == nil && c.version == "" {
		return wanted{}
	}
	pool := &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Name: "workers"}, Spec: clusterv1.MachinePoolSpec{Replicas: c.replicas}}
	pool.Spec.Template.Spec.Version = c.version
	if c.autoscaled != "" {
		pool.Annotations = map[string]string{clusterv1.ReplicasManagedByAnnotation: c.autoscaled}
	}
	return wanted{machinePool: pool}
}

func judged(t *testing.T, c warningCase, said []string) {
	t.Helper()
	if c.says == "" {
		if len(said) > 0 {
			t.Errorf("%s is warned of: %q", c.spec, said)
		}
		return
	}
	if len(said) != 1 || !strings.Contains(said[0], c.says) {
		t.Errorf("warnings are %q, want one that says %q", said, c.says)
	}
	for _, warning := range said {
		if !strings.HasPrefix(warning, "spec.") || len(warning) > 250 {
			t.Errorf("%q: name the field first, and be short (%d characters)", warning, len(warning))
		}
	}
}

func poolWith(t *testing.T, spec string) *infrav1.AWSMachinePool {
	t.Helper()
	pool := &infrav1.AWSMachinePool{}
	if err := yaml.UnmarshalStrict([]byte("spec: "+spec), pool); err != nil {
		t.Fatal(err)
	}
	return pool
}

// TestEveryWarningIsTried fails for a rule without a case that it warns about or without one that
// it lets pass, and for a rule without the marker that
// api/infrastructure/v1beta2/enforcement_test.go expects.
func TestEveryWarningIsTried(t *testing.T) {
	t.Parallel()
	rules, warned, passed := sets.New[string](), sets.New[string](), sets.New[string]()
	for id := range machinePoolRules {
		rules.Insert(id)
	}
	for id := range launchTemplateRules {
		rules.Insert(id)
	}
	for id := range managedPoolRules {
		rules.Insert(id)
	}
	for id := range launchConfigRules {
		rules.Insert(id)
	}
	for _, c := range slices.Concat(warningCases, managedWarningCases, launchConfigWarningCases) {
		if c.says == "" {
			passed.Insert(c.rule)
		} else {
			warned.Insert(c.rule)
		}
	}
	for what, got := range map[string]sets.Set[string]{"warned of": warned, "let pass": passed, "marked": marked(t)} {
		if diff := cmp.Diff(sets.List(rules), sets.List(got)); diff != "" {
			t.Errorf("rules that are %s (-there +tried):\n%s", what, diff)
		}
	}
}

func marked(t *testing.T) sets.Set[string] {
	t.Helper()
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := sets.New[string]()
	for _, source := range sources {
		content, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`(?m)^// \+slipway:warning=(\w+)$`).FindAllSubmatch(content, -1) {
			found.Insert(string(match[1]))
		}
	}
	return found
}

// TestOnlyPeopleAreWarned: the controller's own writes and those to objects that go away would fill logs.
func TestOnlyPeopleAreWarned(t *testing.T) {
	t.Parallel()
	validator := &machinePools{reader: nothing{}}
	before := poolWith(t, `{refreshPreferences: {alarms: [a]}}`)
	for _, c := range []struct {
		reason string
		change func(*infrav1.AWSMachinePool)
		want   int
	}{
		{"the controller writes provider IDs", func(pool *infrav1.AWSMachinePool) {
			pool.Spec.ProviderID, pool.Spec.ProviderIDList = "x", []string{"y"}
		}, 0},
		{"the controller writes annotations", func(pool *infrav1.AWSMachinePool) { pool.Annotations = map[string]string{"a": "b"} }, 0},
		{"a person edits", func(pool *infrav1.AWSMachinePool) { pool.Spec.MaxSize = 9 }, 1},
		{"a person edits what is deleted", func(pool *infrav1.AWSMachinePool) {
			pool.Spec.MaxSize, pool.DeletionTimestamp = 9, &metav1.Time{Time: metav1.Now().Time}
		}, 0},
	} {
		after := before.DeepCopy()
		c.change(after)
		warnings, err := validator.ValidateUpdate(t.Context(), before, after)
		if err != nil || len(warnings) != c.want {
			t.Errorf("%s: got %q, %v; want %d warnings", c.reason, warnings, err, c.want)
		}
	}

	config := &infrav1.AWSLaunchConfig{}
	config.Spec.AMI.EKSOptimizedLookupType = ptr.To(infrav1.EKSAMILookupTypeAmazonLinux)
	owned := config.DeepCopy()
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "AWSMachinePool", Name: "pool", Controller: ptr.To(true)}}
	for want, given := range map[int]*infrav1.AWSLaunchConfig{1: config, 0: owned} {
		warnings, err := launchConfigs{nothing{}}.ValidateUpdate(t.Context(), &infrav1.AWSLaunchConfig{}, given)
		if err != nil || len(warnings) != want {
			t.Errorf("launch config with owners %v: got %q, %v; want %d warnings", given.OwnerReferences, warnings, err, want)
		}
	}
}
