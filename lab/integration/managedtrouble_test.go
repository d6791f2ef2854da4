package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// TestManagedDegraded holds that a problem that EKS reports for a node group becomes a
// human-readable condition with what helps, that the group is kept as it is wanted meanwhile, and
// that the condition goes when the fault does.
func TestManagedDegraded(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	w.haveManaged()
	before := w.running()
	group := w.nodegroup().Resources.AutoScalingGroups[0].Name
	if _, err := w.asg().SuspendProcesses(t.Context(), &autoscaling.SuspendProcessesInput{AutoScalingGroupName: group, ScalingProcesses: []string{"AZRebalance"}}); err != nil {
		t.Fatal(err)
	}
	condition := w.awaitManaged(infrav1.NodegroupHealthyCondition, metav1.ConditionFalse, infrav1.DegradedReason)
	for _, part := range []string{"AutoScalingGroupInvalidConfiguration", *group, "the Auto Scaling group that EKS created " +
		"was changed outside EKS: revert the change"} {
		if !strings.Contains(condition.Message, part) {
			t.Errorf("the condition does not say %q: %s", part, condition.Message)
		}
	}
	pool := w.mustManaged()
	if issues := pool.Status.HealthIssues; len(issues) != 1 || issues[0].Code != "AutoScalingGroupInvalidConfiguration" || pool.Status.Nodegroup.Status != "DEGRADED" {
		t.Errorf("status says %+v of a node group that is %s", issues, pool.Status.Nodegroup.Status)
	}
	w.awaitEvents("NodegroupUnhealthy")
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.Labels = map[string]string{"tier": "web"} })
	w.Eventually("the labels are EKS's", func() error {
		if labels := w.nodegroup().Labels; labels["tier"] != "web" {
			return fmt.Errorf("they are %v", labels)
		}
		return nil
	})
	if _, err := w.asg().ResumeProcesses(t.Context(), &autoscaling.ResumeProcessesInput{AutoScalingGroupName: group}); err != nil {
		t.Fatal(err)
	}
	w.awaitManaged(infrav1.NodegroupHealthyCondition, metav1.ConditionTrue, infrav1.HealthyReason)
	if err := equals(w.running(), before); err != nil {
		t.Errorf("instances: %v", err)
	}
	if issues := w.mustManaged().Status.HealthIssues; len(issues) != 0 {
		t.Errorf("status still says %+v", issues)
	}
}

// joiningWith is bootstrap data with a join token; nodes with the token of expired never come.
func joiningWith(token string) []byte {
	return []byte("#!/bin/bash\necho kubeadm join --token " + token + " 10.0.0.1:6443\n")
}

const (
	expired = "abcdef.0123456789abcdef"
	valid   = "fedcba.fedcba9876543210"
)

// TestManagedCreateFailed holds that a node group that EKS could not create is reported in a
// human-readable condition, and is created again for another spec at once.
func TestManagedCreateFailed(t *testing.T) {
	t.Parallel()
	options := managedOptions()
	options.behavior.Capacity = []awssim.CapacityRule{{InstanceType: "t3.large", Available: 0}}
	w := newWorldWith(t, options)
	w.applyManaged()
	condition := w.awaitManaged(infrav1.NodegroupReadyCondition, metav1.ConditionFalse, infrav1.NodegroupCreateFailedReason)
	for _, part := range []string{"AsgInstanceLaunchFailures", "InsufficientInstanceCapacity"} {
		if !strings.Contains(condition.Message, part) {
			t.Errorf("the condition does not say %q: %s", part, condition.Message)
		}
	}
	w.clock.SetRate(1) // it is tried again by itself after five minutes
	w.Cloud.AWS.ClearCalls()
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m5.large" })
	w.Eventually("the node group is deleted", func() error { return w.done("DeleteNodegroup", 1) })
	w.clock.SetRate(rate)
	w.Eventually("the nodes come", func() error { return w.managedSettled(2) })
	w.expectCounts(map[string]int{"CreateNodegroup": 1, "CreateRole": 0, "DeleteRole": 0})
	w.deleteManaged()
}

// TestManagedTokenExpired holds that other bootstrap data repairs a node group whose nodes did not
// join, though it differs only by its token: one that could not be created, and one that could not
// be updated.
func TestManagedTokenExpired(t *testing.T) {
	t.Parallel()
	options := managedOptions()
	options.behavior.Nodes = []awssim.NodeRule{{UserData: expired, NeverReady: true}}
	w := newWorldWith(t, options)
	renew := func(token string) {
		w.editSecret("managed-bootstrap", func(data map[string][]byte) { data["value"] = joiningWith(token) })
	}
	w.createSecret("managed-bootstrap", map[string][]byte{"value": joiningWith(expired)})
	w.applyManaged(`dataSecretName: ""`, "dataSecretName: managed-bootstrap")
	condition := w.awaitManaged(infrav1.NodegroupReadyCondition, metav1.ConditionFalse, infrav1.NodegroupCreateFailedReason)
	if !strings.Contains(condition.Message, "NodeCreationFailure") {
		t.Errorf("the message is %s", condition.Message)
	}
	renew(valid)
	w.Eventually("the node group is made", func() error { return w.managedActed(managedName) })
	if version := aws.ToString(w.nodegroup().LaunchTemplate.Version); version != "2" {
		t.Errorf("the node group was made from version %s", version)
	}

	w.Cloud.AWS.ClearCalls()
	before := w.running()
	renew(expired)
	w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m5.large" })
	condition = w.awaitManaged(infrav1.RolledOutCondition, metav1.ConditionFalse, infrav1.NodegroupUpdateFailedReason)
	if !strings.Contains(condition.Message, "NodeCreationFailure") {
		t.Errorf("the message is %s", condition.Message)
	}
	if err := equals(w.running(), before); err != nil {
		t.Errorf("instances: %v", err)
	}
	renew(valid)
	w.Eventually("the instances are replaced", func() error {
		if slices.ContainsFunc(w.running(), func(id string) bool { return slices.Contains(before, id) }) {
			return fmt.Errorf("instances are %q", w.running())
		}
		return w.managedActed(managedName)
	})
	w.expectCounts(map[string]int{"CreateNodegroup": 0, "DeleteNodegroup": 0})
}

// done is nil once the manager did something so often.
func (w *world) done(action string, times int) error {
	if count := w.count(action); count != times {
		return fmt.Errorf("%s was called %d times, want %d", action, count, times)
	}
	return nil
}

// logged are the lines that a manager writes.
type logged struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

// Write implements io.Writer.
func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(line)
}

// about are the lines whose message and pool are these.
func (l *logged) about(t *testing.T, message, pool string) int {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	count := 0
	for line := range strings.Lines(l.lines.String()) {
		var fields struct{ Msg, Name string }
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("reading %q: %v", line, err)
		}
		if fields.Msg == message && fields.Name == pool {
			count++
		}
	}
	return count
}

// TestManagedDeprecatedFields holds that a pool with fields that will go away works, has a
// condition that says what to use, and one line in the log of each process.
func TestManagedDeprecatedFields(t *testing.T) {
	t.Parallel()
	w := managedWorld(t)
	const message = "The pool uses deprecated fields"
	old := managedSpec{
		AMIType: ptr.To(infrav1.AMITypeAL2023X86), InstanceType: ptr.To("t3.large"), DiskSize: ptr.To[int32](30), AvailabilityZones: []string{"us-east-1a"},
		Scaling: &infrav1.ManagedMachinePoolScaling{MinSize: ptr.To[int32](1), MaxSize: ptr.To[int32](3)},
	}
	for range 2 {
		w.stopManager()
		lines := &logged{}
		w.settings.Log = logr.FromSlogHandler(slog.NewJSONHandler(lines, nil))
		w.startManager()
		if _, err := w.managed(); err != nil {
			w.makeManaged(managedName, &old)
		}
		w.Eventually("the pool works", func() error { return w.managedSettled(2) })
		condition := w.awaitManaged(infrav1.DeprecatedFieldsCondition, metav1.ConditionTrue, infrav1.DeprecatedFieldsReason)
		for _, part := range []string{"amiType, diskSize, instanceType", infrav1.DeprecatedUntil, "awsLaunchTemplate.instanceType", "make a new pool"} {
			if !strings.Contains(condition.Message, part) {
				t.Errorf("the condition does not say %q: %s", part, condition.Message)
			}
		}
		for _, maximum := range []int32{4, 5} {
			w.editManaged(func(pool *infrav1.AWSManagedMachinePool) { pool.Spec.Scaling.MaxSize = ptr.To(maximum) })
			w.Eventually("the edit has been acted on", func() error { return w.managedActed(managedName) })
		}
		w.pass(10 * time.Minute)
		if count := lines.about(t, message, managedName); count != 1 {
			t.Errorf("the log has %d lines that say so", count)
		}
	}
	w.makeManaged("new", &managedSpec{AWSLaunchTemplate: &infrav1.AWSLaunchTemplate{InstanceType: "t3.large"}, AMIType: ptr.To(infrav1.AMITypeAL2023X86)})
	w.Eventually("a pool with a launch template works", func() error { return w.managedActed("new") })
	pool, err := w.managedNamed("new")
	if condition := meta.FindStatusCondition(pool.Status.Conditions, infrav1.DeprecatedFieldsCondition); err != nil || condition != nil {
		t.Errorf("it is told of %+v, %v", condition, err)
	}
}
