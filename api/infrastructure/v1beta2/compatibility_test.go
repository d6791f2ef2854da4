package v1beta2_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestExampleApplies holds the manifest of CAPA's documentation: it says v1beta1, and must mean in
// Slipway's types what it says, with nothing added but what was left open.
func TestExampleApplies(t *testing.T) {
	t.Parallel()
	stored, err := resource(t, "AWSMachinePool", "v1beta1").Create(t.Context(), exampleMachinePool(t))
	if err != nil {
		t.Fatal(err)
	}
	var got infrav1.AWSMachinePool
	toGo(t, stored, &got)
	want := infrav1.AWSMachinePoolSpec{
		MinSize:           1,
		MaxSize:           10,
		AvailabilityZones: []string{"us-east-1a"},
		AWSLaunchTemplate: &infrav1.AWSLaunchTemplate{InstanceType: "t3.large", SSHKeyName: ptr.To("default")},
		Subnets:           []infrav1.AWSResourceReference{{ID: ptr.To("subnet-0b2000000000000aa")}},
	}
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

func exampleMachinePool(t *testing.T) map[string]any {
	t.Helper()
	content, err := os.ReadFile("../../../examples/machinepool.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range strings.Split(string(content), "\n---\n") {
		if !strings.Contains(document, "\nkind: AWSMachinePool\n") {
			continue
		}
		encoded, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		return fromJSON(t, encoded)
	}
	t.Fatal("the example has no AWSMachinePool")
	return nil
}

// TestCAPAManifestsApply holds shapes of manifests that work with CAPA, and that a stricter schema
// would refuse by mistake.
func TestCAPAManifestsApply(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		spec   string
	}{
		{"nothing but a type: sizes have defaults", `{minSize: null, maxSize: null}`},
		{"a template engine leaves empty strings behind", `{providerID: "", awsLaunchTemplate: {name: "", iamInstanceProfile: "",
			imageLookupFormat: "", imageLookupOrg: "", imageLookupBaseOS: "", sshKeyName: "", capacityReservationId: "",
			capacityReservationPreference: "", ami: {id: ""}, spotMarketOptions: {maxPrice: ""},
			rootVolume: {size: 20, type: "", deviceName: "", encryptionKey: ""}}}`},
		{"CAPA's Go client writes empty objects", `{awsLaunchTemplate: {ami: {}}, refreshPreferences: {}, mixedInstancesPolicy: {}}`},
		{"mixed instances as in CAPA's end-to-end tests", `{mixedInstancesPolicy: {instancesDistribution:
			{onDemandAllocationStrategy: prioritized, spotAllocationStrategy: lowest-price, onDemandBaseCapacity: 0,
			onDemandPercentageAboveBaseCapacity: 100}, overrides: [{instanceType: t3.large}, {instanceType: t3.medium}]}}`},
		{"an encryption key alone encrypts", `{awsLaunchTemplate: {rootVolume: {size: 50, type: gp3, encryptionKey:
			"arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"}}}`},
		{"zones without subnets, with a subnet type", `{availabilityZones: [us-east-1a], availabilityZoneSubnetType: private}`},
		{"a Spot pool by market type alone, on which CAPA panics", `{awsLaunchTemplate: {marketType: Spot}}`},
		{"group settings and hooks as in CAPA's documentation", `{defaultCoolDown: 5m0s, defaultInstanceWarmup: 0s, capacityRebalance: false,
			suspendProcesses: {all: true, processes: {launch: false, azRebalance: true}}, lifecycleHooks: [{name: pre, defaultResult: ABANDON,
			heartbeatTimeout: 600s, lifecycleTransition: "autoscaling:EC2_INSTANCE_TERMINATING"}],
			refreshPreferences: {strategy: Rolling, disable: false, instanceWarmup: 300, minHealthyPercentage: 90}}`},
		{"Ignition as in CAPA's documentation", `{ignition: {version: "3.4", storageType: UnencryptedUserData}}`},
		{"Ignition by its defaults", `{ignition: {}}`},
		{"subnets by filters", `{subnets: [{filters: [{name: availability-zone, values: [us-east-1a]}]}]}`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			for _, version := range []string{"v1beta1", "v1beta2"} {
				if _, err := resource(t, "AWSMachinePool", version).Create(t.Context(),
					object(t, machinePoolBase, "spec: "+c.spec)); err != nil {
					t.Errorf("%s: %v", version, err)
				}
			}
		})
	}
}

// TestDefaults holds CAPA's defaults, and that nothing else is filled in: fingerprints are taken
// over what is set.
func TestDefaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ reason, given, stored string }{
		{"sizes", `{minSize: null, maxSize: null}`, `{minSize: 1, maxSize: 1}`},
		{"no metadata options, no defaults", `{}`, `{}`},
		{
			"metadata options",
			`{awsLaunchTemplate: {instanceMetadataOptions: {}}}`,
			`{awsLaunchTemplate: {instanceMetadataOptions: {httpEndpoint: enabled, httpProtocolIpv6: disabled,
				httpPutResponseHopLimit: 1, httpTokens: optional, instanceMetadataTags: disabled}}}`,
		},
		{
			"distribution",
			`{mixedInstancesPolicy: {instancesDistribution: {}}}`,
			`{mixedInstancesPolicy: {instancesDistribution: {onDemandAllocationStrategy: prioritized,
				spotAllocationStrategy: lowest-price, onDemandBaseCapacity: 0, onDemandPercentageAboveBaseCapacity: 100}}}`,
		},
		{"volumes and preferences have none", `{awsLaunchTemplate: {rootVolume: {size: 8}}, refreshPreferences: {}}`,
			`{awsLaunchTemplate: {rootVolume: {size: 8}}, refreshPreferences: {}}`},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			got, err := resource(t, "AWSMachinePool", "v1beta2").Create(t.Context(),
				object(t, machinePoolBase, "spec: "+c.given))
			if err != nil {
				t.Fatal(err)
			}
			want := object(t, machinePoolBase, "spec: "+c.stored)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStatusIsAccepted holds that the controllers can write all of the status, and nothing terminal.
func TestStatusIsAccepted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, base, status string
		ok                 bool
	}{
		{"AWSMachinePool", machinePoolBase, `{ready: true, replicas: 0}`, true},
		{"AWSMachinePool", machinePoolBase, `{ready: true, initialization: {provisioned: true}, replicas: 2, readyReplicas: 1,
			upToDateReplicas: 0, observedGeneration: 3, launchTemplateID: lt-1, launchTemplateVersion: "3",
			autoScalingGroup: {name: pool, arn: "arn:aws:x"}, rollout: {refreshID: r, status: InProgress,
			percentageComplete: 50, reason: replacing, startTime: "2026-01-01T00:00:00Z"}, instances: [{instanceID: i-1,
			version: v1.34.0, launchTemplateVersion: "2", lifecycleState: InService, healthStatus: Healthy,
			availabilityZone: us-east-1a}], conditions: [{type: Ready, status: "True", reason: Ready, message: "",
			lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 3}]}`, true},
		{"AWSMachinePool", machinePoolBase, `{failureReason: x}`, false},
		{"AWSManagedMachinePool", managedPoolBase, `{ready: true, initialization: {provisioned: true}, replicas: 2, readyReplicas: 1, upToDateReplicas: 0,
			observedGeneration: 3, launchTemplateID: lt-1, launchTemplateVersion: "3", nodegroup: {name: default_pool, arn: "arn:aws:x", status: DEGRADED,
			amiType: CUSTOM, releaseVersion: ami-1, kubernetesVersion: "1.34", autoScalingGroup: eks-x}, retiring: {name: old},
			nodeRole: {name: nodes, arn: "arn:aws:y", managed: true}, wantedVersion: 3, wantedConfig: c, wantedSince: "2026-01-01T00:00:00Z",
			update: {id: u, type: VersionUpdate, status: Failed, cause: a, reason: b, startedFor: c, startTime: "2026-01-01T00:00:00Z", attempts: 2},
			failedUpdates: [{type: VersionUpdate, startedFor: c, attempts: 2, endTime: "2026-01-01T00:00:00Z"}, {type: Rollback, refusal: r}],
			deletion: {unseenSince: "2026-01-01T00:00:00Z", failedSince: "2026-01-01T00:00:00Z"},
			healthIssues: [{code: SourceEc2LaunchTemplateNotFound, message: m, resourceIDs: [lt-1]}], instances: [{instanceID: i-1}],
			conditions: [{type: Ready, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}`, true},
		{"AWSManagedMachinePool", managedPoolBase, `{failureMessage: x}`, false},
		{"AWSManagedMachinePool", managedPoolBase, `{initialization: {}}`, false},
		{"AWSMachinePool", machinePoolBase, `{initialization: {}}`, false},
		{"AWSMachinePool", machinePoolBase, `{instances: [{instanceID: i-1}, {instanceID: i-1}]}`, false},
		{"AWSLaunchConfig", launchConfigBase, `{observedGeneration: 1, launchTemplateID: lt-1, launchTemplateName: abc,
			version: 2, defaultVersion: 2, configFingerprint: c, bootstrapFingerprint: b, lastLostTemplateID: lt-0,
			resolved: {imageID: ami-1, imageArchitecture: x86_64, rootDeviceName: /dev/xvda, imageKey: k,
			instanceType: m5.large, securityGroupIDs: [sg-1], iamInstanceProfile: nodes, userDataBytes: 100},
			versions: [{number: 2, configFingerprint: c, bootstrapFingerprint: b, created: "2026-01-01T00:00:00Z",
			reason: x}, {number: 1}]}`, true},
		{"AWSLaunchConfig", launchConfigBase, `{versions: [{number: 0}]}`, false},
		{"AWSMachinePoolMachine", machinePoolMachineBase, `{ready: true, initialization: {provisioned: true},
			instance: {instanceID: i-1, lifecycleState: InService}}`, true},
	} {
		served := resource(t, c.kind, "v1beta2")
		stored, err := served.Create(t.Context(), object(t, c.base))
		if err != nil {
			t.Fatal(err)
		}
		_, err = served.UpdateStatus(t.Context(), stored, object(t, c.base, "status: "+c.status))
		if (err == nil) != c.ok {
			t.Errorf("%s: writing the status %s: %v", c.kind, c.status, err)
		}
	}
}

// TestZeroStatusHasWhatClusterAPIReads: Cluster API misses ready and replicas when they are left out.
func TestZeroStatusHasWhatClusterAPIReads(t *testing.T) {
	t.Parallel()
	got := fromGo(t, &infrav1.AWSMachinePool{})["status"]
	want := map[string]any{"ready": false, "replicas": int64(0)}
	if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)); diff != "" {
		t.Errorf("zero status (-want +got):\n%s", diff)
	}
}
