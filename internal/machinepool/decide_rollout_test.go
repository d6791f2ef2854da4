package machinepool

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/aws"

	"github.com/slipway-project/slipway/internal/reconciling"
)

func TestDecideRollout(t *testing.T) {
	t.Parallel()
	history := func(refreshes ...autoscalinggroup.Refresh) Refreshes {
		return Refreshes{Read: true, List: refreshes, Again: noon.Add(15 * time.Second)}
	}
	active := autoscalinggroup.Refresh{ID: "r-1", Status: "InProgress", Strategy: "Rolling"}
	recorded := func(in *input) {
		in.Object.Status.Rollout = &infrav1.RolloutStatus{RefreshID: "r-1", Status: "InProgress", StartedID: "r-1", StartedFor: "config-2", StartedTemplateID: "lt-1", AttemptsFor: "config-2@lt-1"}
	}
	pending := active
	pending.Status = "Pending"
	// rotated has a roll-out to version 2 go on, and the join token be rotated just now.
	rotated := func(in *input) {
		pointAt(in, 3)
		changeGroup(in, func(group *autoscalinggroup.Group) { group.Version, group.Instances[0].Version = "2", 2 })
		config := in.Seen.LaunchConfig.Object
		config.Status.CurrentVersions, config.Status.ConfigFingerprint = []int64{3, 2}, "config-2"
		config.Status.Versions[0].ConfigFingerprint, config.Status.Versions[0].Created = "config-2", metav1.NewTime(noon)
		in.Object.Status.WantedConfig = "config-2"
		in.Seen.Hooks = Hooks{Read: true, List: wantedHooks(*in)}
	}
	const startNow = "start an instance refresh of Auto Scaling group pool, because instance type m5.large → m6i.large; 2 of 2 instances run version 1"
	specify(t, []row{
		{reason: "another configuration is wanted since just now", given: func(in *input) { wantVersion(in, 2); in.Object.Status.WantedSince = ptr.To(metav1.NewTime(noon)) }, then: "nothing",
			shows: []string{"RolledOut=False/Settling: instance type m5.large → m6i.large; the roll-out " +
				"starts when the spec has not changed for 10s"}, again: 10 * time.Second},
		{reason: "what differs is read first", given: func(in *input) { wantVersion(in, 2); in.Seen.Differences = nil }, then: "needs differences of launch template versions"},
		{reason: "hooks are checked before instances are replaced", given: func(in *input) { wantVersion(in, 2) }, then: "needs lifecycle hooks"},
		{reason: "it has settled", given: func(in *input) { wantVersion(in, 2); in.Seen.Hooks = Hooks{Read: true, List: wantedHooks(*in)} },
			then: "update the Auto Scaling group: launch template version 1 → 2, because launch template version 1 → 2"},
		{reason: "the launch template was lost: there is nothing to wait for", given: func(in *input) {
			wantVersion(in, 2)
			in.Object.Status.WantedSince = ptr.To(metav1.NewTime(noon))
			config := in.Seen.LaunchConfig.Object
			config.Status.LaunchTemplateID, config.Status.LastLostTemplateID, in.Seen.LaunchConfig.TemplateID = "lt-2", "lt-1", "lt-2"
			in.Seen.Hooks = Hooks{Read: true, List: wantedHooks(*in)}
		}, then: "update the Auto Scaling group: launch template lt-1 → lt-2, because launch template lt-1 → lt-2"},
		{reason: "the group is at the version: refreshes are read", given: func(in *input) { pointAt(in, 2) }, then: "needs instance refreshes"},
		{reason: "AWS does not list them", given: func(in *input) { pointAt(in, 2); in.Seen.Refreshes.Err = errRefused; did(in, recordInstances{}, nil) }, then: "nothing",
			shows: []string{"RolledOut=False/RefreshStartFailed"}, again: aws.FateOf(errRefused).After},
		{reason: "a refresh cannot be undone: the group is described first", given: func(in *input) { pointAt(in, 2); in.Seen.Refreshes = history() }, then: "needs the Auto Scaling group as it is now"},
		{reason: "and the launch config is read past the cache", given: func(in *input) { due(in); in.Seen.LaunchConfig.Checked = false }, then: "needs whether the cache shows the present launch config"},
		{reason: "the cache shows an earlier launch config", given: func(in *input) {
			due(in)
			in.Seen.LaunchConfig.Behind = true
			did(in, recordInstances{}, nil)
		}, then: "nothing", again: lookAgain},
		{reason: "and hooks are checked", given: func(in *input) { due(in); in.Seen.Hooks = Hooks{} }, then: "needs lifecycle hooks"},
		{reason: "a refresh is due", given: due, then: startNow},
		{reason: "only a token rotated", given: func(in *input) {
			pointAt(in, 2)
			config := in.Seen.LaunchConfig.Object
			config.Status.CurrentVersions, config.Status.ConfigFingerprint = []int64{2, 1}, "config-1"
			in.Object.Status.WantedConfig = "config-1"
		}, then: "record 2 instances, because what it was given changed"},
		{reason: "one instance runs it already, and is spared", given: func(in *input) {
			due(in)
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Instances[0] = member("i-1", 3) })
			in.Seen.LaunchConfig.Object.Status.CurrentVersions = []int64{2, 3}
		}, then: "protect i-1 from scale-in, because they run the desired configuration, and the instance " +
			"refresh must skip them"},
		{reason: "one that is to be spared is not in service yet", given: func(in *input) {
			due(in)
			changeGroup(in, func(g *autoscalinggroup.Group) {
				g.Instances[0] = member("i-1", 3)
				g.Instances[0].LifecycleState = "Pending"
			})
			in.Seen.LaunchConfig.Object.Status.CurrentVersions = []int64{2, 3}
		}, then: "record 2 instances, because what it was given changed", shows: []string{"RolledOut=False/WaitingForRefresh: instance i-1 runs the desired configuration"}},
		{reason: "AWS does not protect it", given: func(in *input) {
			due(in)
			did(in, protectInstances{Protect: true}, errRefused)
			did(in, recordInstances{}, nil)
		},
			then: "nothing", shows: []string{"RolledOut=False/RefreshStartFailed: correct spec.refreshPreferences, or the AWS resource that it refers to"}, again: aws.FateOf(errRefused).After},
		{reason: "AWS takes no such refresh", given: func(in *input) { due(in); did(in, startRefresh{}, errRefused); did(in, recordInstances{}, nil) }, then: "nothing",
			shows: []string{"RolledOut=False/RefreshStartFailed: correct spec.refreshPreferences, or the AWS resource that it refers to"}, again: aws.FateOf(errRefused).After},
		{reason: "an earlier refresh is in progress", given: func(in *input) {
			due(in)
			in.Seen.Refreshes.UnderWay, in.Seen.Refreshes.Again, in.Seen.InMotion = true, noon.Add(15*time.Second), true
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/WaitingForRefresh: an earlier refresh is in progress"}, again: 15 * time.Second},
		{reason: "it goes on", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			in.Seen.Refreshes, in.Seen.InMotion = history(active), true
			did(in, recordInstances{}, nil)
		}, then: "nothing",
			shows: []string{"RolledOut=False/RollingOut: instance refresh r-1 is InProgress; 2 of 2 instances run version 1"}, again: 15 * time.Second},
		{reason: "AWS has not started it: the group keeps the version that matching instances run", given: func(in *input) {
			rotated(in)
			recorded(in)
			in.Seen.Refreshes, in.Seen.InMotion = history(pending), true
			did(in, recordInstances{}, nil)
		}, then: "nothing",
			shows: []string{"RolledOut=False/RollingOut: instance refresh r-1 is Pending; 1 of 2 instances run version 1"}, again: 15 * time.Second},
		{reason: "AWS has started it: new instances get the new join token", given: func(in *input) {
			rotated(in)
			recorded(in)
			in.Seen.Refreshes = history(active)
		}, then: "update the Auto Scaling group: launch template version 2 → 3, because launch template version 2 → 3"},
		{reason: "AWS does not start it: the new join token is not kept back for long", given: func(in *input) {
			rotated(in)
			recorded(in)
			in.Seen.LaunchConfig.Object.Status.Versions[0].Created = metav1.NewTime(noon.Add(-tokenWaitsAtMost))
			in.Seen.Refreshes = history(pending)
		}, then: "update the Auto Scaling group: launch template version 2 → 3, because launch template version 2 → 3"},
		{reason: "the refresh was of a group that is gone", given: func(in *input) {
			rotated(in)
			recorded(in)
			in.Object.Status.Rollout.Status, in.Seen.Refreshes = "Pending", history()
		}, then: "update the Auto Scaling group: launch template version 2 → 3, because launch template version 2 → 3"},
		{reason: "a process that crashed may have started it: refreshes are read first", given: rotated, then: "needs instance refreshes"},
		{reason: "AWS does not list them: the new join token is not kept back", given: func(in *input) { rotated(in); in.Seen.Refreshes.Err = errRefused },
			then: "update the Auto Scaling group: launch template version 2 → 3, because launch template version 2 → 3"},
		{reason: "another configuration is wanted before AWS has started it: the refresh is to bring that", given: func(in *input) {
			pointAt(in, 2)
			wantVersion(in, 3)
			recorded(in)
			in.Seen.Hooks, in.Seen.Refreshes = Hooks{Read: true, List: wantedHooks(*in)}, history(pending)
		}, then: "update the Auto Scaling group: launch template version 2 → 3, because launch template version 2 → 3"},
		{reason: "another configuration is wanted meanwhile, and its instances are there: Slipway checks again, because a new group may not be visible yet", given: func(in *input) {
			pointAt(in, 3)
			recorded(in)
			in.Seen.Refreshes = history(active)
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Instances[0].Version = 2 })
			in.Seen.Differences[2] = "key pair none → a"
		}, then: "needs the newest instance refreshes"},
		{reason: "and it is cancelled", given: func(in *input) {
			pointAt(in, 3)
			recorded(in)
			in.Seen.Refreshes, in.Seen.Fresh = history(active), true
			in.Seen.Refreshes.Latest = true
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Instances[0].Version = 2 })
			in.Seen.Differences[2] = "key pair none → a"
		}, then: "cancel instance refresh r-1, because key pair none → a; instance type m5.large → " +
			"m6i.large; a newer configuration is desired"},
		{reason: "it was cancelled", given: func(in *input) {
			pointAt(in, 3)
			recorded(in)
			in.Seen.Refreshes, in.Seen.InMotion = history(active), true
			did(in, cancelRefresh{ID: "r-1"}, nil)
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/Superseded"}, again: lookAgain},
		{reason: "AWS does not cancel it", given: func(in *input) {
			pointAt(in, 3)
			recorded(in)
			in.Seen.Refreshes, in.Seen.InMotion = Refreshes{Read: true, List: []autoscalinggroup.Refresh{active}, Again: noon.Add(24 * time.Hour)}, true
			did(in, cancelRefresh{ID: "r-1"}, errRefused)
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/RefreshStartFailed"}, again: aws.FateOf(errRefused).After},
		{reason: "it failed", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			in.Object.Status.Rollout.AttemptsAfter = "r-0"
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Failed", Reason: "no capacity."}, autoscalinggroup.Refresh{ID: "r-0", Status: "Successful"})
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/RefreshFailed: instance refresh r-1 finished with " +
			"status Failed: no capacity. The next one starts automatically"},
			again: autoscalinggroup.RetryAfter, tells: "InstanceRefreshEnded"},
		{reason: "it was cancelled by a user", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Cancelled"})
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/RefreshCancelled"}, again: autoscalinggroup.RetryAfter, tells: "InstanceRefreshEnded"},
		{reason: "it succeeded and left instances behind", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Successful"})
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/WaitingForRefresh"}, again: autoscalinggroup.RetryAfter, tells: "InstanceRefreshSucceeded"},
		{reason: "it failed, and the user wants to go back", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Rollback: true}
			in.Object.Status.LastGood = &infrav1.GoodConfiguration{ConfigFingerprint: "config-1", Version: 1}
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Failed"})
		}, then: "go back to version 1, because instance refresh r-1 finished with status Failed (instance type " +
			"m5.large → m6i.large)"},
		{reason: "and status was lost: what the instances ran before is taken", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			in.Object.Spec.RefreshPreferences, in.Object.Status.LastGood = &infrav1.RefreshPreferences{Rollback: true}, nil
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Failed"})
		}, then: "go back to version 1, because instance refresh r-1 finished with status Failed (instance type " +
			"m5.large → m6i.large)"},
		{reason: "the API server does not let it go back", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			in.Object.Spec.RefreshPreferences, in.Object.Status.LastGood = &infrav1.RefreshPreferences{Rollback: true}, nil
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Failed"})
			did(in, rollBack{}, errLater)
			did(in, recordInstances{}, nil)
		}, then: "nothing", again: time.Hour, tells: "InstanceRefreshEnded"},
		{reason: "it went back", given: func(in *input) {
			in.Seen.LaunchConfig.Object.Spec.Rollback = &infrav1.Rollback{From: "config-2", Version: 1, Reason: "it failed"}
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Rollback: true}
			in.Seen.LaunchConfig.Object.Status.RolledBackFrom = "config-2"
		}, then: "nothing", shows: []string{"RolledOut=False/RolledBack: Edit the spec, or set refreshPreferences.rollback to false to retry"}, again: time.Hour},
		{reason: "it went back, and the user pins a version: what failed is not tried again when the pin is removed", given: func(in *input) {
			in.Seen.LaunchConfig.Object.Spec.Rollback = &infrav1.Rollback{From: "config-2", Version: 1, Reason: "it failed"}
			in.Seen.LaunchConfig.Object.Spec.PinnedVersion, in.Object.Spec.PinnedVersion = ptr.To[int64](1), ptr.To[int64](1)
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Rollback: true}
		}, then: "nothing", shows: []string{"RolledOut=True/RolledOut"}, again: time.Hour},
		{reason: "and removes the pin", given: func(in *input) {
			in.Seen.LaunchConfig.Object.Spec.Rollback = &infrav1.Rollback{From: "config-2", Version: 1, Reason: "it failed"}
			in.Seen.LaunchConfig.Object.Spec.PinnedVersion = ptr.To[int64](1)
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Rollback: true}
		}, then: "update AWSLaunchConfig pool, because the spec of the pool requests pinnedVersion 1 → none"},
		{reason: "it goes back now", given: func(in *input) {
			in.Seen.LaunchConfig.Object.Spec.Rollback = &infrav1.Rollback{From: "config-2", Version: 1, Reason: "it failed"}
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Rollback: true}
			in.Seen.LaunchConfig.Object.Status.RolledBackFrom = "config-2"
			did(in, rollBack{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/RolledBack"}, again: time.Hour},
		{reason: "and is on its way back", given: func(in *input) {
			due(in)
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Rollback: true, Disable: true}
			config := in.Seen.LaunchConfig.Object
			config.Spec.Rollback, config.Status.RolledBackFrom = &infrav1.Rollback{From: "config-3", Version: 2, Reason: "it failed"}, "config-3"
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/RolledBack: 2 of 2 instances run version 1"}, again: time.Hour},
		{reason: "the user wants no refreshes", given: func(in *input) {
			pointAt(in, 2)
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Disable: true}
		}, then: "needs instance refreshes"},
		{reason: "the user wants no refreshes, and knows", given: func(in *input) {
			pointAt(in, 2)
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Disable: true}
			reconciling.False(in.Object, infrav1.RolledOutCondition, infrav1.RefreshDisabledReason, "")
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/RefreshDisabled: refreshPreferences.disable is true, so you must replace them yourself"}, again: time.Hour},
		{reason: "roll-outs are paused", given: func(in *input) { pointAt(in, 2); pause(in) }, then: "needs instance refreshes"},
		{reason: "roll-outs are paused, and the user knows", given: func(in *input) {
			pointAt(in, 2)
			pause(in)
			reconciling.False(in.Object, infrav1.RolledOutCondition, infrav1.RolloutPausedReason, "")
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/RolloutPaused: rollout-paused pauses roll-outs"}, again: time.Hour},
		{reason: "roll-outs are paused while a refresh is under way: it is read whether it still is", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			pause(in)
			in.Seen.Refreshes = history(active)
		}, then: "needs the newest instance refreshes"},
		{reason: "roll-outs are paused while a refresh is under way", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			pause(in)
			in.Seen.Refreshes, in.Seen.Fresh = history(active), true
			in.Seen.Refreshes.Latest = true
		}, then: "cancel instance refresh r-1, because annotation infrastructure.cluster.x-k8s.io/rollout-paused pauses roll-outs"},
		{reason: "the refresh of a paused roll-out was cancelled", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			pause(in)
			in.Seen.Refreshes, in.Seen.InMotion = history(active), true
			did(in, cancelRefresh{ID: "r-1", Paused: true}, nil)
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/RolloutPaused: instance refresh r-1 is being canceled"}, again: lookAgain},
		{reason: "a paused roll-out is resumed: what the pause stopped delays nothing", given: func(in *input) {
			due(in)
			recorded(in)
			in.Object.Status.Rollout.AttemptsAfter, in.Object.Status.Rollout.AttemptsFor = "r-1", wanted(*in).Key()+"@lt-1"
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Cancelled"})
			in.Seen.Refreshes.Latest = true
		}, then: "start an instance refresh of Auto Scaling group pool, because instance type m5.large → m6i.large; 2 of 2 instances run version 1"},
		{reason: "it failed, and the user retries it", given: func(in *input) {
			due(in)
			recorded(in)
			in.Object.Annotations[infrav1.RetryRolloutAnnotation] = "now"
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Failed"})
			in.Seen.Refreshes.Latest = true
		}, then: "start an instance refresh of Auto Scaling group pool, because instance type m5.large → m6i.large; 2 of 2 instances run version 1"},
		{reason: "it went back, and the user retries it", given: func(in *input) {
			in.Seen.LaunchConfig.Object.Spec.Rollback = &infrav1.Rollback{From: "config-2", Version: 1, Reason: "it failed"}
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{Rollback: true}
			in.Seen.LaunchConfig.Object.Status.RolledBackFrom = "config-2"
			in.Object.Annotations[infrav1.RetryRolloutAnnotation] = "now"
		}, then: "update AWSLaunchConfig pool, because the spec of the pool requests another rollback"},
		{reason: "the user retries where nothing failed: refreshes are read to record it", given: func(in *input) {
			in.Object.Annotations[infrav1.RetryRolloutAnnotation] = "now"
		}, then: "needs instance refreshes"},
		{reason: "what is left is protected", given: func(in *input) {
			due(in)
			in.Object.Spec.RefreshPreferences = &infrav1.RefreshPreferences{ScaleInProtectedInstances: "Ignore"}
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Instances[0].Protected, g.Instances[1].Protected = true, true })
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=False/InstancesLeft: they are protected from scale in"}, again: time.Hour},
		{reason: "the group is not at the version", given: func(in *input) { wantVersion(in, 2); did(in, updateGroup{}, errRefused) }, then: "needs lifecycle hooks"},
		{reason: "the group could not be brought to the version", given: func(in *input) {
			wantVersion(in, 2)
			in.Seen.Hooks = Hooks{Read: true, List: wantedHooks(*in)}
			did(in, updateGroup{}, errRefused)
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=Unknown/WaitingForASG"}, again: aws.FateOf(errRefused).After},
		{reason: "instances run a template of before", given: func(in *input) {
			due(in)
			changeGroup(in, func(g *autoscalinggroup.Group) {
				g.Instances[0].LaunchTemplateID, g.Instances[1].LaunchTemplateID = "", "lt-0"
			})
		}, then: "start an instance refresh of Auto Scaling group pool, because no launch template → launch template lt-1; launch template lt-0 → lt-1; 1 of 2 instances run launch template lt-0, 1 of 2 instances run no launch template"},
		{reason: "a refresh is under way, and the launch config is not ready", given: func(in *input) {
			pointAt(in, 2)
			recorded(in)
			in.Seen.LaunchConfig.Object.Status.Conditions = nil
			in.Seen.Refreshes, in.Seen.InMotion = history(active), true
			did(in, recordInstances{}, nil)
		}, then: "nothing", shows: []string{"RolledOut=Unknown/WaitingForLaunchConfig: instance refresh r-1 is InProgress"}, again: 15 * time.Second},
		{reason: "a refresh ended that spared instances: the group is described first", given: func(in *input) {
			in.Object.Annotations[shieldAnnotation] = "i-1"
			in.Seen.Refreshes = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Successful"})
		}, then: "needs the Auto Scaling group as it is now"},
		{reason: "and their protection is given up", given: func(in *input) {
			in.Object.Annotations[shieldAnnotation] = "i-1"
			in.Seen.Refreshes, in.Seen.Fresh = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Successful"}), true
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Instances[0].Protected = true })
		}, then: "give up the protection of i-1 from scale-in, because no instance refresh has to skip them any " +
			"longer"},
		{reason: "instances were protected for a refresh that is started now", given: func(in *input) {
			due(in)
			changeGroup(in, func(g *autoscalinggroup.Group) { g.Instances[0] = member("i-1", 3); g.Instances[0].Protected = true })
			in.Seen.LaunchConfig.Object.Status.CurrentVersions = []int64{2, 3}
			in.Object.Annotations[shieldAnnotation] = "i-1"
			did(in, protectInstances{Group: "pool", Instances: []string{"i-1"}, Protect: true}, nil)
		}, then: "start an instance refresh of Auto Scaling group pool, because instance type m5.large → m6i.large; 1 of 2 instances run version 1"},
		{reason: "which AWS refuses", given: func(in *input) {
			in.Object.Annotations[shieldAnnotation] = "i-1"
			in.Seen.Refreshes, in.Seen.Fresh = history(autoscalinggroup.Refresh{ID: "r-1", Status: "Successful"}), true
			did(in, protectInstances{}, errRefused)
		}, then: "nothing", again: aws.FateOf(errRefused).After},
	})
}
