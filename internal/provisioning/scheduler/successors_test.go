package scheduler

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
)

// TestMovers holds whose the place is of a pod that leaves its node, from when it was found until
// the pod's successor has it, or none comes.
func TestMovers(t *testing.T) {
	t.Parallel()
	pod := func(name, node, controller string) *corev1.Pod {
		made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{NodeName: node}}
		made.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", UID: types.UID(controller), Controller: ptr.To(true)}}
		return made
	}
	start := time.Unix(1000, 0)
	var m movers
	look := func(seconds int, promised map[types.UID]string, there []*corev1.Pod, waiting ...string) map[types.UID]types.UID {
		cluster := &clusterstate.Cluster{Pods: there, Promised: promised, Provisioned: []provisioningv1.ProvisionedNode{{ObjectMeta: metav1.ObjectMeta{Name: "new"}}}}
		waits := map[types.UID]*corev1.Pod{}
		for _, name := range waiting {
			for _, pod := range there {
				if pod.Name == name {
					waits[pod.UID] = pod
				}
			}
		}
		m.note(cluster, waits, start.Add(time.Duration(seconds)*time.Second))
		return m.heirs(cluster, waits)
	}
	keeps := func(seconds int) bool { return m.keeps("old", start.Add(time.Duration(seconds)*time.Second)) }
	old, promised := pod("old", "n", "set"), map[types.UID]string{"old": "new"}

	if heirs := look(0, nil, []*corev1.Pod{old}, "old"); len(heirs) > 0 {
		t.Errorf("a pod that runs has heirs: %v", heirs)
	}
	look(1, promised, []*corev1.Pod{old})
	if !keeps(100) {
		t.Error("the place of a pod on its way out is lost")
	}
	if heirs := look(2, promised, []*corev1.Pod{pod("stranger", "", "other")}, "stranger"); len(heirs) > 0 {
		t.Errorf("a pod of another controller inherits: %v", heirs)
	}
	if !keeps(31) || keeps(32) {
		t.Errorf("the place of a pod that is gone is kept: %v, later: %v", keeps(31), keeps(32))
	}
	if heirs := look(3, promised, []*corev1.Pod{pod("next", "", "set"), pod("another", "", "set")}, "next", "another"); len(heirs) != 1 || heirs["old"] == "" {
		t.Errorf("heirs are %v", heirs)
	}
	look(4, map[types.UID]string{"next": "new"}, []*corev1.Pod{pod("next", "", "set")}, "next")
	if keeps(4) {
		t.Error("the place is kept though another has it")
	}
}
