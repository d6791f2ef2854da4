package defaults

import (
	"context"
	"errors"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

// TestPrune holds that versions which nothing is launched from are deleted once there are too many,
// and that versions of nodes stay, whether the cluster knows them or only EC2 does.
func TestPrune(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	templates := r.build()
	none := func(context.Context, string) (map[int64]bool, error) { return map[int64]bool{}, nil }
	prune := func(used Used) string {
		t.Helper()
		message, err := templates.Prune(t.Context(), provisioner("1"), "amd64", used)
		if err != nil {
			t.Fatal(err)
		}
		return message
	}
	if templates.PruneDue(provisioner("1"), "amd64") || prune(none) != "" {
		t.Error("versions are to be deleted of what was not read")
	}
	var made Template
	for generation := range int64(kept) {
		made = r.ensure(templates, edited(generation+1))
	}
	if templates.PruneDue(edited(kept), "amd64") {
		t.Errorf("%d versions are too many", kept)
	}
	for generation := int64(kept); generation < 7; generation++ {
		made = r.ensure(templates, edited(generation+1))
	}
	if !templates.PruneDue(edited(7), "amd64") || made.Version != 7 {
		t.Fatalf("%d versions are not too many", made.Version)
	}
	group, err := r.ec2.RunInstances(t.Context(), &ec2.RunInstancesInput{
		MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1), InstanceType: "m5.large", SubnetId: awssdk.String("subnet-0b2000000000000aa"),
		LaunchTemplate: &ec2types.LaunchTemplateSpecification{LaunchTemplateId: &made.ID, Version: awssdk.String("3")},
	})
	if err != nil || len(group.Instances) != 1 {
		t.Fatal(err)
	}
	if _, err := templates.Prune(t.Context(), provisioner("1"), "amd64", func(context.Context, string) (map[int64]bool, error) { return nil, errors.New("no list") }); err == nil {
		t.Error("versions are deleted although it is not known which are used")
	}
	if message := prune(func(_ context.Context, id string) (map[int64]bool, error) {
		return map[int64]bool{2: id == made.ID}, nil
	}); message != "" {
		t.Errorf("EC2 refuses to delete: %s", message)
	}
	// 2 is a node's that is under way, 3 an instance's, and 5 to 7 are the newest.
	if diff := cmp.Diff([]int64{2, 3, 5, 6, 7}, r.versions(made.ID)); diff != "" {
		t.Errorf("the remaining versions (-want +got):\n%s", diff)
	}
	prune(none)
	if diff := cmp.Diff([]int64{3, 5, 6, 7}, r.versions(made.ID)); diff != "" {
		t.Errorf("the remaining versions once the node is gone (-want +got):\n%s", diff)
	}
	if _, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{*group.Instances[0].InstanceId}}); err != nil {
		t.Fatal(err)
	}
	r.sim.Clock().Step(time.Hour)
	prune(none)
	if diff := cmp.Diff([]int64{5, 6, 7}, r.versions(made.ID)); diff != "" || templates.PruneDue(edited(7), "amd64") {
		t.Errorf("the remaining versions once the instance is gone (-want +got):\n%s", diff)
	}
}

// TestDeletionOfNewTemplate holds that a template is not forgotten which EC2 does not show yet when
// its provisioner goes.
func TestDeletionOfNewTemplate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sim.SetBehavior(awssim.Behavior{ReadLag: 4 * time.Second})
	templates := r.build()
	if _, err := templates.Delete(t.Context(), provisioner("an earlier one")); err != nil {
		t.Fatal(err)
	}
	r.sim.Clock().Step(time.Hour)
	r.ensure(templates, provisioner("1"))
	if shown, err := templates.Delete(t.Context(), provisioner("1")); err != nil || shown {
		t.Errorf("a template that EC2 does not show counts as deleted: %v", err)
	}
	r.sim.Clock().Step(5 * time.Second)
	if shown, err := templates.Delete(t.Context(), provisioner("1")); err != nil || !shown {
		t.Errorf("EC2 does not show the template: %v", err)
	}
	if left := r.sim.Region("123456789012", "us-east-1").LaunchTemplates(); len(left) > 0 {
		t.Errorf("%d templates are left", len(left))
	}
}

// TestDeletionAfterACrash holds that a template is not forgotten which a process created right before
// it crashed: nothing records it, and EC2 does not show it to the next process yet.
func TestDeletionAfterACrash(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.sim.SetBehavior(awssim.Behavior{ReadLag: 4 * time.Second})
	r.ensure(r.build(), provisioner("1"))
	next := r.build()
	if shown, err := next.Delete(t.Context(), provisioner("1")); err != nil || shown {
		t.Errorf("a process that has just started counts a template as deleted: %v", err)
	}
	r.sim.Clock().Step(5 * time.Second)
	if _, err := next.Delete(t.Context(), provisioner("1")); err != nil {
		t.Error(err)
	}
	if left := r.sim.Region("123456789012", "us-east-1").LaunchTemplates(); len(left) > 0 {
		t.Errorf("%d templates are left", len(left))
	}
	r.sim.Clock().Step(time.Minute)
	if shown, err := next.Delete(t.Context(), provisioner("1")); err != nil || !shown {
		t.Errorf("a process that has run for a while waits for templates: %v", err)
	}
}
