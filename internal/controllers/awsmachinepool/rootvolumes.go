package awsmachinepool

import (
	"slices"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
)

// joinByRole are the kinds of bootstrap configs whose nodes join by their IAM role. Their user data holds no token that expires.
var joinByRole = []string{"EKSConfig", "NodeadmConfig"}

// replacedBecause returns why instances are replaced though the pool prefers new root volumes, "" if that is not so. An instance whose root volume is replaced boots
// with the user data of its launch.
func (p *pass) replacedBecause(desired autoscalinggroup.Desired) string {
	kind := p.machinePool.Spec.Template.Spec.Bootstrap.ConfigRef.Kind
	switch {
	case !slices.Contains(joinByRole, kind):
		return "nodes whose bootstrap data may hold a join token cannot join again with the user data of their launch, and the pool's is from neither an EKSConfig nor a NodeadmConfig"
	case p.config.Status.BootstrapDataLocation != "":
		return "the bootstrap data is not in the launch template, and what is stored elsewhere changes"
	case !desired.SameButImages(*p.group):
		return "more changes than images of overrides that had one"
	case !p.wanted.FitInPlace(p.group.Instances):
		return "not all instances were launched from the group's launch template version with a type of its overrides"
	}
	return ""
}

// replacesRoots decides whether what is wanted is brought to the instances by new root volumes. The group is left as it is then: AWS gives it the images once the
// refresh has succeeded. A group of which a refresh would replace nothing is given them at once.
func (r *Reconciler) replacesRoots(p *pass, desired autoscalinggroup.Desired) bool {
	p.inPlace, p.notInPlace = false, ""
	preferences := p.pool.Spec.RefreshPreferences
	if preferences == nil || ptr.Deref(preferences.Strategy, "") != infrav1.RefreshStrategyReplaceRootVolume || p.group == nil || p.adopting || p.wanted == nil {
		return false
	}
	if p.notInPlace = p.replacedBecause(desired); p.notInPlace != "" {
		return false
	}
	p.inPlace = true
	switch r.rollout(p, recorded(p.pool)).Decide().Verdict {
	case autoscalinggroup.Start, autoscalinggroup.Later, autoscalinggroup.Rolling, autoscalinggroup.Supersede:
		p.launches = desired
	default:
		p.inPlace = false
	}
	return p.inPlace
}

// holdsConfiguration reports whether a refresh is under way that holds what the group launches: AWS refuses to change that until it has ended.
func holdsConfiguration(p *pass) bool {
	newest := latest(recorded(p.pool))
	return newest.Active() && newest.InPlace()
}
