package integration

import (
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/apitest"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

// foresee returns what Slipway would do with a pool of CAPA's, and fails if finding that out changed
// anything in AWS.
func (w *world) foresee(kind string, key client.ObjectKey) plan.Takeover {
	w.Helper()
	scheme, err := manager.NewScheme()
	if err != nil {
		w.Fatal(err)
	}
	definitions, err := apitest.Load(os.DirFS("../../config/crd"), "bases")
	if err != nil {
		w.Fatal(err)
	}
	w.Cloud.AWS.ClearCalls()
	planner := &plan.Planner{
		Cluster: w.Client, AWS: w.awsConfig(), Kinds: apiserver.NewKinds(scheme, definitions), Clock: clock.RealClock{},
		SecretNamespace: identity.DefaultSecretNamespace, SettleWindow: manager.DefaultSettleWindow,
	}
	planned := planner.Takeovers(w.Context(), time.Minute, plan.PoolName{Kind: kind, ObjectKey: key})[0]
	if planned.Err != nil {
		w.Fatal(planned.Err)
	}
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 0, "CreateTags": 0, "CreateOrUpdateTags": 0, "TagResource": 0, "UpdateAutoScalingGroup": 0})
	return planned.Takeover
}

// pauseCluster sets spec.paused of the cluster.
func (w *world) pauseCluster(paused bool) {
	w.Helper()
	edited(w, &clusterv1.Cluster{}, "capa", func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = &paused })
}

// takesOver fails unless Slipway would take a pool over and replace nothing.
func (w *world) takesOver(planned plan.Takeover) {
	w.Helper()
	if len(planned.Problems) > 0 || planned.Creates || planned.Busy != "" || len(planned.Replaced()) > 0 || planned.Adopted.Status != metav1.ConditionTrue {
		w.Errorf("the takeover is %+v", planned)
	}
}

// TestTakeoverIsForeseen foresees the takeover of a pool of CAPA's while its cluster is paused, and then
// takes it over.
func TestTakeoverIsForeseen(t *testing.T) {
	t.Parallel()
	w := newCAPAsWorld(t, nil)
	w.pauseCluster(true)
	w.takesOver(w.foresee("AWSMachinePool", w.key()))
	w.pauseCluster(false)
	w.startManager()
	w.adopted()
	w.awaitCondition(infrav1.AdoptedCondition, metav1.ConditionTrue, infrav1.AdoptedReason)
}

// TestManagedTakeoverIsForeseen does the same for a managed pool.
func TestManagedTakeoverIsForeseen(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.stopManager()
	w.haveCAPAsManaged(w.ownImage()...)
	before := w.running()
	w.pauseCluster(true)
	w.unpauseManaged()
	planned := w.foresee("AWSManagedMachinePool", w.managedKey())
	w.takesOver(planned)
	w.pauseCluster(false)
	w.startManager()
	w.awaitManaged(infrav1.AdoptedCondition, metav1.ConditionTrue, planned.Adopted.Reason)
	if err := equals(w.running(), before); err != nil {
		t.Errorf("instances: %v", err)
	}
}
