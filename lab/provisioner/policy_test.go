package provisioner

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/permissions"
	"github.com/slipway-project/slipway/lab/underpolicy"
)

// The policies that `slipway iam policy --feature just-in-time-nodes` prints for the cluster of the
// tests, with the further features of each.
var (
	scope    = permissions.Scope{Partition: "aws", Clusters: []string{cluster}, Queue: eventQueue, ImageParameters: []string{"/team/*"}}
	features = []permissions.Feature{permissions.JustInTimeNodes, permissions.Events, permissions.ClusterEndpoints}
)

// asked holds the authorization questions of the provisioners of all journeys so far.
var asked []awssim.Authorization

// hold has the provisioner do no more than its policy allows, in every journey.
func (w *world) hold() {
	w.Helper()
	documents, err := underpolicy.Documents(scope, append([]permissions.Feature{permissions.JustInTimeNodes}, w.features...))
	if err != nil {
		w.Fatal(err)
	}
	underpolicy.Hold(w.Env, documents, func(questions []awssim.Authorization) { asked = append(asked, questions...) })
}

// policyIsNoMore is nil if some call of the journeys is denied without any single action of any
// statement of the policy. TestMain calls it after the journeys.
func policyIsNoMore() error {
	needed, err := underpolicy.Needed(scope, features, asked)
	if err != nil {
		return err
	}
	return underpolicy.Unneeded(needed)
}

// TestTemplateIsKept holds that a default launch template follows the spec, and gets back a tag
// that was removed from it.
func TestTemplateIsKept(t *testing.T) {
	w := newWorld(t)
	w.provision("default")
	w.pod("one")
	w.readyNodes(1)
	templates, err := w.ec2().DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil || len(templates.LaunchTemplates) != 1 {
		t.Fatalf("launch templates are %+v: %v", templates, err)
	}
	id := templates.LaunchTemplates[0].LaunchTemplateId
	if _, err := w.ec2().DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{*id}, Tags: []ec2types.Tag{{Key: aws.String(fleet.TagProvisioner)}}}); err != nil {
		t.Fatal(err)
	}
	w.Apply(strings.ReplaceAll(provisioner("default"), "api.example.com", "other.example.com"))
	// A pod that comes sooner may be launched from what there was.
	w.observed()
	w.pod("two", func(pod *corev1.Pod) { // which the first node has no room for
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("12")
	})
	w.readyNodes(2)
	templates, err = w.ec2().DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{*id}})
	if err != nil {
		t.Fatal(err)
	}
	kept := templates.LaunchTemplates[0]
	if *kept.DefaultVersionNumber != 2 || *kept.LatestVersionNumber != 2 {
		t.Errorf("version %d of %d is the default", *kept.DefaultVersionNumber, *kept.LatestVersionNumber)
	}
	if !slices.ContainsFunc(kept.Tags, func(tag ec2types.Tag) bool { return *tag.Key == fleet.TagProvisioner }) {
		t.Errorf("the template has tags %+v", kept.Tags)
	}
	if launched := w.launchedFrom(); !slices.Contains(launched, *id+":2 x86_64") {
		t.Errorf("instances are launched from %q", launched)
	}
}
