package nodelifecycle_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/provisioningtest"
)

var (
	seed  = flag.Uint64("seed", 0, "decides what the administrator of the hostile cluster does; another one each time if zero")
	moves = flag.Int("moves", 60, "how many moves the administrator of the hostile cluster makes")
)

// border records the calls of the hostile cluster that name what was launched for the other one.
type border struct {
	mu      sync.Mutex
	hostile bool
	ids     []string
	crossed []string
}

func (b *border) judge(c *awssim.FaultContext) {
	b.mu.Lock()
	defer b.mu.Unlock()
	reads := strings.HasPrefix(c.Action, "Describe") && c.Action != "DescribeLaunchTemplateVersions"
	if !b.hostile || reads || strings.Contains(c.Principal, "AKIAPERSON") {
		return
	}
	input, err := json.Marshal(c.Input)
	if err != nil {
		b.crossed = append(b.crossed, err.Error())
	}
	for _, id := range b.ids {
		if strings.Contains(string(input), id) {
			b.crossed = append(b.crossed, fmt.Sprintf("%s names %s", c.Action, id))
		}
	}
}

// administrator may do anything in a cluster of its own, and knows everything of the other cluster
// in the account.
type administrator struct {
	*provisioningtest.World
	victim *provisioningtest.World
	random *rand.Rand
	count  int
}

// TestTwoClusters has the administrator of one cluster attack another one in the same account, at
// random, with objects that copy its names, launches, and ids. No call for the hostile cluster
// changes or launches from what is the other one's, and that goes on as before.
func TestTwoClusters(t *testing.T) {
	t.Parallel()
	chosen := *seed
	if chosen == 0 {
		chosen = uint64(time.Now().UnixNano())
	}
	t.Logf("the seed is %d: -args -seed %d makes the same moves again", chosen, chosen)
	victim := provisioningtest.New(t, provisioningtest.Options{})
	victim.Provision("default")
	victim.Pod("one")
	victim.Launch()
	a := &administrator{
		World: victim.Cluster(t, provisioningtest.Options{ClusterUID: "uid-of-another-cluster"}), victim: victim,
		random: rand.New(rand.NewPCG(chosen, chosen)), // #nosec G404 -- the same moves for the same seed
	}
	a.Faulty = true
	border := &border{ids: []string{victim.Provisioned()[0].Status.InstanceID, victim.Provisioner("default").Status.LaunchTemplates[0].ID}}
	if _, err := a.Sim.AddFault(awssim.Fault{Place: awssim.AfterEffect, Callback: border.judge}); err != nil {
		t.Fatal(err)
	}
	var said []string
	for range *moves {
		border.hostile = true
		said = append(said, a.play())
		a.Settle()
		a.Advance(time.Duration(a.random.IntN(20)) * time.Second)
		border.hostile = false
		victim.Observe()
		victim.Settle()
		if len(border.crossed) > 0 || !running(victim)[border.ids[0]] {
			t.Fatalf("calls crossed the border: %q; the victim's instance runs: %t; the moves were\n\t%s", border.crossed, running(victim)[border.ids[0]], strings.Join(said, "\n\t"))
		}
	}
	if nodes := victim.Provisioned(); len(nodes) != 1 || nodes[0].Status.InstanceID != border.ids[0] {
		t.Errorf("the victim has the nodes %+v", nodes)
	}
	if got := victim.Provisioner("default").Status.LaunchTemplates; len(got) != 1 || got[0].ID != border.ids[1] {
		t.Errorf("the victim has the launch templates %+v", got)
	}
}

// play takes one action and settles nothing.
func (a *administrator) play() string {
	a.Helper()
	attacks := []struct {
		name string
		do   func() error
	}{
		{"create a Provisioner", a.createProvisioner},
		{"edit a Provisioner", a.editProvisioner},
		{"name the other cluster's launch template in a status", a.lieOfTemplates},
		{"copy a ProvisionedNode of the other cluster", a.copyNode},
		{"name the other cluster's instance in a status", a.lieOfInstance},
		{"register a Node for any instance", func() error { a.Join(); return nil }},
		{"create a pod", func() error { a.count++; a.Pod(fmt.Sprintf("hostile-%d", a.count)); return nil }},
		{"delete something", a.deleteAny},
		{"let the collector pass", func() error { return a.Collector.Collect(a.Context()) }},
		{"restart", func() error { a.Restart(); return nil }},
	}
	chosen := attacks[a.random.IntN(len(attacks))]
	if err := chosen.do(); err != nil {
		return chosen.name + " (refused: " + err.Error() + ")"
	}
	return chosen.name
}

// spec is one of the hostile cluster's own, or copies the other cluster's name, with what it takes to launch.
func (a *administrator) spec() provisioningv1.ProvisionerSpec {
	spec := *a.victim.Provisioner("default").Spec.DeepCopy()
	spec.Cluster.Name = []string{provisioningtest.Cluster, "hostile"}[a.random.IntN(2)]
	if a.random.IntN(2) == 0 {
		spec.Subnets = []infrav1.AWSResourceReference{{ID: ptr.To("subnet-0b2000000000000aa")}}
		spec.SecurityGroups = []infrav1.AWSResourceReference{{ID: ptr.To("sg-0c1000000000000ab")}}
	}
	return spec
}

func (a *administrator) createProvisioner() error {
	name := []string{"default", "other"}[a.random.IntN(2)]
	return a.Client.Create(a.Context(), &provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}, Spec: a.spec()})
}

// anyOf returns an object of a list, nil if it is empty.
func (a *administrator) anyOf(list client.ObjectList) (client.Object, error) {
	if err := a.Client.List(a.Context(), list); err != nil {
		return nil, err
	}
	var objects []client.Object
	switch list := list.(type) {
	case *provisioningv1.ProvisionerList:
		for i := range list.Items {
			objects = append(objects, &list.Items[i])
		}
	case *provisioningv1.ProvisionedNodeList:
		for i := range list.Items {
			objects = append(objects, &list.Items[i])
		}
	case *corev1.NodeList:
		for i := range list.Items {
			objects = append(objects, &list.Items[i])
		}
	case *corev1.PodList:
		for i := range list.Items {
			objects = append(objects, &list.Items[i])
		}
	}
	if len(objects) == 0 {
		return nil, nil
	}
	return objects[a.random.IntN(len(objects))], nil
}

func (a *administrator) editProvisioner() error {
	object, err := a.anyOf(&provisioningv1.ProvisionerList{})
	if object == nil {
		return err
	}
	provisioner := object.(*provisioningv1.Provisioner)
	provisioner.Spec = a.spec()
	provisioner.Generation++
	return a.Client.Update(a.Context(), provisioner)
}

func (a *administrator) lieOfTemplates() error {
	object, err := a.anyOf(&provisioningv1.ProvisionerList{})
	if object == nil {
		return err
	}
	provisioner := object.(*provisioningv1.Provisioner)
	provisioner.Status.LaunchTemplates = a.victim.Provisioner("default").Status.LaunchTemplates
	return a.Client.Status().Update(a.Context(), provisioner)
}

// copyNode copies a ProvisionedNode of the other cluster, as a backup of it would, with or without
// the mark of that cluster.
func (a *administrator) copyNode() error {
	copied := a.victim.Provisioned()[0]
	status := copied.Status
	copied.ObjectMeta = metav1.ObjectMeta{Name: copied.Name, Labels: copied.Labels, Finalizers: copied.Finalizers, Annotations: copied.Annotations}
	if a.random.IntN(2) == 0 {
		copied.Spec.Launch.ClusterUID = []string{"", "uid-of-another-cluster"}[a.random.IntN(2)]
	}
	if err := a.Client.Create(a.Context(), &copied); err != nil {
		return err
	}
	copied.Status = status
	return a.Client.Status().Update(a.Context(), &copied)
}

func (a *administrator) lieOfInstance() error {
	object, err := a.anyOf(&provisioningv1.ProvisionedNodeList{})
	if object == nil {
		return err
	}
	node := object.(*provisioningv1.ProvisionedNode)
	node.Status.InstanceID = a.victim.Provisioned()[0].Status.InstanceID
	return a.Client.Status().Update(a.Context(), node)
}

func (a *administrator) deleteAny() error {
	lists := []client.ObjectList{&provisioningv1.ProvisionerList{}, &provisioningv1.ProvisionedNodeList{}, &corev1.NodeList{}, &corev1.PodList{}}
	object, err := a.anyOf(lists[a.random.IntN(len(lists))])
	if object == nil {
		return err
	}
	return a.Client.Delete(a.Context(), object)
}
