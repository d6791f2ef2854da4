package provisionerstatus

import (
	"context"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/clouds"
)

// OutageAfter is for how long calls to a service of AWS must have failed before its Provisioners
// are not Ready: longer than a call that fails is repeated.
const OutageAfter = 10 * time.Second

// Reachable knows whether services of AWS answer.
type Reachable interface {
	Outage(services ...string) (outage *aws.Outage, answered bool)
}

// Outages wakes every Provisioner when an outage of AWS begins and when it is over. A Provisioner
// at rest calls AWS only every few minutes, and would show neither any sooner.
type Outages struct {
	Client client.Reader
	AWS    Reachable
	Clock  clock.WithTicker
	// Probe calls EC2. It is called while there is an outage, which is over when a call is
	// answered.
	Probe func(context.Context) error
	// Wake has a Provisioner reconciled.
	Wake func(name client.ObjectKey)

	// woken is the beginning of the outage that Provisioners were woken for last, zero for none.
	woken time.Time
}

// Start implements manager.Runnable.
func (o *Outages) Start(ctx context.Context) error {
	clouds.EveryOutageCheck(ctx, o.Clock, func() { o.Check(ctx) })
	return nil
}

// Check probes EC2 while there is an outage, and wakes every Provisioner if an outage has begun or
// is over since the last check.
func (o *Outages) Check(ctx context.Context) {
	since := o.since()
	if !since.IsZero() {
		if err := o.Probe(ctx); err != nil {
			log.FromContext(ctx).V(1).Info("The outage of AWS goes on", "since", since, "reason", err.Error())
		}
		since = o.since()
	}
	if since.Equal(o.woken) {
		return
	}
	var provisioners provisioningv1.ProvisionerList
	if err := o.Client.List(ctx, &provisioners); err != nil {
		log.FromContext(ctx).Error(err, "Listing Provisioners to show them an outage of AWS; trying again")
		return
	}
	for i := range provisioners.Items {
		o.Wake(client.ObjectKeyFromObject(&provisioners.Items[i]))
	}
	o.woken = since
}

// since returns when the outage began, zero for none.
func (o *Outages) since() time.Time {
	outage, _ := o.AWS.Outage(clouds.TemplateServices...)
	if outage == nil {
		return time.Time{}
	}
	return outage.Since
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*Outages) NeedLeaderElection() bool { return true }
