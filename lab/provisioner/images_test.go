package provisioner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
)

// publishImage has EKS publish a newer image of Amazon Linux 2023 for the newest Kubernetes and
// x86_64, and returns the id of the former and of the newer.
func (w *world) publishImage() (older, newer string) {
	w.Helper()
	older = w.image("x86_64")
	copied, err := w.ec2().CopyImage(w.Context(), &ec2.CopyImageInput{
		Name: aws.String("amazon-eks-node-al2023-x86_64-standard-1.36-v20991231"), SourceImageId: &older, SourceRegion: aws.String(w.Cloud.Region()),
	})
	if err != nil {
		w.Fatal(err)
	}
	w.recommend(*copied.ImageId)
	return older, *copied.ImageId
}

// recommend has EKS name an image the newest.
func (w *world) recommend(image string) {
	w.Helper()
	if err := w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).SetPublicParameter(eksParameter("1.36", "x86_64"), image); err != nil {
		w.Fatal(err)
	}
}

// runningImages are the images of all instances.
func (w *world) runningImages() []string {
	var images []string
	for _, instance := range w.instances() {
		images = append(images, *instance.ImageId)
	}
	slices.Sort(images)
	return slices.Compact(images)
}

// TestNewerImage holds how default launch templates react when EKS publishes a newer image: not at
// all, nodes that are launched later included, unless the spec follows drift; then there is a
// version of it, and all nodes are replaced by nodes with it.
func TestNewerImage(t *testing.T) {
	w := newWorld(t)
	w.provision("default", "instanceTypes: [m5.large]")
	w.keepReplicas(1)
	w.runningOn(1)
	w.readyNodes(1)
	id := w.provisioned()[0].Spec.LaunchTemplate.ID
	older, newer := w.publishImage()
	w.Cloud.AWS.ClearCalls()
	w.Eventually("the default launch template is looked at again", func() error {
		if w.count("DescribeLaunchTemplates") < 2 {
			return errors.New("not yet")
		}
		return nil
	})
	w.bound(w.pod("later", asking("1500m", "1Gi")))
	if images, err := w.runningImages(), w.versions(id, 1); !slices.Equal(images, []string{older}) || err != nil {
		t.Errorf("without drift instances run %q, and of the template there are: %v", images, err)
	}
	w.provision("default", "instanceTypes: [m5.large]", "drift: {maxReplacing: 2}")
	w.told("would now be launched from version 2")
	w.Eventually("the pod runs on a node with the newer image", func() error {
		if images := w.runningImages(); !slices.Equal(images, []string{newer}) {
			return fmt.Errorf("instances run %q", images)
		}
		if condition := w.condition(provisioningv1.NodesCurrentCondition); condition == nil || condition.Status != metav1.ConditionTrue {
			return fmt.Errorf("the provisioner says %+v", condition)
		}
		return nil
	})
	w.runningOn(1)
	if err := w.versions(id, 1, 2); err != nil {
		t.Error(err)
	}
}

// TestImageThatIsGone holds that an image which was kept until it was deregistered is followed by
// the newest, though the spec does not follow drift.
func TestImageThatIsGone(t *testing.T) {
	w := newWorld(t)
	other, first := w.publishImage()
	w.provision("default", "instanceTypes: [m5.large]")
	w.pod("one", asking("1500m", "1Gi"))
	w.readyNodes(1)
	if images := w.runningImages(); !slices.Equal(images, []string{first}) {
		t.Fatalf("instances run %q, want %q", images, first)
	}
	if _, err := w.ec2().DeregisterImage(w.Context(), &ec2.DeregisterImageInput{ImageId: &first}); err != nil {
		t.Fatal(err)
	}
	w.recommend(other)
	name := w.templateName(w.provisioned()[0].Spec.LaunchTemplate.ID)
	w.Eventually("there is a version with another image", func() error { return w.resolves(name, 2) })
	w.bound(w.pod("two", asking("1500m", "1Gi")))
	images := []string{first, other}
	slices.Sort(images)
	if running := w.runningImages(); !slices.Equal(running, images) {
		t.Errorf("instances run %q, want %q", running, images)
	}
}

// TestRefusedPrune holds that versions that EC2 refuses to delete are reported and stay, that nodes
// are launched meanwhile, and that they go when it lets them.
func TestRefusedPrune(t *testing.T) {
	w := newWorld(t)
	refusal, err := w.Cloud.AWS.AddFault(awssim.Fault{
		Action: "DeleteLaunchTemplateVersions", Code: "UnauthorizedOperation", Message: "You are not authorized to perform this operation.", Status: 403,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Cloud.AWS.RemoveFault(refusal)
	w.provision("default")
	w.pod("one")
	w.readyNodes(1)
	id := w.provisioned()[0].Spec.LaunchTemplate.ID
	for version := 2; version <= 5; version++ {
		w.Apply(strings.ReplaceAll(provisioner("default"), "api.example.com", fmt.Sprintf("v%d.example.com", version)))
		w.Eventually("the version is made", func() error { return w.resolves(w.templateName(id), int64(version)) })
	}
	w.Eventually("the provisioner says what is in the way", func() error {
		condition := w.condition(provisioningv1.VersionsPrunedCondition)
		if condition == nil || condition.Reason != provisioningv1.PruneFailedReason || !strings.Contains(condition.Message, "not authorized") {
			return fmt.Errorf("it says %+v", condition)
		}
		return nil
	})
	if err := w.versions(id, 1, 2, 3, 4, 5); err != nil {
		t.Error(err)
	}
	w.bound(w.pod("two", asking("12", "1Gi"))) // which the first node has no room for
	if condition := w.condition(provisioningv1.ReadyCondition); condition == nil || condition.Status != metav1.ConditionTrue {
		t.Errorf("the provisioner says %+v", condition)
	}
	w.Cloud.AWS.RemoveFault(refusal)
	w.Eventually("what nothing needs is gone", func() error {
		if condition := w.condition(provisioningv1.VersionsPrunedCondition); condition != nil {
			return fmt.Errorf("the provisioner says %+v", condition)
		}
		return w.versions(id, 1, 3, 4, 5)
	})
}
