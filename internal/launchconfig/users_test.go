package launchconfig

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// delays is a work queue that records how long after an event each object is due.
type delays struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	due map[string]time.Duration
}

// AddAfter implements workqueue.TypedDelayingInterface.
func (d *delays) AddAfter(request reconcile.Request, after time.Duration) {
	d.due[request.Name] = after
}

func TestByUser(t *testing.T) {
	t.Parallel()
	pool := func(change func(*infrav1.AWSMachinePool)) client.Object {
		pool := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "pool"}}
		pool.Status.RunningVersions = []infrav1.RunningVersion{{LaunchTemplateID: "lt-1", Version: 1, Instances: 2}}
		if change != nil {
			change(pool)
		}
		return pool
	}
	refers := func(pool *infrav1.AWSMachinePool) {
		pool.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: "shared"}
	}
	for _, row := range []struct {
		reason string
		after  client.Object
		want   map[string]time.Duration
	}{
		{"nothing changed", pool(nil), map[string]time.Duration{}},
		{"what is not read of it changed", pool(func(pool *infrav1.AWSMachinePool) { pool.Spec.MaxSize = 3 }), map[string]time.Duration{}},
		{"instances are counted soon", pool(func(pool *infrav1.AWSMachinePool) { pool.Status.RunningVersions[0].Instances = 3 }), map[string]time.Duration{"pool": countedAfter}},
		{"it is paused", pool(func(pool *infrav1.AWSMachinePool) {
			pool.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		}), map[string]time.Duration{"pool": 0}},
		{"it launches from another config", pool(refers), map[string]time.Duration{"pool": 0, "shared": 0}},
	} {
		queue := &delays{due: map[string]time.Duration{}}
		byUser.Update(t.Context(), event.UpdateEvent{ObjectOld: pool(nil), ObjectNew: row.after}, queue)
		if difference := cmp.Diff(row.want, queue.due); difference != "" {
			t.Errorf("%s: configs are due (-want +got):\n%s", row.reason, difference)
		}
	}
	queue := &delays{due: map[string]time.Duration{}}
	byUser.Create(t.Context(), event.CreateEvent{Object: pool(nil)}, queue)
	byUser.Delete(t.Context(), event.DeleteEvent{Object: pool(refers)}, queue)
	if difference := cmp.Diff(map[string]time.Duration{"pool": 0, "shared": 0}, queue.due); difference != "" {
		t.Errorf("of pools that come and go configs are due (-want +got):\n%s", difference)
	}
}
