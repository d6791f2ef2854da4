package autoscalinggroup

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
)

func hook(name string) lifecyclehook.Hook {
	return lifecyclehook.Of([]infrav1.AWSLifecycleHook{{Name: name, LifecycleTransition: infrav1.LifecycleTransitionInstanceTerminating}})[0]
}

func (r *rig) hooks() []string {
	r.Helper()
	out, err := r.asg.DescribeLifecycleHooks(r.Context(), &autoscaling.DescribeLifecycleHooksInput{AutoScalingGroupName: awssdk.String("pool")})
	if err != nil {
		r.Fatal(err)
	}
	var names []string
	for _, hook := range out.LifecycleHooks {
		names = append(names, *hook.LifecycleHookName)
	}
	slices.Sort(names)
	return names
}

// expectCalls holds what our calls were since the last check, descriptions apart.
func (r *rig) expectCalls(reason string, want ...string) {
	r.Helper()
	var calls []string
	for _, call := range r.sim.Calls() {
		if len(call.Action) < 8 || call.Action[:8] != "Describe" {
			calls = append(calls, call.Action)
		}
	}
	if difference := cmp.Diff(want, calls); difference != "" {
		r.Errorf("%s: calls (-want +got):\n%s", reason, difference)
	}
	r.sim.ClearCalls()
}

// change applies the changes to one part of the desired group, and returns their effects.
func (r *rig) change(desired Desired, given Given, group *Group, part func(Desired, Given, Group) []Change) []string {
	r.Helper()
	changes := part(desired, given, *group)
	for _, change := range changes {
		if err := r.groups.Make(r.Context(), desired, change, group); err != nil {
			r.Fatal(err)
		}
	}
	return Effects(changes)
}

// TestEnsureHooks holds that foreign hooks stay, whatever ours are.
func TestEnsureHooks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	desired := r.here(plain())
	desired.Hooks = []lifecyclehook.Hook{hook("ours")}
	r.create(desired)
	if _, err := r.asg.PutLifecycleHook(t.Context(), &autoscaling.PutLifecycleHookInput{
		AutoScalingGroupName: awssdk.String("pool"), LifecycleHookName: awssdk.String("theirs"), LifecycleTransition: awssdk.String("autoscaling:EC2_INSTANCE_LAUNCHING"),
	}); err != nil {
		t.Fatal(err)
	}
	told := hook("told")
	told.TargetARN, told.RoleARN, told.Metadata = "arn:aws:sqs:us-east-1:111122223333:one", "arn:aws:iam::111122223333:role/one", "one"
	untold := hook("told")
	for _, row := range []struct {
		reason  string
		wanted  []lifecyclehook.Hook
		retired []string
		calls   []string
		want    []string
	}{
		{"made with the group", []lifecyclehook.Hook{hook("ours")}, []string{"ours"}, nil, []string{"ours", "theirs"}},
		{"one more", []lifecyclehook.Hook{hook("ours"), told}, []string{"ours"}, []string{"PutLifecycleHook"}, []string{"ours", "theirs", "told"}},
		{"as it is", []lifecyclehook.Hook{hook("ours"), told}, []string{"ours", "told"}, nil, []string{"ours", "theirs", "told"}},
		{"metadata cannot be taken away", []lifecyclehook.Hook{hook("ours"), untold}, []string{"ours", "told"}, []string{"DeleteLifecycleHook", "PutLifecycleHook"}, []string{"ours", "theirs", "told"}},
		{"one goes", []lifecyclehook.Hook{untold}, []string{"ours", "told", "gone", "no name of a hook"}, []string{"DeleteLifecycleHook", "DeleteLifecycleHook", "DeleteLifecycleHook"}, []string{"theirs", "told"}},
		{"all go", nil, []string{"told"}, []string{"DeleteLifecycleHook"}, []string{"theirs"}},
	} {
		r.sim.ClearCalls()
		done, err := r.groups.Hooks.Ensure(t.Context(), "pool", row.wanted, row.retired)
		if err != nil {
			t.Fatal(err)
		}
		if (len(done) > 0) != (len(row.calls) > 0) {
			t.Errorf("%s: done %q", row.reason, done)
		}
		r.expectCalls(row.reason, row.calls...)
		if got := r.hooks(); !slices.Equal(got, row.want) {
			t.Errorf("%s: hooks %q, want %q", row.reason, got, row.want)
		}
	}
}

// TestEnsureProcesses holds that a process that an operator suspended stays suspended, and that one
// that ours joins later is resumed with ours.
func TestEnsureProcesses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(r.here(plain()))
	if _, err := r.asg.SuspendProcesses(t.Context(), &autoscaling.SuspendProcessesInput{
		AutoScalingGroupName: awssdk.String("pool"), ScalingProcesses: []string{"ScheduledActions"},
	}); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		reason          string
		wanted, retired []string
		calls           []string
		want            []string
	}{
		{"nothing is wanted", nil, nil, nil, []string{"ScheduledActions"}},
		{"two", []string{"AZRebalance", "Launch"}, nil, []string{"SuspendProcesses"}, []string{"AZRebalance", "Launch", "ScheduledActions"}},
		{"another in place of one", []string{"AZRebalance", "Terminate"}, []string{"AZRebalance", "Launch"}, []string{"SuspendProcesses", "ResumeProcesses"},
			[]string{"AZRebalance", "ScheduledActions", "Terminate"}},
		{"none again", nil, []string{"AZRebalance", "HealthCheck", "Launch", "Terminate"}, []string{"ResumeProcesses"}, []string{"ScheduledActions"}},
	} {
		r.sim.ClearCalls()
		group := r.see("pool")
		r.change(Desired{Suspended: row.wanted}, Given{Processes: row.retired}, &group, processChanges)
		r.expectCalls(row.reason, row.calls...)
		if seen := r.see("pool"); !slices.Equal(seen.Suspended, row.want) || !slices.Equal(group.Suspended, row.want) {
			t.Errorf("%s: suspended %q, shown %q, want %q", row.reason, seen.Suspended, group.Suspended, row.want)
		}
	}
}

func TestSuspendedOf(t *testing.T) {
	t.Parallel()
	yes, no := ptr.To(true), ptr.To(false)
	each := &infrav1.Processes{}
	value := reflect.ValueOf(each).Elem()
	for i := range value.NumField() {
		value.Field(i).Set(reflect.ValueOf(yes))
	}
	all := SuspendedOf(&infrav1.SuspendProcessesTypes{All: true})
	for _, row := range []struct {
		reason string
		wanted *infrav1.SuspendProcessesTypes
		want   []string
	}{
		{"nothing said", nil, nil},
		{"nothing", &infrav1.SuspendProcessesTypes{Processes: &infrav1.Processes{Launch: no}}, nil},
		{"each by its name", &infrav1.SuspendProcessesTypes{Processes: each}, all},
		{"one", &infrav1.SuspendProcessesTypes{Processes: &infrav1.Processes{AZRebalance: yes, Launch: no}}, []string{"AZRebalance"}},
		{"all but one", &infrav1.SuspendProcessesTypes{All: true, Processes: &infrav1.Processes{AZRebalance: yes, Launch: no}}, without(all, []string{"Launch"})},
	} {
		if difference := cmp.Diff(row.want, SuspendedOf(row.wanted)); difference != "" {
			t.Errorf("%s:\n%s", row.reason, difference)
		}
	}
	r := newRig(t)
	known, err := r.asg.DescribeScalingProcessTypes(t.Context(), &autoscaling.DescribeScalingProcessTypesInput{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, process := range known.Processes {
		names = append(names, *process.ProcessName)
	}
	if difference := cmp.Diff(sorted(names), all); difference != "" {
		t.Errorf("all processes of AWS:\n%s", difference)
	}
}

func TestEnsureTargetGroups(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	desired := r.here(plain())
	desired.TargetGroupARNs = targetGroups[:1]
	r.create(desired)
	theirs := "arn:aws:elasticloadbalancing:us-east-1:111122223333:targetgroup/theirs/73e2d6bc24d8a060"
	if _, err := r.asg.AttachLoadBalancerTargetGroups(t.Context(), &autoscaling.AttachLoadBalancerTargetGroupsInput{
		AutoScalingGroupName: awssdk.String("pool"), TargetGroupARNs: []string{theirs},
	}); err != nil {
		t.Fatal(err)
	}
	var many []string
	for i := range 11 {
		many = append(many, fmt.Sprintf("arn:aws:elasticloadbalancing:us-east-1:111122223333:targetgroup/many%02d/73e2d6bc24d8a060", i))
	}
	for _, row := range []struct {
		reason          string
		wanted, retired []string
		calls           []string
	}{
		{"made with the group", targetGroups[:1], targetGroups[:1], nil},
		{"ten at once are attached", many, targetGroups[:1], []string{"AttachLoadBalancerTargetGroups", "AttachLoadBalancerTargetGroups", "DetachLoadBalancerTargetGroups"}},
		{"ten at once are detached", nil, many, []string{"DetachLoadBalancerTargetGroups", "DetachLoadBalancerTargetGroups"}},
		{"one that is not seen, and not attached", nil, targetGroups[:1], []string{"DetachLoadBalancerTargetGroups"}},
	} {
		r.sim.ClearCalls()
		group := r.see("pool")
		r.change(Desired{TargetGroupARNs: row.wanted}, Given{TargetGroups: row.retired}, &group, targetGroupChanges)
		r.expectCalls(row.reason, row.calls...)
		want := sorted(append(slices.Clone(row.wanted), theirs))
		if seen := r.see("pool"); !slices.Equal(seen.TargetGroupARNs, want) || !slices.Equal(group.TargetGroupARNs, want) {
			t.Errorf("%s: %q, shown %q, want %q", row.reason, seen.TargetGroupARNs, group.TargetGroupARNs, want)
		}
	}
}

// TestWarmPool holds that instances of a warm pool do not count as the group's, and that a group
// with one can be deleted.
func TestWarmPool(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	group := r.create(r.here(plain()))
	wanted := WarmPoolOf(&infrav1.WarmPool{MinSize: 1, State: "Running"})
	if put := r.change(Desired{WarmPool: wanted}, Given{}, &group, warmPoolChanges); len(put) != 1 {
		t.Fatalf("put %q", put)
	}
	r.settle()
	group = r.see("pool")
	warm, err := r.asg.DescribeWarmPool(t.Context(), &autoscaling.DescribeWarmPoolInput{AutoScalingGroupName: awssdk.String("pool")})
	if err != nil {
		t.Fatal(err)
	}
	if len(warm.Instances) != 2 || len(group.Instances) != 3 || group.Units() != 3 {
		t.Errorf("%d instances, %d warm, want 3 and up to the max size 2", len(group.Instances), len(warm.Instances))
	}
	if put := r.change(Desired{WarmPool: wanted}, Given{}, &group, warmPoolChanges); len(put) != 0 {
		t.Errorf("put once more: %q", put)
	}
	if deleted := r.change(Desired{}, Given{}, &group, warmPoolDeletion); len(deleted) != 1 {
		t.Fatalf("deleted %q", deleted)
	}
	r.settle()
	if group = r.see("pool"); group.WarmPool != nil || group.WarmPoolDeleting {
		t.Errorf("the group still has %+v", group.WarmPool)
	}
	r.change(Desired{WarmPool: wanted}, Given{}, &group, warmPoolChanges)
	r.settle()
	if err := r.groups.Delete(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	r.settle()
	if found, err := r.groups.Describe(t.Context(), []string{"pool"}); err != nil || len(found) != 0 {
		t.Errorf("the group is still there: %v, error %v", found, err)
	}
}

// TestRequirements holds that each member of the requirements of a pool reaches AWS's, and that no
// two are mixed up.
func TestRequirements(t *testing.T) {
	t.Parallel()
	number, decimals := ptr.To[int32](7), func() *infrav1.QuantityRange {
		return &infrav1.QuantityRange{Min: ptr.To(resource.MustParse("0.5")), Max: ptr.To(resource.MustParse("2"))}
	}
	whole := func() *infrav1.Range { return &infrav1.Range{Min: number, Max: ptr.To[int32](9)} }
	got := requirements(&infrav1.InstanceRequirements{
		VCPUCount: infrav1.RequiredRange{Min: 7, Max: ptr.To[int32](9)}, MemoryMiB: infrav1.RequiredRange{Min: 7, Max: ptr.To[int32](9)},
		MemoryGiBPerVCPU: decimals(), CPUManufacturers: []string{"intel", "amd"}, InstanceGenerations: []string{"current"},
		AllowedInstanceTypes: []string{"m5.*"}, ExcludedInstanceTypes: []string{"t3.*"}, BareMetal: "included", BurstablePerformance: "required",
		LocalStorage: "excluded", LocalStorageTypes: []string{"ssd"}, TotalLocalStorageGB: decimals(), NetworkInterfaceCount: whole(),
		NetworkBandwidthGbps: decimals(), BaselineEBSBandwidthMbps: whole(), AcceleratorCount: whole(), AcceleratorTypes: []string{"gpu"},
		AcceleratorManufacturers: []string{"nvidia"}, AcceleratorNames: []string{"a100"}, AcceleratorTotalMemoryMiB: whole(), RequireHibernateSupport: true,
		OnDemandMaxPricePercentageOverLowestPrice: ptr.To[int32](1), SpotMaxPricePercentageOverLowestPrice: ptr.To[int32](2),
		MaxSpotPriceAsPercentageOfOptimalOnDemandPrice: ptr.To[int32](3),
		BaselinePerformanceFactors: &infrav1.BaselinePerformanceFactors{
			CPU: infrav1.CPUPerformanceFactor{References: []infrav1.PerformanceFactorReference{{InstanceFamily: "c6i"}}},
		},
	})
	const want = `{AcceleratorCount:{Max:9,Min:7},AcceleratorManufacturers:[nvidia],AcceleratorNames:[a100],AcceleratorTotalMemoryMiB:{Max:9,Min:7},` +
		`AcceleratorTypes:[gpu],AllowedInstanceTypes:[m5.*],BareMetal:included,BaselineEbsBandwidthMbps:{Max:9,Min:7},BaselinePerformanceFactors:{Cpu:{References:[{InstanceFamily:c6i}]}},BurstablePerformance:required,` +
		`CpuManufacturers:[amd,intel],ExcludedInstanceTypes:[t3.*],InstanceGenerations:[current],LocalStorage:excluded,LocalStorageTypes:[ssd],` +
		`MaxSpotPriceAsPercentageOfOptimalOnDemandPrice:3,MemoryGiBPerVCpu:{Max:2,Min:0.5},MemoryMiB:{Max:9,Min:7},NetworkBandwidthGbps:{Max:2,Min:0.5},` +
		`NetworkInterfaceCount:{Max:9,Min:7},OnDemandMaxPricePercentageOverLowestPrice:1,RequireHibernateSupport:true,SpotMaxPricePercentageOverLowestPrice:2,` +
		`TotalLocalStorageGB:{Max:2,Min:0.5},VCpuCount:{Max:9,Min:7}}`
	if difference := cmp.Diff(want, requirementsText(got)); difference != "" {
		t.Errorf("requirements (-want +got):\n%s", difference)
	}
	value := reflect.ValueOf(*got)
	for i := range value.NumField() {
		name := value.Type().Field(i).Name
		if value.Field(i).IsZero() && name != "noSmithyDocumentSerde" {
			t.Errorf("%s is not set", name)
		}
	}
	if ours := reflect.TypeFor[infrav1.InstanceRequirements]().NumField(); ours != value.NumField()-1 {
		t.Errorf("a pool can say %d things, AWS %d", ours, value.NumField()-1)
	}
	defaults := &asgtypes.InstanceRequirements{
		VCpuCount: &asgtypes.VCpuCountRequest{Min: ptr.To[int32](0)}, BareMetal: "excluded", BurstablePerformance: "excluded", LocalStorage: "included",
		RequireHibernateSupport: ptr.To(false), OnDemandMaxPricePercentageOverLowestPrice: ptr.To[int32](20), AcceleratorTypes: []asgtypes.AcceleratorType{},
	}
	if text := requirementsText(defaults); text != "{}" {
		t.Errorf("AWS's defaults are said as %s", text)
	}
}

func TestShortages(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]Shortage{
		"We currently do not have sufficient m5.large capacity in the Availability Zone you requested (us-east-1a). Launching EC2 instance failed.": NoCapacity,
		"There is no Spot capacity available that matches your request. Launching EC2 instance failed.":                                             NoCapacity,
		"Could not launch Spot Instances. UnfulfillableCapacity - Unable to fulfill capacity due to your request configuration.":                    NoCapacity,
		"You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket. Launching EC2 instance failed.":   NoQuota,
		"Could not launch Spot Instances. MaxSpotInstanceCountExceeded - Max spot instance count exceeded. Launching EC2 instance failed.":          NoQuota,
		"The image id '[ami-1]' does not exist. Launching EC2 instance failed.":                                                                     NoLaunch,
		// With the purchase option and EC2's code, as of groups with a mixed instances policy.
		"Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient p4d.24xlarge capacity in the Availability Zone " +
			"you requested (us-east-1a). Our system will be working on provisioning additional capacity. Launching EC2 instance failed.": NoCapacity,
		"Could not launch Spot Instances. InsufficientInstanceCapacity - There is no Spot capacity available that matches your request. Launching EC2 instance failed.": NoCapacity,
		"Could not launch On-Demand Instances. ReservationCapacityExceeded - The requested reservation does not have sufficient compatible and available capacity " +
			"for this request. Launching EC2 instance failed.": NoCapacity,
		"Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU capacity than your current vCPU limit of 0 allows for the instance " +
			"bucket that the specified instance type belongs to. Launching EC2 instance failed.": NoQuota,
		"Could not launch Spot Instances. InvalidFleetConfiguration - Your requested instance type (p3.8xlarge) is not supported in your requested Availability " +
			"Zone (us-east-2c). Launching EC2 instance failed.": NoLaunch,
		"Could not launch On-Demand Instances. InvalidParameterCombination - The specified instance type is not eligible for Free Tier. For a list of Free Tier " +
			"instance types, run 'describe-instance-types' with the filter 'free-tier-eligible=true'. Launching EC2 instance failed.": NoLaunch,
		"Could not launch On-Demand Instances. InvalidCapacityReservationId.NotFound - The capacity reservation 'cr-0' was not found. Launching EC2 instance failed.": NoLaunch,
		"Could not launch On-Demand Instances. InsufficientFreeAddressesInSubnet - There are not enough free addresses in subnet 'subnet-1' to satisfy the " +
			"requested number of instances. Launching EC2 instance failed.": NoLaunch,
		"The capacity reservation 'cr-0' was not found in your account. Launching EC2 instance failed.": NoLaunch,
	} {
		if got := shortageOf(message); got != want {
			t.Errorf("%q is %s, want %s", message, got, want)
		}
	}
}

func TestLatestFailedLaunch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.create(r.here(plain()))
	r.settle()
	failed := func() *FailedLaunch {
		failed, err := r.groups.LatestFailedLaunch(t.Context(), "pool", 5*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return failed
	}
	if got := failed(); got != nil {
		t.Errorf("no launch failed, got %+v", got)
	}
	r.sim.SetBehavior(awssim.Behavior{Capacity: []awssim.CapacityRule{{InstanceType: "m5.large", Available: 0}}})
	desired := r.here(plain())
	desired.Capacity = ptr.To[int32](4)
	if err := r.groups.Update(t.Context(), desired, r.see("pool")); err != nil {
		t.Fatal(err)
	}
	r.sim.Clock().Step(time.Minute)
	if got := failed(); got == nil || got.Shortage != NoCapacity {
		t.Errorf("there is no capacity, got %+v", got)
	}
}

// TestFailedLaunchesOfMixedGroups: for a group with a mixed instances policy AWS reports the reason
// in another form, by purchase option.
func TestFailedLaunchesOfMixedGroups(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason   string
		onDemand int64
		want     Shortage
		says     string
	}{
		{"no On-Demand capacity", 100, NoCapacity, "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient"},
		{"no Spot capacity", 0, NoCapacity, "Could not launch Spot Instances. UnfulfillableCapacity - Unable to fulfill capacity due to your request configuration."},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.sim.SetBehavior(awssim.Behavior{Capacity: []awssim.CapacityRule{{InstanceType: "m5.large", Available: 0}}})
			desired := plain()
			desired.MixedInstancesPolicy = &infrav1.MixedInstancesPolicy{
				InstancesDistribution: &infrav1.InstancesDistribution{
					OnDemandAllocationStrategy: "prioritized", SpotAllocationStrategy: "price-capacity-optimized",
					OnDemandBaseCapacity: ptr.To[int64](0), OnDemandPercentageAboveBaseCapacity: ptr.To(row.onDemand),
				},
				Overrides: []infrav1.Overrides{{InstanceType: "m5.large"}},
			}
			r.create(r.here(desired))
			r.sim.Clock().Step(time.Minute)
			got, err := r.groups.LatestFailedLaunch(t.Context(), "pool", 5*time.Minute)
			if err != nil || got == nil || got.Shortage != row.want || !strings.HasPrefix(got.Message, row.says) {
				t.Errorf("the failed launch is %+v, %v; want %s with %q", got, err, row.want, row.says)
			}
		})
	}
}

// TestLatestFailure holds which failed launch counts, whatever the manager's clock says: launches
// are compared with each other alone.
func TestLatestFailure(t *testing.T) {
	t.Parallel()
	activity := func(minute int, status asgtypes.ScalingActivityStatusCode, what string) asgtypes.Activity {
		started := now.Add(time.Duration(minute) * time.Minute)
		return asgtypes.Activity{ActivityId: awssdk.String(fmt.Sprintf("at %d", minute)), StartTime: &started, StatusCode: status, Description: &what}
	}
	const failed, successful, inProgress = asgtypes.ScalingActivityStatusCodeFailed, asgtypes.ScalingActivityStatusCodeSuccessful, asgtypes.ScalingActivityStatusCodeInProgress
	const launch, end = "Launching a new EC2 instance.", "Terminating EC2 instance: i-1"
	for _, row := range []struct {
		reason     string
		activities []asgtypes.Activity
		want       string
	}{
		{"none at all", nil, ""},
		{"the newest failed", []asgtypes.Activity{activity(3, failed, launch), activity(1, failed, launch)}, "at 3"},
		{"another is under way", []asgtypes.Activity{activity(4, inProgress, launch), activity(3, failed, launch)}, "at 3"},
		{"another one has succeeded meanwhile", []asgtypes.Activity{activity(4, successful, launch), activity(3, failed, launch)}, "at 3"},
		{"launches have succeeded for long", []asgtypes.Activity{activity(20, successful, launch), activity(3, failed, launch)}, ""},
		{"what failed was no launch", []asgtypes.Activity{activity(3, failed, end)}, ""},
		{"nothing was launched since, but something ended", []asgtypes.Activity{activity(20, successful, end), activity(3, failed, launch)}, "at 3"},
	} {
		got := ""
		if latest := latestFailure(row.activities, 5*time.Minute); latest != nil {
			got = *latest.ActivityId
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", row.reason, got, row.want)
		}
	}
}
