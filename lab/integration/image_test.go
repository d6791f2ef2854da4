package integration

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestImageIsKept holds that a newer image being published rolls nothing, whatever the manager
// remembers, and that another Kubernetes version does.
func TestImageIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.publicImage()
	w.publish(source, "nodes-1.25.0-a")
	w.publish(source, "nodes-1.26.0-a")
	w.havePool("    sshKeyName:", "    imageLookupFormat: nodes-{{.K8sVersion}}-*\n    imageLookupOrg: \""+w.Account+"\"\n    sshKeyName:")
	instances := w.running()
	newer := w.publish(source, "nodes-1.25.0-b")

	check := func(after string) {
		t.Helper()
		w.touch()
		w.rest()
		w.Eventually("the pool is settled "+after, func() error { return w.settled(2) })
		w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 0, "StartInstanceRefresh": 0})
		if !slices.Equal(w.running(), instances) {
			t.Errorf("%s, instances are %q of %q", after, w.running(), instances)
		}
		if resolved := w.mustConfig().Status.Resolved; resolved == nil || resolved.ImageID == newer {
			t.Errorf("%s, resolved is %+v", after, resolved)
		}
	}
	check("after a newer image was published")
	w.stopManager()
	w.startManager()
	check("after a restart")
	w.stopManager()
	w.wipeStatus()
	w.startManager()
	check("after a move")

	w.roll(edit{"another Kubernetes version is another image", func(*infrav1.AWSMachinePool) { w.setVersion("v1.26.0") }, nil})
}

// publicImage is one that the default look-up finds.
func (w *world) publicImage() string {
	w.Helper()
	out, err := w.ec2().DescribeImages(w.Context(), &ec2.DescribeImagesInput{Owners: []string{"819546954734"}})
	if err != nil {
		w.Fatal(err)
	}
	for _, image := range out.Images {
		if image.Architecture == "x86_64" {
			return *image.ImageId
		}
	}
	w.Fatal("there is no image")
	return ""
}

// publish creates an image of the test's account.
func (w *world) publish(source, name string) string {
	w.Helper()
	out, err := w.ec2().CopyImage(w.Context(), &ec2.CopyImageInput{
		Name: aws.String(name), SourceImageId: &source, SourceRegion: aws.String(w.Cloud.Region()),
	})
	if err != nil {
		w.Fatal(err)
	}
	return *out.ImageId
}
