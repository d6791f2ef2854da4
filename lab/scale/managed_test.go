package scale

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/fleet"
)

var managedPools = flag.Int("managed-pools", 200, "how many managed pools to test with")

// mostManagedCalls bounds how many calls of AWS a managed pool at rest may cost in an hour: EKS has
// no call for many node groups, nor IAM for many roles.
const mostManagedCalls = 1.2

// pause is the real time without activity after which the effects of a step of the clock count as
// done.
const pause = 300 * time.Millisecond

func newManagedWorld(t *testing.T, rate float64) *world {
	t.Helper()
	w := newWorldOf(t, rate, awssim.Behavior{}, lab.ClusterOptions{Managed: true, KubernetesVersion: fleet.ManagedVersion})
	w.startManager(unheld)
	return w
}

// awaitManaged waits until so many managed pools are settled.
func (w *world) awaitManaged(many int, what string) {
	w.Helper()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	w.EventuallyWithin(patience, what, func() error {
		<-ticker.C // so that the controllers have time
		pools, err := w.ManagedPools(w.Context())
		if err != nil {
			return err
		}
		for i := range pools {
			if reason := fleet.UnsettledManaged(&pools[i]); reason != "" {
				return fmt.Errorf("%s: %s", pools[i].Name, reason)
			}
		}
		if len(pools) != many {
			return fmt.Errorf("there are %d pools", len(pools))
		}
		return nil
	})
}

// TestManyManagedPools holds what many managed pools at rest cost in three hours: nothing is
// written, and little is read. One hour would not show all of it: a node group is described every
// hour and a half.
func TestManyManagedPools(t *testing.T) {
	const rate, hours = 20, 3
	many := *managedPools
	w := newManagedWorld(t, rate)
	began := time.Now()
	if err := w.Create(t.Context(), 0, many); err != nil {
		t.Fatal(err)
	}
	w.awaitManaged(many, "all managed pools are ready")
	t.Logf("%d managed pools were ready after %v, with %v", many, time.Since(began).Round(time.Second), w.calls())
	w.rest(asleep)
	w.clock.SetRate(0)
	w.forget()
	interval := observe.DefaultIntervals.Rest
	for range int(hours * time.Hour / interval) {
		w.clock.Step(interval)
		w.rest(pause)
	}
	w.rest(asleep)
	calls := w.Cloud.AWS.Calls()
	for _, call := range calls {
		if !strings.HasPrefix(call.Action, "Describe") && !strings.HasPrefix(call.Action, "Get") && !strings.HasPrefix(call.Action, "List") {
			t.Errorf("at rest the manager called %s", call.Action)
		}
	}
	perHour := float64(len(calls)) / hours / float64(many)
	if perHour > mostManagedCalls {
		t.Errorf("%d managed pools at rest cost %.2f calls each and hour, want at most %.1f: %v", many, perHour, mostManagedCalls, w.calls())
	}
	if swept := w.calls()["DescribeAutoScalingGroups"]; swept < hours*10*max(1, many/100) {
		t.Errorf("the groups of %d managed pools were swept with %d calls in %d hours: time did not pass for them", many, swept, hours)
	}
	if looked := w.calls()["DescribeNodegroup"]; looked < many {
		t.Errorf("%d managed pools were looked at %d times in %d hours", many, looked, hours)
	}
	if written := w.written(); len(written) > 0 {
		t.Errorf("at rest the manager wrote %d times to the API server, first %s", len(written), written[0])
	}
	t.Logf("%d managed pools at rest cost %.2f calls each and hour: %v", many, perHour, w.calls())
}

// TestManagedUpdatingNeighbours holds that an edit gets its version within two seconds while EKS
// replaces the nodes of fifty other pools. The quickest of several edits, one after the other, is
// held to that: a manager that waits for EKS would delay them all. The seconds are seconds of a
// machine that keeps up.
func TestManagedUpdatingNeighbours(t *testing.T) {
	const rate, neighbours, edited = 20, 50, 5
	w := newManagedWorld(t, rate)
	if err := w.Create(t.Context(), 0, neighbours+edited); err != nil {
		t.Fatal(err)
	}
	w.awaitManaged(neighbours+edited, "all managed pools are ready")
	w.clock.SetRate(1) // a machine that is slow to edit them all must not have EKS give up
	behavior := w.Cloud.AWS.Behavior()
	// EKS waits for new nodes then, for a quarter of an hour
	behavior.Nodes = []awssim.NodeRule{{NeverReady: true}}
	w.Cloud.AWS.SetBehavior(behavior)
	edit := func(i int) error {
		return w.EditManaged(t.Context(), i, func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m5.large" })
	}
	if err := fleet.Each(0, neighbours, edit); err != nil {
		t.Fatal(err)
	}
	w.Eventually("EKS was told of all edits", func() error {
		if told := w.calls()["UpdateNodegroupVersion"]; told < neighbours {
			return fmt.Errorf("%d updates are begun", told)
		}
		return nil
	})
	took := make([]time.Duration, edited)
	for i := range took {
		began := w.Kept()
		if err := edit(neighbours + i); err != nil {
			t.Fatal(err)
		}
		w.Eventually("there is a version", func() error { return w.wants(neighbours+i, 2) })
		took[i] = w.Kept() - began
	}
	if slices.Min(took) > 2*time.Second {
		t.Errorf("edits got their versions after %v, want one within 2s", took)
	}
	t.Logf("edits got their versions after %v", took)
	if updating := w.nodegroupsThatAre(ekstypes.NodegroupStatusUpdating); updating < neighbours {
		t.Errorf("%d node groups were being updated meanwhile, want %d", updating, neighbours)
	}
}

// wants returns nil if the launch config of a pool has a version.
func (w *world) wants(i int, version int64) error {
	config := &infrav1.AWSLaunchConfig{}
	if err := w.Env.Client.Get(w.Context(), w.Key(i), config); err != nil {
		return err
	}
	if config.Status.Version != version {
		return fmt.Errorf("version %d is wanted", config.Status.Version)
	}
	return nil
}

// nodegroupsThatAre counts the node groups of a status.
func (w *world) nodegroupsThatAre(status ekstypes.NodegroupStatus) int {
	w.Helper()
	api, cluster, count := eks.NewFromConfig(w.AWSConfig()), lab.EKSClusterName(w.Env.Namespace, w.Fleet.Cluster), 0
	pages := eks.NewListNodegroupsPaginator(api, &eks.ListNodegroupsInput{ClusterName: &cluster})
	for pages.HasMorePages() {
		page, err := pages.NextPage(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		for _, name := range page.Nodegroups {
			out, err := api.DescribeNodegroup(w.Context(), &eks.DescribeNodegroupInput{ClusterName: &cluster, NodegroupName: &name})
			if err != nil {
				w.Fatal(err)
			}
			if out.Nodegroup.Status == status {
				count++
			}
		}
	}
	return count
}
