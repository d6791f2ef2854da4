package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// refusals are the codes with which EKS refused what the manager asked for.
func (w *world) refusals() []string {
	var codes []string
	for _, call := range w.calls() {
		if call.Service == "eks" && isWrite(call) && call.Status != 200 {
			codes = append(codes, call.Action+": "+call.Code)
		}
	}
	return codes
}

// TestManagedEditsDuringUpdate holds that edits while EKS replaces nodes are seen at once and
// applied when it has finished, all of them by one further update, and that EKS is asked for
// nothing meanwhile (CAPA issues 5672 and 5797).
func TestManagedEditsDuringUpdate(t *testing.T) {
	t.Parallel()
	options := managedOptions()
	options.behavior.Nodes = []awssim.NodeRule{{DrainTime: 10 * time.Minute}}
	w := newWorldWith(t, options)
	w.createSecret("managed-bootstrap", map[string][]byte{"value": []byte("#!/bin/bash\necho first\n")})
	w.haveManaged(`dataSecretName: ""`, "dataSecretName: managed-bootstrap")
	before := w.running()
	w.clock.SetRate(unhurried)
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m5.large" })
	w.awaitManaged(infrav1.RolledOutCondition, metav1.ConditionFalse, infrav1.RollingOutReason)
	w.clock.SetRate(10) // the update must not finish meanwhile

	// Bootstrap data, template and labels: one update of nodes, not two or three.
	w.editSecret("managed-bootstrap", func(data map[string][]byte) { data["value"] = []byte("#!/bin/bash\necho second\n") })
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.AWSLaunchTemplate.InstanceType, pool.Spec.Labels = "m5.xlarge", map[string]string{"tier": "web"}
	})
	w.Eventually("the edits are seen", func() error {
		pool := w.mustManaged()
		if pool.Status.ObservedGeneration != pool.Generation || pool.Status.WantedVersion < 3 {
			return fmt.Errorf("generation %d is observed of %d, version %d is wanted", pool.Status.ObservedGeneration, pool.Generation, pool.Status.WantedVersion)
		}
		return nil
	})
	if status := w.nodegroup().Status; status != "UPDATING" {
		t.Errorf("the node group is %s: the edits did not come during the update", status)
	}
	w.clock.SetRate(rate)
	w.Eventually("the nodes are as asked for last", func() error { return w.managedReplaced(before, 2) })
	seen, err := w.seenInEKS(managedName)
	if err != nil {
		t.Fatal(err)
	}
	if data := string(userData(w, seen.launches)); seen.launches.InstanceType != "m5.xlarge" || !strings.Contains(data, "echo second") || seen.Labels["tier"] != "web" {
		t.Errorf("nodes are %s with labels %v and %s", seen.launches.InstanceType, seen.Labels, data)
	}
	w.expectCounts(map[string]int{"UpdateNodegroupVersion": 2, "UpdateNodegroupConfig": 1})
	if codes := w.refusals(); len(codes) > 0 {
		t.Errorf("EKS refused %q", codes)
	}
}

// TestManagedStrategies holds that Minimal terminates nodes before it launches others, where
// Default launches more first.
func TestManagedStrategies(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.haveManaged()
	most := func(strategy infrav1.NodegroupUpdateStrategy, instanceType string) int {
		t.Helper()
		before, most := w.running(), 0
		w.editManaged(func(pool *infrav1.AWSManagedMachinePool) {
			pool.Spec.UpdateConfig = &infrav1.UpdateConfig{MaxUnavailable: ptr.To[int32](1), UpdateStrategy: strategy}
			pool.Spec.AWSLaunchTemplate.InstanceType = instanceType
		})
		w.Eventually("the nodes are replaced", func() error {
			most = max(most, len(w.running()))
			return w.managedReplaced(before, 2)
		})
		return most
	}
	if count := most(infrav1.NodegroupUpdateStrategyMinimal, "m5.large"); count != 2 {
		t.Errorf("with Minimal there were %d instances", count)
	}
	if count := most(infrav1.NodegroupUpdateStrategyDefault, "m5.xlarge"); count <= 2 {
		t.Errorf("with Default there were never more than %d instances", count)
	}
	// The strategy is set before the update that it is for.
	var updates []string
	for _, call := range w.calls() {
		if strings.HasPrefix(call.Action, "UpdateNodegroup") {
			updates = append(updates, strings.TrimPrefix(call.Action, "UpdateNodegroup"))
		}
	}
	if want := []string{"Config", "Version", "Config", "Version"}; !slices.Equal(updates, want) {
		t.Errorf("updates were %q, want %q", updates, want)
	}
}

// TestManagedForced holds that an update that a PodDisruptionBudget stands in the way of fails and
// says so, and that force is an edit that has it go through at once.
func TestManagedForced(t *testing.T) {
	t.Parallel()
	options := managedOptions()
	options.behavior.Nodes = []awssim.NodeRule{{NeverDrained: true}}
	w := newWorldWith(t, options)
	w.haveManaged()
	before := w.running()
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m5.large" })
	condition := w.awaitManaged(infrav1.RolledOutCondition, metav1.ConditionFalse, infrav1.NodegroupUpdateFailedReason)
	if !strings.Contains(condition.Message, "PodEvictionFailure") {
		t.Errorf("the message is %s", condition.Message)
	}
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.UpdateConfig = &infrav1.UpdateConfig{MaxUnavailable: ptr.To[int32](2), Force: true}
	})
	w.Eventually("the nodes are replaced", func() error { return w.managedReplaced(before, 2) })
	if got := aws.ToString(w.nodegroup().LaunchTemplate.Version); got != "2" {
		t.Errorf("the node group is at version %s", got)
	}
}
