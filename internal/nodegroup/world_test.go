package nodegroup

import (
	"slices"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/internal/aws"
)

const (
	testAccount = "123456789012"
	testRegion  = "us-east-1"
	testSubnet  = "subnet-0b2000000000000aa"
	testOwner   = "team/blue/pool"
)

// world holds the node groups of an EKS cluster in a simulated account. Its clock stands still until
// it is stepped.
type world struct {
	testing.TB
	sim    *awssim.Simulator
	clock  *simclock.Clock
	groups *Nodegroups
	eks    *eks.Client
	role   string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	options := awssim.Options{Behavior: awssim.Behavior{InstanceTimes: awssim.InstanceTimes{Pending: time.Second, Boot: time.Second}}}
	sim, clock, url := awssimtest.Start(t, now, options)
	if err := sim.Region(testAccount, testRegion).SetCluster(awssim.Cluster{Name: "blue", Version: "1.34", Subnets: []string{testSubnet}}); err != nil {
		t.Fatal(err)
	}
	config := awssimtest.Config(url, testRegion, testAccount)
	clients, err := aws.NewSessions(config, aws.WithClock(clock), aws.WithLimits(nil)).For(t.Context(), aws.Principal{}, testRegion)
	if err != nil {
		t.Fatal(err)
	}
	out, err := iam.NewFromConfig(config).CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName:                 awssdk.String("nodes"),
		AssumeRolePolicyDocument: awssdk.String(`{"Statement":{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range []string{"AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryReadOnly", "AmazonEKS_CNI_Policy"} {
		if _, err := iam.NewFromConfig(config).AttachRolePolicy(t.Context(), &iam.AttachRolePolicyInput{
			RoleName: awssdk.String("nodes"), PolicyArn: awssdk.String("arn:aws:iam::aws:policy/" + policy),
		}); err != nil {
			t.Fatal(err)
		}
	}
	return &world{TB: t, sim: sim, clock: clock, groups: NewNodegroups(clients.EKS), eks: eks.NewFromConfig(config), role: *out.Role.Arn}
}

// plain returns a node group of EKS's own image that can be created in the world.
func (w *world) plain(change func(*Desired)) Desired {
	want := Desired{
		Cluster: "blue", Owner: testOwner, UID: "first", RoleARN: w.role, SubnetIDs: []string{testSubnet}, AMIType: "AL2023_x86_64_STANDARD",
		CapacityType: "ON_DEMAND", InstanceTypes: []string{"t3.large"}, KubernetesVersion: "v1.34.2", ClusterVersion: "1.34",
		Bounds: Bounds{Min: ptr.To[int32](0), Max: ptr.To[int32](3)}, Capacity: ptr.To[int32](1), Settings: DefaultSettings(),
		Tags: map[string]string{infrav1.TagManagedMachinePool: testOwner},
	}
	if change != nil {
		change(&want)
	}
	return want
}

// create creates a node group, and returns it when it is no longer busy.
func (w *world) create(name string, want Desired) Nodegroup {
	w.Helper()
	if _, err := w.groups.Create(w.Context(), want, name, ""); err != nil {
		w.Fatal(err)
	}
	return w.settled(name)
}

// settled steps the clock until a node group is no longer busy, and returns it.
func (w *world) settled(name string) Nodegroup {
	w.Helper()
	for range 240 {
		group := w.describe(name)
		if group == nil {
			w.Fatalf("node group %s is gone", name)
		}
		if !group.Busy() {
			return *group
		}
		w.clock.Step(15 * time.Second)
	}
	w.Fatalf("node group %s is still busy: %+v", name, w.describe(name))
	return Nodegroup{}
}

func (w *world) describe(name string) *Nodegroup {
	w.Helper()
	group, err := w.groups.Describe(w.Context(), "blue", name)
	if err != nil {
		w.Fatal(err)
	}
	return group
}

// names returns the names of all node groups, sorted.
func (w *world) names() []string {
	w.Helper()
	out, err := w.eks.ListNodegroups(w.Context(), &eks.ListNodegroupsInput{ClusterName: awssdk.String("blue")})
	if err != nil {
		w.Fatal(err)
	}
	return slices.Sorted(slices.Values(out.Nodegroups))
}

// fault has the next call of an action fail, once.
func (w *world) fault(fault awssim.Fault) {
	w.Helper()
	fault.Service, fault.Nth = "eks", 1
	if _, err := w.sim.AddFault(fault); err != nil {
		w.Fatal(err)
	}
}

// writes returns the actions of the calls that change node groups, and clears the record.
func (w *world) writes() []string {
	var actions []string
	for _, call := range w.sim.Calls() {
		if len(call.Action) > 4 && call.Action[:4] != "Desc" && call.Action[:4] != "List" {
			actions = append(actions, call.Action)
		}
	}
	w.sim.ClearCalls()
	return actions
}
