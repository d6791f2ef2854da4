package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// deletePool deletes the MachinePool, and with it all that hangs on it.
func (w *world) deletePool() {
	w.Helper()
	machinePool := &clusterv1.MachinePool{}
	machinePool.Namespace, machinePool.Name = w.Namespace, poolName
	if err := w.Client.Delete(w.Context(), machinePool); err != nil {
		w.Fatal(err)
	}
}

// gone is nil once no object of the pool is left.
func (w *world) gone() error {
	for _, object := range []client.Object{&clusterv1.MachinePool{}, &infrav1.AWSMachinePool{}, &infrav1.AWSLaunchConfig{}} {
		err := w.Client.Get(w.Context(), w.key(), object)
		if err == nil {
			return fmt.Errorf("%T is still there, with finalizers %q", object, object.GetFinalizers())
		}
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// TestDeletion deletes a pool in different states, and wants nothing left in Kubernetes and AWS
// except for foreign objects.
func TestDeletion(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason  string
		prepare func(*world)
	}{
		{"a pool at rest", func(w *world) { w.havePool() }},
		{"the Secret with the bootstrap data is gone", func(w *world) {
			w.createSecret("by-hand", map[string][]byte{"value": []byte("#cloud-config\n")})
			w.havePool(bootstrapBySecret("by-hand")...)
			w.remove(&corev1.Secret{}, "by-hand")
		}},
		{"status was lost in a move", func(w *world) {
			w.havePool()
			w.stopManager()
			w.wipeStatus()
			w.deletePool()
			w.startManager()
		}},
		{"AWSCluster is gone", func(w *world) {
			w.havePool()
			w.forceAway(&capav1.AWSCluster{}, "capa")
		}},
		{"a refresh is under way", func(w *world) {
			w.havePool()
			w.clock.SetRate(unhurried)
			w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m6i.large" })
			w.awaitCondition(infrav1.RolledOutCondition, "False", infrav1.RollingOutReason)
		}},
		{"nothing was made yet, for want of an image", func(w *world) {
			w.applyExample("    sshKeyName:", "    imageLookupBaseOS: none\n    sshKeyName:")
			w.awaitConfigCondition(infrav1.ResolvedCondition, "False", infrav1.ImageNotFoundReason)
		}},
		{"the template was just made", func(w *world) {
			w.applyExample()
			w.Eventually("there is a template", func() error {
				if len(w.templates()) == 0 {
					return fmt.Errorf("there is none")
				}
				return nil
			})
		}},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			foreign := w.foreignTemplate("foreign")
			row.prepare(w)
			if err := w.Client.Get(w.Context(), w.key(), &clusterv1.MachinePool{}); err == nil {
				if machinePool := w.machinePool(); machinePool.DeletionTimestamp.IsZero() {
					w.deletePool()
				}
			}
			w.clock.SetRate(rate)
			w.Eventually("the objects are gone", w.gone)
			w.Eventually("AWS holds nothing of it", func() error { return w.remains("foreign") })
			if templates := w.templates(); len(templates) != 1 || *templates[0].LaunchTemplateId != foreign {
				t.Errorf("templates that Slipway does not own are %+v", templates)
			}
		})
	}
}

// TestDeletionWithoutCluster deletes a pool when Cluster and AWSCluster went first.
func TestDeletionWithoutCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	w.forceAway(&capav1.AWSCluster{}, "capa")
	w.forceAway(&clusterv1.Cluster{}, "capa")
	// Core Cluster API does not let a MachinePool without its Cluster go; the garbage collector
	// deletes what it owns.
	w.remove(&infrav1.AWSMachinePool{}, poolName)
	w.Eventually("AWS holds nothing of it", func() error { return w.remains() })
	w.Eventually("the pool is gone", func() error {
		if _, err := w.pool(); !apierrors.IsNotFound(err) {
			return fmt.Errorf("reading it: %w", err)
		}
		return nil
	})
}

// TestPause holds that a paused pool is left alone, its deletion included, until it is no longer
// paused.
func TestPause(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	setPaused := func(paused bool) {
		edited(w, &clusterv1.Cluster{}, "capa", func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(paused) })
	}
	setPaused(true)
	w.awaitCondition(infrav1.PausedCondition, "True", infrav1.PausedReason)
	w.Cloud.AWS.ClearCalls()
	w.editPool(func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m6i.large" })
	w.awaitCondition(infrav1.PausedCondition, "True", infrav1.PausedReason)
	w.remove(&infrav1.AWSMachinePool{}, poolName)
	w.pass(15 * time.Minute)
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("while paused, the manager wrote %q", writes)
	}
	if running := w.running(); len(running) != 2 {
		t.Errorf("while paused, instances are %q", running)
	}
	setPaused(false)
	w.Eventually("AWS holds nothing of it", func() error { return w.remains() })
}

// pass lets simulated time go by.
func (w *world) pass(duration time.Duration) {
	w.Helper()
	until := w.clock.Now().Add(duration)
	w.Eventually(duration.String()+" have passed", func() error {
		if now := w.clock.Now(); now.Before(until) {
			return fmt.Errorf("it is %v", now)
		}
		return nil
	})
}

// callsDuring lets simulated time go by, and returns the calls that the manager sent within it,
// without the calls of the time that a late test adds to it.
func (w *world) callsDuring(duration time.Duration) []awssim.Call {
	w.Helper()
	w.Cloud.AWS.ClearCalls()
	until := w.clock.Now().Add(duration)
	w.pass(duration)
	return slices.DeleteFunc(w.calls(), func(call awssim.Call) bool { return call.Time.After(until) })
}

// countsDuring returns how often the manager called each action while simulated time went by.
// Look-ups that all pools share are left out: Cluster API writes its objects now and then, which
// wakes pools, and an old look-up is repeated for the first pool that needs it.
func (w *world) countsDuring(duration time.Duration) map[string]int {
	w.Helper()
	counts := map[string]int{}
	for _, call := range w.callsDuring(duration) {
		counts[call.Action]++
	}
	delete(counts, "DescribeImages")
	delete(counts, "DescribeInstanceTypes")
	return counts
}

// remove deletes an object of the test's namespace.
func (w *world) remove(object client.Object, name string) {
	w.Helper()
	object.SetNamespace(w.Namespace)
	object.SetName(name)
	if err := w.Client.Delete(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

// forceAway deletes an object whose finalizers are not removed in the laboratory, or not soon.
func (w *world) forceAway(object client.Object, name string) {
	w.Helper()
	w.remove(object, name)
	w.Eventually(fmt.Sprintf("%T is gone", object), func() error {
		err := w.Client.Get(w.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, object)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		object.SetFinalizers(nil)
		if err := w.Client.Update(w.Context(), object); client.IgnoreNotFound(err) != nil {
			return err
		}
		return fmt.Errorf("it is still there")
	})
}

// foreignTemplate creates a launch template of another owner.
func (w *world) foreignTemplate(name string) string {
	w.Helper()
	out, err := w.ec2().CreateLaunchTemplate(w.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String(name),
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "t3.micro", ImageId: aws.String(w.publicImage())},
	})
	if err != nil {
		w.Fatal(err)
	}
	return *out.LaunchTemplate.LaunchTemplateId
}
