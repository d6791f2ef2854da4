package machinepool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconcile/reconciletest"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// model is a pool, and its group in an AWS in which every call succeeds and a refresh takes no
// time.
type model struct {
	in *input
	// hooks are the lifecycle hooks of the group.
	hooks []lifecyclehook.Hook
	// refreshes are the instance refreshes of the group, newest first.
	refreshes []autoscalinggroup.Refresh
	// writes are the actions that were done.
	writes []string
	// launched counts instances, for their IDs.
	launched int
}

// modelOf returns a model of a pool at rest, which it leaves alone.
func modelOf(rest input) *model {
	in := rest
	in.Object, in.Seen.MachinePool, in.Seen.LaunchConfig.Object = rest.Object.DeepCopy(), rest.Seen.MachinePool.DeepCopy(), rest.Seen.LaunchConfig.Object.DeepCopy()
	return &model{in: &in, hooks: wantedHooks(in), launched: 2}
}

// change changes the group, if there is one.
func (m *model) change(change func(group *autoscalinggroup.Group)) {
	if m.in.Seen.Group != nil {
		changeGroup(m.in, change)
	}
}

// pass reconciles the pool once, and returns the writes to AWS.
func (m *model) pass() (writes []string, err error) {
	in := m.in
	in.Done, in.Seen.Hooks, in.Seen.Refreshes, in.Seen.Fresh, in.Seen.Earlier = nil, Hooks{}, Refreshes{}, false, nil
	in.Seen.LaunchConfig.Checked, in.Seen.Sizes.Checked = false, false
	in.Seen.Differences, in.Seen.Overrides, in.Seen.OverridesRead = nil, nil, false
	for range 50 {
		decided := *in
		decided.Object = in.Object.DeepCopy()
		plan := Decide(decided)
		if plan.Err != nil {
			return nil, plan.Err
		}
		for key, value := range plan.Annotations {
			reconciling.SetAnnotation(in.Object, key, value)
		}
		switch {
		case len(plan.Needs) > 0:
			for _, need := range plan.Needs {
				m.observe(need)
			}
		case len(plan.Actions) > 0:
			step := plan.Actions[0]
			if err := m.act(step.Action); err != nil {
				return nil, err
			}
			in.Done = append(in.Done, reconcile.Done{Step: step})
			if _, is := step.Action.(watchInstances); !is {
				writes = append(writes, fmt.Sprint(step.Action))
			}
		default:
			in.Object.Status = decided.Object.Status
			m.writes = append(m.writes, writes...)
			return writes, nil
		}
	}
	return nil, fmt.Errorf("a pass does not end: %v", in.Done)
}

// observe shows what a decision asked for.
func (m *model) observe(need reconcile.Need) {
	seen := &m.in.Seen
	switch need {
	case needFreshGroup:
		seen.Fresh = true
	case needLatest:
		seen.Fresh, seen.Refreshes = true, Refreshes{Read: true, Latest: true, List: m.refreshes}
	case needRefreshes:
		seen.Refreshes = Refreshes{Read: true, List: m.refreshes}
	case needHooks:
		seen.Hooks = Hooks{Read: true, List: slices.Clone(m.hooks)}
	case pool.NeedConfigCheck:
		seen.LaunchConfig.Checked = true
	case pool.NeedSizesCheck:
		seen.Sizes.Checked = true
	case pool.NeedTemplate:
		seen.LaunchConfig.TemplateID = seen.LaunchConfig.Object.Status.LaunchTemplateID
	case needDifferences:
		seen.Differences = map[int64]string{1: "instance type", 2: "instance type", 3: "instance type"}
	}
}

// act does to the observation what the action does to AWS and Kubernetes.
func (m *model) act(action reconcile.Action) error {
	in := m.in
	switch action := action.(type) {
	case watchInstances:
		in.Seen.InMotion = action.Closely
	case recordInstances:
		for key, value := range action.Annotations {
			reconciling.SetAnnotation(in.Object, key, value)
		}
		in.Object.Spec.ProviderID, in.Object.Spec.ProviderIDList = action.ProviderID, action.ProviderIDs
	case updateLaunchConfig:
		config := in.Seen.LaunchConfig.Object.DeepCopy()
		config.Spec, config.Labels, config.Annotations = action.Spec, action.Labels, action.Annotations
		in.Seen.LaunchConfig.Object = config
	case followAutoscaler:
		in.Seen.MachinePool = in.Seen.MachinePool.DeepCopy()
		in.Seen.MachinePool.Spec.Replicas = &action.Replicas
	case createGroup:
		group := autoscalinggroup.Group{Name: action.Name, ARN: poolARN, Tags: maps.Clone(action.Desired.Tags)}
		group.Settings.DeletionProtection = autoscalinggroup.Unprotected
		autoscalinggroup.Apply(action.Desired, &group)
		in.Seen.Group, m.hooks = &group, slices.Clone(action.Desired.Hooks)
		m.scale()
	case updateGroup:
		m.change(func(group *autoscalinggroup.Group) {
			for _, change := range action.Changes {
				if change.Operation == autoscalinggroup.Update {
					autoscalinggroup.Apply(action.Desired, group)
				}
			}
			group.Suspended = slices.Clone(action.Desired.Suspended)
		})
		m.scale()
	case tagGroup:
		m.change(func(group *autoscalinggroup.Group) {
			group.Tags = maps.Clone(group.Tags)
			for _, key := range action.Desired.RetiredTags {
				delete(group.Tags, key)
			}
			maps.Copy(group.Tags, action.Desired.Tags)
		})
	case changeHooks:
		for _, change := range action.Changes {
			m.hooks = slices.DeleteFunc(m.hooks, func(hook lifecyclehook.Hook) bool { return hook.Name == change.Hook.Name })
			if !change.Delete {
				m.hooks = append(m.hooks, change.Hook)
			}
		}
		in.Seen.Hooks.List = slices.Clone(m.hooks)
	case protectInstances:
		m.change(func(group *autoscalinggroup.Group) {
			for i := range group.Instances {
				group.Instances[i].Protected = group.Instances[i].Protected && !slices.Contains(action.Instances, group.Instances[i].ID) || action.Protect && slices.Contains(action.Instances, group.Instances[i].ID)
			}
		})
	case startRefresh:
		return m.refresh()
	default:
		return fmt.Errorf("the model does not know %T", action)
	}
	return nil
}

// scale has the group launch and terminate what its capacity asks for.
func (m *model) scale() {
	m.change(func(group *autoscalinggroup.Group) {
		group.Instances = group.Instances[:min(len(group.Instances), int(group.Capacity))]
		for len(group.Instances) < int(group.Capacity) {
			m.launched++
			group.Instances = append(group.Instances, m.launch(fmt.Sprint("i-", m.launched), group))
		}
	})
}

func (m *model) launch(id string, group *autoscalinggroup.Group) autoscalinggroup.Instance {
	version, err := strconv.ParseInt(group.Version, 10, 64)
	if err != nil {
		version = -1
	}
	launched := member(id, version)
	launched.LaunchTemplateID = group.LaunchTemplateID
	return launched
}

// refresh replaces the instances that do not run the group's version.
func (m *model) refresh() error {
	if latest(m.refreshes).Active() {
		return errors.New("a refresh is started while another one is under way")
	}
	m.change(func(group *autoscalinggroup.Group) {
		for i, instance := range group.Instances {
			if !instance.Protected && (strconv.FormatInt(instance.Version, 10) != group.Version || instance.LaunchTemplateID != group.LaunchTemplateID) {
				m.launched++
				group.Instances[i] = m.launch(fmt.Sprint("i-", m.launched), group)
			}
		}
	})
	ended := autoscalinggroup.Refresh{ID: fmt.Sprint("r-", len(m.refreshes)+1), Status: "Successful", Strategy: infrav1.RefreshStrategyRolling, Started: m.in.Now}
	m.refreshes = append([]autoscalinggroup.Refresh{ended}, m.refreshes...)
	m.in.Seen.Refreshes = Refreshes{Read: true, List: m.refreshes}
	return nil
}

// restart has a new manager find the pool as the API server stores it, which drops parts of
// seconds.
func (m *model) restart() error {
	text, err := json.Marshal(m.in.Object)
	if err != nil {
		return err
	}
	stored := &infrav1.AWSMachinePool{}
	if err := json.Unmarshal(text, stored); err != nil {
		return err
	}
	m.in.Object, m.in.Seen.InMotion = stored, false
	m.in.Seen.Holds, m.in.Seen.Nodes = map[string]Hold{}, map[string]Node{}
	return nil
}

// rest makes passes until one writes nothing.
func (m *model) rest(restarts []bool) error {
	for i := range 12 {
		m.in.Now = m.in.Now.Add(m.in.Seen.Settings.SettleWindow + 1500*time.Millisecond)
		m.in.Seen.HooksDue = m.in.Now.Add(time.Hour)
		if i < len(restarts) && restarts[i] {
			if err := m.restart(); err != nil {
				return err
			}
		}
		writes, err := m.pass()
		if err != nil {
			return err
		}
		if len(writes) == 0 && i > 2 {
			return nil
		}
	}
	return fmt.Errorf("no rest: %v", m.writes)
}

// disturbance is something that users, other programs and other controllers do to a pool. It
// changes the node's configuration if it replaces nodes.
type disturbance struct {
	what     string
	replaces bool
	do       func(m *model)
}

// disturbances are all that the laws are tested with.
var disturbances = []disturbance{
	{"the MachinePool grows", false, func(m *model) { m.in.Seen.MachinePool.Spec.Replicas = ptr.To[int32](4) }},
	{"the MachinePool shrinks", false, func(m *model) { m.in.Seen.MachinePool.Spec.Replicas = ptr.To[int32](1) }},
	{"the bounds move", false, func(m *model) { m.in.Object.Spec.MinSize, m.in.Object.Spec.MaxSize = 0, 9 }},
	{"an external autoscaler takes over", false, func(m *model) {
		m.in.Seen.MachinePool.Annotations = map[string]string{clusterv1.ReplicasManagedByAnnotation: "external-autoscaler"}
		m.change(func(g *autoscalinggroup.Group) { g.Capacity = 3 })
		m.scale()
	}},
	{"a tag is asked for", false, func(m *model) { m.in.Object.Spec.AdditionalTags = infrav1.Tags{"team": "blue"} }},
	{"a hook is asked for", false, func(m *model) {
		m.in.Object.Spec.LifecycleHooks = []infrav1.AWSLifecycleHook{{Name: "mine", LifecycleTransition: infrav1.LifecycleTransitionInstanceLaunching}}
	}},
	{"nodes are not drained any longer", false, func(m *model) { m.in.Object.Spec.NodeDrain = &infrav1.NodeDrain{Disable: true} }},
	{"a process is suspended", false, func(m *model) {
		m.in.Object.Spec.SuspendProcesses = &infrav1.SuspendProcessesTypes{Processes: &infrav1.Processes{AZRebalance: ptr.To(true)}}
	}},
	{"new instances are to be protected", false, func(m *model) { m.in.Object.Spec.CapacityRebalance = true }},
	{"another client tags the group", false, func(m *model) {
		m.change(func(g *autoscalinggroup.Group) { g.Tags = maps.Clone(g.Tags); g.Tags["theirs"] = "kept" })
	}},
	{"another client removes a tag", false, func(m *model) {
		m.change(func(g *autoscalinggroup.Group) { g.Tags = maps.Clone(g.Tags); delete(g.Tags, infrav1.TagLaunchConfig) })
	}},
	{"another client scales the group", false, func(m *model) { m.change(func(g *autoscalinggroup.Group) { g.Capacity = 4 }); m.scale() }},
	{"another client deletes the hooks", false, func(m *model) { m.hooks = nil; m.in.Seen.HooksDue = m.in.Now }},
	{"an instance is lost", false, func(m *model) {
		m.change(func(g *autoscalinggroup.Group) { g.Instances = g.Instances[1:] })
		m.scale()
	}},
	{"the group is lost", false, func(m *model) { m.in.Seen.Group, m.in.Seen.FreeName = nil, "pool" }},
	{"another configuration is wanted", true, func(m *model) { m.want(2) }},
	{"yet another configuration is wanted", true, func(m *model) { m.want(3) }},
	{"another configuration is wanted and taken back", false, func(m *model) { m.want(2); m.want(1) }},
}

// want has the launch config, which has its own controller, be ready at another version.
func (m *model) want(version int64) {
	config := m.in.Seen.LaunchConfig.Object.DeepCopy()
	versionsOf(config, max(version, int64(len(config.Status.Versions))))
	config.Status.Version, config.Status.CurrentVersions, config.Status.ConfigFingerprint = version, []int64{version}, fmt.Sprint("config-", version)
	m.in.Seen.LaunchConfig.Object = config
}

// outcome returns the resulting state of the group, without what differs by chance.
func (m *model) outcome() map[string]any {
	group := m.in.Seen.Group
	var versions []int64
	for _, instance := range group.Instances {
		versions = append(versions, instance.Version)
	}
	return map[string]any{
		"versions": versions, "capacity": group.Capacity, "bounds": []int32{group.MinSize, group.MaxSize}, "launches": group.Version, "tags": group.Tags,
		"hooks": lifecyclehook.Names(m.hooks), "suspended": group.Suspended, "refreshes": len(m.refreshes), "listed": len(m.in.Object.Spec.ProviderIDList),
		"last good": m.in.Object.Status.LastGood,
	}
}

// TestDecisionsComeToRest holds three laws, whatever was done to a pool: what is planned is done
// once, and then nothing is planned; no instance is replaced unless another configuration is
// wanted; and it makes no difference whether managers were restarted in between, so that nothing is
// decided from more than what the API server and AWS have.
func TestDecisionsComeToRest(t *testing.T) {
	t.Parallel()
	rest := *atRest(t)
	index := rapid.IntRange(0, len(disturbances)-1)
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.SliceOfN(index, 1, 4).Draw(r, "disturbances")
		restarts := rapid.SliceOfN(rapid.Bool(), 12, 12).Draw(r, "restarts")
		var outcomes []map[string]any
		for _, restarts := range [][]bool{nil, restarts} {
			m, wanted, replacing, foreign := modelOf(rest), int64(1), 0, false
			for _, step := range steps {
				before := m.in.Seen.LaunchConfig.Object.Status.Version
				disturbances[step].do(m)
				foreign = foreign && m.in.Seen.Group != nil || m.in.Seen.Group != nil && m.in.Seen.Group.Tags["theirs"] != ""
				if wanted = m.in.Seen.LaunchConfig.Object.Status.Version; wanted != before {
					replacing++
				}
				if err := m.rest(restarts); err != nil {
					r.Fatalf("after %q: %v", disturbances[step].what, err)
				}
			}
			for _, instance := range m.in.Seen.Group.Instances {
				if instance.Version != wanted {
					r.Errorf("instance %s runs version %d, and version %d is wanted", instance.ID, instance.Version, wanted)
				}
			}
			if len(m.refreshes) > replacing {
				r.Errorf("%d refreshes for %d other configurations: %v", len(m.refreshes), replacing, m.writes)
			}
			if foreign && m.in.Seen.Group.Tags["theirs"] != "kept" {
				r.Errorf("another program's tag is gone")
			}
			outcomes = append(outcomes, m.outcome())
		}
		if difference := cmp.Diff(outcomes[0], outcomes[1]); difference != "" {
			r.Errorf("with one manager (-) and with restarts (+):\n%s", difference)
		}
	})
}

// TestNothingIsPlannedBlindly holds that nothing in AWS is changed for a pool without an owner,
// without access to AWS, or whose group is not known to be its own, whatever else was done to it,
// and also when it is deleted or released.
func TestNothingIsPlannedBlindly(t *testing.T) {
	t.Parallel()
	rest := *atRest(t)
	index := rapid.IntRange(0, len(disturbances)-1)
	obstacles := map[string]edit{
		"no MachinePool": func(in *input) { in.Seen.MachinePool, in.Seen.Access = nil, pool.Access{} },
		"no cluster":     func(in *input) { in.Seen.Access.Exists = false },
		"no answer":      func(in *input) { in.Seen.Group, in.Seen.GroupErr = nil, errLater },
		"another owner": func(in *input) {
			in.Seen.Group, in.Seen.GroupErr = nil, &autoscalinggroup.NamesTakenError{Names: []string{"pool"}}
		},
		"no owner tag": func(in *input) {
			in.Seen.Group, in.Seen.GroupErr = nil, &ownerTagMissingError{group: autoscalinggroup.Group{Name: "pool", ARN: poolARN}, owner: "team/blue/pool"}
		},
	}
	rapid.Check(t, func(r *rapid.T) {
		m := modelOf(rest)
		for _, step := range rapid.SliceOfN(index, 0, 3).Draw(r, "disturbances") {
			disturbances[step].do(m)
		}
		what := rapid.SampledFrom(slices.Sorted(maps.Keys(obstacles))).Draw(r, "obstacle")
		obstacles[what](m.in)
		deleting := rapid.Bool().Draw(r, "deleting") && what == "no answer"
		if deleting {
			m.in.Object.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
		}
		if rapid.Bool().Draw(r, "releasing") {
			m.in.Object.Annotations[infrav1.ReleaseAnnotation] = "true"
		}
		for _, fresh := range []bool{false, true} {
			m.in.Seen.Fresh = fresh
			decided := *m.in
			decided.Object = m.in.Object.DeepCopy()
			plan := Decide(decided)
			if len(plan.Actions) > 0 || plan.Release {
				r.Errorf("%s, and the plan is %s", what, reconciletest.First(plan))
			}
		}
	})
}
