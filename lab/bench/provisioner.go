package bench

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/awssim/world"
	"github.com/slipway-project/slipway/bench/workload"
	"github.com/slipway-project/slipway/internal/manager"

	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/fleet"
)

// ProvisionerOptions say what to measure of `slipway provisioner`.
type ProvisionerOptions struct {
	// Command runs it, with the laboratory's variables in its environment.
	Command []string
	// Latency is how long AWS takes to answer.
	Latency time.Duration
	// Alone is the number of pods that come one after the other, each so long after the last one's
	// launch: Apart. A pod that comes within two seconds of a launch may be the next of many
	// (internal/provisioning/launcher).
	Alone int
	Apart time.Duration
	// Pods is how many wait at once.
	Pods int
	// Log gets what the provisioner prints; Progress what is being done.
	Log, Progress io.Writer
	// Profiles is as in Options.
	Profiles string
}

// ProvisionerResult holds the measurements of a Provisioner.
type ProvisionerResult struct {
	Options ProvisionerOptions
	// Waits are how long pods that came alone waited for the call that launches their node, until AWS had it.
	Waits []time.Duration
	// Stream is what was launched for pods that kept coming, AtOnce for the same pods when they waited together.
	Stream, AtOnce Launched
	// StreamWaits are how long nodes of the stream were waited for, from their first pod to their launch.
	StreamWaits *Histogram
	Phases      []Phase
	// Peak is the largest resident set of the process that had the backlog, in bytes.
	Peak int64
}

const (
	// provisioned is the name of the Provisioner, and of the cluster.
	provisioned = "bench"
	// lone is the label of pods that come alone. Each keeps its node to itself.
	lone = "lone"
)

// RunProvisioner measures what pods wait for nodes, and what a backlog of them takes. There is no other node, and instances become none: that is the API server's and
// the kubelet's time.
func RunProvisioner(ctx context.Context, options ProvisionerOptions) (_ ProvisionerResult, err error) {
	b := &bench{
		Options: Options{Own: true, Command: options.Command, Latency: options.Latency, Log: options.Log, Progress: options.Progress, Profiles: options.Profiles},
		clock:   simclock.New(time.Now(), 1), subject: fmt.Sprintf("%d pods", options.Pods),
	}
	defer b.clock.Close()
	b.lab, err = lab.Start(ctx, lab.Options{
		WithoutPools: true, WithoutClusterTopology: true, Cloud: lab.CloudOptions{AWS: awssim.Options{Clock: b.clock, World: provisionedWorld()}, WithoutNodes: true},
	})
	if err != nil {
		return ProvisionerResult{}, err
	}
	defer func() { err = errors.Join(err, b.lab.Close()) }()
	if err := b.prepareProvisioner(ctx); err != nil {
		return ProvisionerResult{}, err
	}
	if _, err := b.lab.Cloud.AWS.AddFault(awssim.Fault{ID: "latency", Delay: options.Latency}); err != nil {
		return ProvisionerResult{}, err
	}
	if err := b.start(ctx); err != nil {
		return ProvisionerResult{}, err
	}
	defer func() { err = errors.Join(err, b.process.stop()) }()
	result := ProvisionerResult{Options: options}
	for _, phase := range []func(context.Context, *ProvisionerResult) error{b.comeAlone, b.comeInStream, b.comeTogether} {
		err := phase(ctx, &result)
		result.Phases = b.result.Phases
		if err != nil {
			return result, err
		}
	}
	return result, nil
}

// provisionedWorld returns the default world with all instance types that a region has, whose
// private subnets and nodes' security group are the cluster's.
func provisionedWorld() *world.World {
	w := *world.Default()
	w.InstanceTypes = world.Catalogue()
	w.Regions = slices.Clone(w.Regions)
	region := &w.Regions[0]
	region.Subnets, region.SecurityGroups = slices.Clone(region.Subnets), slices.Clone(region.SecurityGroups)
	own := func(tags map[string]string) map[string]string {
		tags = maps.Clone(tags)
		tags["kubernetes.io/cluster/"+provisioned] = "owned"
		return tags
	}
	for i := range region.Subnets {
		if subnet := &region.Subnets[i]; !subnet.MapPublicIPOnLaunch {
			subnet.Tags = own(subnet.Tags)
		}
	}
	for i := range region.SecurityGroups {
		if group := &region.SecurityGroups[i]; group.Name == "node" {
			group.Tags = own(group.Tags)
		}
	}
	return &w
}

// prepareProvisioner creates the Provisioner.
func (b *bench) prepareProvisioner(ctx context.Context) error {
	provisioner := &provisioningv1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: provisioned}}
	provisioner.Spec.Cluster.Name, provisioner.Spec.Cluster.Endpoint = provisioned, "https://api.example.com:6443"
	provisioner.Spec.Cluster.CABundle = base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----"))
	if err := b.lab.Client().Create(ctx, provisioner); err != nil {
		return fmt.Errorf("creating the Provisioner: %w", err)
	}
	return await(ctx, often, "the service account of pods", func() error {
		return b.lab.Client().Get(ctx, client.ObjectKey{Namespace: "default", Name: "default"}, &corev1.ServiceAccount{})
	})
}

// comeAlone measures pods that come one after the other, from before each is created to the arrival of the call that launches its node.
func (b *bench) comeAlone(ctx context.Context, result *ProvisionerResult) error {
	if err := b.idle(ctx); err != nil {
		return err
	}
	return b.measure(ctx, "pods that come alone", func(phase *Phase) error {
		for i := range result.Options.Alone {
			pod := workload.Equal(1)[0]
			pod.Name, pod.Labels = fmt.Sprintf("%s-%02d", lone, i), map[string]string{"app": lone}
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
				{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels}},
			}}}
			began := time.Now()
			if err := b.wait(ctx, pod); err != nil {
				return err
			}
			err := await(ctx, often, "a node for a pod", func() error {
				if fleets := b.count("CreateFleet"); fleets <= i {
					return fmt.Errorf("CreateFleet was called %d times", fleets)
				}
				return nil
			})
			if err != nil {
				return err
			}
			calls := b.lab.Cloud.AWS.Calls()
			last := slices.IndexFunc(calls, func(call awssim.Call) bool { return call.Action == "CreateFleet" && call.Time.After(began) })
			result.Waits = append(result.Waits, calls[last].Time.Sub(began).Round(time.Millisecond))
			if err := sleep(ctx, result.Options.Apart); err != nil {
				return err
			}
		}
		phase.Note = fmt.Sprintf("From a pod's creation to CreateFleet: %v.", result.Waits)
		return nil
	})
}

// comeTogether measures a provisioner that starts while very many pods wait. Each minute it launches as many nodes as it may, so it packs what is left again.
func (b *bench) comeTogether(ctx context.Context, result *ProvisionerResult) error {
	if err := b.process.stop(); err != nil {
		return err
	}
	pods := workload.Diverse(result.Options.Pods)
	b.say("creating %d pods", len(pods))
	if err := fleet.Each(0, len(pods), func(i int) error { return b.wait(ctx, pods[i]) }); err != nil {
		return err
	}
	return b.measure(ctx, "pods that wait together", func(phase *Phase) error {
		before, began := b.count("CreateFleet"), time.Now()
		if err := b.start(ctx); err != nil {
			return err
		}
		err := await(ctx, often, "the first nodes", func() error {
			if b.count("CreateFleet") == before {
				return errors.New("there are none")
			}
			return nil
		})
		if err != nil {
			return err
		}
		phase.Answered = time.Since(began)
		nodes, err := b.launched(ctx, 0)
		if err != nil {
			return err
		}
		result.Peak = b.process.size("VmHWM:")
		phase.Note = fmt.Sprintf("From the program's start to CreateFleet: %v. %d nodes were launched; at most %d MB were resident.", phase.Answered.Round(10*time.Millisecond),
			nodes, result.Peak>>20)
		return nil
	})
}

// launched returns how many nodes were launched in addition to the given number, once no further
// ones come. If they are as many as are launched in a minute, that is after the next minute's.
func (b *bench) launched(ctx context.Context, beside int) (int, error) {
	last, since := 0, time.Now()
	err := await(ctx, seldom, "the last launches", func() error {
		var nodes provisioningv1.ProvisionedNodeList
		if err := b.lab.Client().List(ctx, &nodes); err != nil {
			return err
		}
		if now := len(nodes.Items) - beside; now != last {
			last, since = now, time.Now()
		}
		if last == manager.DefaultLaunchesPerMinute || time.Since(since) < asleep {
			return fmt.Errorf("%d nodes are launched", last)
		}
		return nil
	})
	return last, err
}

// wait creates a pod that the scheduler found no node for.
func (b *bench) wait(ctx context.Context, pod *corev1.Pod) error {
	pod.UID = ""
	pod.Spec.Containers[0].Image = "none"
	pod.Spec.AutomountServiceAccountToken = ptr.To(false)
	if err := b.lab.Client().Create(ctx, pod); err != nil {
		return fmt.Errorf("creating pod %q: %w", pod.Name, err)
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	if err := b.lab.Client().Status().Update(ctx, pod); err != nil {
		return fmt.Errorf("having pod %q wait: %w", pod.Name, err)
	}
	return nil
}

func sleep(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
