package provisioner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// templateWrites returns the provisioner's calls that create, change, or delete launch templates
// and their versions, including failed ones.
func (w *world) templateWrites() []string {
	var writes []string
	for _, call := range w.Cloud.AWS.Calls() {
		if slices.Contains(templateActions, call.Action) && !strings.HasPrefix(call.Action, "Describe") && !strings.Contains(call.Principal, tester) {
			writes = append(writes, call.Action)
		}
	}
	return writes
}

// TestScalingMakesNoTemplates holds that scaling up and down, with whatever labels, taints, zones,
// types, and capacity types pods ask for, creates and deletes no launch template and no version: a
// default launch template is created once for an architecture, and a user's is launched from as it
// is.
func TestScalingMakesNoTemplates(t *testing.T) {
	w := newWorld(t)
	w.template("web", w.image("x86_64"))
	w.provision("default", "ttlSeconds: 120", "labels: {team: batch}", "taints: [{key: team, value: batch, effect: NoSchedule}]", "allowedLaunchTemplates: {names: [web]}")
	tolerating := func(pod *corev1.Pod) {
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
	}
	w.pod("x86", tolerating, selecting(corev1.LabelArchStable, "amd64"))
	w.pod("arm", tolerating, selecting(corev1.LabelArchStable, "arm64"))
	w.readyNodes(2)
	if writes := w.templateWrites(); !slices.Equal(writes, []string{"CreateLaunchTemplate", "CreateLaunchTemplate"}) {
		t.Errorf("for two architectures there were %q", writes)
	}
	w.Cloud.AWS.ClearCalls()
	variants := map[string][]string{
		"spot": {provisioningv1.LabelCapacityType, "spot"}, "zone": {corev1.LabelTopologyZone, "us-east-1b"}, "type": {corev1.LabelInstanceTypeStable, "c5.xlarge"},
		"label": {"team", "web"}, "named": {provisioningv1.LabelLaunchTemplateName, "web"},
		"arm-spot": {corev1.LabelArchStable, "arm64", provisioningv1.LabelCapacityType, "spot"},
	}
	for round := range 2 {
		for name, selector := range variants {
			w.bound(w.pod(fmt.Sprintf("%s-%d", name, round), tolerating, selecting(selector...)))
		}
		if err := w.Client.DeleteAllOf(context.WithoutCancel(w.Context()), &corev1.Pod{}, client.InNamespace(w.Namespace), client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
		w.gone()
	}
	if launched, ended := w.count("CreateFleet"), w.count("TerminateInstances"); launched < len(variants) || ended == 0 {
		t.Errorf("%d launches and %d ends", launched, ended)
	}
	if writes := w.templateWrites(); len(writes) > 0 {
		t.Errorf("scaling wrote %q", writes)
	}
}
