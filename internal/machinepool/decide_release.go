package machinepool

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup/lifecyclehook"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// decideRelease leaves a pool such that CAPA runs it without replacing an instance, and then leaves
// it alone. The finalizer stays: CAPA's is the same.
func decideRelease(in input, plan *reconcile.Plan) {
	if !reached(in, plan) {
		return
	}
	if err := in.Seen.GroupErr; err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.ReleasedCondition, infrav1.ReleasingReason, err)
		return
	}
	for _, concern := range []func(input, *reconcile.Plan) bool{releaseTemplate, releaseShield, releaseGroup, releaseConfig} {
		if goOn := concern(in, plan); !goOn || pending(plan) {
			return
		}
	}
	reconciling.Remove(in.Object, infrav1.AdoptedCondition)
	// so that the group is not taken for one whose owner tag was removed
	in.Object.Status.AutoScalingGroup = nil
	reconciling.True(in.Object, infrav1.ReleasedCondition, infrav1.ReleasedReason, fmt.Sprintf(
		"Slipway no longer acts on this pool, and Cluster API Provider AWS can manage it. Remove annotation %s to have Slipway adopt it again", infrav1.ReleaseAnnotation))
}

// isOurs reports whether the group still is Slipway's. One that is not has been released, or never
// was taken over.
func isOurs(in input) bool { return in.Seen.Group != nil && !in.Seen.Adopting }

// refuseRelease shows why a pool is not released, or not yet, and waits for that to change.
func refuseRelease(in input, reason, message string) bool {
	reconciling.False(in.Object, infrav1.ReleasedCondition, reason, message)
	return false
}

// releaseShield removes the protection that Slipway set, because no other controller knows that it
// must be removed. A refresh that is in progress may replace these instances, too.
func releaseShield(in input, plan *reconcile.Plan) bool {
	if !isOurs(in) {
		return true
	}
	err := lowerShield(in, plan, nil)
	if err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.ReleasedCondition, infrav1.ReleasingReason, err)
	}
	return err == nil
}

// releaseTemplate has the launch config leave a version that CAPA finds in order.
func releaseTemplate(in input, plan *reconcile.Plan) bool {
	if !isOurs(in) {
		return true
	}
	config, name := in.Seen.LaunchConfig.Object, in.Object.Name
	switch {
	case in.Seen.Group.Name != name:
		return refuseRelease(in, infrav1.NameTakenReason, fmt.Sprintf(
			"Cluster API Provider AWS finds a group by the name of its pool, %s, but this group is named %s", name, in.Seen.Group.Name))
	case in.Object.Spec.AWSLaunchTemplate == nil:
		return refuseRelease(in, infrav1.InvalidSpecReason,
			"Cluster API Provider AWS does not support launchConfigRef or launchConfigTemplateRef. Create a "+
				"pool with awsLaunchTemplate, and migrate to it")
	case config == nil && reconcile.Succeeded[createLaunchConfig](in.Done), config != nil && reconcile.Succeeded[createLaunchConfig](in.Done):
		return refuseRelease(in, infrav1.ReleasingReason, "the launch config was recreated")
	case config == nil: // it was taken away, and is needed again
		return createConfig(in, plan)
	case !metav1.IsControlledBy(config, in.Object):
		return showForeignConfig(in, plan)
	case config.Status.RolledBackFrom != "":
		return refuseRelease(in, infrav1.RolledBackReason, fmt.Sprintf(
			"the pool was rolled back, so its nodes do not run the configuration in its spec, which Cluster API "+
				"Provider AWS would roll out again. Remove annotation %s, edit the spec to match what runs, "+
				"and then set the annotation again", infrav1.ReleaseAnnotation))
	}
	if config.Annotations[infrav1.ReleaseAnnotation] != "true" {
		if tried, _ := reconcile.Attempted[markReleased](in.Done); !tried {
			plan.Do(markReleased{Config: config.Name}, "the pool is being released to Cluster API Provider AWS")
		}
		return false
	}
	return templateReleased(in, config)
}

// templateReleased reports whether the launch config has left a version that CAPA finds in order.
func templateReleased(in input, config *infrav1.AWSLaunchConfig) bool {
	name, condition := in.Object.Name, meta.FindStatusCondition(config.Status.Conditions, infrav1.ReleasedCondition)
	switch {
	case condition == nil || condition.Status != metav1.ConditionTrue || condition.ObservedGeneration != config.Generation:
		return refuseRelease(in, infrav1.ReleasingReason, "Slipway is converting the launch template to the "+
			"format that Cluster API Provider AWS expects")
	case config.Status.LaunchTemplateName != name:
		return refuseRelease(in, infrav1.NameTakenReason, fmt.Sprintf(
			"Cluster API Provider AWS finds a launch template by the name of its pool, %s, but this launch "+
				"template is named %s", name, config.Status.LaunchTemplateName))
	}
	return true
}

// releaseGroup has the group follow its template, as CAPA wants it, removes the hooks that only
// Slipway answers, and the ownership last. It first records that the hooks must be put anew, for a
// pool that is adopted again.
func releaseGroup(in input, plan *reconcile.Plan) bool {
	if !isOurs(in) {
		return true
	}
	if tried, err := reconcile.Attempted[disownGroup](in.Done); tried {
		if err != nil {
			pool.ShowFailure(in.Object, plan, infrav1.ReleasedCondition, infrav1.ReleasingReason, err)
		}
		return err == nil
	}
	applied := ownership.AppliedOf(in.Object)
	annotate(in, plan, func(pool *infrav1.AWSMachinePool) {
		if len(applied.Hooks) > 0 {
			applied.HooksDigest = ""
			applied.Record(pool)
		}
	})
	plan.Do(disownGroup{
		Group: in.Seen.Group.Name, Hooks: lifecyclehook.Sort(lifecyclehook.Of(in.Object.Spec.LifecycleHooks)), RetiredHooks: applied.Hooks,
	}, "the pool is being released to Cluster API Provider AWS, and its launch template is in the expected format")
	return true
}

// releaseConfig deletes the launch config, whose template stays.
func releaseConfig(in input, plan *reconcile.Plan) bool {
	if !in.Seen.Leftovers.ConfigRead {
		plan.Need(needConfig)
		return true
	}
	config := in.Seen.Leftovers.Config
	switch {
	case config == nil:
		return true
	case config.Annotations[infrav1.ReleaseAnnotation] != "true":
		plan.Fail(fmt.Errorf("AWSLaunchConfig %q has not been released", config.Name))
		return false
	}
	if tried, _ := reconcile.Attempted[deleteLaunchConfig](in.Done); !tried && config.DeletionTimestamp.IsZero() {
		plan.Do(deleteLaunchConfig{Name: config.Name}, "the pool has been released to Cluster API Provider AWS")
		return true
	}
	return refuseRelease(in, infrav1.ReleasingReason, "the launch config is being deleted")
}
