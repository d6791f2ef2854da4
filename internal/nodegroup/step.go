package nodegroup

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// ConfigChange is an update of a node group's configuration. It replaces no node.
type ConfigChange struct {
	// Sizes are nil if they stay.
	Sizes *Scaling
	// Settings are nil if they stay.
	Settings *Settings
	// Reasons describe the changes to a user.
	Reasons []string
	// For identifies what the change is for, over time, and Attempt the object that asks and how
	// often it was tried before.
	For, Attempt string
	// Parts are the change of the sizes and the change of the settings, if this one has both.
	Parts []*ConfigChange
}

// Scaling are sizes to be. A desired size of nil stays.
type Scaling struct {
	Min, Max int32
	Desired  *int32
}

// VersionChange is an update of the version that nodes are launched from. It replaces all nodes.
type VersionChange struct {
	// TemplateID and TemplateVersion are empty for a node group without a launch template.
	TemplateID      string
	TemplateVersion int64
	// KubernetesVersion and ReleaseVersion are empty for an image of the template's.
	KubernetesVersion, ReleaseVersion string
	Force                             bool
	// Rollback identifies the step back to the previous minor version of Kubernetes, empty for a
	// change that takes none.
	Rollback string
	// Reasons explain the changes to a user.
	Reasons []string
	// For identifies what the change is for, over time, and Attempt the object that asks and how
	// often it was tried before.
	For, Attempt string
}

// Obstacle classifies why a wanted change cannot be done by an update of the node group.
type Obstacle string

// The obstacles.
const (
	// TemplateGone: the node group was created from another launch template, and EKS cannot give it
	// this one (AWS: API_UpdateNodegroupVersion).
	TemplateGone Obstacle = "TemplateGone"
	// Downgrade: the node group has a newer Kubernetes version, and EKS does not take it back to
	// the one that is wanted.
	Downgrade Obstacle = "Downgrade"
	// AheadOfControlPlane: the control plane has an older Kubernetes version than is wanted.
	AheadOfControlPlane Obstacle = "AheadOfControlPlane"
	// SizesOutOfBounds: the wanted size is outside of the wanted bounds.
	SizesOutOfBounds Obstacle = "SizesOutOfBounds"
	// BlockInUse: nodes run in a Capacity Block, and EKS updates the node group of one only while
	// it has none (AWS: EKS user guide, capacity-blocks-mng).
	BlockInUse Obstacle = "BlockInUse"
	// Fixed: the node group differs from the desired one in something that EKS cannot change.
	Fixed Obstacle = "Fixed"
)

// Obstruction describes an obstacle to a user.
type Obstruction struct {
	Obstacle Obstacle
	Message  string
}

// hardest orders the obstacles: first the ones that keep nodes from ever running what is wanted.
var hardest = []Obstacle{TemplateGone, Fixed, Downgrade, BlockInUse, AheadOfControlPlane, SizesOutOfBounds}

// Step is the next thing to do about a node group that is not busy. At most one of the changes is
// set: EKS does one update at a time.
type Step struct {
	Config  *ConfigChange
	Version *VersionChange
	// Due describes which nodes' replacement is wanted, whether or not it begins now; empty if none
	// is.
	Due []string
	// After is when to try again what failed a while ago; 0 for nothing.
	After time.Duration
	// Failed is the failed update of the version that is tried again then, the zero value if none is.
	Failed Attempt
	// Obstacles are in the way of something that is wanted, the hardest to overcome first.
	Obstacles []Obstruction
	// Refusals are the changes of the configuration that EKS refused to start, or that failed, and that
	// are still wanted.
	Refusals []Refusal
	// due is the change that Due describes, nil if none is.
	due *VersionChange
}

// Purpose returns what an update was begun for that is recorded nowhere, because its answer was lost: the
// change that is due, if nodes get what that asks for. It is empty for any other update.
func (s Step) Purpose(update Update) string {
	if s.due == nil || update.Type != VersionUpdate {
		return ""
	}
	version := ""
	if s.due.TemplateID != "" {
		version = strconv.FormatInt(s.due.TemplateVersion, 10)
	}
	differ := func(asked, got string) bool { return asked != "" && got != "" && asked != got }
	if version != update.Version || differ(s.due.KubernetesVersion, update.KubernetesVersion) || differ(s.due.ReleaseVersion, update.ReleaseVersion) {
		return ""
	}
	return s.due.For
}

// Attempts are the last updates of a node group by the type of the attempt, as far as they are
// remembered. Rollback is the type of steps back that EKS refused.
type Attempts map[string]Attempt

// Attempt is the last update of a type.
type Attempt struct {
	// For is what it was begun for: a change's.
	For    string
	Failed bool
	// Attempts counts the failures in a row, and Ended is the time of the last one.
	Attempts int
	Ended    time.Time
	// Answer is EKS's explanation of an update that failed, or that it did not begin.
	Answer string
}

// Rollback is the type of attempts to go back to the previous minor version of Kubernetes.
const Rollback = "Rollback"

// Refused returns the attempt after this one, at a change that EKS refuses to begin.
func (a Attempt) Refused(change, answer string, now time.Time) Attempt {
	refused := Attempt{For: change, Failed: true, Attempts: 1, Ended: now, Answer: answer}
	if a.Failed && a.For == change {
		refused.Attempts += a.Attempts
	}
	return refused
}

const (
	// retryAfter is the time after which a failed update is begun again, so that a user can see it.
	// EKS itself tries for 15 minutes or more. It doubles with each attempt, up to retryAtMost.
	retryAfter  = 5 * time.Minute
	retryAtMost = 2 * time.Hour
)

// BackOff returns the time to wait after so many attempts in a row. The number comes from status,
// where it may be of any size. A wait.Backoff would count steps of its own, which a restart loses.
func BackOff(attempts int) time.Duration {
	wait := retryAfter
	for ; attempts > 1 && wait < retryAtMost; attempts-- {
		wait = min(2*wait, retryAtMost)
	}
	return wait
}

// wait returns how long to wait before a change is tried again. A failure does not delay another
// change.
func (a Attempt) wait(change string, now time.Time) time.Duration {
	if !a.Failed || a.For != change {
		return 0
	}
	return max(0, a.Ended.Add(BackOff(a.Attempts)).Sub(now))
}

// next identifies the attempt after this one at a change, for an object.
func (a Attempt) next(object, change string) string {
	if !a.Failed || a.For != change {
		return object
	}
	return object + "/" + strconv.Itoa(a.Attempts)
}

// Grows reports whether a change of the configuration adds nodes.
func (s Step) Grows(seen Nodegroup) bool {
	return s.Resizes() && s.Config.Sizes.Desired != nil && *s.Config.Sizes.Desired > seen.Sizes.Desired
}

// Resizes reports whether a change of the configuration changes a size.
func (s Step) Resizes() bool { return s.Config != nil && s.Config.Sizes != nil }

// Next decides the single next step. The configuration is first: it takes seconds, replaces no
// node, and says how nodes are replaced.
func Next(desired Desired, seen Nodegroup, last Attempts, now time.Time) Step {
	var step Step
	if differences := fixedDiffers(desired, seen); len(differences) > 0 {
		step.obstructed(Fixed, "EKS cannot change these fields of node group %s: %s. Nodes stay as they are. "+
			"Set the fields to the values of the node group, or create a new pool and migrate to it",
			seen.Name, strings.Join(differences, "; "))
	}
	version := step.versionChange(desired, seen, last[Rollback], now)
	if version != nil {
		step.Due, step.due = version.Reasons, version
	}
	if version != nil && seen.OfCapacityBlock() {
		// An empty node group is filled from the new version only: another update could not empty
		// it further.
		if seen.Sizes.Desired == 0 {
			desired = desired.LeavingSizes()
		} else {
			step.obstructed(BlockInUse, "EKS updates a node group of a Capacity Block only while it has no "+
				"nodes: set spec.replicas of the MachinePool to 0, and restore it after the update")
			version = nil
		}
	}
	if config := step.configChange(desired, seen); config != nil {
		step.Refusals = refusals(config, last)
		if step.Config = step.nextConfig(config, desired, last, now); step.Config != nil {
			return step
		}
	}
	if version == nil || desired.Held {
		return step
	}
	if wait := last[VersionUpdate].wait(version.For, now); wait > 0 {
		step.comeBack(wait)
		step.Failed = last[VersionUpdate]
		return step
	}
	version.Attempt = last[VersionUpdate].next(desired.UID, version.For)
	step.Version = version
	return step
}

// comeBack has something tried again after a while, or sooner if something else is.
func (s *Step) comeBack(after time.Duration) {
	if after > 0 && (s.After == 0 || after < s.After) {
		s.After = after
	}
}

// obstructed adds an obstacle. None hides another: replicas that are out of bounds must not keep a
// node group from being replaced whose launch template was lost.
func (s *Step) obstructed(obstacle Obstacle, format string, values ...any) {
	s.Obstacles = append(s.Obstacles, Obstruction{Obstacle: obstacle, Message: fmt.Sprintf(format, values...)})
	slices.SortStableFunc(s.Obstacles, func(a, b Obstruction) int {
		return cmp.Compare(slices.Index(hardest, a.Obstacle), slices.Index(hardest, b.Obstacle))
	})
}

// Hardest returns the obstacle that is the hardest to overcome. It is empty if there is none.
func (s Step) Hardest() Obstruction {
	if len(s.Obstacles) == 0 {
		return Obstruction{}
	}
	return s.Obstacles[0]
}

// configChange returns the differences of sizes and, unless they are held, of settings.
func (s *Step) configChange(desired Desired, seen Nodegroup) *ConfigChange {
	var sizes, settings *ConfigChange
	if wanted, reasons := s.sizes(desired, seen.Sizes); len(reasons) > 0 {
		sizes = newConfigChange(ConfigChange{Sizes: wanted, Reasons: reasons})
	}
	if reasons := settingsDiffer(desired.Settings, seen.Settings); len(reasons) > 0 && !desired.Held {
		wanted := desired.Settings.Sorted()
		settings = newConfigChange(ConfigChange{Settings: &wanted, Reasons: reasons})
	}
	switch {
	case sizes == nil:
		return settings
	case settings == nil:
		return sizes
	}
	return newConfigChange(ConfigChange{
		Sizes: sizes.Sizes, Settings: settings.Settings, Reasons: slices.Concat(sizes.Reasons, settings.Reasons), Parts: []*ConfigChange{sizes, settings},
	})
}

// sizes returns the sizes that the node group should have, and the differences. A size that an
// autoscaler chose is moved into the bounds and else left alone: EKS refuses bounds that exclude it
// (CAPA issue 5746).
func (s *Step) sizes(desired Desired, seen Sizes) (*Scaling, []string) {
	wanted := Scaling{Min: seen.Min, Max: seen.Max}
	if desired.Bounds.Min != nil {
		wanted.Min = *desired.Bounds.Min
	}
	if desired.Bounds.Max != nil {
		wanted.Max = *desired.Bounds.Max
	}
	size := min(max(seen.Desired, wanted.Min), wanted.Max)
	if desired.Capacity != nil {
		size = *desired.Capacity
		if size < wanted.Min || size > wanted.Max {
			s.obstructed(SizesOutOfBounds, "%d replicas are requested, but the bounds are %d and %d. Change one "+
				"of them", size, wanted.Min, wanted.Max)
			return nil, nil
		}
	}
	if size != seen.Desired {
		wanted.Desired = &size
	}
	var reasons []string
	for _, pair := range []struct {
		what         string
		seen, wanted int32
	}{{"min size", seen.Min, wanted.Min}, {"max size", seen.Max, wanted.Max}, {"desired size", seen.Desired, size}} {
		if pair.seen != pair.wanted {
			reasons = append(reasons, fmt.Sprintf("%s %d → %d", pair.what, pair.seen, pair.wanted))
		}
	}
	return &wanted, reasons
}

// versionChange returns what nodes should be launched from, if that is not what the node group has.
func (s *Step) versionChange(desired Desired, seen Nodegroup, refused Attempt, now time.Time) *VersionChange {
	change := &VersionChange{Force: desired.Force}
	if !s.templateChange(change, desired, seen) {
		return nil
	}
	if !desired.OwnImage && !seen.OwnImage() {
		s.imageChange(change, desired, seen, refused, now)
	}
	if len(change.Reasons) == 0 {
		return nil
	}
	config := ""
	if desired.Template != nil {
		config = desired.Template.Config
		// The version is sent again with whatever else changes: EKS would take the template's
		// default version else (AWS: API_LaunchTemplateSpecification).
		change.TemplateID, change.TemplateVersion = desired.Template.ID, desired.Template.Version
	} else if seen.LaunchTemplateID != "" {
		change.TemplateID, change.TemplateVersion = seen.LaunchTemplateID, seen.Version
	}
	// How nodes are replaced counts too: another way to do it may succeed at once.
	change.For = digest(32, VersionUpdate, change.TemplateID, config, change.KubernetesVersion, change.ReleaseVersion, strconv.FormatBool(change.Force),
		desired.Settings.Update.text())
	return change
}

// templateChange notes that the node group has another version of the template. It is false if that
// is none of the template at all.
func (s *Step) templateChange(change *VersionChange, desired Desired, seen Nodegroup) bool {
	template := desired.Template
	switch {
	case template == nil:
		return true
	case seen.LaunchTemplateID == "" || switchesImage(desired, seen):
		return false // EKS refuses it, and the obstacle says so
	}
	if template.ID != seen.LaunchTemplateID {
		s.obstructed(TemplateGone, "the node group uses launch template %s, not %s, and EKS cannot change it to "+
			"another one", seen.LaunchTemplateID, template.ID)
		return false
	}
	switch {
	case !template.Accepts(seen.LaunchTemplateID, seen.Version):
		change.Reasons = append(change.Reasons, template.why(seen.Version))
	case seen.Version != template.Version && seen.Has(string(ekstypes.NodegroupIssueCodeNodeCreationFailure)):
		change.Reasons = append(change.Reasons, fmt.Sprintf("instances cannot join with version %d, because its "+
			"bootstrap data is older than the bootstrap data of version %d",
			seen.Version, template.Version))
	}
	return true
}

func (t *Template) why(version int64) string {
	if t.Why != nil {
		if why := t.Why(version); why != "" {
			return why
		}
	}
	return fmt.Sprintf("launch template version %d → %d", version, t.Version)
}

// imageChange notes another Kubernetes version, by one minor version at a time (EKS takes no larger
// step), or another release of it. Values that do not change are sent too: without a version EKS
// would take the version of the control plane, and without a release the newest (AWS:
// API_UpdateNodegroupVersion).
func (s *Step) imageChange(change *VersionChange, desired Desired, seen Nodegroup, refused Attempt, now time.Time) {
	change.KubernetesVersion, change.ReleaseVersion = seen.KubernetesVersion, seen.ReleaseVersion
	wanted, present := minorOf(desired.KubernetesVersion), minorOf(seen.KubernetesVersion)
	switch {
	case wanted == 0 || wanted == present:
		wanted = present
	case wanted < present:
		if !s.rollback(change, desired, seen, refused, now) {
			wanted = present
		}
	case minorOf(desired.ClusterVersion) != 0 && present+1 > minorOf(desired.ClusterVersion):
		s.obstructed(AheadOfControlPlane, "%s", RefusedVersion(desired.KubernetesVersion, desired.ClusterVersion, seen.KubernetesVersion))
		wanted = present
	default:
		change.KubernetesVersion, change.ReleaseVersion = fmt.Sprintf("1.%d", present+1), ""
		change.Reasons = append(change.Reasons, fmt.Sprintf("Kubernetes %s → %s", seen.KubernetesVersion, change.KubernetesVersion))
	}
	release := desired.ReleaseVersion
	if release == "" || release == seen.ReleaseVersion || !releaseOf(release, minorOf(change.KubernetesVersion), wanted) {
		return
	}
	change.ReleaseVersion = release
	change.Reasons = append(change.Reasons, fmt.Sprintf("image release %s → %s", seen.ReleaseVersion, release))
}

// rollback notes the step back to the previous minor version, unless it is known that EKS does not
// take it. Then everything else goes on at the version that there is.
func (s *Step) rollback(change *VersionChange, desired Desired, seen Nodegroup, refused Attempt, now time.Time) bool {
	if why := RefusedVersion(desired.KubernetesVersion, desired.ClusterVersion, seen.KubernetesVersion); why != "" {
		s.obstructed(Downgrade, "%s", why)
		return false
	}
	previous := Minor(desired.KubernetesVersion)
	back := fmt.Sprintf("Kubernetes %s → %s", seen.KubernetesVersion, previous)
	if wait := refused.wait(back, now); wait > 0 {
		s.comeBack(wait)
		s.obstructed(Downgrade, "EKS refused to roll back node group %s from Kubernetes %s to %s: %s. EKS rolls "+
			"back a node group by one minor version, within seven days of the upgrade of its cluster. Nodes "+
			"stay at %s. Set spec.template.spec.version of the MachinePool to %s, or create another pool and "+
			"migrate to it",
			seen.Name, seen.KubernetesVersion, previous, strings.TrimSuffix(refused.Answer, "."), seen.KubernetesVersion, seen.KubernetesVersion)
		return false
	}
	change.KubernetesVersion, change.ReleaseVersion, change.Rollback = previous, "", back
	change.Reasons = append(change.Reasons, back)
	return true
}

// kubernetesRelease matches a release that begins with the Kubernetes version, as the releases of
// Amazon Linux and Windows do; Bottlerocket's have a number of their own.
var kubernetesRelease = regexp.MustCompile(`^1\.(\d+)(\.\d+)?-20\d\d`)

// releaseOf reports whether the step to a minor version may go to a release: one of that version,
// or any that does not say, once the wanted version is reached.
func releaseOf(release string, target, wanted int) bool {
	if match := kubernetesRelease.FindStringSubmatch(release); match != nil {
		return match[1] == strconv.Itoa(target)
	}
	return target == wanted
}
