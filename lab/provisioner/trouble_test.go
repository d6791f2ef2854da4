package provisioner

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/lab/product"
)

// TestCapacityElsewhere holds that what AWS has none of is left alone, and that the pod gets its
// node from what there is.
func TestCapacityElsewhere(t *testing.T) {
	w := newWorldWith(t, options{behavior: awssim.Behavior{Capacity: []awssim.CapacityRule{{InstanceType: "m5.large"}}}})
	w.provision("default", "instanceTypes: [m5.large, m6i.xlarge]")
	w.pod("one", asking("1", "1Gi"))
	node := w.readyNodes(1)[0]
	if kind := node.Labels[corev1.LabelInstanceTypeStable]; kind != "m6i.xlarge" {
		t.Errorf("the node is an %s", kind)
	}
	if instances := w.instances(); len(instances) != 1 {
		t.Errorf("there are %d instances", len(instances))
	}
}

// TestPartOfALaunch holds that the nodes of a launch that EC2 had instances for stay, and that the
// others are launched elsewhere.
func TestPartOfALaunch(t *testing.T) {
	w := newWorldWith(t, options{behavior: awssim.Behavior{Capacity: []awssim.CapacityRule{{InstanceType: "m5.large", Available: 1}}}})
	w.provision("default", "instanceTypes: [m5.large, m6i.large]", "limits: {nodes: 3}")
	for i := range 3 {
		w.pod(fmt.Sprintf("pod-%d", i), asking("1500m", "1Gi"))
	}
	w.readyNodes(3)
	if instances := w.instances(); len(instances) != 3 {
		t.Errorf("there are %d instances", len(instances))
	}
}

// lostAnswers has the answer to the first calls of an action get lost after EC2 did what was asked,
// and says when one did.
type lostAnswers struct {
	action string
	lost   atomic.Int32
	most   int32
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (l *lostAnswers) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	response, err := l.next.RoundTrip(request)
	if err == nil && bytes.Contains(body, []byte("Action="+l.action+"&")) && l.lost.Add(1) <= l.most {
		_ = response.Body.Close()
		<-request.Context().Done() // the client does not notice it before
		return nil, errors.New("the answer is lost")
	}
	return response, err
}

// TestCrashAfterLaunch holds that a provisioner that ends between EC2's launch and its record of it
// leaves no instance behind, and launches none again.
func TestCrashAfterLaunch(t *testing.T) {
	lost := &lostAnswers{action: "CreateFleet", most: 1}
	w := newWorldWith(t, options{settings: product.Settings{WrapAWS: func(next http.RoundTripper) http.RoundTripper {
		lost.next = next
		return lost
	}}})
	w.provision("default")
	w.pod("one")
	w.Eventually("EC2 has launched an instance that Slipway does not know about", func() error {
		if lost.lost.Load() == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	if claims := w.provisioned(); len(claims) != 1 || claims[0].Status.InstanceID != "" {
		t.Fatalf("the object knows too much: %+v", claims)
	}
	w.stop()
	w.settings = product.Settings{}
	w.start()
	w.readyNodes(1)
	if instances := w.instances(); len(instances) != 1 || *instances[0].InstanceId != w.provisioned()[0].Status.InstanceID {
		t.Errorf("there are %d instances", len(instances))
	}
	if calls := w.count("CreateFleet"); calls != 2 {
		t.Errorf("EC2 was asked %d times", calls)
	}
}

// TestUnknownInstanceEnds holds the other way: an instance whose object is gone, with the answer to
// its launch lost, is terminated.
func TestUnknownInstanceEnds(t *testing.T) {
	w := newWorld(t)
	w.provision("default")
	pod := w.pod("one")
	w.readyNodes(1)
	w.stop()
	claim := w.provisioned()[0]
	claim.Finalizers = nil
	if err := errors.Join(w.Client.Delete(w.Context(), pod, client.GracePeriodSeconds(0)), w.Client.Update(w.Context(), &claim), w.Client.Delete(w.Context(), &claim)); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.Eventually("the instance is ended", func() error {
		if instances := w.instances(); len(instances) > 0 {
			return fmt.Errorf("there are %d", len(instances))
		}
		return nil
	})
}

// TestLimits holds that limits are exact, however many pods come at a time, and that pods that
// would go beyond them get the reason.
func TestLimits(t *testing.T) {
	w := newWorld(t)
	w.provision("default", "instanceTypes: [m5.large, m5.xlarge]", `limits: {cpu: "6"}`)
	var pods []*corev1.Pod
	for i := range 6 {
		pods = append(pods, w.pod(fmt.Sprintf("pod-%d", i), asking("1500m", "1Gi")))
	}
	w.Eventually("some pod is told", func() error { return w.someTold(pods, "limits of Provisioner default") })
	// pods may get their events before the first node is there
	w.Eventually("nodes have no more CPUs, and the provisioner counts them", func() error {
		cpus := 0
		for _, instance := range w.instances() {
			cpus += map[string]int{"m5.large": 2, "m5.xlarge": 4}[string(instance.InstanceType)]
		}
		if cpus > 6 {
			t.Fatalf("nodes have %d CPUs", cpus)
		}
		provisioner := &provisioningv1.Provisioner{}
		if err := w.Client.Get(w.Context(), client.ObjectKey{Name: "default"}, provisioner); err != nil {
			return err
		}
		if got := provisioner.Status.Resources; cpus == 0 || got == nil || got.CPU.Value() != int64(cpus) {
			return fmt.Errorf("status.resources is %+v, nodes have %d CPUs", got, cpus)
		}
		return nil
	})
}

// TestOneFleetForEqualNodes holds that equal nodes are launched by one call.
func TestOneFleetForEqualNodes(t *testing.T) {
	w := newWorld(t)
	w.provision("default", "instanceTypes: [m5.large]")
	w.stop()
	var pods []*corev1.Pod
	for i := range 5 {
		pods = append(pods, w.pod(fmt.Sprintf("pod-%d", i), asking("1500m", "1Gi")))
	}
	w.unschedulable(pods)
	w.start()
	w.readyNodes(5)
	if calls := w.count("CreateFleet"); calls != 1 {
		t.Errorf("%d calls of CreateFleet", calls)
	}
	var launches []string
	for _, claim := range w.provisioned() {
		launches = append(launches, claim.Spec.Launch.Name)
	}
	slices.Sort(launches)
	if len(slices.Compact(launches)) != 1 {
		t.Errorf("launches are %q", launches)
	}
}
