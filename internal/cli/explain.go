package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/poolview"
	"github.com/slipway-project/slipway/internal/rolloutcontrol"
)

// newestEvents bounds the number of events of an explanation.
const newestEvents = 10

func newExplainCommand(connect func(*readFlags) (*source, error)) *cobra.Command {
	flags := &readFlags{connect: connect}
	command := &cobra.Command{
		Use:   "explain POOL|NODE|POD",
		Short: "Explain why a pool, a node, or a pod is not ready, what that means for nodes, and what to do",
		Long: `Explain why a pool, a node, or a pod is not ready, what that means for nodes, and what to do. Each problem names the page
that documents its condition.

The command looks for a pool or a MachinePool of the name, then for a node, and then for a pod. Write pool/NAME, node/NAME, or pod/NAME to look for
one of them only. A node can also be named by the ID of its instance, or by its ProvisionedNode.

Pools are in the management cluster. For a pod that waits for a node, and for a node that a Provisioner launched, use the
kubeconfig of the workload cluster: its Provisioners and ProvisionedNodes are there.`,
		Example: `  slipway explain workers -n blue
  slipway explain node/ip-10-0-1-7.ec2.internal
  slipway explain pod/web-5d8f -n shop --context workload`,
		Args: namedArgs,
		RunE: func(command *cobra.Command, args []string) error {
			ctx, cancel, from, err := flags.start(command)
			if err != nil {
				return err
			}
			defer cancel()
			explanation, err := from.explain(ctx, command.ErrOrStderr(), args[0])
			if err != nil {
				return err
			}
			return show(flags, command.OutOrStdout(), explanation, from.printer(command.OutOrStdout()).Explanation)
		},
	}
	flags.bind(command, poolNames)
	return command
}

// instanceID matches the IDs of EC2 instances.
var instanceID = regexp.MustCompile(`^i-[0-9a-f]+$`)

// errOther is returned by an explainer if there is no such object, so that a name may be another one's.
var errOther = errors.New("not found")

// explain explains an object. Notes are about what is missing from the explanation.
func (s *source) explain(ctx context.Context, notes io.Writer, name string) (*poolview.Explanation, error) {
	type explainer func(context.Context, io.Writer, string) (*poolview.Explanation, error)
	explainers := []explainer{s.explainPool, s.explainNode, s.explainPod}
	absent := fmt.Sprintf("namespace %s has no pool or pod %.253q, and no node or instance of this cluster or of its pools has the name", s.namespace, name)
	noNode := func(name string) string {
		return fmt.Sprintf("this cluster and the pools of namespace %s have no node or instance %.253q", s.namespace, name)
	}
	given := name
	kind, rest, qualified := strings.Cut(name, "/")
	if qualified && strings.TrimSpace(rest) == "" {
		return nil, fmt.Errorf("%.64q has no name after the slash", name)
	}
	switch {
	case qualified && kind == anyPool:
		name, explainers, absent = rest, explainers[:1], fmt.Sprintf("namespace %s has no pool %.253q", s.namespace, rest)
	case qualified && slices.Contains([]string{"node", "provisionednode"}, kind):
		name, explainers, absent = rest, explainers[1:2], noNode(rest)
	case qualified && kind == "pod":
		name, explainers, absent = rest, explainers[2:], fmt.Sprintf("namespace %s has no pod %.253q", s.namespace, rest)
	case qualified && !isPoolKind(kind):
		return nil, fmt.Errorf("%.64q is no kind that can be explained: use pool/NAME, node/NAME, or pod/NAME", kind)
	case qualified:
		explainers, absent = explainers[:1], fmt.Sprintf("namespace %s has no %s %.253q", s.namespace, rolloutcontrol.KindNamed(kind), rest)
	case instanceID.MatchString(name):
		explainers, absent = explainers[1:2], noNode(name)
	}
	for _, explain := range explainers {
		explanation, err := explain(ctx, notes, name)
		if !errors.Is(err, errOther) {
			return explanation, err
		}
	}
	return nil, errors.New(absent + poolsElsewhere(ctx, s, given))
}

// poolsElsewhere says which other namespaces have a pool of a name that may have its kind before it, empty if none has
// or if the name is of another kind.
func poolsElsewhere(ctx context.Context, from *source, name string) string {
	kind, rest, qualified := strings.Cut(name, "/")
	switch {
	case qualified && kind != anyPool && !isPoolKind(kind):
		return ""
	case qualified:
		name = rest
	}
	return elsewhereText(from.elsewhere(ctx, name, append(slices.Clone(poolKinds), rolloutcontrol.KindMachinePool)...))
}

// explainPool explains a pool of the management cluster.
func (s *source) explainPool(ctx context.Context, notes io.Writer, name string) (*poolview.Explanation, error) {
	object, err := s.findPool(ctx, name)
	var missing *noPoolError
	switch {
	case errors.As(err, &missing), meta.IsNoMatchError(err):
		return nil, errOther
	case err != nil:
		return nil, err
	}
	objects, err := s.pools.Pool(ctx, object.GetKind(), client.ObjectKeyFromObject(object))
	if err != nil {
		return nil, err
	}
	view := poolview.Of(objects, s.clock.Now())
	if len(view.Drains) > 0 {
		noted(notes, "The names of blocked pods are missing", s.pools.WithPods(ctx, objects, &view))
	}
	events, err := eventsOf(ctx, s, view.Namespace, aboutPool(&view, objects))
	noted(notes, "The events are missing", err)
	explanation := &poolview.Explanation{
		Object: view.Kind + " " + view.Namespace + "/" + view.Name, Ready: len(view.Problems) == 0 && view.State == infrav1.ConvergedReason,
		Problems: view.Problems, Drains: view.Drains, Events: newest(events),
	}
	explanation.Summary = summaryOf(&view)
	explanation.Facts = []poolview.Fact{{Name: "Nodes", Value: view.NodesText()}}
	if rollout := view.Rollout; rollout != nil && rollout.Active && rollout.Cause != "" {
		explanation.Facts = append(explanation.Facts, poolview.Fact{Name: "Roll-out", Value: fmt.Sprintf("%d %%, because: %s", rollout.Percent, rollout.Cause)})
	}
	return explanation, nil
}

// summaryOf describes a pool in one sentence.
func summaryOf(view *poolview.View) string {
	switch {
	case view.NeedsHuman:
		return view.State + ". It needs you"
	case view.State == infrav1.PinnedReason && len(view.Problems) == 1:
		return "at the version that pinnedVersion names, until you remove the pin"
	case len(view.Problems) > 0:
		return view.State + ". Slipway is working on it, and nothing is for you to do"
	case view.State == infrav1.ConvergedReason:
		return "as its spec asks for"
	}
	return view.State + ": " + view.Message
}

// explainNode explains a node of this cluster, or of a pool of it.
func (s *source) explainNode(ctx context.Context, notes io.Writer, name string) (*poolview.Explanation, error) {
	provisioned, err := s.provisionedNode(ctx, name)
	noted(notes, "The ProvisionedNodes are missing", unlessUnserved(err))
	node := &corev1.Node{}
	if err := s.Get(ctx, client.ObjectKey{Name: name}, node); err == nil {
		return s.explainOwnNode(ctx, notes, node, provisioned)
	} else if !apierrors.IsNotFound(err) {
		noted(notes, "The nodes of this cluster cannot be read", err)
	}
	if provisioned != nil {
		return s.explainProvisioned(ctx, notes, provisioned)
	}
	trace, found, err := s.tracePool(ctx, s.namespace, name)
	switch {
	case meta.IsNoMatchError(err), err == nil && !found:
		return nil, errOther
	case err != nil:
		return nil, err
	}
	objects, err := s.pools.Pool(ctx, trace.Kind, client.ObjectKey{Namespace: trace.Namespace, Name: trace.Pool})
	if err != nil {
		return nil, err
	}
	if failure := s.pools.WithNodes(ctx, &objects); failure != nil {
		noted(notes, "The node is missing", failure)
	}
	view := poolview.Of(objects, s.clock.Now())
	return explainInstance(&trace, &view, objects.Nodes), nil
}

// explainInstance explains an instance of a pool.
func explainInstance(trace *poolview.Trace, view *poolview.View, nodes []corev1.Node) *poolview.Explanation {
	instance := trace.Instance
	explanation := &poolview.Explanation{Object: "Instance " + instance.ID, Facts: []poolview.Fact{
		{Name: "Pool", Value: trace.Kind + " " + trace.Namespace + "/" + trace.Pool},
		{Name: "Version", Value: instance.Version},
		{Name: "Lifecycle", Value: instance.Lifecycle + ", " + instance.Health},
	}}
	at := slices.IndexFunc(nodes, func(node corev1.Node) bool { return poolview.InstanceID(node.Spec.ProviderID) == instance.ID })
	ready := corev1.ConditionUnknown
	if at >= 0 {
		ready = nodeReady(&nodes[at]).Status
		explanation.Facts = append(explanation.Facts, poolview.Fact{Name: "Node", Value: fmt.Sprintf("%s, Ready is %s", nodes[at].Name, ready)})
	}
	for _, drain := range view.Drains {
		if drain.Instance == instance.ID {
			explanation.Drains = append(explanation.Drains, drain)
		}
	}
	switch {
	case strings.HasPrefix(instance.Lifecycle, "Terminating"):
		explanation.Summary = "on its way out: its node is drained, and then the instance is terminated"
	case instance.Lifecycle != "InService":
		explanation.Summary = "not in service yet: " + instance.Lifecycle
	case at < 0:
		explanation.Summary = "in service, and no node of it is known: it has not joined the cluster, or the workload cluster cannot be read"
	case ready != corev1.ConditionTrue:
		explanation.Summary = "joined the cluster, and its node is not ready"
	case !instance.Wanted:
		explanation.Summary = "ready, with another configuration than the wanted one"
	default:
		explanation.Summary, explanation.Ready = "ready, with the wanted configuration", true
	}
	if !explanation.Ready {
		explanation.Problems = view.Problems
	}
	return explanation
}

// nodeReady returns the condition Ready of a Node.
func nodeReady(node *corev1.Node) corev1.NodeCondition {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition
		}
	}
	return corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Message: "the kubelet has not reported yet"}
}

// explainOwnNode explains a node of this cluster, and its ProvisionedNode, nil if no Provisioner launched it.
func (s *source) explainOwnNode(ctx context.Context, notes io.Writer, node *corev1.Node, provisioned *provisioningv1.ProvisionedNode) (*poolview.Explanation, error) {
	ready := nodeReady(node)
	explanation := &poolview.Explanation{
		Object: "Node " + node.Name, Ready: ready.Status == corev1.ConditionTrue, Summary: fmt.Sprintf("Ready is %s", ready.Status),
		Facts: []poolview.Fact{{Name: "Instance", Value: poolview.InstanceID(node.Spec.ProviderID)}},
	}
	if ready.Message != "" && !explanation.Ready {
		explanation.Summary += ": " + ready.Message
	}
	if node.Spec.Unschedulable {
		explanation.Facts = append(explanation.Facts, poolview.Fact{Name: "Cordoned", Value: "no pod is scheduled to it"})
	}
	if pools, _, err := s.pools.Pools(ctx, ""); err == nil { // a cluster may manage itself
		if trace, found := poolview.TraceOf(pools, viewsOf(pools, s.clock.Now()), poolview.InstanceID(node.Spec.ProviderID)); found {
			explanation.Facts = append(explanation.Facts, poolview.Fact{Name: "Pool", Value: trace.Kind + " " + trace.Namespace + "/" + trace.Pool + ", version " + trace.Instance.Version})
		}
	}
	about := map[string]bool{"Node/" + node.Name: true}
	if provisioned != nil {
		about["ProvisionedNode/"+provisioned.Name] = true
		explanation.Facts = append(explanation.Facts, provisionedFact(provisioned))
		explanation.Problems = append(explanation.Problems, poolview.Problems("ProvisionedNode", provisioned.Name, provisioned.Status.Conditions)...)
	}
	events, err := eventsOf(ctx, s, "", about)
	noted(notes, "The events are missing", err)
	explanation.Events = newest(events)
	return explanation, nil
}

// newest returns the newest events of a list that is sorted by time.
func newest(events []poolview.Event) []poolview.Event {
	return events[max(len(events)-newestEvents, 0):]
}
