package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/lab/capa"
)

// failsHalfway edits the pool to a type whose refresh an alarm stops after the first instance, so
// that the pool goes back.
func (w *world) failsHalfway() {
	w.Helper()
	w.setAlarm("errors", awssim.AlarmOK)
	w.patiently(infrav1.RefreshPreferences{Alarms: []string{"errors"}, Rollback: true})
	w.rest()
	w.clock.SetRate(slow)
	w.editType("m6i.large")
	w.awaitHalf("m6i.large")
	w.setAlarm("errors", awssim.AlarmFiring)
	w.awaitCondition(infrav1.RolledOutCondition, metav1.ConditionFalse, infrav1.RolledBackReason)
	w.setAlarm("errors", awssim.AlarmOK)
	w.clock.SetRate(rate)
	w.Eventually("all run what they ran before", func() error {
		if ids := w.inService("t3.large"); len(ids) != 2 {
			return fmt.Errorf("only %q do", ids)
		}
		if ids := w.running(); len(ids) != 2 {
			return fmt.Errorf("%q run, one of them on its way out", ids)
		}
		return w.nodes(2)
	})
	w.rest()
}

// TestGoneBackIsNotReleased holds that a pool whose spec asks for what failed is not given to CAPA,
// which would roll it out again, until the spec asks for what runs.
func TestGoneBackIsNotReleased(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	w.failsHalfway()
	instances := w.running()
	w.Cloud.AWS.ClearCalls()
	w.annotate(infrav1.ReleaseAnnotation, "true")
	condition := w.awaitCondition(infrav1.ReleasedCondition, metav1.ConditionFalse, infrav1.RolledBackReason)
	if !strings.Contains(condition.Message, "edit the spec to match what runs") {
		t.Errorf("the message is %q", condition.Message)
	}
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("the manager wrote %q", writes)
	}
	w.annotate(infrav1.ReleaseAnnotation, "")
	w.editType("t3.large")
	w.Eventually("the pool is settled", func() error { return w.settled(2) })
	w.release()
	if err := equals(w.running(), instances); err != nil {
		t.Errorf("instances: %v", err)
	}
	w.expectDisowned()
	w.expectCAPAAtRest(capa.Provider{Client: w.Client, AWS: w.awsConfig(), Key: w.key(), ImageID: aws.ToString(w.latest().ImageId)})
}

// TestAdoptedPoolGoesBack holds that a pool that was CAPA's goes back to what CAPA launched, and
// keeps the instances that still run it.
func TestAdoptedPoolGoesBack(t *testing.T) {
	t.Parallel()
	w := newCAPAsWorld(t, nil)
	w.startManager()
	w.adopted()
	w.failsHalfway()
	if !slices.ContainsFunc(w.running(), func(id string) bool { return slices.Contains(w.instances, id) }) {
		t.Errorf("instances %q, none of which CAPA launched: %q", w.running(), w.instances)
	}
	w.deletePool()
	w.Eventually("the objects are gone", w.gone)
	w.Eventually("AWS holds nothing of it", func() error { return w.remains() })
}

// TestUnseenPoolIsLeft deletes a pool that CAPA created and Slipway never reconciled, after the
// cluster's objects are gone. Nothing proves whose its group is then, so the group stays and the
// pool says how a user goes on.
func TestUnseenPoolIsLeft(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		// account is put into the ARN, "" for the group's own.
		account string
	}{
		{reason: "in the manager's own account"},
		{reason: "in another account", account: "999999999999"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newCAPAsWorld(t, nil)
			if row.account != "" {
				w.editPool(func(pool *infrav1.AWSMachinePool) {
					parts := strings.Split(pool.Spec.ProviderID, ":")
					parts[4] = row.account
					pool.Spec.ProviderID = strings.Join(parts, ":")
				})
			}
			w.forceAway(&capav1.AWSCluster{}, "capa")
			w.forceAway(&clusterv1.Cluster{}, "capa")
			w.remove(&infrav1.AWSMachinePool{}, poolName)
			w.startManager()
			if row.account != "" {
				condition := w.awaitCondition(infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.IdentityUnknownReason)
				if !strings.Contains(condition.Message, row.account) || !strings.Contains(condition.Message, ownership.IdentityAnnotation) {
					t.Errorf("the message is %q", condition.Message)
				}
				w.keeps("without an identity")
				return
			}
			condition := w.awaitCondition(infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.OwnerTagMissingReason)
			if !strings.Contains(condition.Message, infrav1.TagMachinePool) || !strings.Contains(condition.Message, infrav1.MachinePoolFinalizer) {
				t.Errorf("the message is %q", condition.Message)
			}
			w.keeps("without the owner tag")
		})
	}
}
