package launchconfig

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestExistingOfOthers holds that the versions of a template that belongs to another namespace or
// cluster are not read: user data has join tokens.
func TestExistingOfOthers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		tags   map[string]string
		byName bool
		other  string
	}{
		{reason: "a template without owner tags", tags: map[string]string{"team": "blue"}},
		{reason: "one of another config in the namespace", tags: map[string]string{infrav1.TagLaunchConfig: "blue/other/gpu"}},
		{reason: "one that CAPA created for a cluster of this name, which may be another namespace's", tags: capas(clusterName), other: "Cluster API Provider AWS"},
		{reason: "one of another namespace", tags: map[string]string{infrav1.TagLaunchConfig: "red/prod/workers"}, other: `"red/prod/workers"`},
		{reason: "the same by its name", tags: map[string]string{infrav1.TagLaunchConfig: "red/prod/workers"}, byName: true, other: `"red/prod/workers"`},
		{reason: "one of a Provisioner", tags: map[string]string{infrav1.TagLaunchConfig: "provisioner/prod/default/amd64"}, other: "provisioner/prod"},
		{reason: "a namespace whose name another begins with", tags: map[string]string{infrav1.TagLaunchConfig: "blue-2/prod/workers"}, other: "blue-2"},
		{reason: "one that CAPA created for another cluster", tags: capas("other"), other: `cluster "other"`},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			existing := &infrav1.ExistingLaunchTemplate{ID: r.template("theirs", row.tags)}
			if row.byName {
				existing = &infrav1.ExistingLaunchTemplate{Name: "theirs"}
			}
			config := launchConfig(func(config *infrav1.AWSLaunchConfig) {
				config.Spec = infrav1.AWSLaunchConfigSpec{ClusterName: clusterName, Existing: existing}
			})
			if err := r.client.Create(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			r.sim.ClearCalls()
			config = r.reconcile()
			if row.other == "" {
				r.expect(config, infrav1.LaunchTemplateReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason, "")
				return
			}
			r.expect(config, infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.ExistingNotAllowedReason, row.other)
			if config.Status.LaunchTemplateID != "" || config.Status.Version != 0 {
				t.Errorf("pools would launch version %d of %s", config.Status.Version, config.Status.LaunchTemplateID)
			}
			for _, call := range r.sim.Calls() {
				if strings.Contains(call.Action, "Versions") {
					t.Errorf("call %s", call.Action)
				}
			}
		})
	}
}

// TestExistingImageGone holds that an image of a followed launch template that was deregistered is
// noticed without an event.
func TestExistingImageGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	image := r.copyImage()
	made, err := r.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: ptr.To("theirs"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			InstanceType: "c5.large", ImageId: &image, SecurityGroupIds: []string{"sg-0c1000000000000ab"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.client.Create(t.Context(), launchConfig(func(config *infrav1.AWSLaunchConfig) {
		config.Spec = infrav1.AWSLaunchConfigSpec{ClusterName: clusterName, Existing: &infrav1.ExistingLaunchTemplate{ID: *made.LaunchTemplate.LaunchTemplateId}}
	})); err != nil {
		t.Fatal(err)
	}
	r.expect(r.reconcile(), infrav1.ResolvedCondition, metav1.ConditionTrue, infrav1.ReadyReason, "")
	r.deregister(image)
	r.expect(r.next(), infrav1.ResolvedCondition, metav1.ConditionFalse, infrav1.ImageNotFoundReason, image)
}
