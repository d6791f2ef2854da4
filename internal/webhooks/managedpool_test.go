package webhooks

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	eksv1 "sigs.k8s.io/cluster-api-provider-aws/v2/controlplane/eks/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
)

// managedWarningCases are managed pools that are warned of and their neighbors that are not, each
// with the family and the type that warn of nothing.
var managedWarningCases = []warningCase{
	{rule: "EK11W", reason: "types of the node group", spec: `{awsLaunchTemplate: {}, instanceTypes: [m5.large]}`},
	{rule: "EK11W", reason: "the type of the launch template", spec: `{instanceTypes: null, awsLaunchTemplate: {instanceType: m5.large}}`},
	{rule: "EK11W", reason: "an AWSLaunchConfig has a type, perhaps", spec: `{instanceTypes: null, launchConfigRef: {name: config}}`},
	{rule: "EK11W", reason: "no type", spec: `{instanceTypes: null, awsLaunchTemplate: {}}`, says: "EKS launches t3.medium"},
	{rule: "EK33", reason: "EKS's image is tainted as it boots", spec: `{awsLaunchTemplate: {}, taints: [{key: a, value: b, effect: no-schedule}]}`},
	{rule: "EK33", reason: "an image of one's own is tainted late", spec: `{amiType: CUSTOM, awsLaunchTemplate: {}, taints: [{key: a, value: b, effect: no-schedule}]}`,
		says: "--register-with-taints"},
	{rule: "EK34", reason: "two hops", spec: `{awsLaunchTemplate: {instanceMetadataOptions: {httpEndpoint: enabled, httpPutResponseHopLimit: 2}}}`},
	{rule: "EK34", reason: "no metadata at all", spec: `{awsLaunchTemplate: {instanceMetadataOptions: {httpEndpoint: disabled, httpPutResponseHopLimit: 1}}}`},
	{rule: "EK34", reason: "one hop", spec: `{awsLaunchTemplate: {instanceMetadataOptions: {httpEndpoint: enabled, httpPutResponseHopLimit: 1}}}`, says: "set it to 2"},
	{rule: "SL23", reason: "beside a launch template families and releases stay", spec: `{amiVersion: 1.34.1-20251103, awsLaunchTemplate: {}}`},
	{rule: "SL23", reason: "a type of the pool's", spec: `{instanceTypes: null, instanceType: m5.large, amiType: CUSTOM, awsLaunchTemplate: null}`, says: "spec.amiType, instanceType"},
	{rule: "SL23", reason: "all that will go away", spec: `{instanceTypes: null, instanceType: m5.large, diskSize: 20, amiVersion: 1.34.1-20251103, awsLaunchTemplate: null}`,
		says: "spec.amiType, amiVersion, diskSize, instanceType: without a launch template until September 2027 at least"},
	{rule: "SL25", reason: "an image that is kept up", spec: `{awsLaunchTemplate: {}}`},
	{rule: "SL25", reason: "the default does not matter beside an image of one's own", spec: `{amiType: AL2_x86_64, awsLaunchTemplate: {ami: {id: ami-0123456789abcdef0}}}`},
	{rule: "SL25", reason: "the default", spec: `{amiType: AL2_x86_64, awsLaunchTemplate: {}}`, says: "use AL2023_x86_64_STANDARD"},
	{rule: "SL25", reason: "GPUs", spec: `{amiType: AL2_x86_64_GPU, awsLaunchTemplate: {}}`, says: "use AL2023_x86_64_NVIDIA"},
	{rule: "SL25", reason: "arm64", spec: `{amiType: AL2_ARM_64, awsLaunchTemplate: {}}`, says: "use AL2023_ARM_64_STANDARD"},
	{rule: "SL26", reason: "all but none", spec: `{awsLaunchTemplate: {}, scaling: {maxSize: 3}, updateConfig: {maxUnavailable: 3}}`},
	{rule: "SL26", reason: "more than all", spec: `{awsLaunchTemplate: {}, scaling: {maxSize: 3}, updateConfig: {maxUnavailable: 4}}`, says: "4 is more than scaling.maxSize, which is 3"},
	{rule: "SL27", reason: "within bounds", spec: `{awsLaunchTemplate: {}, scaling: {minSize: 1, maxSize: 3}}`, replicas: ptr.To[int32](3)},
	{rule: "SL27", reason: "a bound on one side", spec: `{awsLaunchTemplate: {}, scaling: {minSize: 1}}`, replicas: ptr.To[int32](9)},
	{rule: "SL27", reason: "an autoscaler's replicas follow", spec: `{awsLaunchTemplate: {}, scaling: {maxSize: 3}}`, replicas: ptr.To[int32](9), autoscaled: "external-autoscaler"},
	{rule: "SL27", reason: "above", spec: `{awsLaunchTemplate: {}, scaling: {minSize: 1, maxSize: 3}}`, replicas: ptr.To[int32](4), says: "is 4, which"},
	{rule: "SL32", reason: "the cluster's", spec: `{awsLaunchTemplate: {}}`, version: "v1.34.2"},
	{rule: "SL32", reason: "an older one", spec: `{awsLaunchTemplate: {}}`, version: "v1.33.2", says: "Set the version to 1.34"},
}

// TestVersionWarning holds that a version that EKS does not take is warned of with the pool and
// with its MachinePool, whichever is written.
func TestVersionWarning(t *testing.T) {
	t.Parallel()
	scheme := reconciletest.Scheme(t, infrav1.AddToScheme, clusterv1.AddToScheme, eksv1.AddToScheme)
	name := metav1.ObjectMeta{Namespace: "one", Name: "workers"}
	controlPlane := &eksv1.AWSManagedControlPlane{ObjectMeta: name}
	controlPlane.Spec.EKSClusterName, controlPlane.Spec.NetworkSpec.VPC.ID, controlPlane.Spec.Version = "blue", "vpc-1", ptr.To("v1.34")
	controlPlane.Status.Network.SecurityGroups = map[capav1.SecurityGroupRole]capav1.SecurityGroup{
		capav1.SecurityGroupNode: {ID: "sg-1"}, capav1.SecurityGroupEKSNodeAdditional: {ID: "sg-2"},
	}
	owner := &clusterv1.Cluster{ObjectMeta: name}
	owner.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{Kind: "AWSManagedControlPlane", Name: "workers"}
	owner.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	for _, row := range []struct {
		reason, version string
		ownImage        bool
		present         string
		says            string
	}{
		{reason: "the cluster's", version: "v1.34.3"},
		{reason: "an older one", version: "v1.33.3", says: "EKS creates a node group only with the version of the cluster, which is 1.34"},
		{reason: "an older one that the node group has", version: "v1.33.3", present: "1.33"},
		{reason: "an image of one's own", version: "v1.33.3", ownImage: true},
	} {
		pool := managedPoolWith(t, "{awsLaunchTemplate: {instanceType: m5.large}, instanceTypes: null}")
		pool.ObjectMeta = name
		if row.ownImage {
			pool.Spec.AMIType = ptr.To(infrav1.AMITypeCustom)
		}
		if row.present != "" {
			pool.Status.Nodegroup = &infrav1.NodegroupStatus{Name: "one_workers", KubernetesVersion: row.present}
		}
		machinePool := &clusterv1.MachinePool{ObjectMeta: name}
		machinePool.Spec.ClusterName, machinePool.Spec.Template.Spec.Version = "workers", row.version
		machinePool.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
			APIGroup: infrav1.GroupVersion.Group, Kind: "AWSManagedMachinePool", Name: "workers",
		}
		reader := indexed(scheme).WithObjects(controlPlane, owner, pool, machinePool).Build()
		ofPool, err := (&managedPools{reader: reader}).ValidateCreate(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
		before := machinePool.DeepCopy()
		before.Spec.Template.Spec.Version = "v1.34.0"
		ofMachinePool, err := (&coreMachinePools{reader: reader}).ValidateUpdate(t.Context(), before, machinePool)
		if err != nil {
			t.Fatal(err)
		}
		for where, said := range map[string][]string{"the pool": ofPool, "its MachinePool": ofMachinePool} {
			if row.says == "" && len(said) > 0 || row.says != "" && (len(said) != 1 || !strings.Contains(said[0], row.says)) {
				t.Errorf("%s, with %s: it says %q", row.reason, where, said)
			}
		}
	}
}

func TestManagedWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range managedWarningCases {
		t.Run(c.rule+"/"+c.reason, func(t *testing.T) {
			t.Parallel()
			judged(t, c, managedPoolWarnings(managedSubject{pool: managedPoolWith(t, c.spec), wanted: wantedBy(c), controlPlaneVersion: "1.34"}))
		})
	}
}

func managedPoolWith(t *testing.T, spec string) *infrav1.AWSManagedMachinePool {
	t.Helper()
	pool := &infrav1.AWSManagedMachinePool{}
	pool.Spec.AMIType = ptr.To(infrav1.AMITypeAL2023X86)
	pool.Spec.InstanceTypes = []string{"m5.large"}
	if err := yaml.UnmarshalStrict([]byte("spec: "+spec), pool); err != nil {
		t.Fatal(err)
	}
	return pool
}

// TestOnlyPeopleAreWarnedOfManagedPools: the controller's own writes would fill logs.
func TestOnlyPeopleAreWarnedOfManagedPools(t *testing.T) {
	t.Parallel()
	validator := &managedPools{reader: nothing{}}
	before := managedPoolWith(t, `{awsLaunchTemplate: null, diskSize: 20}`)
	written := before.DeepCopy()
	written.Spec.ProviderIDList = []string{"x"}
	if warnings, err := validator.ValidateUpdate(t.Context(), before, written); err != nil || len(warnings) > 0 {
		t.Errorf("the controller is warned: %q, %v", warnings, err)
	}
	edited := before.DeepCopy()
	edited.Spec.Labels = map[string]string{"a": "b"}
	if warnings, err := validator.ValidateUpdate(t.Context(), before, edited); err != nil || len(warnings) != 1 {
		t.Errorf("a person is not warned: %q, %v", warnings, err)
	}
}
