package defaults

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// facts holds what a cluster reports.
type facts struct{ version, serviceCIDR string }

func (f facts) Version(context.Context) (string, error)     { return f.version, nil }
func (f facts) ServiceCIDR(context.Context) (string, error) { return f.serviceCIDR, nil }

// rig is a simulated AWS, and default launch templates in it.
type rig struct {
	*testing.T
	sim   *awssim.Simulator
	ec2   *ec2.Client
	build func() *Templates
}

func newRig(t *testing.T) *rig {
	t.Helper()
	sim, clock, url := awssimtest.Start(t, time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC), awssim.Options{})
	config := awssimtest.Config(url, "us-east-1", "123456789012")
	clients, err := aws.NewSessions(config, aws.WithClock(clock)).For(t.Context(), aws.Principal{}, "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	return &rig{T: t, sim: sim, ec2: ec2.NewFromConfig(config), build: func() *Templates {
		return &Templates{
			Templates: launchtemplate.NewTemplates(clients.EC2), Discovery: discovery.New(clients, clock), Clock: clock,
			Cluster: facts{version: "v1.36.3", serviceCIDR: "10.96.0.0/12"}, InstanceProfile: "nodes.cluster-api-provider-aws.sigs.k8s.io",
		}
	}}
}

func provisioner(uid types.UID) *provisioningv1.Provisioner {
	group := "sg-0c1000000000000ab"
	made := &provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: uid, Generation: 1}}
	made.Spec.Cluster.Name, made.Spec.Cluster.Endpoint, made.Spec.Cluster.CABundle = "prod", "https://prod.example.com", "Y2E="
	made.Spec.SecurityGroups = []infrav1.AWSResourceReference{{ID: &group}}
	return made
}

func (r *rig) ensure(templates *Templates, provisioner *provisioningv1.Provisioner) Template {
	r.Helper()
	made, err := templates.Ensure(r.Context(), provisioner, "amd64")
	if err != nil {
		r.Fatal(err)
	}
	return made
}

// exists checks that a template is there to launch from.
func (r *rig) exists(id string) {
	r.Helper()
	found, err := r.ec2.DescribeLaunchTemplates(r.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{id}})
	if err != nil || len(found.LaunchTemplates) != 1 {
		r.Errorf("launch template %s cannot be launched from: %v", id, err)
	}
}

// record writes to status what the controller does.
func record(provisioner *provisioningv1.Provisioner, made Template) {
	provisioner.Status.LaunchTemplates = []provisioningv1.ResolvedLaunchTemplate{{
		Name: made.Name, ID: made.ID, Version: made.Version, Generated: true, Architecture: provisioningv1.ArchitectureAMD64, SpecDigest: made.SpecDigest,
	}}
}

// TestRecreatedProvisioner holds that a provisioner that is created again with the same name and
// spec launches from a template of its own at once: EC2 would answer a repeated request with the
// deleted one.
func TestRecreatedProvisioner(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := provisioner("1")
	before := r.ensure(r.build(), first)
	if _, err := r.build().Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	after := r.ensure(r.build(), provisioner("2"))
	if after.ID == before.ID {
		t.Errorf("both have launch template %s", after.ID)
	}
	r.exists(after.ID)
}

// TestLostDefaultTemplate holds that a default launch template that was deleted by hand is created
// again, each time.
func TestLostDefaultTemplate(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]bool{"EC2 remembers the client token of the deleted one": false, "EC2 forgets it": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.sim.SetBehavior(awssim.Behavior{ForgetTokens: forget})
			loseDefaultTemplates(r)
		})
	}
}

func loseDefaultTemplates(r *rig) {
	r.Helper()
	subject := provisioner("1")
	seen := map[string]bool{}
	for range 3 {
		made := r.ensure(r.build(), subject)
		if seen[made.ID] {
			r.Fatalf("launch template %s, which was deleted, is to be launched from", made.ID)
		}
		seen[made.ID] = true
		r.exists(made.ID)
		record(subject, made)
		if _, err := r.ec2.DeleteLaunchTemplate(r.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &made.ID}); err != nil {
			r.Fatal(err)
		}
	}
}

// TestDefaultTemplateWithoutItsTag holds that a default launch template whose owner tag was removed
// is no deleted one: launches go on from it, and no second one is created.
func TestDefaultTemplateWithoutItsTag(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	subject := provisioner("1")
	made := r.ensure(r.build(), subject)
	record(subject, made)
	tag := []ec2types.Tag{{Key: awssdk.String(infrav1.TagLaunchConfig), Value: awssdk.String("provisioner/prod/default/amd64")}}
	if _, err := r.ec2.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{made.ID}, Tags: tag}); err != nil {
		t.Fatal(err)
	}
	without := r.ensure(r.build(), subject)
	var missing *launchtemplate.OwnerTagMissingError
	if without.ID != made.ID || !errors.As(without.Trouble, &missing) || missing.ID != made.ID {
		t.Errorf("launches go on from %s, with the trouble %v", without.ID, without.Trouble)
	}
	all, err := r.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil || len(all.LaunchTemplates) != 1 {
		t.Errorf("%d launch templates, error %v", len(all.LaunchTemplates), err)
	}
	if _, err := r.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{made.ID}, Tags: tag}); err != nil {
		t.Fatal(err)
	}
	if back := r.ensure(r.build(), subject); back.ID != made.ID || back.Trouble != nil {
		t.Errorf("with its tag back: %s, trouble %v", back.ID, back.Trouble)
	}
}

// slowly are facts whose first reader waits until it is released.
type slowly struct {
	facts
	reads    atomic.Int32
	reading  chan struct{}
	released chan struct{}
}

// Version implements Cluster.
func (s *slowly) Version(ctx context.Context) (string, error) {
	if s.reads.Add(1) == 1 {
		close(s.reading)
		<-s.released
	}
	return s.facts.Version(ctx)
}

// TestEditWhileCreating holds that a spec that was edited while the template of the former one was
// being created gets a template of its own: nodes would launch from the former one for minutes.
func TestEditWhileCreating(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	cluster := &slowly{facts: facts{version: "v1.36.3", serviceCIDR: "10.96.0.0/12"}, reading: make(chan struct{}), released: make(chan struct{})}
	templates := r.build()
	r.ensure(templates, provisioner("1"))
	templates.Cluster = cluster
	edited := func(generation int64, endpoint string) *provisioningv1.Provisioner {
		edited := provisioner("1")
		edited.Generation, edited.Spec.Cluster.Endpoint = generation, endpoint
		return edited
	}
	ensured := make(chan error, 2)
	ensure := func(provisioner *provisioningv1.Provisioner, made *Template) {
		var err error
		*made, err = templates.Ensure(t.Context(), provisioner, "amd64")
		ensured <- err
	}
	var former, latest Template
	go ensure(edited(2, "https://former.example.com"), &former)
	<-cluster.reading
	go ensure(edited(3, "https://latest.example.com"), &latest)
	left := 2
	select {
	case err := <-ensured:
		left--
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the latest spec waits for what is being created for the former one")
	}
	close(cluster.released)
	for range left {
		if err := <-ensured; err != nil {
			t.Error(err)
		}
	}
	if latest.ID != former.ID || latest.Version == former.Version || latest.SpecDigest == former.SpecDigest {
		t.Errorf("the former spec has %s version %d, and the latest %s version %d", former.ID, former.Version, latest.ID, latest.Version)
	}
}

// TestImagesHaveDrivers holds that each variant has a launch template of its own, with the image of
// EKS that has the driver.
func TestImagesHaveDrivers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	templates, subject := r.build(), provisioner("1")
	seen := map[string]string{}
	for variant, wanted := range map[string]string{
		"amd64": "amazon-eks-node-al2023-x86_64-standard-1.36-", "amd64-nvidia": "amazon-eks-node-al2023-x86_64-nvidia-1.36-",
		"arm64-nvidia": "amazon-eks-node-al2023-arm64-nvidia-1.36-", "amd64-neuron": "amazon-eks-node-al2023-x86_64-neuron-1.36-",
	} {
		made, err := templates.Ensure(t.Context(), subject, variant)
		if err != nil {
			t.Fatal(err)
		}
		images, err := r.ec2.DescribeImages(t.Context(), &ec2.DescribeImagesInput{ImageIds: []string{made.ImageID}})
		if err != nil || len(images.Images) != 1 || !strings.HasPrefix(*images.Images[0].Name, wanted) {
			t.Errorf("%s has the image %+v, error %v", variant, images.Images, err)
		}
		if other := seen[made.ID]; other != "" {
			t.Errorf("%s and %s have one launch template", variant, other)
		}
		seen[made.ID] = variant
	}
	if _, err := templates.Delete(t.Context(), subject); err != nil {
		t.Fatal(err)
	}
	all, err := r.ec2.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil || len(all.LaunchTemplates) != 0 {
		t.Errorf("%d launch templates are left, error %v", len(all.LaunchTemplates), err)
	}
}
