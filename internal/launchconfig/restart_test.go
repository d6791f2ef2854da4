package launchconfig

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// scenario lists the changes to a config. Between its steps the controller reconciles.
type scenario struct {
	reason  string
	objects []client.Object
	config  func(*infrav1.AWSLaunchConfig)
	steps   []func(r *rig)
}

func secretOf(token string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bootstrap"},
		Data:       map[string][]byte{secretValue: []byte("#cloud-config\nruncmd: [kubeadm join --token " + token + "]\n")},
	}
}

func rotateToken(r *rig) {
	if err := r.client.Update(r.Context(), secretOf("fedcba.fedcba9876543210")); err != nil {
		r.Fatal(err)
	}
}

func setType(instanceType string) func(*rig) {
	return func(r *rig) {
		r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = instanceType })
	}
}

func wait(d time.Duration) func(*rig) { return func(r *rig) { r.clock.Step(d) } }

// theTemplate is the id of the only launch template.
func theTemplate(r *rig) string {
	for _, id := range r.templates() {
		return id
	}
	return ""
}

var scenarios = []scenario{
	{reason: "a config is created, edited, and edited back", steps: []func(*rig){wait(time.Hour), setType("m5.xlarge"), wait(time.Hour), setType("m5.large"), wait(time.Hour)}},
	{
		reason: "a join token rotates", objects: []client.Object{secretOf("abcdef.0123456789abcdef")},
		config: func(config *infrav1.AWSLaunchConfig) {
			config.Spec.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: "bootstrap"}
		},
		steps: []func(*rig){rotateToken, wait(time.Hour)},
	},
	{
		reason: "bootstrap data is kept in a parameter", objects: []client.Object{secretOf("abcdef.0123456789abcdef")},
		config: func(config *infrav1.AWSLaunchConfig) {
			config.Spec.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: "bootstrap", Storage: infrav1.BootstrapStorageSSM}
			config.Spec.IamInstanceProfile = "nodes.cluster-api-provider-aws.sigs.k8s.io"
		},
		steps: []func(*rig){rotateToken, wait(time.Hour)},
	},
	{reason: "another client changes the default", steps: []func(*rig){
		wait(time.Hour), func(r *rig) { r.foreignDefault(theTemplate(r)) }, wait(time.Hour),
	}},
	{reason: "another client deletes the template", steps: []func(*rig){
		wait(time.Hour), func(r *rig) {
			id := theTemplate(r)
			if _, err := r.ec2.DeleteLaunchTemplate(r.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: &id}); err != nil {
				r.Fatal(err)
			}
		}, wait(10 * time.Minute), wait(10 * time.Second), wait(time.Minute),
	}},
	{reason: "a version is pinned, and freed", steps: []func(*rig){
		setType("m5.xlarge"), func(r *rig) {
			r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.PinnedVersion = ptr.To[int64](1) })
		}, wait(time.Hour),
		func(r *rig) { r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.PinnedVersion = nil }) }, wait(time.Hour),
	}},
	{
		reason: "an edit waits for approval", config: func(config *infrav1.AWSLaunchConfig) { config.Spec.Rollout = infrav1.LaunchConfigRolloutManual },
		steps: []func(*rig){setType("m5.xlarge"), wait(time.Hour), func(r *rig) {
			r.edit(func(config *infrav1.AWSLaunchConfig) {
				config.Annotations[infrav1.ApprovedVersionAnnotation] = "2"
			})
		}, wait(time.Hour)},
	},
	{
		reason: "EC2 tries what is asked for", config: func(config *infrav1.AWSLaunchConfig) { config.Spec.Verify = infrav1.VerifyDryRun },
		steps: []func(*rig){setType("m5.xlarge"), wait(time.Hour)},
	},
	{
		reason: "versions that are not in use are pruned", config: func(config *infrav1.AWSLaunchConfig) { config.Spec.VersionsToKeep = ptr.To[int32](1) },
		steps: []func(*rig){setType("m5.xlarge"), setType("m5.2xlarge"), wait(usersVisibleAfter + time.Second), wait(time.Hour)},
	},
	{reason: "the config is deleted", steps: []func(*rig){wait(time.Hour), (*rig).deleteConfig, wait(10 * time.Second), wait(time.Minute)}},
	{
		reason: "the config is deleted right after a group was made", objects: []client.Object{deletedPool(nil)}, config: ownedByPool,
		steps: []func(*rig){wait(time.Hour), func(r *rig) {
			r.sim.SetBehavior(awssim.Behavior{ReadLag: 4 * time.Second})
			r.groupOfVersion1(r.get())
		}, (*rig).deleteConfig, wait(10 * time.Second), wait(time.Minute)},
	},
}

func (r *rig) get() *infrav1.AWSLaunchConfig {
	r.Helper()
	config := &infrav1.AWSLaunchConfig{}
	if err := r.client.Get(r.Context(), client.ObjectKeyFromObject(launchConfig(nil)), config); err != nil {
		r.Fatal(err)
	}
	return config
}

func (r *rig) deleteConfig() {
	r.Helper()
	if err := r.client.Delete(r.Context(), r.get()); err != nil {
		r.Fatal(err)
	}
}

// TestRestarts holds that nothing depends on what a process remembers: a restart of the controller
// between any two passes of a scenario does not change the outcome, in AWS or in status.
func TestRestarts(t *testing.T) {
	t.Parallel()
	for _, one := range scenarios {
		t.Run(one.reason, func(t *testing.T) {
			t.Parallel()
			undisturbed, events := one.outcome(t, -1)
			for restart := range len(one.steps) + 1 {
				disturbed, told := one.outcome(t, restart)
				if difference := cmp.Diff(undisturbed, disturbed); difference != "" {
					t.Errorf("with a restart before step %d (-without +with):\n%s", restart, difference)
				}
				if difference := cmp.Diff(events, told); difference != "" {
					t.Errorf("with a restart before step %d the events are (-without +with):\n%s", restart, difference)
				}
			}
			all, _ := one.outcome(t, len(one.steps)+1)
			if difference := cmp.Diff(undisturbed, all); difference != "" {
				t.Errorf("with a restart before each pass (-without +with):\n%s", difference)
			}
		})
	}
}

// outcome runs the scenario with a restart before one of the steps, or before each step if the
// number is one too high. It returns the final state and the events that were reported.
func (s scenario) outcome(t *testing.T, restart int) (outcome, events []string) {
	t.Helper()
	r := newRig(t)
	for _, object := range append(slices.Clone(s.objects), launchConfig(s.config)) {
		if pool, is := object.(*infrav1.AWSMachinePool); is {
			// The API server takes no object that is being deleted.
			pool = pool.DeepCopy()
			pool.DeletionTimestamp = nil
			object = pool
		}
		if err := r.client.Create(t.Context(), object.DeepCopyObject().(client.Object)); err != nil {
			t.Fatal(err)
		}
		if pool, is := object.(*infrav1.AWSMachinePool); is {
			if err := r.client.Delete(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
		}
	}
	collect := func() { events = append(events, r.recorded("")...) }
	var config *infrav1.AWSLaunchConfig
	for i, step := range append([]func(*rig){func(*rig) {}}, s.steps...) {
		step(r)
		if i == restart || restart > len(s.steps) {
			collect()
			r.restart()
		}
		if restart > len(s.steps) {
			r.pass()
			collect()
			r.restart()
		}
		r.cloud().SeenTemplates.Invalidate(configName) // a sweep describes it again
		config = r.reconcile()
	}
	collect()
	return r.describe(config), events
}

// describe lists what exists, without what differs from one run to the next.
func (r *rig) describe(config *infrav1.AWSLaunchConfig) (lines []string) {
	r.Helper()
	ids := map[string]string{}
	for name, id := range r.templates() {
		ids[id] = name
		versions, err := r.ec2.DescribeLaunchTemplateVersions(r.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id})
		if err != nil {
			r.Fatal(err)
		}
		for _, version := range versions.LaunchTemplateVersions {
			lines = append(lines, fmt.Sprintf("version %d of %s: %s, default %t", *version.VersionNumber, name, version.LaunchTemplateData.InstanceType, *version.DefaultVersion))
		}
	}
	slices.Sort(lines)
	if config == nil {
		return append(lines, "no config")
	}
	status := config.Status.DeepCopy()
	for i := range status.Conditions {
		status.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	status.LaunchTemplateChanged = nil
	document, err := json.MarshalIndent(status, "", " ")
	if err != nil {
		r.Fatal(err)
	}
	text := string(document)
	for id, name := range ids {
		text = strings.ReplaceAll(text, id, name)
	}
	return append(append(lines, config.Finalizers...), strings.Split(text, "\n")...)
}
