package launchconfig

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/clouds"
)

// next reconciles the config when it asked to be, with no event in between, and returns it as reconcile does.
func (r *rig) next() *infrav1.AWSLaunchConfig {
	r.Helper()
	result, err := r.subject.Reconcile(r.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: configName}})
	if err != nil {
		r.Fatal(err)
	}
	if result.RequeueAfter <= 0 || result.RequeueAfter > 8*time.Minute {
		r.Errorf("the config is checked again after %v", result.RequeueAfter)
	}
	r.clock.Step(result.RequeueAfter)
	return r.reconcile()
}

func (r *rig) deregister(image string) {
	r.Helper()
	if _, err := r.ec2.DeregisterImage(r.Context(), &ec2.DeregisterImageInput{ImageId: &image}); err != nil {
		r.Fatal(err)
	}
}

// TestImageGone holds that an image that was deregistered is noticed without an event: one that was
// looked up is looked up again, and one that the spec names is a condition.
func TestImageGone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		named  bool
	}{{"looked up", false}, {"named", true}} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			older := r.copyImage()
			r.clock.Step(time.Minute)
			image := r.copyImage()
			config := launchConfig(func(config *infrav1.AWSLaunchConfig) {
				config.Spec.ImageLookupFormat, config.Spec.ImageLookupOrg = "golden-*", "self"
				if row.named {
					config.Spec.AWSLaunchTemplate = infrav1.AWSLaunchTemplate{InstanceType: "m5.large", AMI: infrav1.AMIReference{ID: &image}}
				}
			})
			if err := r.client.Create(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			if config = r.reconcile(); config.Status.LaunchedImageID != image {
				t.Fatalf("image %s is launched, want %s: %+v", config.Status.LaunchedImageID, image, config.Status.Conditions)
			}
			r.deregister(image)
			config = r.next()
			if row.named {
				r.expect(config, infrav1.ResolvedCondition, metav1.ConditionFalse, infrav1.ImageNotFoundReason, "Set ami.id to an image that exists")
				if config.Status.Version != 1 || config.Status.LaunchedImageID != image {
					t.Errorf("version %d with image %s is launched", config.Status.Version, config.Status.LaunchedImageID)
				}
				return
			}
			r.expect(config, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason, "")
			if config.Status.LaunchedImageID != older || config.Status.Version != 2 {
				t.Errorf("version %d with image %s is launched, want %s", config.Status.Version, config.Status.LaunchedImageID, older)
			}
		})
	}
}

// copyImage registers an image of the account's own.
func (r *rig) copyImage() string {
	r.Helper()
	name, source, region := "golden-"+r.clock.Now().Format("150405"), r.image(), "us-east-1"
	made, err := r.ec2.CopyImage(r.Context(), &ec2.CopyImageInput{Name: &name, SourceImageId: &source, SourceRegion: &region})
	if err != nil {
		r.Fatal(err)
	}
	r.clock.Step(10 * time.Minute)
	return *made.ImageId
}

// TestSecurityGroupFilters holds that filters are evaluated again without an event.
func TestSecurityGroupFilters(t *testing.T) {
	t.Parallel()
	const late = "sg-0c1000000000000aa"
	r := newRig(t, launchConfig(func(config *infrav1.AWSLaunchConfig) {
		config.Spec.AdditionalSecurityGroups = []infrav1.AWSResourceReference{{Filters: []infrav1.Filter{{Name: "tag:team", Values: []string{"blue"}}}}}
	}))
	r.tag("sg-0c1000000000000ab", "team", "blue")
	if config := r.reconcile(); slices.Contains(config.Status.Resolved.SecurityGroupIDs, late) {
		t.Fatalf("security groups are %q", config.Status.Resolved.SecurityGroupIDs)
	}
	r.tag(late, "team", "blue")
	if config := r.next(); !slices.Contains(config.Status.Resolved.SecurityGroupIDs, late) || config.Status.Version != 2 {
		t.Errorf("version %d has security groups %q", config.Status.Version, config.Status.Resolved.SecurityGroupIDs)
	}
}

// TestDeletedVersion holds that instances of a version that was deleted by hand still run the
// wanted configuration: its number counts as it, in a new process and where status was lost too,
// and no adoption is shown.
func TestDeletedVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t, launchConfig(nil))
	config := r.reconcile()
	id := config.Status.LaunchTemplateID
	// The same configuration in a newer version: the image of the first is named.
	r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = "m5.xlarge" })
	r.reconcile()
	r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = "m5.large" })
	if config = r.reconcile(); config.Status.Version != 1 {
		t.Fatalf("version %d is wanted", config.Status.Version)
	}
	r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = "m5.xlarge" })
	if config = r.reconcile(); config.Status.Version != 2 || !config.Accepts(id, 2) || config.Accepts(id, 1) {
		t.Fatalf("version %d is wanted", config.Status.Version)
	}
	// A version with the configuration of version 2 takes its place as the default, and version 2 is deleted.
	r.copyVersion(id, "2")
	if _, err := r.ec2.ModifyLaunchTemplate(t.Context(), &ec2.ModifyLaunchTemplateInput{LaunchTemplateId: &id, DefaultVersion: ptr.To("3")}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ec2.DeleteLaunchTemplateVersions(t.Context(), &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{"2"}}); err != nil {
		t.Fatal(err)
	}
	r.restart()
	config = r.reconcile()
	if !config.Accepts(id, 2) || !config.Accepts(id, 3) || config.Accepts(id, 1) {
		t.Errorf("versions %v are current, and %+v accepted", config.Status.CurrentVersions, config.Status.AcceptedVersions)
	}
	r.expect(config, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason, "")
	for _, condition := range config.Status.Conditions {
		if condition.Type == infrav1.AdoptedCondition {
			t.Errorf("condition %+v", condition)
		}
	}
	config.Status = infrav1.AWSLaunchConfigStatus{}
	if err := r.client.Status().Update(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	r.restart()
	if config = r.reconcile(); !config.Accepts(id, 2) {
		t.Errorf("without its status: versions %v are current, and %+v accepted", config.Status.CurrentVersions, config.Status.AcceptedVersions)
	}
}

// copyVersion makes a version with the same data and description.
func (r *rig) copyVersion(id, number string) {
	r.Helper()
	all, err := r.ec2.DescribeLaunchTemplateVersions(r.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{number}})
	if err != nil {
		r.Fatal(err)
	}
	if _, err := r.ec2.CreateLaunchTemplateVersion(r.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &id, SourceVersion: &number, VersionDescription: all.LaunchTemplateVersions[0].VersionDescription,
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: all.LaunchTemplateVersions[0].LaunchTemplateData.InstanceType},
	}); err != nil {
		r.Fatal(err)
	}
}

// TestTakenName holds that a template whose name the user chose gets no other name if that name is
// taken, and that other templates do.
func TestTakenName(t *testing.T) {
	t.Parallel()
	byPool := func(inline string) (*infrav1.AWSMachinePool, []metav1.OwnerReference) {
		pool := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: configName, UID: "pool-1"}}
		pool.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{Name: inline}
		return pool, []metav1.OwnerReference{{APIVersion: infrav1.GroupVersion.String(), Kind: "AWSMachinePool", Name: configName, UID: "pool-1", Controller: ptr.To(true)}}
	}
	for _, row := range []struct {
		reason         string
		named, inline  string
		pool, conflict bool
	}{
		{reason: "a hand-written config that names nothing"},
		{reason: "a hand-written config that names it", named: "taken", conflict: true},
		{reason: "a pool that names nothing, and whose controller does", pool: true, named: "taken"},
		{reason: "a pool that names it", pool: true, named: "taken", inline: "taken", conflict: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			theirs := map[string]string{infrav1.TagLaunchConfig: "red/prod/workers"}
			r.template("taken", theirs)
			r.template(configName, theirs)
			config := launchConfig(func(config *infrav1.AWSLaunchConfig) { config.Spec.LaunchTemplateName = row.named })
			if row.pool {
				pool, owners := byPool(row.inline)
				config.OwnerReferences = owners
				if err := r.client.Create(t.Context(), pool); err != nil {
					t.Fatal(err)
				}
			}
			if err := r.client.Create(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			config = r.reconcile()
			if !row.conflict {
				r.expect(config, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason, "")
				return
			}
			r.expect(config, infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.NameTakenReason, "launch template taken exists without tag")
			if got := len(r.templates()); got != 2 {
				t.Errorf("%d templates: %v", got, r.templates())
			}
		})
	}
}

// midPass calls during in a pass that has seen the template already, and has not made it as wanted yet.
type midPass struct {
	noWatches
	during func()
}

// Forget implements SecretWatcher. A config without bootstrap data forgets its Secret in each pass.
func (m midPass) Forget(types.NamespacedName) { m.during() }

// TestSeenDuringPass holds that a pass which does not change the template does not hide what a
// sweep observes during the pass: the next pass reverts a default that another client set.
func TestSeenDuringPass(t *testing.T) {
	t.Parallel()
	r := newRig(t, launchConfig(nil))
	id := r.reconcile().Status.LaunchTemplateID
	r.clock.Step(10 * time.Minute)
	cloud := r.cloud()
	r.passDuring(func() {
		r.foreignDefault(id)
		seen, err := cloud.SeenTemplates.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: "another"}, []string{configName}, true)
		if err != nil || seen[configName].DefaultVersion != 2 {
			t.Errorf("the sweep sees %+v, %v", seen, err)
		}
	})
	if config := r.reconcile(); config.Status.DefaultVersion != 1 {
		t.Errorf("version %d is the default", config.Status.DefaultVersion)
	}
	r.expectWrites("ModifyLaunchTemplate")
}

// TestSeenDuringWrite holds that a pass which changes the template does not hide what a sweep
// observes during the pass: the next pass restores a tag that another client removed.
func TestSeenDuringWrite(t *testing.T) {
	t.Parallel()
	const ownership = "kubernetes.io/cluster/" + clusterName
	r := newRig(t, launchConfig(nil))
	id := r.reconcile().Status.LaunchTemplateID
	r.clock.Step(10 * time.Minute)
	cloud := r.cloud()
	r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = "m5.xlarge" })
	r.passDuring(func() {
		r.untag(id, ownership)
		seen, err := cloud.SeenTemplates.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: "another"}, []string{configName}, true)
		if _, tagged := seen[configName].Tags[ownership]; err != nil || tagged {
			t.Errorf("the sweep sees %+v, %v", seen, err)
		}
	})
	r.reconcile()
	r.expectWrites("CreateTags")
}

// passDuring runs a pass, calls happens in the middle of it, and clears the recorded calls.
func (r *rig) passDuring(happens func()) {
	r.Helper()
	r.subject.options.Watches = midPass{during: happens}
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: configName}}
	if _, err := r.subject.Reconcile(r.Context(), request); err != nil {
		r.Fatal(err)
	}
	r.subject.options.Watches = noWatches{}
	r.sim.ClearCalls()
}

// cloud is the AWS that the config's template is in.
func (r *rig) cloud() *clouds.Cloud {
	r.Helper()
	cloud, err := r.subject.options.Clouds.For(r.Context(), aws.Identity{}, namespace, "us-east-1")
	if err != nil {
		r.Fatal(err)
	}
	return cloud
}

// foreignDefault creates a version as another client, and makes it the default.
func (r *rig) foreignDefault(template string) {
	r.Helper()
	made, err := r.ec2.CreateLaunchTemplateVersion(r.Context(), &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateId: &template, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large"},
	})
	if err != nil {
		r.Fatal(err)
	}
	number := strconv.FormatInt(*made.LaunchTemplateVersion.VersionNumber, 10)
	if _, err := r.ec2.ModifyLaunchTemplate(r.Context(), &ec2.ModifyLaunchTemplateInput{LaunchTemplateId: &template, DefaultVersion: &number}); err != nil {
		r.Fatal(err)
	}
}

// TestApprovalOfALostTemplate holds that an approval approves no version of a launch template that was
// created after it: its versions have the same numbers.
func TestApprovalOfALostTemplate(t *testing.T) {
	t.Parallel()
	r := newRig(t, launchConfig(func(config *infrav1.AWSLaunchConfig) { config.Spec.Rollout = infrav1.LaunchConfigRolloutManual }))
	r.reconcile()
	r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = "m5.xlarge" })
	r.reconcile()
	r.edit(func(config *infrav1.AWSLaunchConfig) {
		config.Annotations[infrav1.ApprovedVersionAnnotation], config.Annotations[infrav1.ApprovedByAnnotation] = "2", "alice"
	})
	config := r.reconcile()
	if config.Status.Version != 2 {
		t.Fatalf("version %d is launched, want the approved one: %+v", config.Status.Version, config.Status.Conditions)
	}

	r.clock.Step(10 * time.Minute)
	lost := theTemplate(r)
	if _, err := r.ec2.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &lost}); err != nil {
		t.Fatal(err)
	}
	r.cloud().SeenTemplates.Invalidate(configName)
	if config = r.reconcile(); config.HasVersion("2") {
		t.Error("a launch template that is missing has a version to approve")
	}
	r.clock.Step(describeAgain)
	r.cloud().SeenTemplates.Invalidate(configName)
	r.reconcile()
	r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = "m5.2xlarge" })
	config = r.reconcile()
	if config.Status.LaunchTemplateID == lost || config.Status.Version != 1 || config.Status.PendingVersion != 2 {
		t.Errorf("template %s launches version %d, and version %d waits; want 1 and 2 of another template", config.Status.LaunchTemplateID, config.Status.Version, config.Status.PendingVersion)
	}
	r.expect(config, infrav1.RolloutApprovedCondition, metav1.ConditionFalse, infrav1.WaitingForApprovalReason, "version 2 waits")
}
