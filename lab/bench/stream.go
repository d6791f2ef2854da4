package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/bench/workload"
	"github.com/slipway-project/slipway/lab/fleet"
)

// streamed is how many pods come one after the other within streamTime.
const (
	streamed   = 500
	streamTime = time.Minute
)

// Launched holds what was launched for some pods.
type Launched struct {
	Nodes int
	// USD is what the nodes cost in an hour, on demand.
	USD float64
}

// streamPods returns pods of 30 sizes without wishes.
func streamPods() []*corev1.Pod { return workload.Diverse(5 * streamed)[:streamed] }

// comeInStream measures pods that keep coming for a minute, and the same pods when they all wait as the program starts.
func (b *bench) comeInStream(ctx context.Context, result *ProvisionerResult) error {
	// Another process, whose metrics are of the stream alone.
	if err := errors.Join(b.clear(ctx), b.process.stop()); err != nil {
		return err
	}
	if err := errors.Join(b.start(ctx), b.idle(ctx)); err != nil {
		return err
	}
	err := b.measure(ctx, "pods of a stream", func(phase *Phase) error {
		ticker := time.NewTicker(streamTime / streamed)
		defer ticker.Stop()
		for _, pod := range streamPods() {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-ticker.C:
			}
			if err := b.wait(ctx, pod); err != nil {
				return err
			}
		}
		launched, err := b.cost(ctx)
		if err != nil {
			return err
		}
		result.Stream = launched
		result.StreamWaits = b.process.histogram(ctx, "slipway_node_startup_seconds")
		phase.Note = fmt.Sprintf("%d pods in %v. %s.", streamed, streamTime, launched)
		return nil
	})
	if err := errors.Join(err, b.clear(ctx), b.process.stop()); err != nil {
		return err
	}
	pods := streamPods()
	if err := fleet.Each(0, len(pods), func(i int) error { return b.wait(ctx, pods[i]) }); err != nil {
		return err
	}
	if err := b.start(ctx); err != nil {
		return err
	}
	if result.AtOnce, err = b.cost(ctx); err != nil {
		return err
	}
	b.say("the same pods at once: %s", result.AtOnce)
	return b.clear(ctx)
}

// String implements fmt.Stringer.
func (l Launched) String() string {
	return fmt.Sprintf("%d nodes were launched, at %.2f USD an hour", l.Nodes, l.USD)
}

// cost waits until no further nodes are launched, and returns the existing ones.
func (b *bench) cost(ctx context.Context) (Launched, error) {
	if err := await(ctx, seldom, "the first node", func() error {
		if b.count("CreateFleet") == 0 {
			return errors.New("CreateFleet was not called")
		}
		return nil
	}); err != nil {
		return Launched{}, err
	}
	if _, err := b.launched(ctx, 0); err != nil {
		return Launched{}, err
	}
	prices := map[string]float64{}
	for _, kind := range world.Catalogue() {
		prices[kind.Name] = kind.OnDemandUSD
	}
	var launched Launched
	for _, instance := range b.lab.Cloud.AWS.Region(awssim.DefaultAccount, b.lab.Cloud.Region()).Instances() {
		if instance.State.Name == "terminated" {
			continue
		}
		price, known := prices[string(instance.InstanceType)]
		if !known {
			return Launched{}, fmt.Errorf("instance type %s has no price", instance.InstanceType)
		}
		launched.Nodes++
		launched.USD += price
	}
	return launched, nil
}

// clear deletes all pods and nodes, and waits until they are gone.
func (b *bench) clear(ctx context.Context) error {
	if err := b.lab.Client().DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace("default"), client.GracePeriodSeconds(0)); err != nil {
		return fmt.Errorf("deleting the pods: %w", err)
	}
	if err := b.lab.Client().DeleteAllOf(ctx, &provisioningv1.ProvisionedNode{}); err != nil {
		return fmt.Errorf("deleting the nodes: %w", err)
	}
	err := await(ctx, seldom, "the end of all nodes", func() error {
		var nodes provisioningv1.ProvisionedNodeList
		if err := b.lab.Client().List(ctx, &nodes); err != nil {
			return err
		}
		if len(nodes.Items) > 0 {
			return fmt.Errorf("%d are left", len(nodes.Items))
		}
		return nil
	})
	b.lab.Cloud.AWS.ClearCalls()
	return err
}
