package scheduler

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// launchedReason is the reason of events on pods whose node is on its way.
const launchedReason = provisioningv1.NodeLaunchedEvent

// coming holds the state of the nodes that waiting pods have places on.
type coming struct {
	// launched are pods of nodes whose instance runs, and that are not initialized yet; failing are
	// pods of nodes whose launch fails, and is repeated.
	launched, failing []packing.Unplaced
	// unknown is true if EC2 has not answered for some node.
	unknown bool
}

// comingOf returns what becomes of the nodes that waiting pods have places on.
func comingOf(cluster *clusterstate.Cluster) coming {
	nodes := map[string]*provisioningv1.ProvisionedNode{}
	for i := range cluster.Provisioned {
		nodes[cluster.Provisioned[i].Name] = &cluster.Provisioned[i]
	}
	var all coming
	launched, failing := map[string]string{}, map[string]string{} // the message about each node
	for _, pod := range cluster.Waiting() {
		place, promised := cluster.Promise(pod.UID)
		node := nodes[place]
		if !promised || node == nil || pod.Spec.NodeName != "" || clusterstate.Initialized(node) {
			continue
		}
		if launched[place] == "" && failing[place] == "" {
			launched[place], failing[place] = launchOf(node)
		}
		switch {
		case launched[place] != "":
			all.launched = append(all.launched, packing.Unplaced{Pod: pod, Reason: launched[place]})
		case failing[place] != "":
			all.failing = append(all.failing, packing.Unplaced{Pod: pod, Reason: failing[place]})
		}
		all.unknown = all.unknown || node.Status.InstanceID == ""
	}
	return all
}

// launchOf returns the message to pods about the launch of their node: that it was launched, or why
// not. Both are empty while that is not known.
func launchOf(node *provisioningv1.ProvisionedNode) (launched, failing string) {
	status := &node.Status
	if status.InstanceID != "" {
		return fmt.Sprintf("Instance %s (%s in %s) is starting and has room for the pod. See ProvisionedNode %s "+
			"for its progress.", status.InstanceID, status.InstanceType, status.Zone, node.Name), ""
	}
	condition := meta.FindStatusCondition(status.Conditions, provisioningv1.LaunchedCondition)
	if condition == nil || condition.Status != metav1.ConditionFalse || condition.Reason != provisioningv1.LaunchFailedReason {
		return "", ""
	}
	return "", fmt.Sprintf("waits, because the launch of its node failed (%s). Slipway retries", strings.TrimRight(condition.Message, "."))
}

// tellComing reports, on pods that have a place on a node, that the node is on its way, or that its
// launch fails: once, and again if that changes. Without it the pods would wait for minutes while
// nothing in the cluster explains why.
func (e *podEvents) tellComing(ctx context.Context, p *pass) reconciling.Outcome {
	all := comingOf(p.cluster)
	p.failing = len(all.failing)
	e.launched.keep(all.launched, nil)
	e.failing.keep(all.failing, nil)
	failed := e.write(&e.failing, all.failing, func(one packing.Unplaced) { e.warnUnplaced(ctx, one) })
	launched := e.write(&e.launched, all.launched, func(one packing.Unplaced) { e.report.Done(ctx, one.Pod, launchedReason, "%s", one.Reason) })
	switch wait := max(failed, launched); {
	case wait > 0:
		return reconciling.ContinueAndComeBack(wait, "further pods are to be told of their nodes")
	case all.unknown:
		return reconciling.ContinueAndComeBack(tellAgain, "nodes are being launched")
	}
	return reconciling.Continue()
}
