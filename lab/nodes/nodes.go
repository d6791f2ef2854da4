// Package nodes stands in for the machines of a workload cluster: it owns the Node objects of
// simulated EC2 instances. A Node appears when its instance has booted with user data it can join
// the cluster with, as the kubelet would register it and the cloud provider would label it, and
// goes when the instance terminates. An instance that cannot join is recorded with the reason.
package nodes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

// workers is the number of machines that join or leave at once.
const workers = 8

// Cloud is the part of the simulated AWS that the machines see; *awssim.Simulator is one.
type Cloud interface {
	OnChange(f func(awssim.Event)) (cancel func())
	World() *world.World
	// Region shows instances, images and volumes, and what an instance would read.
	Region(account, region string) awssim.Region
}

// Refusal says why a booted instance did not become a Node.
type Refusal struct {
	Account, Region, InstanceID string
	// Reason is a sentence without a full stop.
	Reason string
	// Time is real time, which bootstrap tokens expire by.
	Time time.Time
}

// machine names an instance.
type machine struct{ account, region, id string }

// Nodes keeps the Nodes of one workload cluster.
type Nodes struct {
	cloud  Cloud
	client client.Client
	queue  workqueue.TypedRateLimitingInterface[machine]
	cancel func()
	wg     sync.WaitGroup

	mu       sync.Mutex
	refusals map[machine]Refusal
}

// Start keeps Nodes in the API server that config reaches, until Stop. All accounts of the cloud
// share it. It does not stop with the context.
func Start(ctx context.Context, cloud Cloud, config *rest.Config) (*Nodes, error) {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("making a client for Nodes: %w", err)
	}
	// A machine tries again soon: whatever fails here is the laboratory's own API server.
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[machine](50*time.Millisecond, 2*time.Second)
	n := &Nodes{
		cloud: cloud, client: c, queue: workqueue.NewTypedRateLimitingQueue(limiter), refusals: map[machine]Refusal{},
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	unsubscribe := cloud.OnChange(func(e awssim.Event) {
		if e.Kind == "instance" {
			n.queue.Add(machine{e.Account, e.Region, e.ID})
		}
	})
	n.cancel = func() {
		unsubscribe()
		n.queue.ShutDown()
		stop()
	}
	for range workers {
		n.wg.Go(func() {
			for n.next(ctx) {
			}
		})
	}
	return n, nil
}

// Stop leaves the Nodes as they are and waits for machines under way.
func (n *Nodes) Stop() {
	n.cancel()
	n.wg.Wait()
}

// Refusals returns the booted instances of an account that could not join, in the order of time.
func (n *Nodes) Refusals(account string) []Refusal {
	n.mu.Lock()
	defer n.mu.Unlock()
	var found []Refusal
	for _, refusal := range n.refusals {
		if refusal.Account == account {
			found = append(found, refusal)
		}
	}
	slices.SortFunc(found, func(a, b Refusal) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.InstanceID, b.InstanceID))
	})
	return found
}

// next serves one machine and reports whether there may be more.
func (n *Nodes) next(ctx context.Context) bool {
	m, shutdown := n.queue.Get()
	if shutdown {
		return false
	}
	defer n.queue.Done(m)
	if err := n.sync(ctx, m); err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Error(err, "Keeping a simulated node", "instance", m.id)
		n.queue.AddRateLimited(m)
		return true
	}
	n.queue.Forget(m)
	return true
}

// sync brings the Node to the state of the instance.
func (n *Nodes) sync(ctx context.Context, m machine) error {
	instance, ok := n.cloud.Region(m.account, m.region).Instance(m.id)
	switch {
	case !ok || ends(instance):
		return n.remove(ctx, m)
	case instance.State.Name != ec2types.InstanceStateNameRunning:
		return n.setNotReady(ctx, m)
	case !instance.Booted:
		return nil
	}
	return n.join(ctx, m, instance)
}

func ends(instance awssim.Instance) bool {
	return instance.State.Name == ec2types.InstanceStateNameShuttingDown || instance.State.Name == ec2types.InstanceStateNameTerminated
}

// join registers the Node, unless the machine cannot.
func (n *Nodes) join(ctx context.Context, m machine, instance awssim.Instance) error {
	if n.hasRefused(m) {
		return nil // cloud-init runs once in a machine's life
	}
	joined, err := n.exists(ctx, m)
	if err != nil {
		return err
	}
	if joined {
		// It has read its user data, and what that points to may already be gone.
		return n.register(ctx, m, instance, userData{})
	}
	data, err := n.read(m, instance)
	if err != nil {
		n.refuse(m, err.Error())
		return nil
	}
	if reason, err := n.admits(ctx, data); err != nil {
		return err
	} else if reason != "" {
		n.refuse(m, reason)
		return nil
	}
	return n.register(ctx, m, instance, data)
}

// read returns what a machine understands of its user data, wherever that points to.
func (n *Nodes) read(m machine, instance awssim.Instance) (userData, error) {
	raw, err := n.follow(m, instance)
	if err != nil {
		return userData{}, err
	}
	return readUserData(raw)
}

func (n *Nodes) hasRefused(m machine) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, refused := n.refusals[m]
	return refused
}

func (n *Nodes) refuse(m machine, reason string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refusals[m] = Refusal{Account: m.account, Region: m.region, InstanceID: m.id, Reason: reason, Time: time.Now()}
}

// Name returns the name of the Node of an instance, as EC2 names hosts by
// resource name (AWS: "EC2 instance hostnames and domains").
func Name(region, instanceID string) string {
	domain := region + ".compute.internal"
	if region == "us-east-1" {
		domain = "ec2.internal"
	}
	return instanceID + "." + domain
}

func (m machine) nodeName() string { return Name(m.region, m.id) }

func (n *Nodes) remove(ctx context.Context, m machine) error {
	node := newNode(m)
	if err := n.client.Delete(ctx, node); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting Node %q: %w", node.Name, err)
	}
	return nil
}

// admits returns why the cluster would not let a machine with that user data join; empty if it would.
func (n *Nodes) admits(ctx context.Context, data userData) (reason string, err error) {
	if len(data.tokens) == 0 {
		return "", nil // another way of joining than kubeadm's, such as EKS's by IAM role
	}
	for _, token := range data.tokens {
		reason, err = n.checkToken(ctx, token)
		if err != nil || reason == "" {
			return "", err
		}
	}
	return reason, nil
}

var errNoUserData = errors.New("it has no user data, so nothing makes it join")
