package packing_test

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
)

// shape is a result in short: for each new node its pods, cheapest type and zones, in the order in
// which nodes were opened; and the reasons.
func shape(result *packing.Result) (nodes, reasons []string) {
	for _, n := range result.New {
		var in []string
		for _, option := range n.Options {
			if !slices.Contains(in, option.Zone[len(option.Zone)-1:]) {
				in = append(in, option.Zone[len(option.Zone)-1:])
			}
		}
		slices.Sort(in)
		nodes = append(nodes, fmt.Sprintf("%s %s in %s: %s", n.Ask.Template, n.Options[0].Type, strings.Join(in, ""), strings.Join(packtest.Names(n.Pods), " ")))
	}
	for _, u := range result.Unplaced {
		reasons = append(reasons, u.Pod.Name+" "+u.Reason)
	}
	return nodes, reasons
}

func replicas(number int, name string, edit ...func(*corev1.Pod)) []packing.Pod {
	var all []packing.Pod
	for i := range number {
		all = append(all, packtest.Pod(fmt.Sprintf("%s%d", name, i), edit...))
	}
	return all
}

func attaching(pods []packing.Pod, volumes int64) []packing.Pod {
	for i := range pods {
		pods[i].Volumes = map[string]int64{packtest.Driver: volumes}
	}
	return pods
}

func among(key string, values []string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}}
}

func requiring(term corev1.NodeSelectorTerm) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		packtest.AffinityOf(p).NodeAffinity = &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}},
		}
	}
}

func inZones(zones []string) func(*corev1.Pod) {
	return requiring(among(corev1.LabelTopologyZone, zones))
}

var eitherCapacityType = requiring(among(provisioningv1.LabelCapacityType, []string{"on-demand", "spot"}))

func preferringZone(zone string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		packtest.AffinityOf(p).NodeAffinity = &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
			{Weight: 1, Preference: among(corev1.LabelTopologyZone, []string{zone})},
		}}
	}
}

// spreadWith spreads pods over zones by policies.
func spreadWith(affinity, taints *corev1.NodeInclusionPolicy) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		packtest.Spread(corev1.LabelTopologyZone, 1, corev1.DoNotSchedule, packtest.Selector("app", p.Labels["app"]))(p)
		c := &p.Spec.TopologySpreadConstraints[0]
		c.NodeAffinityPolicy, c.NodeTaintsPolicy = affinity, taints
	}
}

func revision(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Labels = map[string]string{"app": "a", "revision": name}
		packtest.Spread(corev1.LabelTopologyZone, 1, corev1.DoNotSchedule, packtest.Selector("app", "a"))(p)
		p.Spec.TopologySpreadConstraints[0].MatchLabelKeys = []string{"revision"}
	}
}

const fromDefault = "the default launch template "
