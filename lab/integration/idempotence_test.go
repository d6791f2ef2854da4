package integration

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// launchTemplates generates launch templates that are accepted and that AWS can launch from, odd
// but legal values among them: values that CAPA writes again and again, because AWS reads them back
// otherwise.
var launchTemplates = rapid.Custom(func(t *rapid.T) infrav1.AWSLaunchTemplate {
	template := infrav1.AWSLaunchTemplate{
		InstanceType:       rapid.SampledFrom([]string{"m6i.large", "m6i.xlarge", "m5.large"}).Draw(t, "type"),
		IamInstanceProfile: rapid.SampledFrom([]string{"", nodesProfile}).Draw(t, "profile"),
		SSHKeyName:         rapid.SampledFrom([]*string{nil, ptr.To(""), ptr.To("default")}).Draw(t, "key"),
		ImageLookupBaseOS:  rapid.SampledFrom([]string{"", "ubuntu-22.04"}).Draw(t, "base OS"),
		RootVolume: rapid.SampledFrom([]*infrav1.Volume{
			nil, {Size: 8}, {Size: 9, IOPS: 0, Type: "", EncryptionKey: ""}, {Size: 10, Type: "gp3", IOPS: 3000, Throughput: ptr.To[int64](125)},
			{Size: 11, Type: "io2", IOPS: 100, Encrypted: ptr.To(true)}, {Size: 12, Encrypted: ptr.To(false)},
		}).Draw(t, "root"),
		NonRootVolumes: rapid.SampledFrom([][]infrav1.Volume{
			nil, {}, {{DeviceName: "/dev/sdb", Size: 8}}, {{DeviceName: "/dev/sdc", Size: 8, Type: "gp2"}, {DeviceName: "/dev/sdb", Size: 125, Type: "st1"}},
		}).Draw(t, "volumes"),
		SpotMarketOptions: rapid.SampledFrom([]*infrav1.SpotMarketOptions{nil, {}, {MaxPrice: ptr.To("")}, {MaxPrice: ptr.To("0.50")}}).Draw(t, "spot"),
		InstanceMetadataOptions: rapid.SampledFrom([]*infrav1.InstanceMetadataOptions{
			nil, {}, {HTTPProtocolIPv6: "enabled"}, {HTTPTokens: "required", HTTPPutResponseHopLimit: 2, InstanceMetadataTags: "disabled"},
		}).Draw(t, "metadata"),
		EnclaveOptions: rapid.SampledFrom([]*infrav1.EnclaveOptions{nil, {}, {Enabled: ptr.To(false)}}).Draw(t, "enclave"),
		PrivateDNSName: rapid.SampledFrom([]*infrav1.PrivateDNSName{
			nil, {}, {HostnameType: ptr.To("ip-name")}, {EnableResourceNameDNSAAAARecord: ptr.To(false), EnableResourceNameDNSARecord: ptr.To(true)},
		}).Draw(t, "names"),
		CapacityReservationPreference: rapid.SampledFrom([]infrav1.CapacityReservationPreference{"", "None", "Open"}).Draw(t, "reservations"),
		AdditionalSecurityGroups: rapid.SampledFrom([][]infrav1.AWSResourceReference{
			nil, {}, {{ID: ptr.To("sg-0c1000000000000ab")}}, {{Filters: []infrav1.Filter{{Name: "group-name", Values: []string{"lb", "node"}}}}},
		}).Draw(t, "groups"),
	}
	return template
})

// groupSpecs generates what a group has in addition to its launch template.
var groupSpecs = rapid.Custom(func(t *rapid.T) infrav1.AWSMachinePoolSpec {
	spec := infrav1.AWSMachinePoolSpec{
		MixedInstancesPolicy: rapid.SampledFrom([]*infrav1.MixedInstancesPolicy{
			nil, nil, {Overrides: []infrav1.Overrides{{InstanceType: "m5.large"}}},
			{Overrides: []infrav1.Overrides{{InstanceType: "m5.large", WeightedCapacity: ptr.To[int32](1)}, {InstanceType: "m6i.large", WeightedCapacity: ptr.To[int32](2)}},
				InstancesDistribution: &infrav1.InstancesDistribution{SpotMaxPrice: "0.50", OnDemandPercentageAboveBaseCapacity: ptr.To[int64](0)}},
			{Overrides: []infrav1.Overrides{{InstanceRequirements: &infrav1.InstanceRequirements{
				VCPUCount: infrav1.RequiredRange{Min: 2}, MemoryMiB: infrav1.RequiredRange{Min: 1024}, CPUManufacturers: []string{"intel", "amd"}, BareMetal: "excluded",
			}}}},
		}).Draw(t, "policy"),
		Subnets: rapid.SampledFrom([][]infrav1.AWSResourceReference{
			{{ID: ptr.To(privateSubnetA)}}, {{ID: ptr.To(privateSubnetB)}, {ID: ptr.To(privateSubnetA)}},
			{{Filters: []infrav1.Filter{{Name: "subnet-id", Values: []string{privateSubnetB, privateSubnetA}}}}},
		}).Draw(t, "subnets"),
		HealthCheck:           rapid.SampledFrom([]*infrav1.HealthCheck{nil, {}, {Types: []string{"ELB", "EC2", "EBS"}}}).Draw(t, "health"),
		DefaultInstanceWarmup: rapid.SampledFrom([]*metav1.Duration{nil, {}, {Duration: time.Minute}}).Draw(t, "warmup"),
		SuspendProcesses: rapid.SampledFrom([]*infrav1.SuspendProcessesTypes{
			nil, {}, {Processes: &infrav1.Processes{AZRebalance: ptr.To(true)}},
		}).Draw(t, "processes"),
		CapacityReservation: rapid.SampledFrom([]*infrav1.GroupCapacityReservation{nil, {Preference: "default"}, {Preference: "none"}}).Draw(t, "group reservations"),
	}
	return spec
})

// TestIdempotence holds that after any accepted spec has had its effect, another look, by another
// manager even, writes nothing. IDEMPOTENCE_DRAWS=N draws more than the eight of an ordinary run,
// up to -rapid.checks.
func TestIdempotence(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool("  minSize: 1\n", "  minSize: 1\n  refreshPreferences: {disable: true}\n")
	draws, most := 0, 8
	if text, set := os.LookupEnv("IDEMPOTENCE_DRAWS"); set {
		var err error
		if most, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		// A run of the package's default number of checks would take minutes; the first draws of
		// each seed are what this test is.
		if draws++; draws > most && !t.Failed() {
			return
		}
		template := launchTemplates.Draw(rt, "launch template")
		tags := rapid.SampledFrom([]infrav1.Tags{nil, {}, {"empty": ""}, {"team": "a/b:c"}}).Draw(rt, "tags")
		group := groupSpecs.Draw(rt, "group")
		if group.MixedInstancesPolicy != nil {
			template.SpotMarketOptions = nil // a policy has its own say about Spot
		}
		w.editPool(func(pool *infrav1.AWSMachinePool) {
			pool.Spec.AWSLaunchTemplate, pool.Spec.AdditionalTags = &template, tags
			pool.Spec.MixedInstancesPolicy, pool.Spec.Subnets = group.MixedInstancesPolicy, group.Subnets
			pool.Spec.HealthCheck, pool.Spec.DefaultInstanceWarmup = group.HealthCheck, group.DefaultInstanceWarmup
			pool.Spec.SuspendProcesses, pool.Spec.CapacityReservation = group.SuspendProcesses, group.CapacityReservation
		})
		w.Eventually(fmt.Sprintf("%+v has its effect", template), w.acted)
		w.rest()
		w.awaitInstances()
		w.touch()
		w.stopManager()
		w.Cloud.AWS.ClearCalls()
		before, config := w.resourceVersions(), w.mustConfig()
		w.startManager()
		w.pass(5 * time.Minute)
		w.rest()
		if writes := w.writes(); len(writes) != 0 {
			rt.Errorf("another look wrote %q", writes)
		}
		for name, version := range w.resourceVersions() {
			if before[name] != version {
				rt.Errorf("another look wrote %s; the launch config's difference, if it is that:\n%s", name, cmp.Diff(config, w.mustConfig()))
			}
		}
	})
}

// unmoved is the simulated time for which the instances must have stood still before they count as
// settled: Auto Scaling balances zones a while after a subnet or a weight changed, which is no
// write of ours and changes status.
const unmoved = 10 * time.Minute

// awaitInstances waits until AWS moves no instance, and status shows them as they are.
func (w *world) awaitInstances() {
	w.Helper()
	var last []string
	since := w.clock.Now()
	w.Eventually("all instances stand still", func() error {
		var now, status []string
		for _, instance := range w.group().Instances {
			if instance.LifecycleState != asgtypes.LifecycleStateInService {
				return fmt.Errorf("instance %s is %s", *instance.InstanceId, instance.LifecycleState)
			}
			now = append(now, *instance.InstanceId)
		}
		for _, instance := range w.mustPool().Status.Instances {
			status = append(status, instance.InstanceID)
		}
		slices.Sort(now)
		slices.Sort(status)
		if !slices.Equal(now, last) || !slices.Equal(status, last) {
			last, since = now, w.clock.Now()
		}
		if w.clock.Since(since) < unmoved {
			return fmt.Errorf("they were %q a moment ago, and status has %q", last, status)
		}
		return nil
	})
}

// acted is nil once the pool is ready for its current spec and its group is at the wanted version,
// whatever its instances run.
func (w *world) acted() error {
	pool, err := w.pool()
	if err != nil {
		return err
	}
	config, err := w.config()
	if err != nil {
		return err
	}
	if pool.Status.ObservedGeneration != pool.Generation || config.Status.ObservedGeneration != config.Generation {
		return fmt.Errorf("a pass over generations %d and %d has not ended well yet", pool.Generation, config.Generation)
	}
	for _, object := range []conditioned{pool, config} {
		ready := meta.FindStatusCondition(object.GetConditions(), infrav1.ReadyCondition)
		if ready == nil || ready.Status != "True" || ready.ObservedGeneration != object.GetGeneration() {
			return fmt.Errorf("conditions of generation %d are %+v", object.GetGeneration(), object.GetConditions())
		}
	}
	if got, want := ptr.Deref(pool.Status.LaunchTemplateVersion, ""), fmt.Sprint(config.Status.Version); got != want {
		return fmt.Errorf("the group is at version %s of %s", got, want)
	}
	return nil
}
