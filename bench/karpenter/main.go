// Command karpenter packs the pods of a problem with the scheduler of Karpenter's core, and reports
// what that took. It reads a problem of bench/packing from its standard input and writes an outcome
// to its standard output, both as JSON.
//
// It is a module of its own, so that Karpenter is built with its own versions of all dependencies,
// and no other module needs them.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"

	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	provisioning "sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

// templateLabel is the label by which pods choose launch templates.
const templateLabel = "node.k8s.aws/launch-template-name"

// problem has the members of a workload.Problem, which bench/packing writes.
type problem struct {
	Templates []string
	Types     []instanceType
	Pods      []*corev1.Pod
}

type instanceType struct {
	Name, Architecture string
	Capacity, Overhead corev1.ResourceList
	Offerings          []offering
}

type offering struct {
	Zone, CapacityType string
	Price              float64
}

// outcome has the members of the outcome that bench/packing reads.
type outcome struct {
	Placed, Nodes      int
	Price              float64
	CPU                time.Duration
	Bytes, Allocations uint64
}

func main() {
	limit := flag.Duration("limit", time.Minute, "how long to pack at most; Karpenter takes a minute")
	flag.Parse()
	log.SetLogger(logging.NopLogger)
	if err := run(os.Stdin, os.Stdout, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "karpenter:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, limit time.Duration) error {
	var p problem
	if err := json.NewDecoder(in).Decode(&p); err != nil {
		return fmt.Errorf("reading the problem: %w", err)
	}
	runtime.GC()
	began, err := usage()
	if err != nil {
		return err
	}
	results, err := solve(&p, limit)
	if err != nil {
		return err
	}
	spent, err := usage()
	if err != nil {
		return err
	}
	o := outcome{
		Nodes: len(results.NewNodeClaims), CPU: spent.CPU - began.CPU, Bytes: spent.Bytes - began.Bytes, Allocations: spent.Allocations - began.Allocations,
	}
	for _, claim := range results.NewNodeClaims {
		o.Placed += len(claim.Pods)
		o.Price += price(claim)
	}
	return json.NewEncoder(out).Encode(o)
}

// usage returns the resources that the process has used so far.
func usage() (outcome, error) {
	var rusage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &rusage); err != nil {
		return outcome{}, fmt.Errorf("reading the processor time: %w", err)
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return outcome{CPU: time.Duration(rusage.Utime.Nano() + rusage.Stime.Nano()), Bytes: memory.TotalAlloc, Allocations: memory.Mallocs}, nil
}

// solve does what Karpenter's provisioner does for a batch of pods, in a cluster without nodes.
func solve(p *problem, limit time.Duration) (provisioning.Results, error) {
	ctx := options.ToContext(injection.WithControllerName(context.Background(), "provisioner"), &options.Options{
		PreferencePolicy: options.PreferencePolicyRespect, MinValuesPolicy: options.MinValuesPolicyStrict, IgnoreDRARequests: true,
		FeatureGates: options.DefaultFeatureGates(),
	})
	pools := nodePools(p.Templates)
	types := map[string][]*cloudprovider.InstanceType{}
	known := instanceTypes(p.Types)
	for _, pool := range pools {
		types[pool.Name] = known
	}
	objects := fake.NewClientBuilder().Build()
	cluster := state.NewCluster(clock.RealClock{}, objects, noCloud{})
	concurrency := provisioning.NumConcurrentReconciles(runtime.NumCPU())
	topology, err := provisioning.NewTopology(ctx, objects, cluster, nil, pools, types, p.Pods, concurrency)
	if err != nil {
		return provisioning.Results{}, fmt.Errorf("reading topologies: %w", err)
	}
	scheduler := newScheduler(ctx, objects, pools, cluster, topology, types, concurrency)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	results, err := scheduler.Solve(limited, p.Pods)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return provisioning.Results{}, fmt.Errorf("packing: %w", err)
	}
	return results.TruncateInstanceTypes(ctx, provisioning.MaxInstanceTypes), nil
}

func newScheduler(
	ctx context.Context, objects client.Client, pools []*karpenterv1.NodePool, cluster *state.Cluster, topology *provisioning.Topology,
	types map[string][]*cloudprovider.InstanceType, option provisioning.Options,
) *provisioning.Scheduler {
	recorder := events.NewRecorder(&record.FakeRecorder{})
	return provisioning.NewScheduler(ctx, objects, pools, cluster, nil, topology, types, nil, recorder, clock.RealClock{}, nil, nil, option)
}

// nodePools are one for each launch template, as a user of Karpenter has to have them, all on demand.
func nodePools(templates []string) []*karpenterv1.NodePool {
	var pools []*karpenterv1.NodePool
	for _, name := range templates {
		pool := &karpenterv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
		pool.Spec.Template.Labels = map[string]string{templateLabel: name}
		pool.Spec.Template.Spec.NodeClassRef = &karpenterv1.NodeClassReference{Group: "example.com", Kind: "NodeClass", Name: name}
		pool.Spec.Template.Spec.Requirements = []karpenterv1.NodeSelectorRequirementWithMinValues{
			{Key: karpenterv1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{karpenterv1.CapacityTypeOnDemand}},
		}
		pools = append(pools, pool)
	}
	return pools
}

func instanceTypes(all []instanceType) []*cloudprovider.InstanceType {
	var types []*cloudprovider.InstanceType
	for i := range all {
		from := &all[i]
		var zones, kinds []string
		var offerings cloudprovider.Offerings
		for _, o := range from.Offerings {
			zones, kinds = append(zones, o.Zone), append(kinds, o.CapacityType)
			offerings = append(offerings, &cloudprovider.Offering{
				Available: true, Price: o.Price,
				Requirements: scheduling.NewLabelRequirements(map[string]string{corev1.LabelTopologyZone: o.Zone, karpenterv1.CapacityTypeLabelKey: o.CapacityType}),
			})
		}
		types = append(types, &cloudprovider.InstanceType{
			Name: from.Name, Capacity: from.Capacity, Overhead: &cloudprovider.InstanceTypeOverhead{KubeReserved: from.Overhead}, Offerings: offerings,
			Requirements: scheduling.NewRequirements(
				scheduling.NewRequirement(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, from.Name),
				scheduling.NewRequirement(corev1.LabelArchStable, corev1.NodeSelectorOpIn, from.Architecture),
				scheduling.NewRequirement(corev1.LabelOSStable, corev1.NodeSelectorOpIn, string(corev1.Linux)),
				scheduling.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, zones...),
				scheduling.NewRequirement(karpenterv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, kinds...),
			),
		})
	}
	return types
}

// price returns the price of the cheapest offering that suits the node's pods.
func price(claim *provisioning.NodeClaim) float64 {
	lowest := math.Inf(1)
	for _, t := range claim.InstanceTypeOptions {
		for _, o := range t.Offerings.Available() {
			if claim.Requirements.IsCompatible(o.Requirements, scheduling.AllowUndefinedWellKnownLabels) {
				lowest = min(lowest, o.Price)
			}
		}
	}
	return lowest
}

// noCloud is a cloud provider that launches nothing, because packing needs no instances.
type noCloud struct{ cloudprovider.CloudProvider }

func (noCloud) Name() string                             { return "none" }
func (noCloud) GetSupportedNodeClasses() []status.Object { return nil }
