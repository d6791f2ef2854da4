package launchconfig

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// Effect holds what an edit of a launch config does to nodes, as far as that is known without AWS and
// without the bootstrap data.
type Effect struct {
	// Changes lists how a new node differs from a node of the launched configuration.
	Changes []string
	// Possible are changes that depend on what AWS answers, or on the bootstrap data.
	Possible []string
	// Hold says whether the change waits for a user.
	Hold Hold
}

// None reports whether no node differs.
func (e Effect) None() bool { return len(e.Changes)+len(e.Possible) == 0 }

// uncertain returns the effect with everything that was certain only possible.
func (e Effect) uncertain() Effect {
	e.Possible = slices.Concat(e.Changes, e.Possible)
	e.Changes = nil
	return e
}

// Hold names the step of a user that a configuration waits for before nodes are launched with it.
type Hold string

// The holds. The zero value is none.
const (
	// HoldApproval has a new configuration wait for the approval of its version.
	HoldApproval Hold = "Approval"
	// HoldPause has a new configuration wait until roll-outs are resumed.
	HoldPause Hold = "Pause"
	// HoldPausedConfig has every change wait until the launch config is no longer paused.
	HoldPausedConfig Hold = "PausedConfig"
)

// EffectOf returns what it does to nodes if a launch config that asks for what before has comes to ask
// for what after has. Both have spec and annotations. Stored is the launch config as it was last
// reconciled, and its status says what is launched.
func EffectOf(stored, before, after *infrav1.AWSLaunchConfig, facts *cluster.Facts) (Effect, error) {
	status := &stored.Status
	switch pinned := after.Spec.PinnedVersion; {
	case status.LaunchTemplateID == "" || status.Version == 0:
		return Effect{}, nil // nothing was launched yet
	case after.Spec.Existing != nil:
		return effectOfExisting(stored, before, after), nil
	case pinned != nil:
		return effectOfPin(stored, before.Spec.PinnedVersion, *pinned), nil
	}
	effect, err := compareSpecs(stored, &before.Spec, &after.Spec, facts)
	if err != nil {
		return Effect{}, err
	}
	behind := status.ObservedGeneration != stored.Generation || !equality.Semantic.DeepEqual(stored.Spec, before.Spec)
	switch {
	case before.Spec.PinnedVersion != nil:
		effect = effect.uncertain()
		effect.Possible = append([]string{fmt.Sprintf("pinnedVersion %d → none", *before.Spec.PinnedVersion)}, effect.Possible...)
	case endsRollback(status, before, after):
		effect.Changes = append([]string{"the configuration that failed is tried again"}, effect.Changes...)
	case status.PendingVersion != 0 || status.RolledBackFrom != "" || behind:
		effect = effect.uncertain() // what is launched is not what the spec asked for
	}
	if effect.None() && status.PendingVersion != 0 && releases(status, before, after) {
		effect.Changes = []string{reasonOfVersion(status, status.PendingVersion)}
		return effect, nil
	}
	effect.Hold = holdOf(after)
	return effect, nil
}

// holdOf returns what a configuration that a launch config newly asks for waits for.
func holdOf(config *infrav1.AWSLaunchConfig) Hold {
	_, paused := config.Annotations[clusterv1.PausedAnnotation]
	switch {
	case paused:
		return HoldPausedConfig
	case infrav1.RolloutPaused(config.Annotations):
		return HoldPause
	case config.Spec.Rollout == infrav1.LaunchConfigRolloutManual:
		return HoldApproval
	}
	return ""
}

// endsRollback reports whether an edit takes back a rollback that is in effect.
func endsRollback(status *infrav1.AWSLaunchConfigStatus, before, after *infrav1.AWSLaunchConfig) bool {
	return status.RolledBackFrom != "" && before.Spec.Rollback != nil && after.Spec.Rollback == nil
}

// releases reports whether an edit has the pending version launched that waited for a user.
func releases(status *infrav1.AWSLaunchConfigStatus, before, after *infrav1.AWSLaunchConfig) bool {
	waits := meta.IsStatusConditionFalse(status.Conditions, infrav1.RolloutApprovedCondition)
	return waits && holdsPending(status, before) && !holdsPending(status, after)
}

// holdsPending reports whether a launch config has its pending version wait.
func holdsPending(status *infrav1.AWSLaunchConfigStatus, config *infrav1.AWSLaunchConfig) bool {
	approved, err := strconv.ParseInt(config.Annotations[infrav1.ApprovedVersionAnnotation], 10, 64)
	same := err == nil && status.FingerprintOf(approved) != "" && status.FingerprintOf(approved) == status.FingerprintOf(status.PendingVersion)
	hold := holdOf(config)
	return hold != "" && (hold != HoldApproval || !same)
}

// effectOfPin returns the effect of an edit that pins a version.
func effectOfPin(stored *infrav1.AWSLaunchConfig, before *int64, pinned int64) Effect {
	if before != nil && *before == pinned {
		return Effect{} // the rest of the spec waits
	}
	was := "none"
	if before != nil {
		was = strconv.FormatInt(*before, 10)
	}
	return effectOfVersion(&stored.Status, pinned, fmt.Sprintf("pinnedVersion %s → %d", was, pinned))
}

// effectOfExisting returns the effect of an edit that has a launch config follow another version of a
// launch template that Slipway does not own.
func effectOfExisting(stored, before, after *infrav1.AWSLaunchConfig) Effect {
	if before.Spec.Existing == nil || *before.Spec.Existing == *after.Spec.Existing {
		return Effect{}
	}
	was, is := orDefault(before.Spec.Existing.Version), orDefault(after.Spec.Existing.Version)
	why := fmt.Sprintf("existing.version %s → %s", was, is)
	if number, err := strconv.ParseInt(is, 10, 64); err == nil {
		return effectOfVersion(&stored.Status, number, why)
	}
	return Effect{Possible: []string{why}}
}

func orDefault(version string) string {
	if version == "" {
		return "default"
	}
	return version
}

// effectOfVersion returns the effect of launching a version that exists.
func effectOfVersion(status *infrav1.AWSLaunchConfigStatus, number int64, why string) Effect {
	switch fingerprint := status.FingerprintOf(number); fingerprint {
	case "":
		return Effect{Possible: []string{why}}
	case status.ConfigFingerprint:
		return Effect{}
	}
	return Effect{Changes: []string{why}}
}

// reasonOfVersion returns why a version came to be wanted.
func reasonOfVersion(status *infrav1.AWSLaunchConfigStatus, number int64) string {
	if version := status.FindVersion(number); version != nil && version.Reason != "" {
		return version.Reason
	}
	return fmt.Sprintf("%s (launch template version %d)", configurationChanged, number)
}

// compareSpecs returns how nodes of two specs differ. It compares them as Slipway compares
// versions, with names in the place of what AWS answers.
func compareSpecs(stored *infrav1.AWSLaunchConfig, before, after *infrav1.AWSLaunchConfigSpec, facts *cluster.Facts) (Effect, error) {
	if equality.Semantic.DeepEqual(before, after) {
		return Effect{}, nil
	}
	known := kept(stored, before, facts)
	all, err := differences(stored, before, after, facts, known)
	if err != nil {
		return Effect{}, err
	}
	certain := *after.DeepCopy()
	keepLookups(&certain, before, facts, known)
	effect := Effect{}
	if effect.Changes, err = differences(stored, before, &certain, facts, known); err != nil {
		return Effect{}, err
	}
	for _, change := range all {
		if !slices.Contains(effect.Changes, change) {
			effect.Possible = append(effect.Possible, change)
		}
	}
	effect.Possible = append(effect.Possible, dataChanges(before, after)...)
	return effect, nil
}

// dataChanges returns what may change the user data: it is made from a Secret, which is not read.
func dataChanges(before, after *infrav1.AWSLaunchConfigSpec) []string {
	name := func(spec *infrav1.AWSLaunchConfigSpec) string {
		if spec.Bootstrap == nil {
			return "none"
		}
		return spec.Bootstrap.DataSecretName
	}
	var changes []string
	if was, is := name(before), name(after); was != is {
		changes = append(changes, fmt.Sprintf("bootstrap data of Secret %s → %s", was, is))
	}
	if was, is := ptr.Deref(before.Nodegroup, infrav1.LaunchConfigNodegroup{}), ptr.Deref(after.Nodegroup, infrav1.LaunchConfigNodegroup{}); was != is {
		changes = append(changes, fmt.Sprintf("user data for amiType %q → %q", was.AMIType, is.AMIType))
	}
	return changes
}

// keptImage is the image that was looked up for a key before.
type keptImage struct{ key, id string }

// kept returns the image that status has for what a spec looks up, the zero value if it has none.
func kept(stored *infrav1.AWSLaunchConfig, spec *infrav1.AWSLaunchConfigSpec, facts *cluster.Facts) keptImage {
	search, resolved := searchFor(spec, facts, ""), stored.Status.Resolved
	current := stored.Status.ObservedGeneration == stored.Generation && equality.Semantic.DeepEqual(stored.Spec, *spec)
	if search.key == "" || resolved == nil || !current {
		return keptImage{}
	}
	return keptImage{key: search.key, id: resolved.ImageID}
}

// imageOf returns the image of a spec: its ID, or a name for one that is looked up.
func imageOf(search imageSearch, known keptImage) string {
	switch {
	case search.named != "" || search.none:
		return search.named
	case search.key == known.key && known.id != "":
		return known.id
	case search.parameter != "":
		return "of " + strings.TrimPrefix(search.parameter, "resolve:ssm:")
	case search.query.KubernetesVersion != "":
		return "looked up for Kubernetes " + strings.TrimPrefix(search.query.KubernetesVersion, "v")
	}
	return "that is looked up"
}

// differences compares specs of a launch config without user data.
func differences(stored *infrav1.AWSLaunchConfig, before, after *infrav1.AWSLaunchConfigSpec, facts *cluster.Facts, known keptImage) ([]string, error) {
	inputs := [2]launchtemplate.Input{}
	for i, spec := range []*infrav1.AWSLaunchConfigSpec{before, after} {
		var err error
		if inputs[i], err = launchtemplate.NewInput(spec, named(stored, spec, facts, known)); err != nil {
			return nil, err
		}
	}
	old := launchtemplate.DataOf("", launchtemplate.Version{Fingerprints: inputs[0].Fingerprints}, inputs[0])
	return launchtemplate.Changes(old, inputs[1]), nil
}

// named returns what a spec resolves to, with names in the place of what is looked up. A different
// look-up has a different name.
func named(stored *infrav1.AWSLaunchConfig, spec *infrav1.AWSLaunchConfigSpec, facts *cluster.Facts, known keptImage) launchtemplate.Resolved {
	search := searchFor(spec, facts, "")
	resolved := launchtemplate.Resolved{
		ImageID: imageOf(search, known), RootDeviceName: search.device,
		SecurityGroupIDs: slices.Concat(facts.NodeSecurityGroupIDs, resourceNames(spec.AdditionalSecurityGroups)),
		Tags:             facts.OwnedTags(names(stored)[0], spec.AdditionalTags),
		TokensRequired:   !asCAPA(stored),
	}
	if resolved.RootDeviceName == "" && stored.Status.Resolved != nil {
		resolved.RootDeviceName = stored.Status.Resolved.RootDeviceName
	}
	for i := range spec.NetworkInterfaces {
		one := launchtemplate.Interface{GroupIDs: resourceNames(spec.NetworkInterfaces[i].Groups)}
		if subnet := spec.NetworkInterfaces[i].Subnet; subnet != nil {
			one.SubnetID = resourceNames([]infrav1.AWSResourceReference{*subnet})[0]
		}
		resolved.Interfaces = append(resolved.Interfaces, one)
	}
	return resolved
}

// asCAPA reports whether the controller of a pool wrote a launch config from the pool's
// awsLaunchTemplate, in which IMDS is as Cluster API Provider AWS has it.
func asCAPA(config *infrav1.AWSLaunchConfig) bool {
	return metav1.GetControllerOf(config) != nil && config.Annotations[clusterv1.TemplateClonedFromNameAnnotation] == ""
}

// resourceNames returns the IDs of resources, or names for resources that filters find.
func resourceNames(references []infrav1.AWSResourceReference) []string {
	var found []string
	for _, reference := range references {
		if id := ptr.Deref(reference.ID, ""); id != "" {
			found = append(found, id)
			continue
		}
		found = append(found, "of filters "+filterText(reference.Filters))
	}
	return found
}

// filterText returns filters as text.
func filterText(filters []infrav1.Filter) string {
	text, err := json.Marshal(filters)
	if err != nil {
		return fmt.Sprint(filters)
	}
	return string(text)
}

// keepLookups sets in a spec the look-ups of the spec before it, where the two may find the same.
// Nodes of the two specs that still differ then differ for certain.
func keepLookups(spec, before *infrav1.AWSLaunchConfigSpec, facts *cluster.Facts, known keptImage) {
	was, is := searchFor(before, facts, ""), searchFor(spec, facts, "")
	certain := is.key == "" && (was.key == "" || known.id != "")
	if !certain && (was.key != is.key || was.named != is.named) {
		spec.AMI, spec.KubernetesVersion = before.AMI, before.KubernetesVersion
		spec.ImageLookupFormat, spec.ImageLookupOrg, spec.ImageLookupBaseOS = before.ImageLookupFormat, before.ImageLookupOrg, before.ImageLookupBaseOS
	}
	spec.AdditionalSecurityGroups = keepReferences(spec.AdditionalSecurityGroups, before.AdditionalSecurityGroups)
	for i := range spec.NetworkInterfaces {
		if i >= len(before.NetworkInterfaces) {
			break
		}
		present, earlier := &spec.NetworkInterfaces[i], &before.NetworkInterfaces[i]
		present.Groups = keepReferences(present.Groups, earlier.Groups)
		if present.Subnet != nil && earlier.Subnet != nil && (present.Subnet.ID == nil || earlier.Subnet.ID == nil) {
			present.Subnet = earlier.Subnet
		}
	}
}

// keepReferences returns the earlier references if the filters of the two lists differ: other filters
// may find the same resources.
func keepReferences(present, earlier []infrav1.AWSResourceReference) []infrav1.AWSResourceReference {
	filters := func(references []infrav1.AWSResourceReference) []string {
		names := slices.DeleteFunc(resourceNames(references), func(name string) bool { return !strings.HasPrefix(name, "of filters ") })
		slices.Sort(names)
		return names
	}
	if slices.Equal(filters(present), filters(earlier)) {
		return present
	}
	return earlier
}
