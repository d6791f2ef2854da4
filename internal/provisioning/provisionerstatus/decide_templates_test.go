package provisionerstatus

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
)

// launcherAgain is the interval at which AWS is asked again whether it launches.
const launcherAgain = launcher.RetryInterval

// ofPods returns what was read of a launch template that pods name.
func ofPods(id string, err error) []PodTemplate {
	return []PodTemplate{{Reference: constraints.Reference{Name: "batch", Version: "1"}, Known: templates.Known{ID: id, Template: constraints.Template{Name: "batch", Version: 1}}, Err: err}}
}

// refuses has dry runs show that EC2 launches nothing.
func refuses(blame fleet.Blame) Trial {
	return Trial{Read: true, Refused: true, Verdict: fleet.Verdict{Blame: blame, Message: "EC2 launches nothing"}}
}

func TestDecideNamedTemplate(t *testing.T) {
	t.Parallel()
	ready := provisioningv1.LaunchTemplatesReadyCondition
	with := func(change func(in *input)) func(in *input) {
		return func(in *input) { named(in); change(in) }
	}
	specify(t, []row{
		{reason: "it has no problem", given: named, then: "nothing", again: lookAgain, shows: []string{ready + "=True/Ready"}, lists: []string{"lt-web"}},
		{reason: "it was not read", given: with(func(in *input) { in.Seen.Named = NamedTemplate{} }), then: "needs launch template"},
		{reason: "AWS refuses to show it", given: with(func(in *input) { in.Seen.Named.Err = errRefused }), then: "nothing", again: launcherAgain, shows: []string{ready + "=False/AccessDenied"}, lists: []string{}},
		{reason: "it was not tried", given: with(func(in *input) { in.Seen.Named.Trial = Trial{} }), then: "needs dry runs of the launch template"},
		{reason: "nothing can be launched from it", given: with(func(in *input) {
			in.Seen.Named.Known.Problem, in.Seen.Named.Known.Reason, in.Seen.Named.Trial = "it has no image", provisioningv1.TemplateUnusableReason, Trial{}
			in.Seen.Offers = Offers{}
		}), then: "nothing", again: launcherAgain, shows: []string{ready + "=False/LaunchTemplateUnusable: launch template web: it has no image"}, lists: []string{"web: it has no image"}},
		{reason: "EC2 launches nothing from it", given: with(func(in *input) { in.Seen.Named.Trial = refuses(fleet.BlameTemplate) }), then: "nothing", again: launcherAgain,
			shows: []string{ready + "=False/LaunchTemplateUnusable: launch template web: EC2 launches nothing"}, lists: []string{"web: EC2 launches nothing"}},
		{reason: "the account may launch nothing from it", given: with(func(in *input) { in.Seen.Named.Trial = refuses(fleet.BlameAccount) }), then: "nothing", again: launcherAgain,
			shows: []string{ready + "=False/" + infrav1.AccessDeniedReason}},
		{reason: "EC2 launches nothing from it at the moment", given: with(func(in *input) { in.Seen.Named.Trial = refuses(fleet.BlameMoment) }), then: "nothing", again: lookAgain,
			shows: []string{ready + "=True/Ready"}, lists: []string{"lt-web"}},
		{reason: "the spec contradicts it", given: with(func(in *input) {
			in.Object.Spec.Zones, in.Seen.Named.Known.Zones, in.Seen.Offers = []string{"us-east-1a"}, []string{"us-east-1b"}, Offers{}
		}), then: "nothing", again: launcherAgain,
			shows: []string{ready + "=False/LaunchTemplateUnusable: launch template web"}},
		{reason: "nodes have another instance type", given: with(func(in *input) {
			in.Object.Spec.InstanceTypes, in.Seen.Named.Known.InstanceTypes = []string{"c5.large"}, []string{"m5.large"}
		}), then: "nothing", again: lookAgain, shows: []string{ready + "=True/Ready"}, lists: []string{"lt-web: it specifies instance type " +
			"m5.large, which is not in spec.instanceTypes"}},
		{reason: "it has warnings, and could not be read again", given: with(func(in *input) {
			in.Seen.Named.Known.Warnings, in.Seen.Named.Known.Trouble = []string{"no IMDSv2"}, errLater
		}), then: "nothing", again: lookAgain, lists: []string{"lt-web: launching from the last known version: " +
			"no answer; no IMDSv2"}},
		{reason: "pods name another one", given: with(func(in *input) { in.Seen.OfPods.List = ofPods("lt-batch", nil) }), then: "nothing", again: lookAgain, lists: []string{"lt-web", "lt-batch"}},
		{reason: "one that pods name cannot be read", given: with(func(in *input) { in.Seen.OfPods.List = ofPods("", errLater) }), then: "nothing", again: lookAgain,
			shows: []string{ready + "=True/Ready"}, lists: []string{"lt-web", "batch: no answer"}},
		{reason: "the ones that pods name were not read", given: with(func(in *input) { in.Seen.OfPods = PodTemplates{} }), then: "needs launch templates of pods", lists: []string{}},
	})
}

func TestDecideDefaultTemplates(t *testing.T) {
	t.Parallel()
	ready, pruned := provisioningv1.LaunchTemplatesReadyCondition, provisioningv1.VersionsPrunedCondition
	template := func(change func(*DefaultTemplate)) func(in *input) {
		return func(in *input) {
			changed := defaultTemplate("lt-1", 1)
			change(&changed)
			in.Seen.Defaults = map[string]DefaultTemplate{"amd64": changed}
		}
	}
	none := func(in *input) { in.Seen.Defaults = nil }
	lost := func(in *input) {
		in.Object.Status.LaunchTemplates = []provisioningv1.ResolvedLaunchTemplate{{ID: "lt-0", Generated: true, Architecture: provisioningv1.ArchitectureAMD64}}
	}
	const ensure, because = "ensure the default launch template for ", ", because nodes of Provisioner default are launched from it"
	specify(t, []row{
		{reason: "it was not ensured", given: none, then: ensure + "amd64" + because},
		{reason: "the spec has an architecture", given: func(in *input) { in.Object.Spec.Architecture = provisioningv1.ArchitectureARM64; in.Seen.Nodes = nil }, then: ensure + "arm64" + because},
		{reason: "a node was launched from another variant", given: func(in *input) { in.Seen.Nodes[0].Spec.AwaitedResources = []string{"nvidia.com/gpu"} }, then: ensure + "amd64-nvidia" + because},
		{reason: "EC2 refuses to create it", given: func(in *input) { none(in); did(in, ensureDefault{"amd64"}, errRefused) }, then: "nothing", again: launcherAgain,
			shows: []string{ready + "=False/AccessDenied: not authorized"}, lists: []string{}},
		{reason: "EC2 does not answer", given: func(in *input) { none(in); did(in, ensureDefault{"amd64"}, errLater) }, then: "nothing", again: lookAgain, fails: "no answer",
			shows: []string{ready + "=Unknown/AWSUnavailable"}},
		{reason: "it was not tried", given: template(func(d *DefaultTemplate) { d.Trial = Trial{} }), then: "needs dry runs of default launch templates"},
		{reason: "EC2 launches nothing from it", given: template(func(d *DefaultTemplate) { d.Trial = refuses(fleet.BlameTemplate) }), then: "nothing", again: launcherAgain,
			shows: []string{ready + "=False/LaunchTemplateUnusable: EC2 launches nothing"}, lists: []string{"lt-1"}},
		{reason: "it could not be read again", given: template(func(d *DefaultTemplate) { d.Trouble = errLater }), then: "nothing", again: lookAgain, lists: []string{"lt-1: launching from the last known " +
			"version: no answer"}},
		{reason: "it was deleted outside Slipway", given: lost, then: "nothing", again: lookAgain, tells: "LaunchTemplateLost", lists: []string{"lt-1"}},
		{reason: "one of another variant is not in its place", given: func(in *input) { lost(in); in.Object.Status.LaunchTemplates[0].Accelerator = "nvidia" }, then: "nothing", again: lookAgain},
		{reason: "it has too many versions", given: template(func(d *DefaultTemplate) { d.PruneDue = true }),
			then: "prune versions of the default launch template for amd64, because it has more versions than " +
				"Slipway keeps"},
		{reason: "its versions cannot be pruned", given: func(in *input) {
			template(func(d *DefaultTemplate) { d.PruneDue = true })(in)
			did(in, pruneDefault{"amd64"}, errLater)
		}, then: "nothing", again: lookAgain, shows: []string{pruned + "=False/PruneFailed: no answer"}},
		{reason: "EC2 keeps a version", given: template(func(d *DefaultTemplate) { d.Unpruned = "version 1 is in use" }), then: "nothing", again: lookAgain,
			shows: []string{pruned + "=False/PruneFailed: version 1 is in use"}},
	})
}

func TestDecideOffers(t *testing.T) {
	t.Parallel()
	ready, subnets := provisioningv1.LaunchTemplatesReadyCondition, provisioningv1.SubnetsReadyCondition
	offers := func(offers Offers) func(in *input) {
		return func(in *input) { in.Seen.Offers = offers; in.Seen.Offers.Read = true }
	}
	specify(t, []row{
		{reason: "they were not read", given: func(in *input) { in.Seen.Offers = Offers{} }, then: "needs offers"},
		{reason: "the limits contradict each other", given: func(in *input) {
			in.Seen.Offers = Offers{}
			in.Object.Spec.Requirements = []provisioningv1.Requirement{
				{Key: "topology.kubernetes.io/zone", Operator: "In", Values: []string{"us-east-1a"}}, {Key: "topology.kubernetes.io/zone", Operator: "In", Values: []string{"us-east-1b"}},
			}
		}, then: "nothing", again: launcherAgain, shows: []string{ready + "=False/LaunchTemplateUnusable: topology.kubernetes.io/zone"}},
		{reason: "no instance type suits", given: offers(Offers{Unsuitable: "this region offers none of " +
			"spec.instanceTypes"}), then: "nothing", again: launcherAgain,
			shows: []string{ready + "=False/LaunchTemplateUnusable: this region offers none of spec.instanceTypes"}},
		{reason: "AWS offers none", given: offers(Offers{Problem: "AWS does not offer m5.large"}), then: "nothing", again: launcherAgain,
			shows: []string{ready + "=False/LaunchTemplateUnusable: AWS does not offer m5.large"}},
		{reason: "AWS offers none, because nodes can be in no subnet", given: func(in *input) { offers(Offers{Problem: "no zone"})(in); in.Seen.Subnets.Places = nil }, then: "nothing", again: launcherAgain,
			shows: []string{ready + "=True/Ready", subnets + "=False/SubnetsUnusable"}},
		{reason: "AWS does not answer", given: offers(Offers{}), then: "nothing", again: lookAgain, shows: []string{ready + "=True/Ready"}},
	})
}

func TestDecideShortages(t *testing.T) {
	t.Parallel()
	launch := provisioningv1.NodesLaunchCondition
	c5 := m5
	c5.InstanceType = "c5.large"
	short := func(causes map[string]catalog.Shortage, change func(in *input)) func(in *input) {
		return func(in *input) {
			in.Seen.Shortages.Last = catalog.LastShortages{}
			for name, cause := range causes {
				in.Seen.Shortages.Last[catalog.Offering{InstanceType: name, Zone: "us-east-1a", CapacityType: "on-demand"}] = cause
			}
			in.Seen.Shortages.Next, in.Seen.Shortages.Some = lookAgain/2, true
			if change != nil {
				change(in)
			}
		}
	}
	both := func(in *input) { in.Seen.Offers.Seq = slices.Values([]catalog.Offer{m5, c5}) }
	specify(t, []row{
		{reason: "they were not read", given: func(in *input) { in.Seen.Shortages = Shortages{} }, then: "needs shortages"},
		{reason: "AWS has none", given: short(map[string]catalog.Shortage{"m5.large": {}}, nil), then: "nothing", again: launcherAgain,
			shows: []string{launch + "=False/InsufficientCapacity: m5.large, on-demand, in us-east-1a"}},
		{reason: "AWS has one of two", given: short(map[string]catalog.Shortage{"m5.large": {}}, both), then: "nothing", again: lookAgain / 2, shows: []string{launch + "=True/Ready"}},
		{reason: "EC2 refuses the other one", given: short(map[string]catalog.Shortage{"m5.large": {}}, func(in *input) {
			both(in)
			in.Seen.Shortages.Refused = constraints.Refused{{InstanceType: "c5.large", Zone: "us-east-1a", CapacityType: "on-demand"}: "no"}
		}), then: "nothing", again: launcherAgain, shows: []string{launch + "=False/InsufficientCapacity: m5.large, on-demand"}},
		{reason: "EC2 refuses all", given: short(nil, func(in *input) {
			in.Seen.Shortages.Refused = constraints.Refused{{InstanceType: "m5.large", Zone: "us-east-1a", CapacityType: "on-demand"}: "no"}
		}), then: "nothing", again: lookAgain / 2, shows: []string{launch + "=True/Ready"}},
		{reason: "a quota is used up", given: short(map[string]catalog.Shortage{"m5.large": {Cause: catalog.QuotaUsedUp, Message: "VcpuLimitExceeded: 32."}}, nil), then: "nothing", again: launcherAgain,
			shows: []string{launch + "=False/QuotaExceeded: VcpuLimitExceeded: 32. Nothing is launched"}},
		{reason: "a quota is used up, and AWS has none of the other type", given: short(map[string]catalog.Shortage{"m5.large": {Cause: catalog.QuotaUsedUp}, "c5.large": {}}, both), then: "nothing", again: launcherAgain,
			shows: []string{launch + "=False/InsufficientCapacity: c5.large or m5.large"}},
		{reason: "the account lacks the role for Spot Instances", given: short(map[string]catalog.Shortage{"m5.large": {Cause: catalog.NoSpotRole, Message: "no role."}}, nil), then: "nothing", again: launcherAgain,
			shows: []string{launch + "=False/AccessDenied: the AWS account does not have the service-linked role for Spot Instances, and the Provisioner allows only Spot"}},
		{reason: "a launch that fails says more", given: short(map[string]catalog.Shortage{"m5.large": {}}, func(in *input) {
			node := &in.Seen.Nodes[0]
			node.Status = provisioningv1.ProvisionedNodeStatus{Conditions: []metav1.Condition{{Type: provisioningv1.LaunchedCondition, Status: metav1.ConditionFalse, Reason: provisioningv1.LaunchFailedReason, Message: "no"}}}
		}), then: "nothing", again: lookAgain / 2, shows: []string{launch + "=False/LaunchFailed: no"}},
	})
}

// TestDecideObservedGeneration holds that status is about the newest spec once the launch templates
// are known, and not before.
func TestDecideObservedGeneration(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		given  func(in *input)
		want   int64
	}{
		{"all is known", func(*input) {}, 2},
		{"the launch template that the spec names cannot be read", func(in *input) { named(in); in.Seen.Named.Err = errRefused }, 1},
		{"the default launch template cannot be created", func(in *input) { in.Seen.Defaults = nil; did(in, ensureDefault{"amd64"}, errLater) }, 1},
		{"what comes after fails", func(in *input) { in.Seen.Others.Err = errLater }, 2},
	} {
		in := atRest()
		in.Object.Status.ObservedGeneration = 1
		row.given(in)
		if Decide(*in); in.Object.Status.ObservedGeneration != row.want {
			t.Errorf("%s: generation %d, want %d", row.reason, in.Object.Status.ObservedGeneration, row.want)
		}
	}
}

// TestDecideVersions holds from which versions the spec has nodes launched.
func TestDecideVersions(t *testing.T) {
	t.Parallel()
	own, spec := atRest(), atRest()
	named(spec)
	for _, row := range []struct {
		reason string
		in     *input
		want   []string
	}{
		{"the default launch template", own, []string{"lt-1/1"}},
		{"the launch template that the spec names", spec, []string{"lt-web/3"}},
	} {
		var got []string
		for _, version := range versionsOf(*row.in) {
			got = append(got, fmt.Sprintf("%s/%d", version.ID, version.Version))
		}
		if difference := cmp.Diff(row.want, got); difference != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, difference)
		}
	}
}

// TestDecidePodReferences holds which launch templates of pods are read: each once, not the one that
// the spec names, and no more than status has room for.
func TestDecidePodReferences(t *testing.T) {
	t.Parallel()
	asked := func(in *input, names ...string) {
		for _, name := range names {
			in.Seen.OfPods.Asked = append(in.Seen.OfPods.Asked, constraints.Reference{Name: name, Version: "1"})
		}
	}
	for _, row := range []struct {
		reason string
		given  func(in *input)
		want   []string
	}{
		{"none", func(*input) {}, nil},
		{"those of nodes come first, by name", func(in *input) {
			for _, name := range []string{"c", "b"} {
				node := nodeOf(name)
				node.Spec.Labels, node.Spec.LaunchTemplate = map[string]string{provisioningv1.LabelLaunchTemplateName: name}, provisioningv1.LaunchTemplateVersion{AskedVersion: "1"}
				in.Seen.Nodes = append(in.Seen.Nodes, node)
			}
			asked(in, "a", "b")
		}, []string{"b", "c", "a"}},
		{"not the one of the spec", func(in *input) {
			named(in)
			in.Seen.OfPods.Asked = []constraints.Reference{reference(in)}
			asked(in, "a")
		}, []string{"a"}},
	} {
		in := atRest()
		row.given(in)
		var got []string
		for _, reference := range podReferences(*in) {
			got = append(got, reference.Name)
		}
		if difference := cmp.Diff(row.want, got); difference != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, difference)
		}
	}
	in := atRest()
	for i := range provisioningv1.MaxStatusLaunchTemplates + 5 {
		asked(in, fmt.Sprint(i))
	}
	if got := len(podReferences(*in)); got != provisioningv1.MaxStatusLaunchTemplates-1 {
		t.Errorf("%d are read, beside the default one", got)
	}
}
