package launchconfig

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

func (r *rig) untag(id, key string) {
	r.Helper()
	if _, err := r.ec2.DeleteTags(r.Context(), &ec2.DeleteTagsInput{Resources: []string{id}, Tags: []ec2types.Tag{{Key: &key}}}); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) tag(id, key, value string) {
	r.Helper()
	if _, err := r.ec2.CreateTags(r.Context(), &ec2.CreateTagsInput{Resources: []string{id}, Tags: []ec2types.Tag{{Key: &key, Value: &value}}}); err != nil {
		r.Fatal(err)
	}
}

// warnings are the events that were recorded since the last restart, and begin with a text.
func (r *rig) recorded(begins string) (found []string) {
	for {
		select {
		case event := <-r.events.Events:
			if strings.HasPrefix(event, begins) {
				found = append(found, event)
			}
		default:
			return found
		}
	}
}

// TestOwnerTagRemoved holds that a launch template that lost its owner tag is not taken for
// deleted: no second one is created, the condition says what to put back, and with the tag back the
// config goes on with it.
func TestOwnerTagRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t, launchConfig(nil))
	id := r.reconcile().Status.LaunchTemplateID
	r.clock.Step(2 * visibleAfter)
	r.untag(id, infrav1.TagLaunchConfig)
	before := r.templates()
	r.restart()
	r.sim.ClearCalls()
	r.edit(func(config *infrav1.AWSLaunchConfig) { config.Spec.InstanceType = "m5.xlarge" })
	for range 3 {
		config := r.reconcile()
		r.expect(config, infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.OwnerTagMissingReason, id)
		r.expect(config, infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.OwnerTagMissingReason, infrav1.TagLaunchConfig+`,Value=blue/prod/workers`)
	}
	r.expectWrites()
	if difference := cmp.Diff(before, r.templates()); difference != "" {
		t.Errorf("templates (-before +after):\n%s", difference)
	}
	if said := r.recorded("Warning"); len(said) != 1 {
		t.Errorf("warnings: %q", said)
	}
	r.tag(id, infrav1.TagLaunchConfig, "blue/prod/workers")
	r.clock.Step(10 * time.Minute)
	r.restart()
	config := r.reconcile()
	r.expect(config, infrav1.LaunchTemplateReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason, "")
	if config.Status.LaunchTemplateID != id || config.Status.Version != 2 {
		t.Errorf("with its tag back: version %d of %s", config.Status.Version, config.Status.LaunchTemplateID)
	}
}

// TestDeletionWithoutTheOwnerTag holds that a template without the tag stays in AWS when its config
// is deleted, and that an event reports this.
func TestDeletionWithoutTheOwnerTag(t *testing.T) {
	t.Parallel()
	r := newRig(t, launchConfig(nil))
	config := r.reconcile()
	r.clock.Step(2 * visibleAfter)
	r.untag(config.Status.LaunchTemplateID, infrav1.TagLaunchConfig)
	before := r.templates()
	r.restart()
	r.sim.ClearCalls()
	r.deleted(config)
	r.expectWrites()
	if difference := cmp.Diff(before, r.templates()); difference != "" {
		t.Errorf("templates (-before +after):\n%s", difference)
	}
	if said := r.recorded("Warning LaunchTemplateLeft"); len(said) != 1 {
		t.Errorf("warnings: %q", said)
	}
}

// TestForgedStatus holds that a template that status names without proof is neither used nor changed.
func TestForgedStatus(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	victim := r.template("victim", map[string]string{infrav1.TagLaunchConfig: "red/prod/workers"})
	if err := r.client.Create(t.Context(), launchConfig(func(config *infrav1.AWSLaunchConfig) {
		config.Status.LaunchTemplateID, config.Status.LaunchTemplateName, config.Status.Version, config.Status.DefaultVersion = victim, "victim", 1, 1
	})); err != nil {
		t.Fatal(err)
	}
	r.sim.ClearCalls()
	config := r.reconcile()
	r.expect(config, infrav1.LaunchTemplateReadyCondition, metav1.ConditionFalse, infrav1.OwnerTagMissingReason, victim)
	r.expectWrites()
}

// TestRecreatedConfig holds that a config that is created again with the same name and spec gets a
// template of its own, at once.
func TestRecreatedConfig(t *testing.T) {
	t.Parallel()
	r := newRig(t, launchConfig(nil))
	config := r.reconcile()
	before := config.Status.LaunchTemplateID
	if err := r.client.Delete(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if config = r.reconcile(); config != nil {
		t.Fatalf("the config is still there: %+v", config.Status.Conditions)
	}
	r.events.Events = make(chan string, 100)
	if err := r.client.Create(t.Context(), launchConfig(func(config *infrav1.AWSLaunchConfig) { config.UID = "config-2" })); err != nil {
		t.Fatal(err)
	}
	config = r.reconcile()
	r.expect(config, infrav1.ReadyCondition, metav1.ConditionTrue, infrav1.ReadyReason, "")
	after := config.Status.LaunchTemplateID
	if after == before || after != r.templates()[configName] {
		t.Errorf("the config has template %s, as the one before had %s; EC2 has %v", after, before, r.templates())
	}
	if said := r.recorded("Warning"); len(said) != 0 {
		t.Errorf("warnings: %q", said)
	}
}

// TestDeletionLeavesTheTemplateToALivingPool holds that a config that is deleted leaves its launch
// template to a pool that goes on launching from it: its own pool, or one that was created again
// with the same name after its own was removed by force. Else the config would wait forever for the
// group, and the pool for the config.
func TestDeletionLeavesTheTemplateToALivingPool(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		pool   func(*infrav1.AWSMachinePool)
		stays  bool
	}{
		{"its own pool", func(*infrav1.AWSMachinePool) {}, true},
		{"another pool of the same name", func(pool *infrav1.AWSMachinePool) { pool.UID = "pool-2" }, true},
		{"another pool of the same name that refers to a launch config", func(pool *infrav1.AWSMachinePool) {
			pool.UID, pool.Spec.AWSLaunchTemplate, pool.Spec.LaunchConfigRef = "pool-2", nil, &infrav1.LaunchConfigReference{Name: "other"}
		}, false},
		{"another pool of the same name that is being deleted too", func(pool *infrav1.AWSMachinePool) {
			pool.UID, pool.Finalizers, pool.DeletionTimestamp = "pool-2", []string{infrav1.MachinePoolFinalizer}, &metav1.Time{Time: time.Now()}
		}, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			pool := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: configName, UID: "pool-1"}}
			pool.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}
			row.pool(pool)
			r := newRig(t, pool, launchConfig(func(config *infrav1.AWSLaunchConfig) {
				config.OwnerReferences = []metav1.OwnerReference{{
					APIVersion: infrav1.GroupVersion.String(), Kind: "AWSMachinePool", Name: configName, UID: "pool-1", Controller: ptr.To(true),
				}}
			}))
			config := r.reconcile()
			if err := r.client.Delete(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			if config := r.reconcile(); config != nil {
				t.Errorf("the config is still there: %+v", config.Status.Conditions)
			}
			if stays := len(r.templates()) > 0; stays != row.stays {
				t.Errorf("the launch template stays: %t, want %t", stays, row.stays)
			}
		})
	}
}
