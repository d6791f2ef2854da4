package defaults

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
)

// edited returns the provisioner with an edit of its spec: a new generation, with another endpoint.
func edited(generation int64) *provisioningv1.Provisioner {
	made := provisioner("1")
	made.Generation, made.Spec.Cluster.Endpoint = generation, fmt.Sprintf("https://prod-%d.example.com", generation)
	return made
}

// called counts calls to EC2 since the last time that are about launch templates.
func (r *rig) called() int {
	number := 0
	for _, call := range r.sim.Calls() {
		if strings.Contains(call.Action, "LaunchTemplate") {
			number++
		}
	}
	r.sim.ClearCalls()
	return number
}

// refuse has EC2 refuse an action, until the returned function is called.
func (r *rig) refuse(action string) (again func()) {
	r.Helper()
	id, err := r.sim.AddFault(awssim.Fault{Service: "ec2", Action: action, Code: "UnauthorizedOperation", Message: "not now", Status: 403})
	if err != nil {
		r.Fatal(err)
	}
	return func() { r.sim.RemoveFault(id) }
}

// templates returns the tags of the launch templates that there are, by their names.
func (r *rig) templates() map[string]map[string]string {
	r.Helper()
	found, err := r.ec2.DescribeLaunchTemplates(r.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		r.Fatal(err)
	}
	all := map[string]map[string]string{}
	for _, template := range found.LaunchTemplates {
		tags := map[string]string{}
		for _, tag := range template.Tags {
			tags[*tag.Key] = *tag.Value
		}
		all[*template.LaunchTemplateName] = tags
	}
	return all
}

// contents returns what a version launches.
func (r *rig) contents(id string, version int64) *ec2types.ResponseLaunchTemplateData {
	r.Helper()
	found, err := r.ec2.DescribeLaunchTemplateVersions(r.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{fmt.Sprint(version)}})
	if err != nil || len(found.LaunchTemplateVersions) != 1 {
		r.Fatalf("version %d of %s: %v", version, id, err)
	}
	return found.LaunchTemplateVersions[0].LaunchTemplateData
}

// versions returns the numbers of the versions that a launch template has.
func (r *rig) versions(id string) []int64 {
	r.Helper()
	found, err := r.ec2.DescribeLaunchTemplateVersions(r.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id})
	if err != nil {
		r.Fatal(err)
	}
	var numbers []int64
	for i := range found.LaunchTemplateVersions {
		numbers = append(numbers, *found.LaunchTemplateVersions[i].VersionNumber)
	}
	slices.Sort(numbers)
	return numbers
}

// TestEnsureIsRemembered holds that scaling up calls no launch template API for a while, whatever
// happens to the template, and that an edit, a provisioner of the same name, and EC2's word that
// the template is gone have it read again.
func TestEnsureIsRemembered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	templates := r.build()
	if known := templates.Known("default"); len(known) > 0 {
		t.Errorf("before anything is read, %v are known", known)
	}
	first := r.ensure(templates, provisioner("1"))
	r.called()
	for _, row := range []struct {
		reason string
		before func()
		spec   *provisioningv1.Provisioner
		calls  bool
	}{
		{"at once", func() {}, provisioner("1"), false},
		{"five minutes later, but a second", func() { r.sim.Clock().Step(lookAgain - time.Second) }, provisioner("1"), false},
		{"and a second", func() { r.sim.Clock().Step(time.Second) }, provisioner("1"), true},
		{"at once, again", func() {}, provisioner("1"), false},
		{"an edit", func() {}, edited(2), true},
		{"the edit, again", func() {}, edited(2), false},
		{"another provisioner of the name", func() {}, func() *provisioningv1.Provisioner { p := edited(2); p.UID = "2"; return p }(), true},
		{"EC2 says that another template is gone", func() { templates.Forget("lt-00000000000000000") }, func() *provisioningv1.Provisioner { p := edited(2); p.UID = "2"; return p }(), false},
		{"that this one is", func() { templates.Forget(first.ID) }, func() *provisioningv1.Provisioner { p := edited(2); p.UID = "2"; return p }(), true},
	} {
		row.before()
		made := r.ensure(templates, row.spec)
		if calls := r.called(); calls > 0 != row.calls || made.ID != first.ID {
			t.Errorf("%s: %d calls, and it is %s, want %s", row.reason, calls, made.ID, first.ID)
		}
	}
	if known := templates.Known("default"); len(known) != 1 || known["amd64"].ID != first.ID || !known["amd64"].Generated {
		t.Errorf("known are %+v", known)
	}
	if known := templates.Known("defaul"); len(known) > 0 {
		t.Errorf("of a provisioner whose name begins the same, %v are known", known)
	}
}

// TestEnsureWhileAWSIsAway holds from what nodes are launched while AWS does not answer: from the
// last observation, after a restart from what the status records, and from nothing if the part of
// the spec that the template depends on has changed since.
func TestEnsureWhileAWSIsAway(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		restart bool
		edit    func(*provisioningv1.Provisioner)
		serves  bool
	}{
		{"nothing changed", false, func(*provisioningv1.Provisioner) {}, true},
		{"an edit of something else", false, func(p *provisioningv1.Provisioner) { p.Generation, p.Spec.Zones = 2, []string{"us-east-1a"} }, true},
		{"an edit of the endpoint", false, func(p *provisioningv1.Provisioner) {
			p.Generation, p.Spec.Cluster.Endpoint = 2, "https://other.example.com"
		}, false},
		{"an edit of the security groups", false, func(p *provisioningv1.Provisioner) { p.Generation, p.Spec.SecurityGroups = 2, nil }, false},
		{"a restart", true, func(*provisioningv1.Provisioner) {}, true},
		{"a restart and an edit of something else", true, func(p *provisioningv1.Provisioner) { p.Generation, p.Spec.Zones = 2, []string{"us-east-1a"} }, true},
		{"a restart and an edit of the endpoint", true, func(p *provisioningv1.Provisioner) {
			p.Generation, p.Spec.Cluster.Endpoint = 2, "https://other.example.com"
		}, false},
		{"a restart, and the status names another variant", true, func(p *provisioningv1.Provisioner) {
			p.Status.LaunchTemplates[0].Architecture = provisioningv1.ArchitectureARM64
		}, false},
		{"a restart, and the status names no version", true, func(p *provisioningv1.Provisioner) { p.Status.LaunchTemplates[0].Version = 0 }, false},
		{"a restart, and what the status names was not generated", true, func(p *provisioningv1.Provisioner) { p.Status.LaunchTemplates[0].Generated = false }, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			templates, subject := r.build(), provisioner("1")
			before := r.ensure(templates, subject)
			record(subject, before)
			row.edit(subject)
			if row.restart {
				templates = r.build()
			}
			r.sim.Clock().Step(lookAgain)
			r.refuse("DescribeLaunchTemplates")
			made, err := templates.Ensure(t.Context(), subject, "amd64")
			if serves := err == nil; serves != row.serves || serves && (made.LaunchTemplateVersion != before.LaunchTemplateVersion || made.Trouble == nil) {
				t.Errorf("nodes are launched from %+v, error %v", made, err)
			}
			if err != nil && !strings.Contains(err.Error(), `making the default launch template of provisioner "default" for amd64`) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestLostAndNotCreated holds that nothing is launched from a template that was deleted outside
// Slipway, although another one cannot be created: the error says both.
func TestLostAndNotCreated(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	templates, subject := r.build(), provisioner("1")
	made := r.ensure(templates, subject)
	record(subject, made)
	if _, err := r.ec2.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &made.ID}); err != nil {
		t.Fatal(err)
	}
	r.sim.Clock().Step(lookAgain)
	again := r.refuse("CreateLaunchTemplate")
	got, err := templates.Ensure(t.Context(), subject, "amd64")
	var lost *lostError
	if !errors.As(err, &lost) || errors.Unwrap(lost) == nil || !strings.HasPrefix(err.Error(), "default launch template "+made.ID+" was deleted outside Slipway, and recreating it failed: ") {
		t.Errorf("nodes are launched from %+v, error %v", got, err)
	}
	if known := templates.Known("default"); len(known) > 0 {
		t.Errorf("known are still %v", known)
	}
	again()
	if after := r.ensure(templates, subject); after.ID == made.ID || after.Trouble != nil {
		t.Errorf("then nodes are launched from %+v", after)
	}
}

// TestClustersOfOneName holds that two clusters of the same name, with provisioners of the same
// name, share no launch template: neither launches from the other's, nor deletes it.
func TestClustersOfOneName(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	of := func(uid types.UID) *Templates {
		templates := r.build()
		templates.ClusterUID = string(uid)
		return templates
	}
	one, other := r.ensure(of("one"), provisioner("1")), r.ensure(of("other"), provisioner("2"))
	if one.ID == other.ID || one.Name == other.Name {
		t.Fatalf("both have %s, %s", one.Name, one.ID)
	}
	if again := r.ensure(of("one"), provisioner("1")); again.ID != one.ID || again.Version != one.Version {
		t.Errorf("the first has %+v then, and had %+v", again, one)
	}
	if _, err := of("other").Delete(t.Context(), provisioner("2")); err != nil {
		t.Fatal(err)
	}
	if left := slices.Collect(maps.Keys(r.templates())); !slices.Equal(left, []string{one.Name}) {
		t.Errorf("left are %v, want %s", left, one.Name)
	}
}

// TestTemplatesOfEarlierReleases holds that a template without a mark of the cluster belongs to the
// provisioner whose status names it, and to no other.
func TestTemplatesOfEarlierReleases(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		record func(*provisioningv1.Provisioner, Template)
		same   bool
	}{
		{"the status names it", record, true},
		{"the status names nothing", func(*provisioningv1.Provisioner, Template) {}, false},
		{"the status names it as one that was not generated", func(p *provisioningv1.Provisioner, made Template) {
			record(p, made)
			p.Status.LaunchTemplates[0].Generated = false
		}, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			templates, subject := r.build(), provisioner("1")
			templates.ClusterUID = "uid"
			before := r.ensure(templates, subject)
			mark := []ec2types.Tag{{Key: awssdk.String(infrav1.TagClusterUID)}}
			if _, err := r.ec2.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{before.ID}, Tags: mark}); err != nil {
				t.Fatal(err)
			}
			row.record(subject, before)
			templates = r.build()
			templates.ClusterUID = "uid"
			after := r.ensure(templates, subject)
			if (after.ID == before.ID) != row.same {
				t.Errorf("before %s, and after %s", before.Name, after.Name)
			}
			if marked := r.templates()[before.Name][infrav1.TagClusterUID]; row.same && marked != "uid" {
				t.Errorf("its mark is %q", marked)
			}
		})
	}
}

// TestImageIsKept holds that a new image of AWS's replaces no node by itself, and that it does where
// drift is followed, the version of Kubernetes changes, or the former image is gone.
func TestImageIsKept(t *testing.T) {
	t.Parallel()
	const gone = "ami-00000000000000000"
	for _, row := range []struct {
		reason, former string
		edit           func(*provisioningv1.Provisioner)
		version        string
		want           string // the former image, or the prefix of another one's name
	}{
		{"nothing else", "", func(*provisioningv1.Provisioner) {}, "v1.36.3", ""},
		{"a patch release, which has the same images", "", func(*provisioningv1.Provisioner) {}, "v1.36.0", ""},
		{"drift is followed", "", func(p *provisioningv1.Provisioner) { p.Spec.Drift = &provisioningv1.Drift{} }, "v1.36.3", "amazon-eks-node-al2023-x86_64-standard-1.36-"},
		{"the former image is gone", gone, func(*provisioningv1.Provisioner) {}, "v1.36.3", "amazon-eks-node-al2023-x86_64-standard-1.36-"},
		{"another minor release", "", func(*provisioningv1.Provisioner) {}, "v1.35.0", "amazon-eks-node-al2023-x86_64-standard-1.35-"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			former := row.former
			if former == "" {
				former = r.image("amazon-eks-node-al2023-x86_64-nvidia-1.36-")
			}
			r.launchedFormerly(r.ensure(r.build(), provisioner("1")), former)
			templates, subject := r.build(), provisioner("1")
			templates.Cluster = facts{version: row.version, serviceCIDR: "10.96.0.0/12"}
			row.edit(subject)
			want := former
			if row.want != "" {
				want = r.image(row.want)
			}
			if got := r.ensure(templates, subject).ImageID; got != want {
				t.Errorf("nodes have image %s, want %s", got, want)
			}
		})
	}
}

// image returns the newest image of the world whose name begins so.
func (r *rig) image(prefix string) string {
	r.Helper()
	found, err := r.ec2.DescribeImages(r.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{{Name: awssdk.String("name"), Values: []string{prefix + "*"}}}})
	if err != nil || len(found.Images) == 0 {
		r.Fatalf("%d images are called %s*: %v", len(found.Images), prefix, err)
	}
	return *found.Images[0].ImageId
}

// launchedFormerly creates a version as Slipway did when an image was the newest one.
func (r *rig) launchedFormerly(made Template, image string) {
	r.Helper()
	number := fmt.Sprint(made.Version)
	found, err := r.ec2.DescribeLaunchTemplateVersions(r.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &made.ID, Versions: []string{number}})
	if err != nil {
		r.Fatal(err)
	}
	if _, err := r.ec2.CreateLaunchTemplateVersion(r.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &made.ID, SourceVersion: &number, VersionDescription: found.LaunchTemplateVersions[0].VersionDescription,
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{ImageId: &image},
	}); err != nil {
		r.Fatal(err)
	}
}

// TestJoining holds what nodes join with: what the spec gives, or else what EKS and the cluster say,
// and their failures. Nodes take no pods before they have their labels.
func TestJoining(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		facts  Cluster
		edit   func(*provisioningv1.Provisioner)
		has    []string
		fails  string
	}{
		{reason: "the spec has it", facts: facts{"v1.36.3", "10.96.0.0/12"}, edit: func(*provisioningv1.Provisioner) {}, has: []string{
			`name: "prod"`, `apiServerEndpoint: "https://prod.example.com"`, `certificateAuthority: "Y2E="`, `cidr: "10.96.0.0/12"`, "--node-labels=provisioning.karpenter.sh/name=default", "=:NoExecute",
		}},
		{reason: "there is no cluster of EKS", facts: facts{"v1.36.3", "10.96.0.0/12"}, edit: func(p *provisioningv1.Provisioner) { p.Spec.Cluster.Endpoint = "" }, fails: "no EKS cluster found for prod"},
		{reason: "the version is not known", facts: unknown("version"), edit: func(*provisioningv1.Provisioner) {}, fails: "asking for the version of Kubernetes: the cluster does not say"},
		{reason: "the range of Services is not", facts: unknown("range"), edit: func(*provisioningv1.Provisioner) {}, fails: "asking for the range of Services: the cluster does not say"},
		{reason: "there are no images for the version", facts: facts{"v1.99.0", "10.96.0.0/12"}, edit: func(*provisioningv1.Provisioner) {}, fails: "EKS has no such image for this Kubernetes version in this region"},
		{reason: "the version is none", facts: facts{"latest", "10.96.0.0/12"}, edit: func(*provisioningv1.Provisioner) {}, fails: `Kubernetes version "latest" is not of the form v1.30.0`},
		{reason: "no security group has the cluster's tag", facts: facts{"v1.36.3", "10.96.0.0/12"}, edit: func(p *provisioningv1.Provisioner) { p.Spec.SecurityGroups = nil }, fails: "no security group found"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			templates, subject := r.build(), provisioner("1")
			templates.Cluster = row.facts
			row.edit(subject)
			made, err := templates.Ensure(t.Context(), subject, "amd64")
			if row.fails != "" {
				if err == nil || !strings.Contains(err.Error(), row.fails) {
					t.Errorf("%+v, error %v", made, err)
				}
				if left := r.templates(); len(left) > 0 {
					t.Errorf("there are %v all the same", left)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := base64.StdEncoding.DecodeString(*r.contents(made.ID, made.Version).UserData)
			for _, want := range row.has {
				if !strings.Contains(string(text), want) || err != nil {
					t.Errorf("the user data lacks %q, error %v:\n%s", want, err, text)
				}
			}
		})
	}
}

// unknown are facts of a cluster that does not say its version, or the range of its Services.
type unknown string

// Version implements Cluster.
func (u unknown) Version(context.Context) (string, error) {
	if u == "version" {
		return "", errors.New("the cluster does not say")
	}
	return "v1.36.3", nil
}

// ServiceCIDR implements Cluster.
func (unknown) ServiceCIDR(context.Context) (string, error) {
	return "", errors.New("the cluster does not say")
}
