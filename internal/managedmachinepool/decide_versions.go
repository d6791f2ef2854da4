package managedmachinepool

import (
	"cmp"
	"strconv"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/nodegroup"
)

// EKS launches from a template of its own, which it creates from the pool's. A version of the pool's template can
// have several versions of EKS's, because a change of labels creates one too. So an instance names a version of
// EKS's template, and which version of the pool's it runs follows from when it was launched.

// groupVersionBefore returns the version of EKS's template that the Auto Scaling group launched when EKS replaced no
// nodes, empty if that is not known. In the pass that starts an update, the Auto Scaling group was described before the
// update began, and status may not have the version that an earlier update gave it.
func groupVersionBefore(in input) string {
	if in.Seen.Started != nil && in.Seen.Members != nil {
		return in.Seen.Members.Version
	}
	if record := in.Object.Status.Nodegroup; record != nil && record.ARN == in.Seen.Group.ARN {
		return record.GroupVersion
	}
	return ""
}

// forgetGroupVersion has status not say which version the Auto Scaling group launched: a change of the configuration,
// which may have given it another one, has ended, and EKS performs another update already.
func forgetGroupVersion(in input) {
	if record := in.Object.Status.Nodegroup; record != nil {
		record.GroupVersion = ""
	}
}

// pointed reports whether the Auto Scaling group launches what EKS rolls out, as far as that is known. EKS points it
// there a while after an update has begun. Until then, all instances look like new ones.
func pointed(in input) bool {
	before := groupVersionBefore(in)
	return before != "" && before != in.Seen.Members.Version
}

// groupVersion returns the version of EKS's template that the Auto Scaling group launches, or launched before an
// update that is under way. A change of it counts once EKS was asked what the reason is.
func groupVersion(in input) string {
	before := groupVersionBefore(in)
	if in.Seen.Members == nil || replacing(in) || unexplained(in) {
		return before
	}
	return in.Seen.Members.Version
}

// unexplained reports whether the Auto Scaling group launches another version of EKS's template than status has, and
// EKS was not asked in this pass what the reason is.
func unexplained(in input) bool {
	return in.Seen.Group != nil && in.Seen.Members != nil && !in.Seen.Fresh && pointed(in)
}

// replacing reports whether EKS replaces nodes, or may do so: a program that is not known yet may have begun it.
func replacing(in input) bool {
	record := in.Object.Status.Update
	changesConfig := record != nil && record.Type == nodegroup.ConfigUpdate && record.Status == nodegroup.UpdateInProgress
	return busy(in) && in.Seen.Group.Status != nodegroup.StatusCreating && !changesConfig
}

// launchedVersions returns the version of the pool's launch template that each instance was launched from, by the
// ID of the instance, as far as that is known. Instances that run what the Auto Scaling group launches have the
// version of the node group, unless EKS replaces nodes. For the others, a version that status has stays: an instance
// runs the same all its life. Instances of one version of EKS's template have one version of the pool's.
func launchedVersions(in input) map[string]string {
	versions, copied := map[string]string{}, map[int64]string{}
	for i := range in.Object.Status.Instances {
		if known := &in.Object.Status.Instances[i]; known.LaunchTemplateVersion != "" {
			versions[known.InstanceID] = known.LaunchTemplateVersion
		}
	}
	for _, instance := range in.Seen.Members.Instances {
		if newest(in.Seen.Members, instance) && launchesVersion(in) {
			versions[instance.ID] = versionText(in.Seen.Group)
		}
		if version := versions[instance.ID]; version != "" {
			copied[instance.Version] = version
		}
	}
	for _, instance := range in.Seen.Members.Instances {
		versions[instance.ID] = cmp.Or(versions[instance.ID], copied[instance.Version], launchedFrom(in, instance))
	}
	if in.Seen.Leaving != nil {
		for _, instance := range in.Seen.Leaving.Instances {
			versions[instance.ID] = cmp.Or(versions[instance.ID], versionText(in.Seen.Retiring))
		}
	}
	return versions
}

// launchedFrom returns the version of the pool's template that an instance was launched from, if status does not have
// it yet. It is empty if that is not known.
func launchedFrom(in input, instance autoscalinggroup.Instance) string {
	switch {
	case rollingOut(in):
		if newest(in.Seen.Members, instance) && pointed(in) {
			return cmp.Or(in.Object.Status.Update.LaunchTemplateVersion, versionText(in.Seen.Group))
		}
		return ""
	case launchesVersion(in) && !mixed(&in.Object.Status):
		return versionText(in.Seen.Group)
	}
	return ""
}

// launchesVersion reports whether what the Auto Scaling group launches is the version that EKS says the node group
// has: EKS replaces no nodes, and both were seen at about the same time.
func launchesVersion(in input) bool {
	return !replacing(in) && (in.Seen.Fresh || groupVersionBefore(in) == in.Seen.Members.Version)
}

// mixed reports whether instances may be left of an update that replaced only some of them.
func mixed(status *infrav1.AWSManagedMachinePoolStatus) bool {
	for _, failed := range status.FailedUpdates {
		if failed.Type == nodegroup.VersionUpdate {
			return true
		}
	}
	update := status.Update
	return update != nil && update.Type == nodegroup.VersionUpdate && update.Status != nodegroup.UpdateSuccessful
}

// versionText returns the version of the pool's template that a node group has, empty if it has none.
func versionText(group *nodegroup.Nodegroup) string {
	if group.Version == 0 {
		return ""
	}
	return strconv.FormatInt(group.Version, 10)
}
