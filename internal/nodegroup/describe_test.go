package nodegroup

import (
	"errors"
	"testing"
	"time"

	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
)

// TestDescribed holds what is read from descriptions that leave things out or list them in any
// order, as EKS may.
func TestDescribed(t *testing.T) {
	t.Parallel()
	defaults := DefaultSettings()
	for _, row := range []struct {
		reason string
		group  ekstypes.Nodegroup
		want   Nodegroup
	}{
		{"nothing is there", ekstypes.Nodegroup{}, Nodegroup{Settings: defaults}},
		{"parts are there and empty", ekstypes.Nodegroup{
			ScalingConfig: &ekstypes.NodegroupScalingConfig{}, LaunchTemplate: &ekstypes.LaunchTemplateSpecification{}, Resources: &ekstypes.NodegroupResources{},
			Health: &ekstypes.NodegroupHealth{}, NodeRepairConfig: &ekstypes.NodeRepairConfig{}, WarmPoolConfig: &ekstypes.WarmPoolConfig{},
		}, Nodegroup{Settings: defaults}},
		{"a version of the template that is no number", ekstypes.Nodegroup{LaunchTemplate: &ekstypes.LaunchTemplateSpecification{Id: ptr.To("lt-1"), Version: ptr.To("$Latest")}},
			Nodegroup{LaunchTemplateID: "lt-1", Settings: defaults}},
		{"subnets, groups and issues in any order", ekstypes.Nodegroup{
			Subnets:      []string{"subnet-b", "subnet-a"},
			RemoteAccess: &ekstypes.RemoteAccessConfig{Ec2SshKey: ptr.To("key"), SourceSecurityGroups: []string{"sg-b", "sg-a"}},
			Health: &ekstypes.NodegroupHealth{Issues: []ekstypes.Issue{
				{Code: "NodeCreationFailure", Message: ptr.To("second")}, {Code: "NodeCreationFailure", Message: ptr.To("first"), ResourceIds: []string{"i-b", "i-a"}}, {Code: "AccessDenied"},
			}},
		}, Nodegroup{
			SubnetIDs: []string{"subnet-a", "subnet-b"}, RemoteAccess: &RemoteAccess{KeyName: "key", SecurityGroups: []string{"sg-a", "sg-b"}}, Settings: defaults,
			Issues: []Issue{{Code: "AccessDenied"}, {Code: "NodeCreationFailure", Message: "first", Resources: []string{"i-a", "i-b"}}, {Code: "NodeCreationFailure", Message: "second"}},
		}},
		{"an update config without a strategy has EKS's default", ekstypes.Nodegroup{UpdateConfig: &ekstypes.NodegroupUpdateConfig{MaxUnavailablePercentage: ptr.To[int32](30)}},
			Nodegroup{Settings: Settings{Update: UpdateConfig{MaxUnavailablePercentage: 30, Strategy: "DEFAULT"}}}},
		{"a warm pool that is disabled has no other settings", ekstypes.Nodegroup{WarmPoolConfig: &ekstypes.WarmPoolConfig{Enabled: ptr.To(false), MinSize: ptr.To[int32](3)}},
			Nodegroup{Settings: defaults}},
		{"a warm pool without a state", ekstypes.Nodegroup{WarmPoolConfig: &ekstypes.WarmPoolConfig{Enabled: ptr.To(true), MaxGroupPreparedCapacity: ptr.To[int32](0)}},
			Nodegroup{Settings: Settings{Update: defaults.Update, WarmPool: WarmPool{Enabled: true, State: "STOPPED"}}}},
		{"taints are sorted by key, effect and value", ekstypes.Nodegroup{Taints: []ekstypes.Taint{
			{Key: ptr.To("b"), Effect: "NO_EXECUTE"}, {Key: ptr.To("a"), Effect: "NO_SCHEDULE"}, {Key: ptr.To("a"), Effect: "NO_EXECUTE"},
		}}, Nodegroup{Settings: Settings{Update: defaults.Update, Taints: []Taint{{"a", "", "NO_EXECUTE"}, {"a", "", "NO_SCHEDULE"}, {"b", "", "NO_EXECUTE"}}}}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(row.want, nodegroupOf(&row.group)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestStatuses holds for every status of EKS, also one that does not exist yet, whether the node
// group is busy and whether its nodes work.
func TestStatuses(t *testing.T) {
	t.Parallel()
	busy := map[ekstypes.NodegroupStatus]bool{"CREATING": true, "UPDATING": true, "DELETING": true}
	works := map[ekstypes.NodegroupStatus]bool{"ACTIVE": true, "UPDATING": true, "DEGRADED": true}
	statuses := append(ekstypes.NodegroupStatus("").Values(), "", "SOMETHING_NEW")
	for _, status := range statuses {
		group := Nodegroup{Status: string(status)}
		if group.Busy() != busy[status] || group.Works() != works[status] {
			t.Errorf("%q: busy %v, works %v", status, group.Busy(), group.Works())
		}
	}
}

// TestLaunchesFail holds which of EKS's issues say that EC2 does not give instances, as opposed to
// instances that run and do not join.
func TestLaunchesFail(t *testing.T) {
	t.Parallel()
	fails := map[ekstypes.NodegroupIssueCode]bool{"AsgInstanceLaunchFailures": true, "InstanceLimitExceeded": true, "InsufficientFreeAddresses": true}
	for _, code := range ekstypes.NodegroupIssueCode("").Values() {
		group := Nodegroup{Issues: []Issue{{Code: "ClusterUnreachable"}, {Code: string(code)}}}
		if group.LaunchesFail() != fails[code] {
			t.Errorf("with %s, launches fail: %v", code, group.LaunchesFail())
		}
	}
	if none := (&Nodegroup{}); none.LaunchesFail() {
		t.Error("launches fail without an issue")
	}
}

// TestUpdateOf holds what is read of an update: EKS repeats an error for each of its resources, and
// calls the way back of a version by another type.
func TestUpdateOf(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		reason string
		update ekstypes.Update
		want   Update
	}{
		{"nothing is there", ekstypes.Update{}, Update{}},
		{"an update that runs", ekstypes.Update{Id: ptr.To("1"), Type: "VersionUpdate", Status: "InProgress", CreatedAt: &began},
			Update{ID: "1", Type: VersionUpdate, Status: UpdateInProgress, Created: began}},
		{"the way back of a version replaces nodes as the way forward", ekstypes.Update{Type: "VersionRollback", Status: "Failed"}, Update{Type: VersionUpdate, Status: UpdateFailed}},
		{"the same error twice", ekstypes.Update{Errors: []ekstypes.ErrorDetail{
			{ErrorCode: "PodEvictionFailure", ErrorMessage: ptr.To("a budget"), ResourceIds: []string{"i-1"}},
			{ErrorCode: "PodEvictionFailure", ErrorMessage: ptr.To("a budget"), ResourceIds: []string{"i-2"}}, {ErrorCode: "Unknown"},
		}}, Update{Reason: "PodEvictionFailure: a budget (pods could not be evicted: check their PodDisruptionBudgets, or set updateConfig.force); Unknown"}},
		{"instances need not run", ekstypes.Update{Errors: []ekstypes.ErrorDetail{{ErrorCode: "NodeCreationFailure", ErrorMessage: ptr.To("none joins.")}}},
			Update{Reason: "NodeCreationFailure: none joins (check the scaling activities of the Auto Scaling group, the bootstrap data, the node role, and the route to the API server)"}},
		{"the subnets of a node group cannot be changed", ekstypes.Update{Errors: []ekstypes.ErrorDetail{{ErrorCode: "InsufficientFreeAddresses", ErrorMessage: ptr.To("none is free")}}},
			Update{Reason: "InsufficientFreeAddresses: none is free (free IP addresses in the subnets, which cannot be changed, " +
				"set updateConfig.updateStrategy to Minimal to terminate nodes before new ones are launched, or create a new pool in other subnets and migrate to it)"}},
		{"EC2 launches nothing", ekstypes.Update{Errors: []ekstypes.ErrorDetail{{ErrorCode: "AsgInstanceLaunchFailures", ErrorMessage: ptr.To("no capacity")}}},
			Update{Reason: "AsgInstanceLaunchFailures: no capacity (EC2 rejects the launches: check the launch template and the scaling activities of the Auto Scaling group)"}},
	} {
		if diff := cmp.Diff(row.want, updateOf(&row.update)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestSettingsAreSaid holds that a difference of every setting is said, with the value before and
// the value after it, so that an event explains an update.
func TestSettingsAreSaid(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason       string
		before, then func(*Settings)
		want         []string
	}{
		{"labels come, change and go", func(s *Settings) { s.Labels = map[string]string{"a": "1", "b": "1"} }, func(s *Settings) { s.Labels = map[string]string{"b": "2", "c": ""} },
			[]string{"label b=1 → 2", "label c= added", "label a removed"}},
		{"another value of a taint is one change", func(s *Settings) { s.Taints = []Taint{{"gpu", "a", "NO_SCHEDULE"}} }, func(s *Settings) { s.Taints = []Taint{{"gpu", "b", "NO_SCHEDULE"}} },
			[]string{"taint gpu=b:NO_SCHEDULE set"}},
		{"another effect of a taint is two changes", func(s *Settings) { s.Taints = []Taint{{"gpu", "a", "NO_SCHEDULE"}} }, func(s *Settings) { s.Taints = []Taint{{"gpu", "a", "NO_EXECUTE"}} },
			[]string{"taint gpu=a:NO_EXECUTE set", "taint gpu=a:NO_SCHEDULE removed"}},
		{"a count becomes a percentage", nil, func(s *Settings) { s.Update = UpdateConfig{MaxUnavailablePercentage: 20, Strategy: "MINIMAL"} },
			[]string{"update config 1 unavailable, DEFAULT → 20% unavailable, MINIMAL"}},
		{"repair with every limit", nil, func(s *Settings) {
			s.Repair = Repair{Enabled: true, MaxParallelCount: 1, UnhealthyThresholdPercentage: 30, Overrides: []RepairOverride{{"NetworkingReady", "InterfaceNotUp", "Reboot", 5}}}
		}, []string{"node repair off → on, at most 1 at once, none above 30% unhealthy, NetworkingReady/InterfaceNotUp: Reboot after 5 min"}},
		{"limits of a repair that is off are no difference", func(s *Settings) { s.Repair = Repair{MaxParallelCount: 3} }, func(s *Settings) { s.Repair = Repair{} }, nil},
		{"a warm pool comes", nil, func(s *Settings) {
			s.WarmPool = WarmPool{Enabled: true, Min: 1, Prepared: 3, State: "RUNNING", Reuse: true}
		},
			[]string{"warm pool none → running, at least 1, 3 prepared, reused on scale-in"}},
		{"no prepared instances are not EKS's default", func(s *Settings) { s.WarmPool = DefaultWarmPool() }, func(s *Settings) { s.WarmPool = DefaultWarmPool(); s.WarmPool.Prepared = 0 },
			[]string{"warm pool stopped, at least 0 → stopped, at least 0, 0 prepared"}},
	} {
		before, then := DefaultSettings(), DefaultSettings()
		if row.before != nil {
			row.before(&before)
		}
		row.then(&then)
		if diff := cmp.Diff(row.want, settingsDiffer(then, before)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
		input := configInput(ConfigChange{Settings: &then}, Nodegroup{Settings: before})
		sent := input.Labels != nil || input.Taints != nil || input.UpdateConfig != nil || input.NodeRepairConfig != nil || input.WarmPoolConfig != nil
		if sent != (len(row.want) > 0) {
			t.Errorf("%s: the request has a change: %v", row.reason, sent)
		}
	}
}

// TestWarmPoolWithoutNumber holds that a number of prepared instances that the spec no longer has is
// taken back: EKS keeps it otherwise, and every pass would update the node group again.
func TestWarmPoolWithoutNumber(t *testing.T) {
	t.Parallel()
	pool := func(enabled bool, prepared int32) Settings {
		settings := DefaultSettings()
		settings.WarmPool = DefaultWarmPool()
		settings.WarmPool.Enabled, settings.WarmPool.Prepared = enabled, prepared
		return settings
	}
	for _, row := range []struct {
		reason     string
		then, seen Settings
		want       *int32
	}{
		{"a number goes", pool(true, noPrepared), pool(true, 3), ptr.To[int32](-1)},
		{"a number changes", pool(true, 0), pool(true, 3), ptr.To[int32](0)},
		{"a pool without a number comes", pool(true, noPrepared), DefaultSettings(), nil},
		{"a pool with a number goes", DefaultSettings(), pool(true, 3), nil},
	} {
		input := configInput(ConfigChange{Settings: &row.then}, Nodegroup{Settings: row.seen})
		if diff := cmp.Diff(row.want, input.WarmPoolConfig.MaxGroupPreparedCapacity); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, diff)
		}
	}
}

// TestRefusesRollback holds which errors of EKS suspend the attempts to go back a version for a
// while: not an error that another attempt may change.
func TestRefusesRollback(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"InvalidParameterException": true, "InvalidRequestException": true, "ResourceInUseException": false, "ThrottlingException": false, "AccessDeniedException": false, "ServerException": false,
	} {
		if got := RefusesRollback(&smithy.GenericAPIError{Code: code}); got != want {
			t.Errorf("%s refuses: %v", code, got)
		}
	}
	if RefusesRollback(errors.New("connection reset")) || RefusesRollback(nil) {
		t.Error("an answer that did not come refuses")
	}
}
