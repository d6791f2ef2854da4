package common_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/controllers/common"
)

func TestMade(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC))
	pool := func(uid types.UID) client.Object {
		return &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pool", UID: uid}}
	}
	config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "pool", OwnerReferences: []metav1.OwnerReference{{UID: "first", Controller: ptr.To(true)}},
	}}
	var made common.Made
	known := func(uid types.UID, want bool, reason string) {
		t.Helper()
		if got := made.Recent(pool(uid), clk) != nil; got != want {
			t.Errorf("%s: a config is known of pool %q: %v", reason, uid, got)
		}
	}
	known("first", false, "nothing was made")
	made.Note(config, clk)
	known("first", true, "it was made a moment ago")
	known("second", false, "a pool of the same name came in the first one's place")
	made.Recent(pool("first"), clk).Spec.ClusterName = "changed"
	if made.Recent(pool("first"), clk).Spec.ClusterName != "" {
		t.Error("what a pass writes to the config is remembered")
	}
	clk.SetTime(clk.Now().Add(5 * time.Second))
	known("first", false, "it should have been seen by now: somebody deleted it")
	made.Note(config, clk)
	made.Forget(client.ObjectKeyFromObject(config))
	known("first", false, "it is seen")
}
