package machinepool

import (
	"slices"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
)

// joinByRole are the kinds of bootstrap configs whose nodes join by their IAM role. Their user data
// holds no token that expires.
var joinByRole = []string{"EKSConfig", "NodeadmConfig"}

// rootVolumes describes whether new root volumes bring what is wanted to the instances.
type rootVolumes struct {
	inPlace bool
	// launches is what the group is to launch then.
	launches autoscalinggroup.Desired
	// notInPlace is why instances are replaced although the pool prefers new root volumes.
	notInPlace string
}

// rootVolumesOf decides whether what is wanted is brought to the instances by new root volumes. The
// group is left as it is then: AWS gives it the images once the refresh has succeeded. A group in
// which a refresh would replace nothing is given them at once.
func rootVolumesOf(in input) rootVolumes {
	preferences, group := in.Object.Spec.RefreshPreferences, in.Seen.Group
	if preferences == nil || ptr.Deref(preferences.Strategy, "") != infrav1.RefreshStrategyReplaceRootVolume || group == nil || in.Seen.Adopting ||
		launchable(in) == nil || settling(in) || !groupCanBeChanged(in) {
		return rootVolumes{}
	}
	if update := repointed(in); update != nil {
		return rootVolumes{notInPlace: update.NotInPlace} // as it was decided before the group was changed
	}
	desired := launchedGroup(in)
	if why := replacedBecause(in, desired); why != "" {
		return rootVolumes{notInPlace: why}
	}
	switch rolloutWith(in, recorded(in.Object), true).Decide().Verdict {
	case autoscalinggroup.Start, autoscalinggroup.Later, autoscalinggroup.Rolling, autoscalinggroup.Supersede:
		return rootVolumes{inPlace: true, launches: desired}
	default:
		return rootVolumes{}
	}
}

// replacedBecause returns why instances are replaced though the pool prefers new root volumes, ""
// if that is not so. An instance whose root volume is replaced boots with the user data of its
// launch.
func replacedBecause(in input, desired autoscalinggroup.Desired) string {
	kind := in.Seen.MachinePool.Spec.Template.Spec.Bootstrap.ConfigRef.Kind
	switch {
	case !slices.Contains(joinByRole, kind):
		return "the bootstrap data may hold a join token, with which a node cannot join again after its root volume is " +
			"replaced. Only bootstrap data of an EKSConfig or a NodeadmConfig is known to have none"
	case launchable(in).Status.BootstrapDataLocation != "":
		return "the bootstrap data is stored outside the launch template, where it changes"
	case !desired.SameButImages(*in.Seen.Group):
		return "more changes than images of overrides that had one"
	case !wanted(in).FitInPlace(in.Seen.Group.Instances):
		return "not all instances were launched from the group's launch template version with an instance type of its overrides"
	}
	return ""
}

// holdsConfiguration reports whether the group keeps what it launches because of a refresh: AWS
// refuses to change it until a replacement of root volumes has finished, and a version with another
// join token waits until a refresh has started.
func holdsConfiguration(in input) bool {
	newest := latest(recorded(in.Object))
	return newest.Active() && newest.InPlace() || tokenWaits(in)
}
