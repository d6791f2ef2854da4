package clouds_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/identity"
)

const patience = 10 * time.Second

// rig is a registry over a simulated AWS, and the queue of the controller of launch templates.
type rig struct {
	*testing.T
	sim      *awssim.Simulator
	clock    *simclock.Clock
	ec2      *ec2.Client
	groups   *autoscaling.Client
	registry *clouds.Registry
	// principals are what identities come to.
	principals *principals
	queue      workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// principals gives every identity the keys that a test sets, and fails without.
type principals struct {
	mu   sync.Mutex
	keys map[string]*aws.Keys
}

func (p *principals) Resolve(_ context.Context, wanted aws.Identity, _ string) (aws.Principal, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if wanted.Canonical() != (aws.Identity{}) && p.keys[wanted.Name] == nil {
		return aws.Principal{}, &identity.Error{Reason: "IdentityNotFound", Message: "there is none"}
	}
	return aws.Principal{Identity: wanted, Keys: p.keys[wanted.Name]}, nil
}

func (*principals) AllowsInstanceProfile(context.Context, aws.Identity, string) error { return nil }

func (p *principals) set(name, accessKeyID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.keys == nil {
		p.keys = map[string]*aws.Keys{}
	}
	p.keys[name] = &aws.Keys{AccessKeyID: accessKeyID, SecretAccessKey: "secret"}
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigIn(t, nil)
}

func newRigIn(t *testing.T, w *world.World) *rig {
	t.Helper()
	sim, clock, url := awssimtest.Start(t, time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC), awssim.Options{World: w})
	base := awssimtest.Config(url, "us-east-1", "123456789012")
	principals := &principals{}
	registry := clouds.NewRegistry(aws.NewSessions(base, aws.WithClock(clock)), principals, clock, observe.Intervals{Rest: 4 * time.Minute, Motion: 5 * time.Second})
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	if err := registry.TemplateEvents().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	return &rig{
		T: t, sim: sim, clock: clock, ec2: ec2.NewFromConfig(base), groups: autoscaling.NewFromConfig(base),
		registry: registry, principals: principals, queue: queue,
	}
}

func (r *rig) cloud(region string) *clouds.Cloud {
	r.Helper()
	cloud, err := r.registry.For(r.Context(), aws.Identity{}, "default", region)
	if err != nil {
		r.Fatal(err)
	}
	return cloud
}

// lead starts the registry. The returned function stops it.
func (r *rig) lead() (end func()) {
	r.Helper()
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan error, 1)
	go func() { done <- r.registry.Start(ctx) }()
	return func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				r.Error(err)
			}
		case <-time.After(patience):
			r.Error("the sweeps do not end")
		}
	}
}

// until steps the clock, tick by tick of the sweeps, until the condition holds.
func (r *rig) until(what string, condition func() bool) {
	r.Helper()
	for deadline := time.Now().Add(patience); !condition(); {
		if time.Now().After(deadline) {
			r.Fatal("never: " + what)
		}
		r.clock.Step(5 * time.Second)
		time.Sleep(time.Millisecond)
	}
}

func (r *rig) template(name string) {
	r.Helper()
	if _, err := r.ec2.CreateLaunchTemplate(r.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large"},
	}); err != nil {
		r.Fatal(err)
	}
}

func TestCloudsAreShared(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	here := r.cloud("us-east-1")
	if r.cloud("us-east-1") != here || r.cloud("") != here {
		t.Error("one place has several clouds")
	}
	if same, err := r.registry.For(t.Context(), aws.Identity{Kind: aws.IdentityController, Name: "default"}, "default", "us-east-1"); err != nil || same != here {
		t.Errorf("the controller's identity, named or not, has several clouds; error %v", err)
	}
	if other := r.cloud("eu-west-1"); other == here || other.Region != "eu-west-1" {
		t.Errorf("another region has the cloud of %s", other.Region)
	}
	if calls := r.sim.Calls(); len(calls) != 0 {
		t.Errorf("making clouds called %d times", len(calls))
	}
	if _, err := r.registry.For(t.Context(), aws.Identity{Kind: aws.IdentityStatic, Name: "other"}, "default", "us-east-1"); err == nil {
		t.Error("an identity that cannot be used has a cloud")
	}
	r.principals.set("other", "AKIATEST222222222222")
	other, err := r.registry.For(t.Context(), aws.Identity{Kind: aws.IdentityStatic, Name: "other"}, "default", "us-east-1")
	if err != nil || other == here {
		t.Errorf("another identity shares a cloud: %v, error %v", other == here, err)
	}
	if !r.registry.NeedLeaderElection() {
		t.Error("every replica would sweep")
	}
}

// TestSweeps holds that a cloud is swept from when it is first used or the manager leads, whichever
// is later, until the manager no longer leads.
func TestSweeps(t *testing.T) {
	t.Parallel()
	for _, order := range []struct {
		reason     string
		leadsFirst bool
	}{{"the cloud is used before the manager leads", false}, {"the manager leads before the cloud is used", true}} {
		t.Run(order.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			watch := func() {
				cloud := r.cloud("us-east-1")
				pool := types.NamespacedName{Namespace: "default", Name: "pool"}
				if _, err := cloud.SeenTemplates.Get(t.Context(), pool, []string{"pool"}, false); err != nil {
					t.Fatal(err)
				}
				cloud.SeenTemplates.InMotion(pool, true)
			}
			var end func()
			if order.leadsFirst {
				end = r.lead()
				watch()
			} else {
				watch()
				end = r.lead()
			}
			r.template("pool")
			r.until("the pool is woken", func() bool { return r.queue.Len() == 1 })
			request, _ := r.queue.Get()
			r.queue.Done(request)
			if request.Name != "pool" {
				t.Errorf("woken: %s", request)
			}
			end()
			// A pass that ends late.
			r.cloud("eu-west-1")
			before := len(r.sim.Calls())
			r.clock.Step(10 * time.Minute)
			if after := len(r.sim.Calls()); after != before {
				t.Errorf("%d calls after the end", after-before)
			}
		})
	}
}

// TestOtherCredentials holds that a new key stops the old cloud's sweeps, and that what it watched
// is described with the new key.
func TestOtherCredentials(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	tenant := aws.Identity{Kind: aws.IdentityStatic, Name: "tenant"}
	reach := func() *clouds.Cloud {
		cloud, err := r.registry.For(t.Context(), tenant, "default", "us-east-1")
		if err != nil {
			t.Fatal(err)
		}
		return cloud
	}
	defer r.lead()()
	r.principals.set("tenant", "AKIAOLD0123456789012")
	before := reach()
	pool := types.NamespacedName{Namespace: "default", Name: "pool"}
	if _, err := before.SeenTemplates.Get(t.Context(), pool, []string{"pool"}, false); err != nil {
		t.Fatal(err)
	}
	if reach() != before {
		t.Error("the same key has another cloud")
	}
	before.SeenTemplates.InMotion(pool, true)
	r.until("the old key sweeps", func() bool { return len(r.sim.Calls()) > 2 })

	r.principals.set("tenant", "AKIANEW0123456789012")
	after := reach()
	if after == before {
		t.Fatal("another key has the same cloud")
	}
	r.until("the pool is woken", func() bool { return r.queue.Len() == 1 })
	if _, err := after.SeenTemplates.Get(t.Context(), pool, []string{"pool"}, false); err != nil {
		t.Fatal(err)
	}
	after.SeenTemplates.InMotion(pool, true)
	sweptBy := func(key string) (calls int) {
		for _, call := range r.sim.Calls() {
			if strings.HasSuffix(call.Principal, key) {
				calls++
			}
		}
		return calls
	}
	r.until("the new key sweeps", func() bool { return sweptBy("AKIANEW0123456789012") > 2 })
	// A last call of the old one may have been under way when it stopped.
	old := sweptBy("AKIAOLD0123456789012")
	so := sweptBy("AKIANEW0123456789012")
	r.until("the new key sweeps on", func() bool { return sweptBy("AKIANEW0123456789012") > so+2 })
	if now := sweptBy("AKIAOLD0123456789012"); now != old {
		t.Errorf("the old key was used %d times more", now-old)
	}
}
