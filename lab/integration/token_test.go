package integration

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// TestTokenRotation holds that a rotated join token costs a version and no node, and that nodes
// launched after it join.
func TestTokenRotation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	instances, old := w.running(), w.BootstrapData(poolName)
	w.Cloud.AWS.ClearCalls()
	for rotation := range 3 {
		if err := w.Lab.SwapBootstrapToken(w.Context(), w.key()); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprint(rotation + 2)
		w.Eventually("the group is at version "+want, func() error {
			if version := *w.group().LaunchTemplate.Version; version != want {
				return fmt.Errorf("it is at %s", version)
			}
			return w.settled(2)
		})
		w.rest()
	}
	// Three calls each: the version, the default, the group.
	var actions []string
	for _, call := range w.calls() {
		if isWrite(call) {
			actions = append(actions, call.Action)
		}
	}
	one := []string{"CreateLaunchTemplateVersion", "ModifyLaunchTemplate", "UpdateAutoScalingGroup"}
	if want := slices.Repeat(one, 3); !slices.Equal(actions, want) {
		t.Errorf("three rotations wrote %q, want %q", actions, want)
	}
	if !slices.Equal(w.running(), instances) {
		t.Errorf("instances are %q, were %q", w.running(), instances)
	}
	if data := userData(w, w.latest()); !bytes.Equal(data, w.BootstrapData(poolName)) || bytes.Equal(data, old) {
		t.Errorf("the newest version carries %q", data)
	}
	w.editMachinePool(func(machinePool *clusterv1.MachinePool) { machinePool.Spec.Replicas = ptr.To[int32](3) })
	w.Eventually("a node joins with the new token", func() error { return w.settled(3) })
	w.expectCounts(map[string]int{"StartInstanceRefresh": 0})
}

// TestTokenRotationCost counts every call of one rotation, the reading ones too.
func TestTokenRotationCost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.havePool()
	// The clock stands still meanwhile, so that no sweep falls into the count.
	w.clock.SetRate(0)
	w.rest0()
	w.Cloud.AWS.ClearCalls()
	if err := w.Lab.SwapBootstrapToken(w.Context(), w.key()); err != nil {
		t.Fatal(err)
	}
	w.touch() // nor are Secrets polled
	w.Eventually("the group is at the new version", func() error {
		if version := *w.group().LaunchTemplate.Version; version != "2" {
			return fmt.Errorf("it is at %s", version)
		}
		return w.settled(2)
	})
	actions := w.callsBesideLookUps()
	if len(actions) > 3 {
		t.Errorf("a rotation made %d calls, want at most 3: %q", len(actions), actions)
	}
	w.clock.SetRate(rate)
}

// TestOtherBootstrapDataRolls holds that a node is replaced for a change of its bootstrap data
// other than the token.
func TestOtherBootstrapDataRolls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.createSecret("by-hand", map[string][]byte{"value": []byte("#cloud-config\nruncmd:\n- echo one\n")})
	w.havePool(bootstrapBySecret("by-hand")...)
	instances := w.running()
	w.editSecret("by-hand", func(data map[string][]byte) { data["value"] = []byte("#cloud-config\nruncmd:\n- echo two\n") })
	w.Eventually("both instances are replaced", func() error { return w.replaced(instances, 2) })
	w.rest()
	w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 1, "StartInstanceRefresh": 1})
	if data := userData(w, w.latest()); !bytes.Contains(data, []byte("echo two")) {
		t.Errorf("the newest version carries %q", data)
	}
}
