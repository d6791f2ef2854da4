package constraints_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	if err := yaml.UnmarshalStrict([]byte(text), &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

// known are the launch templates of the tests: web for amd64, arm for arm64, with two versions.
var known = constraints.Templates{
	{Name: "web", Version: "latest"}:           {Name: "web", Version: 7, Architecture: "amd64"},
	{Name: "web", Version: "3"}:                {Name: "web", Version: 3, Architecture: "amd64", EphemeralStorage: 100 << 30},
	{Name: "arm", Version: "latest"}:           {Name: "arm", Version: 2, Architecture: "arm64"},
	{Name: "gone", Version: "latest"}:          {Problem: "EC2 has no launch template of that name"},
	{Name: "spot", Version: "latest"}:          {Name: "spot", Version: 1, Architecture: "amd64", CapacityType: "spot", InstanceTypes: []string{"m5.large"}},
	{Name: "team/web", Version: "latest"}:      {Name: "team/web", Version: 4, Architecture: "amd64"},
	{ID: "lt-01234567", Version: "5"}:          {Name: "by-id", Version: 5, Architecture: "amd64"},
	{Config: "default/web", Version: "latest"}: {Name: "web-config", Version: 9, Architecture: "arm64", Zones: []string{"us-east-1b"}},
}

// nodeOf returns what an ask requires of the node, with one line per label or requirement.
func nodeOf(ask constraints.Ask) map[string]string {
	said := map[string]string{"from": ask.Template.String()}
	for key, value := range ask.Labels {
		said[short(key)] = value
	}
	for key, set := range ask.Requirements {
		said[short(key)] = set.String()
	}
	delete(said, "os")
	delete(said, "name")
	return said
}

// anything lets pods name every launch template.
var anything = constraints.Allowed{Prefixes: []string{""}}

func short(key string) string { return key[strings.LastIndex(key, "/")+1:] }

// TestLayers holds what becomes of a pod's layer over a provisioner's, with the readings S1 to S13
// of the document.
func TestLayers(t *testing.T) {
	t.Parallel()
	const byWeb = `{labels: {node.k8s.aws/launch-template-name: web}}`
	for _, c := range []struct {
		reason, provisioner, pod string
		want                     map[string]string
		says                     string
	}{
		{
			reason: "S3: On-Demand and amd64 by default", provisioner: `{}`, pod: `{}`,
			want: map[string]string{"from": "the default launch template", "capacity-type": "on-demand", "arch": "amd64"},
		},
		{
			reason: "S1, S2, S6: the label is a name, latest becomes a number, the architecture is the image's", provisioner: byWeb, pod: `{}`,
			want: map[string]string{
				"from": "launch template web", "launch-template-name": "web", "launch-template-version": "7", "capacity-type": "on-demand", "arch": "amd64",
			},
		},
		{
			reason:      "S2: the document's $LATEST never gets to a node",
			provisioner: `{labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: $LATEST}}`, pod: `{}`,
			want: map[string]string{
				"from": "launch template web", "launch-template-name": "web", "launch-template-version": "7", "capacity-type": "on-demand", "arch": "amd64",
			},
		},
		{
			reason: "S7: a pod of another architecture gets the default template of it", provisioner: byWeb, pod: `{nodeSelector: {kubernetes.io/arch: arm64}}`,
			want: map[string]string{"from": "the default launch template", "capacity-type": "on-demand", "arch": "arm64"},
		},
		{
			reason: "S7: or is left alone", provisioner: `{labels: {node.k8s.aws/launch-template-name: web}, incompatibleArchitecturePolicy: Ignore}`,
			pod: `{nodeSelector: {kubernetes.io/arch: arm64}}`, says: "requires architecture arm64, but the image of launch template web is for amd64",
		},
		{
			reason: "S7: no default template carries the name that the pod itself selects", provisioner: `{}`,
			pod: `{nodeSelector: {node.k8s.aws/launch-template-name: web, kubernetes.io/arch: arm64}}`, says: "requires launch template web, whose image is for amd64, and architecture arm64, which no node can satisfy",
		},
		{
			reason: "S7: a provisioner's architecture is a limit for pods that name a template too", provisioner: `{architecture: arm64}`,
			pod: `{nodeSelector: {node.k8s.aws/launch-template-name: web}}`,
			says: "requires launch template web, whose image is for amd64, but Provisioner default launches " +
				"only arm64",
		},
		{
			reason:      "S7: a provisioner of before the rule gets its architecture by the default template",
			provisioner: `{architecture: arm64, labels: {node.k8s.aws/launch-template-name: web}}`, pod: `{}`,
			want: map[string]string{"from": "the default launch template", "capacity-type": "on-demand", "arch": "arm64"},
		},
		{
			reason:      "S9: a pod overrides the template, and the provisioner's version is not that template's",
			provisioner: `{labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: "3"}}`,
			pod:         `{nodeSelector: {node.k8s.aws/launch-template-name: arm}}`,
			want: map[string]string{
				"from": "launch template arm", "launch-template-name": "arm", "launch-template-version": "2", "capacity-type": "on-demand", "arch": "arm64",
			},
		},
		{
			reason: "S9: a pod has a number", provisioner: `{}`,
			pod: `{nodeSelector: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: "3"}}`,
			want: map[string]string{
				"from": "launch template web", "launch-template-name": "web", "launch-template-version": "3", "capacity-type": "on-demand", "arch": "amd64",
			},
		},
		{
			reason: "S9: latest is on no node", provisioner: byWeb,
			pod:  `{nodeSelector: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: latest}}`,
			says: "requires version latest of a launch template, but the label of nodes has the version number",
		},
		{
			reason: "S9: a version of nothing", provisioner: byWeb, pod: `{nodeSelector: {node.k8s.aws/launch-template-version: "3"}}`,
			says: "without its name",
		},
		{
			reason: "S11: a name that no label can have is referred to, and not on the node", provisioner: `{launchTemplateRef: {name: team/web}}`, pod: `{}`,
			want: map[string]string{"from": "launch template team/web", "capacity-type": "on-demand", "arch": "amd64"},
		},
		{
			reason: "S12: the old spelling has an id", pod: `{}`,
			provisioner: `{labels: {kubernetes.amazonaws.com/launchTemplateId: lt-01234567, kubernetes.amazonaws.com/launchTemplateVersion: "5", kubernetes.amazonaws.com/capacityType: spot}}`,
			want: map[string]string{
				"from": "launch template lt-01234567", "launch-template-name": "by-id", "launch-template-version": "5", "capacity-type": "spot", "arch": "amd64",
			},
		},
		{
			reason: "S12: and is on no node", provisioner: `{}`, pod: `{nodeSelector: {kubernetes.amazonaws.com/capacityType: spot}}`, says: "use node.k8s.aws/",
		},
		{
			reason: "S13: a pod picks its provisioner", provisioner: `{}`, pod: `{nodeSelector: {provisioning.karpenter.sh/name: other}}`,
			says: "requires Provisioner other",
		},
		{
			reason: "S13: this one", provisioner: `{}`, pod: `{nodeSelector: {provisioning.karpenter.sh/name: default}}`,
			want: map[string]string{"from": "the default launch template", "capacity-type": "on-demand", "arch": "amd64"},
		},
		{
			reason: "a pod chooses among the zones and types of its provisioner, and its capacity type", provisioner: `{zones: [us-east-1a, us-east-1c], instanceTypes: [m5.large, c5.large]}`,
			pod: `{nodeSelector: {topology.kubernetes.io/zone: us-east-1c, node.kubernetes.io/instance-type: c5.large, node.k8s.aws/capacity-type: spot}}`,
			want: map[string]string{
				"from": "the default launch template", "capacity-type": "spot", "arch": "amd64", "zone": "us-east-1c", "instance-type": "c5.large",
			},
		},
		{
			reason: "and no type beyond them", provisioner: `{instanceTypes: [m5.large]}`, pod: `{nodeSelector: {node.kubernetes.io/instance-type: p5.48xlarge}}`,
			says: "requires node.kubernetes.io/instance-type: p5.48xlarge, but spec.instanceTypes of " +
				"Provisioner default allows only m5.large",
		},
		{
			reason: "by its old label either", provisioner: `{instanceTypes: [m5.large]}`, pod: `{nodeSelector: {beta.kubernetes.io/instance-type: p5.48xlarge}}`,
			says: "p5.48xlarge, but spec.instanceTypes of Provisioner default allows only m5.large",
		},
		{
			reason: "nor a zone", provisioner: `{zones: [us-east-1a, us-east-1b]}`, pod: `{nodeSelector: {topology.kubernetes.io/zone: us-east-1c}}`,
			says: "requires topology.kubernetes.io/zone: us-east-1c, but spec.zones of Provisioner default " +
				"allows only us-east-1a or us-east-1b",
		},
		{
			reason: "nor an architecture", provisioner: `{architecture: x86_64}`, pod: `{nodeSelector: {kubernetes.io/arch: arm64}}`,
			says: "requires kubernetes.io/arch: arm64, but spec.architecture of Provisioner default allows only amd64",
		},
		{
			reason: "what a pod names overlaps with what the provisioner allows", provisioner: `{zones: [us-east-1a, us-east-1b]}`,
			pod: `{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
				{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [us-east-1b, us-east-1c]}]}]}}}}`,
			want: map[string]string{"from": "the default launch template", "capacity-type": "on-demand", "arch": "amd64", "zone": "us-east-1b"},
		},
		{
			reason: "a message lists the first of many types", provisioner: `{instanceTypes: [a.1, a.2, a.3, a.4, a.5, a.6, a.7]}`,
			pod: `{nodeSelector: {node.kubernetes.io/instance-type: m5.large}}`, says: "allows only a.1, a.2, a.3, a.4, a.5, or 2 more",
		},
		{
			reason: "a pod names capacity type by Karpenter's label", provisioner: `{}`, pod: `{nodeSelector: {karpenter.sh/capacity-type: spot}}`,
			want: map[string]string{"from": "the default launch template", "capacity-type": "spot", "arch": "amd64"},
		},
		{
			reason:      "requirements are limits too, and Linux is what all nodes run",
			provisioner: `{requirements: [{key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ["4"]}, {key: kubernetes.io/os, operator: In, values: [linux]}]}`,
			pod: `{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
				{matchExpressions: [{key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["17"]}]}]}}}}`,
			want: map[string]string{"from": "the default launch template", "capacity-type": "on-demand", "arch": "amd64", "instance-cpu": "anything above 4 below 17"},
		},
		{
			reason:      "that a pod cannot go beyond",
			provisioner: `{requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, c5]}]}`,
			pod:         `{nodeSelector: {karpenter.k8s.aws/instance-family: p5}}`,
			says: "requires karpenter.k8s.aws/instance-family: p5, but spec.requirements of Provisioner " +
				"default allows only c5 or m5",
		},
		{
			reason:      "both capacity types",
			provisioner: `{requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}]}`, pod: `{}`,
			want: map[string]string{"from": "the default launch template", "capacity-type": "on-demand or spot", "arch": "amd64"},
		},
		{
			reason:      "of which a label prefers one, and a pod chooses the other",
			provisioner: `{labels: {node.k8s.aws/capacity-type: spot}, requirements: [{key: node.k8s.aws/capacity-type, operator: Exists}]}`,
			pod:         `{nodeSelector: {node.k8s.aws/capacity-type: on-demand}}`,
			want:        map[string]string{"from": "the default launch template", "capacity-type": "on-demand", "arch": "amd64"},
		},
		{
			reason:      "one alone",
			provisioner: `{requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]}`, pod: `{nodeSelector: {node.k8s.aws/capacity-type: on-demand}}`,
			says: "requires node.k8s.aws/capacity-type: on-demand, but spec.requirements of Provisioner default " +
				"allows only spot",
		},
		{
			reason:      "arm64 alone, for a pod that does not say",
			provisioner: `{requirements: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]}`, pod: `{}`,
			want: map[string]string{"from": "the default launch template", "capacity-type": "on-demand", "arch": "arm64"},
		},
		{
			reason:      "amd64 of both, for a pod that does not say",
			provisioner: `{requirements: [{key: kubernetes.io/arch, operator: In, values: [arm64, amd64]}]}`, pod: `{}`,
			want: map[string]string{"from": "the default launch template", "capacity-type": "on-demand", "arch": "amd64"},
		},
		{
			reason:      "limits that leave nothing",
			provisioner: `{zones: [us-east-1a], requirements: [{key: topology.kubernetes.io/zone, operator: In, values: [us-east-1b]}]}`, pod: `{}`,
			says: "waits, because Provisioner default can launch no node: spec.zones and spec.requirements " +
				"allow no common value of topology.kubernetes.io/zone",
		},
		{
			reason:      "a template's own type gives way to the provisioner's requirements",
			provisioner: `{labels: {node.k8s.aws/launch-template-name: spot}, requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [c5]}]}`,
			pod:         `{}`,
			want: map[string]string{
				"from": "launch template spot", "launch-template-name": "spot", "launch-template-version": "1", "capacity-type": "spot", "arch": "amd64",
				"instance-family": "c5",
			},
		},
		{
			reason: "a template's type is what nodes have whose pods do not say", provisioner: `{labels: {node.k8s.aws/launch-template-name: spot}}`,
			pod: `{nodeSelector: {node.kubernetes.io/instance-type: c5.large}}`,
			want: map[string]string{
				"from": "launch template spot", "launch-template-name": "spot", "launch-template-version": "1", "capacity-type": "spot", "arch": "amd64",
				"instance-type": "c5.large",
			},
		},
		{
			reason: "what a pod excludes narrows what the provisioner has", provisioner: `{zones: [us-east-1a, us-east-1b]}`,
			pod: `{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
				{matchExpressions: [{key: topology.kubernetes.io/zone, operator: NotIn, values: [us-east-1a]}]}]}}}}`,
			want: map[string]string{"from": "the default launch template", "capacity-type": "on-demand", "arch": "amd64", "zone": "us-east-1b"},
		},
		{
			reason: "until nothing is left", provisioner: `{zones: [us-east-1a]}`,
			pod: `{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
				{matchExpressions: [{key: topology.kubernetes.io/zone, operator: NotIn, values: [us-east-1a]}]}]}}}}`,
			says: "requires topology.kubernetes.io/zone: not us-east-1a, but spec.zones of Provisioner default " +
				"allows only us-east-1a",
		},
		{
			reason: "a template's own types and market are the layer below", provisioner: `{labels: {node.k8s.aws/launch-template-name: spot}}`, pod: `{}`,
			want: map[string]string{
				"from": "launch template spot", "launch-template-name": "spot", "launch-template-version": "1", "capacity-type": "spot", "arch": "amd64",
				"instance-type": "m5.large",
			},
		},
		{
			reason:      "its market cannot be overridden",
			provisioner: `{labels: {node.k8s.aws/launch-template-name: spot, node.k8s.aws/capacity-type: on-demand}}`, pod: `{}`,
			says: "requires node.k8s.aws/capacity-type",
		},
		{
			reason: "nor its zone; an AWSLaunchConfig is a template too", provisioner: `{launchConfigRef: {namespace: default, name: web}}`, pod: `{}`,
			want: map[string]string{
				"from": "launch template default/web", "launch-template-name": "web-config", "launch-template-version": "9", "capacity-type": "on-demand",
				"arch": "arm64", "zone": "us-east-1b",
			},
		},
		{reason: "a pod is for Linux, which all nodes run", provisioner: `{}`, pod: `{os: {name: linux}}`, want: map[string]string{"from": "the default launch template", "capacity-type": "on-demand", "arch": "amd64"}},
		{reason: "a pod is for Windows, which the scheduler does not heed, and the kubelet does", provisioner: `{}`, pod: `{os: {name: windows}}`, says: "requires kubernetes.io/os: windows, but the node would have linux"},
		{reason: "a pod for Windows that asks for Linux", provisioner: `{}`, pod: `{os: {name: windows}, nodeSelector: {kubernetes.io/os: linux}}`, says: "is for windows (spec.os.name), but its node selector requires kubernetes.io/os: linux"},
		{reason: "a template that is not there", provisioner: `{labels: {node.k8s.aws/launch-template-name: gone}}`, pod: `{}`, says: "EC2 has no launch template"},
		{
			reason: "or was not looked at", provisioner: `{}`, pod: `{nodeSelector: {node.k8s.aws/launch-template-name: new}}`,
			says: "needs launch template new, which Slipway has not read yet because pending pods specify too many launch templates",
		},
		{
			reason: "a pod that wants no template is given none", provisioner: byWeb,
			pod: `{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
				{matchExpressions: [{key: node.k8s.aws/launch-template-name, operator: DoesNotExist}]}]}}}}`,
			want: map[string]string{"from": "the default launch template", "capacity-type": "on-demand", "arch": "amd64"},
		},
		{
			reason: "a pod that excludes the template cannot have it", provisioner: byWeb,
			pod: `{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
				{matchExpressions: [{key: node.k8s.aws/launch-template-name, operator: NotIn, values: [web]}]}]}}}}`,
			says: "requires node.k8s.aws/launch-template-name: not web, but the node would have web",
		},
		{
			reason: "labels of the provisioner are what pods override", provisioner: `{labels: {team: batch}}`, pod: `{nodeSelector: {team: web}}`,
			want: map[string]string{"from": "the default launch template", "capacity-type": "on-demand", "arch": "amd64", "team": "web"},
		},
		{
			reason: "but those that keep nodes apart are not", provisioner: `{labels: {node-restriction.kubernetes.io/team: batch}}`,
			pod: `{nodeSelector: {node-restriction.kubernetes.io/team: web}}`, says: "web, but the node would have batch",
		},
		{
			reason: "what is left is asked of the instance", provisioner: `{}`, pod: `{nodeSelector: {disk: ssd, beta.kubernetes.io/arch: amd64}}`,
			want: map[string]string{"from": "the default launch template", "capacity-type": "on-demand", "arch": "amd64", "disk": "ssd"},
		},
		{reason: "no node of ours runs Windows", provisioner: `{}`, pod: `{nodeSelector: {kubernetes.io/os: windows}}`, says: "windows, but the node would have linux"},
		{reason: "no new node has a name", provisioner: `{}`, pod: `{nodeSelector: {kubernetes.io/hostname: ip-10-0-0-1}}`, says: "by its hostname"},
		{reason: "a selector that contradicts itself", provisioner: `{}`, pod: `{nodeSelector: {disk: ssd}, affinity: {nodeAffinity:
			{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [hdd]}]}]}}}}`,
			says: "has a node selector and a node affinity that contradict each other for the label disk"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			spec := decode[provisioningv1.ProvisionerSpec](t, c.provisioner)
			pod := decode[corev1.PodSpec](t, c.pod)
			provisioner := constraints.FromSpec("default", &spec)
			provisioner.Allowed = anything
			ways, reason := constraints.PodRequirements(&pod)
			var ask constraints.Ask
			if reason == "" {
				ask, reason = constraints.Resolve(&provisioner, known, ways[0])
			}
			if c.says != "" {
				if !strings.Contains(reason, c.says) {
					t.Errorf("the reason is %q, want %q in it; the node is %v", reason, c.says, nodeOf(ask))
				}
				return
			}
			if reason != "" {
				t.Fatalf("no node: %s", reason)
			}
			if diff := cmp.Diff(c.want, nodeOf(ask)); diff != "" {
				t.Errorf("node (-want +got):\n%s", diff)
			}
			if ask.Labels[provisioningv1.LabelProvisionerName] != "default" {
				t.Errorf("labels %v do not name the provisioner", ask.Labels)
			}
		})
	}
}

// TestGroups holds S8: pods that name a launch template and pods that name none never share a new node.
func TestGroups(t *testing.T) {
	t.Parallel()
	provisioner := constraints.Provisioner{Name: "default", Labels: map[string]string{"team": "batch"}, Allowed: anything}
	group := func(selector string) string {
		pod := decode[corev1.PodSpec](t, selector)
		ways, _ := constraints.PodRequirements(&pod)
		ask, reason := constraints.Resolve(&provisioner, known, ways[0])
		if reason != "" {
			t.Fatal(reason)
		}
		return ask.Group()
	}
	podA, podB := group(`{nodeSelector: {node.k8s.aws/launch-template-name: web}}`), group(`{}`)
	if podA == podB {
		t.Errorf("both are %q", podA)
	}
	if version := group(`{nodeSelector: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: "3"}}`); version == podA {
		t.Error("two versions are one")
	}
	if zone := group(`{nodeSelector: {topology.kubernetes.io/zone: us-east-1a}}`); zone != podB {
		t.Error("a zone alone, which a node of the others may be in, parts the pods")
	}
	if team := group(`{nodeSelector: {team: web}}`); team == podB {
		t.Error("nodes with other labels are others")
	}
}

// TestPreferences holds their order, and that what contradicts is left out.
func TestPreferences(t *testing.T) {
	t.Parallel()
	pod := decode[corev1.PodSpec](t, `{nodeSelector: {disk: ssd}, affinity: {nodeAffinity: {
		requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
			{matchExpressions: [{key: zone, operator: In, values: [a]}]}, {matchExpressions: []}, {matchExpressions: [{key: zone, operator: In, values: [b]}]}]},
		preferredDuringSchedulingIgnoredDuringExecution: [
			{weight: 1, preference: {matchExpressions: [{key: size, operator: Gt, values: ["4"]}]}},
			{weight: 50, preference: {matchExpressions: [{key: zone, operator: In, values: [b]}]}}]}}}`)
	ways, reason := constraints.PodRequirements(&pod)
	var got []string
	for _, way := range ways {
		got = append(got, way.String())
	}
	want := []string{
		"disk: ssd; size: anything above 4; zone: a", "disk: ssd; size: anything above 4; zone: b", "disk: ssd; zone: a", "disk: ssd; zone: b",
	}
	if diff := cmp.Diff(want, got); diff != "" || reason != "" {
		t.Errorf("ways (-want +got), %q:\n%s", reason, diff)
	}
}

func TestPodsThatNoNodeSuits(t *testing.T) {
	t.Parallel()
	for terms, says := range map[string]string{
		`[{matchFields: [{key: metadata.name, operator: In, values: [n]}]}]`: "by its name",
		`[{}]`: "without expressions",
		`[]`:   "without terms",
		`[{matchExpressions: [{key: a, operator: In, values: [b]}, {key: a, operator: DoesNotExist}]}]`: "has contradictory requirements for the " +
			"label a",
	} {
		pod := decode[corev1.PodSpec](t, `{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: `+terms+`}}}}`)
		if ways, reason := constraints.PodRequirements(&pod); len(ways) > 0 || !strings.Contains(reason, says) {
			t.Errorf("%s: ways are %v, the reason is %q", terms, ways, reason)
		}
	}
}

func TestTolerations(t *testing.T) {
	t.Parallel()
	taints := []corev1.Taint{{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule}, {Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
	for tolerations, want := range map[string]bool{
		`[]`: false, `[{operator: Exists}]`: true, `[{key: dedicated, value: batch}]`: true, `[{key: dedicated, value: web}]`: false,
		`[{key: dedicated, operator: Exists, effect: NoExecute}]`: false, `[{key: dedicated, operator: Gt, value: "1"}]`: false,
	} {
		pod := corev1.PodSpec{Tolerations: decode[[]corev1.Toleration](t, tolerations)}
		tolerated, reason := constraints.Tolerates(&pod, taints)
		if tolerated != want || tolerated != (reason == "") {
			t.Errorf("%s: tolerated is %v, %q", tolerations, tolerated, reason)
		}
	}
}

// TestRefused holds which offerings a refusal is of.
func TestRefused(t *testing.T) {
	t.Parallel()
	refused := constraints.Refused{
		{InstanceType: "m5.large"}: "type", {InstanceType: "c5.large", CapacityType: "spot"}: "market", {InstanceType: "r5.large", Zone: "a"}: "zone",
		{InstanceType: "t3.large", Zone: "a", CapacityType: "spot"}: "one",
	}
	for offering, want := range map[constraints.Offering]string{
		{InstanceType: "m5.large", Zone: "b", CapacityType: "spot"}:      "type",
		{InstanceType: "c5.large", Zone: "b", CapacityType: "spot"}:      "market",
		{InstanceType: "c5.large", Zone: "b", CapacityType: "on-demand"}: "",
		{InstanceType: "r5.large", Zone: "a", CapacityType: "on-demand"}: "zone",
		{InstanceType: "r5.large", Zone: "b", CapacityType: "on-demand"}: "",
		{InstanceType: "t3.large", Zone: "a", CapacityType: "spot"}:      "one",
		{InstanceType: "t3.large", Zone: "a", CapacityType: "on-demand"}: "",
		{InstanceType: "m5.xlarge", Zone: "a", CapacityType: "spot"}:     "",
	} {
		if got := refused.Why(offering); got != want {
			t.Errorf("%v is refused because of %q, want %q", offering, got, want)
		}
	}
}
