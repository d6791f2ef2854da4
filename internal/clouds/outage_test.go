package clouds_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/clouds"
)

// TestOutagesWakeWhatRests holds that an object at rest is woken when AWS stops answering and when
// it answers again, once each.
func TestOutagesWakeWhatRests(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	cloud := r.cloud("us-east-1")
	defer r.lead()()
	r.template("pool")
	object := types.NamespacedName{Namespace: "default", Name: "pool"}
	if _, err := cloud.SeenTemplates.Get(t.Context(), object, []string{"pool"}, false); err != nil {
		t.Fatal(err)
	}
	fault, err := r.sim.AddFault(awssim.Fault{Service: "ec2", Code: "InternalError", Status: 500})
	if err != nil {
		t.Fatal(err)
	}
	began := r.clock.Now()
	woken := func() bool { return r.queue.Len() > 0 }
	r.until("the object is woken for the outage", woken)
	outage, _ := cloud.Outage(clouds.TemplateServices...)
	if outage == nil || outage.Service != "EC2" || outage.Since.Before(began) {
		t.Errorf("outage %+v", outage)
	}
	next, _ := r.queue.Get()
	r.queue.Done(next)
	if next.NamespacedName != object {
		t.Errorf("%s is woken", next)
	}
	for range 60 {
		r.clock.Step(5 * time.Second)
	}
	if woken() {
		t.Error("the object is woken again while the outage goes on")
	}
	if !r.sim.RemoveFault(fault) {
		t.Fatal("no fault")
	}
	r.until("the object is woken for its end", woken)
	if outage, answered := cloud.Outage(clouds.TemplateServices...); outage != nil || !answered {
		t.Errorf("outage %+v, answered: %t", outage, answered)
	}
}
