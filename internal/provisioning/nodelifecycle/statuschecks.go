package nodelifecycle

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/report"
)

// StatusChecks polls EC2 for instances that fail a status check, which no event of EventBridge
// reports. One call serves all nodes. It is a manager's Runnable.
type StatusChecks struct {
	Client client.Client
	Fleets *fleet.Fleets
	Clock  clock.WithTicker
	Report report.Reporter
	// Interval between two polls.
	Interval time.Duration
	// Wake has a node reconciled. It does not block.
	Wake func(types.NamespacedName)

	mu sync.Mutex
	// polled reports whether EC2 has answered since this process started.
	polled   bool
	impaired map[string]bool
	// refused reports whether EC2 refused the last poll, so that events report it once.
	refused bool
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (c *StatusChecks) NeedLeaderElection() bool { return true }

// Start polls until the context is done.
func (c *StatusChecks) Start(ctx context.Context) error {
	ticker := c.Clock.NewTicker(c.Interval)
	defer ticker.Stop()
	for {
		if err := c.Poll(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Polling EC2 status checks failed, the next poll tries again")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
	}
}

// Poll asks EC2 which instances fail a status check, and wakes the nodes for which the answer
// changed. Without initialized nodes there is nothing to ask.
func (c *StatusChecks) Poll(ctx context.Context) error {
	var nodes provisioningv1.ProvisionedNodeList
	if err := c.Client.List(ctx, &nodes); err != nil {
		return fmt.Errorf("listing ProvisionedNodes: %w", err)
	}
	if !anyInitialized(nodes.Items) {
		return nil
	}
	before, polled := c.known()
	impaired, err := c.ask(ctx)
	if err != nil {
		c.reportRefusal(ctx, err)
		return err
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		id := node.Status.InstanceID
		if before[id] != impaired[id] || !polled && node.Status.FailedSince != nil {
			c.Wake(client.ObjectKeyFromObject(node))
		}
	}
	return nil
}

func anyInitialized(nodes []provisioningv1.ProvisionedNode) bool {
	for i := range nodes {
		if nodes[i].Status.ReadyTime != nil {
			return true
		}
	}
	return false
}

// ask asks EC2 and keeps the answer.
func (c *StatusChecks) ask(ctx context.Context) (map[string]bool, error) {
	impaired, err := c.Fleets.Impaired(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.polled, c.impaired, c.refused = true, impaired, false
	return maps.Clone(impaired), nil
}

// known returns the last answer, and whether there was one.
func (c *StatusChecks) known() (map[string]bool, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.impaired, c.polled
}

// reportRefusal warns on all Provisioners that failed status checks go unnoticed, once until EC2
// answers again.
func (c *StatusChecks) reportRefusal(ctx context.Context, refusal error) {
	c.mu.Lock()
	first := !c.refused && !aws.IsThrottled(refusal) && !aws.IsUncertain(refusal)
	c.refused = c.refused || first
	c.mu.Unlock()
	if !first {
		return
	}
	var provisioners provisioningv1.ProvisionerList
	if err := c.Client.List(ctx, &provisioners); err != nil {
		log.FromContext(ctx).Error(err, "Listing Provisioners failed")
		return
	}
	for i := range provisioners.Items {
		c.Report.Warn(ctx, &provisioners.Items[i], "StatusChecksUnknown", "Slipway cannot replace nodes whose "+
			"instances fail an EC2 status check, because it cannot read the checks: %s", aws.UserMessage(refusal))
	}
}

// fails reports whether the instance of a node failed a status check in the last answer of EC2.
// Until EC2 has answered this process, the status of the node has what it answered the process
// before.
func (c *StatusChecks) fails(node *provisioningv1.ProvisionedNode) bool {
	impaired, polled := c.known()
	if polled {
		return impaired[node.Status.InstanceID]
	}
	condition := meta.FindStatusCondition(node.Status.Conditions, provisioningv1.NodeReadyCondition)
	return condition != nil && condition.Reason == failedStatusChecks
}

// stillFails reports whether an instance fails a status check now: the last answer may be as old as
// an outage of AWS.
func (c *StatusChecks) stillFails(ctx context.Context, id string) (bool, error) {
	impaired, err := c.ask(ctx)
	return impaired[id], err
}
