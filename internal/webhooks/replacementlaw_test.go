package webhooks_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/plan/plantest"
	"github.com/slipway-project/slipway/internal/webhooks"
)

// cache is a reader that has the index of the manager's cache.
type cache struct{ client.Reader }

// List implements client.Reader.
func (c cache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var wanted client.ListOptions
	wanted.ApplyOptions(options)
	machinePools, is := list.(*clusterv1.MachinePoolList)
	if !is || wanted.FieldSelector == nil {
		return c.Reader.List(ctx, list, options...)
	}
	if err := c.Reader.List(ctx, list, client.InNamespace(wanted.Namespace)); err != nil {
		return err
	}
	value := wanted.FieldSelector.Requirements()[0].Value
	machinePools.Items = slices.DeleteFunc(machinePools.Items, func(item clusterv1.MachinePool) bool {
		return !slices.Contains(webhooks.Indexes()[0].Values(&item), value)
	})
	return nil
}

// template returns an edit of the launch template of a pool.
func template(edit func(*infrav1.AWSLaunchTemplate)) func(*infrav1.AWSMachinePool) {
	return func(pool *infrav1.AWSMachinePool) { edit(pool.Spec.AWSLaunchTemplate) }
}

// replacementRows are edits of a pool with three nodes, which the plan of each is compared with.
var replacementRows = []struct {
	reason string
	edit   func(*infrav1.AWSMachinePool)
	want   string
}{
	{"Nothing changes.", func(*infrav1.AWSMachinePool) {}, ""},
	{
		"An instance type is part of a node.", template(func(t *infrav1.AWSLaunchTemplate) { t.InstanceType = "m5.xlarge" }),
		"AWSMachinePool/workers will replace 3 of 3 nodes: instance type m5.large → m5.xlarge",
	},
	{
		"So are volumes.", template(func(t *infrav1.AWSLaunchTemplate) {
			t.RootVolume = &infrav1.Volume{Size: 60, Type: infrav1.VolumeTypeGP3}
		}),
		"AWSMachinePool/workers will replace 3 of 3 nodes: volume /dev/sda1 added",
	},
	{
		"So are tags.", func(pool *infrav1.AWSMachinePool) { pool.Spec.AdditionalTags = infrav1.Tags{"team": "blue"} },
		"AWSMachinePool/workers will replace 3 of 3 nodes: tag team added",
	},
	{"A tag that nodes have anyway is no change.", func(pool *infrav1.AWSMachinePool) {
		pool.Spec.AdditionalTags = infrav1.Tags{infrav1.TagName: "workers"}
	}, ""},
	{
		"So are key pairs and metadata options.", template(func(t *infrav1.AWSLaunchTemplate) {
			t.SSHKeyName = ptr.To("default")
			t.InstanceMetadataOptions = &infrav1.InstanceMetadataOptions{HTTPTokens: infrav1.HTTPTokensRequired}
		}),
		"AWSMachinePool/workers will replace 3 of 3 nodes: key pair none → default, metadata http tokens none → required",
	},
	{
		"A security group with an ID is added.", template(func(t *infrav1.AWSLaunchTemplate) {
			t.AdditionalSecurityGroups = []infrav1.AWSResourceReference{{ID: ptr.To("sg-0d1000000000000ab")}}
		}), "AWSMachinePool/workers will replace 3 of 3 nodes: security group sg-0d1000000000000ab added",
	},
	{"A group that all nodes of the cluster are in is not.", template(func(t *infrav1.AWSLaunchTemplate) {
		t.AdditionalSecurityGroups = []infrav1.AWSResourceReference{{ID: ptr.To("sg-0c1000000000000ab")}}
	}), ""},
	{
		"Another look-up may find the same image.", template(func(t *infrav1.AWSLaunchTemplate) { t.ImageLookupBaseOS = "ubuntu-22.04" }),
		"AWSMachinePool/workers may replace up to 3 of 3 nodes: image IMAGE → looked up for Kubernetes 1.36.3",
	},
	{
		"A look-up that is not for the image that is found changes nothing but the type.", template(func(t *infrav1.AWSLaunchTemplate) {
			t.InstanceType, t.ImageLookupBaseOS = "m5.xlarge", "ubuntu-22.04"
		}),
		"AWSMachinePool/workers will replace 3 of 3 nodes: instance type m5.large → m5.xlarge, image IMAGE → looked up for Kubernetes 1.36.3",
	},
	{"Sizes are changed in place.", func(pool *infrav1.AWSMachinePool) { pool.Spec.MaxSize = 21 }, ""},
	{"So are settings of the group.", func(pool *infrav1.AWSMachinePool) {
		pool.Spec.CapacityRebalance, pool.Spec.NodeDrain = true, &infrav1.NodeDrain{Disable: true}
	}, ""},
	{"So are preferences of refreshes.", func(pool *infrav1.AWSMachinePool) {
		pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{InstanceWarmup: ptr.To[int64](120)}
	}, ""},
	{"The number of versions concerns no node.", func(pool *infrav1.AWSMachinePool) { pool.Spec.VersionsToKeep = ptr.To[int32](3) }, ""},
	{
		"A user who replaces nodes is told that nothing else does.", func(pool *infrav1.AWSMachinePool) {
			pool.Spec.AWSLaunchTemplate.InstanceType, pool.Spec.RefreshPreferences = "m5.xlarge", &infrav1.RefreshPreferences{Disable: true}
		},
		"AWSMachinePool/workers does not replace its 3 nodes, because refreshPreferences.disable is true: instance type m5.large → m5.xlarge",
	},
	{
		"A version waits for approval.", func(pool *infrav1.AWSMachinePool) {
			pool.Spec.AWSLaunchTemplate.InstanceType, pool.Spec.Rollout = "m5.xlarge", infrav1.LaunchConfigRolloutManual
		},
		"AWSMachinePool/workers will replace 3 of 3 nodes once the new version is approved: instance type m5.large → m5.xlarge",
	},
	{
		"An edit of a paused pool waits.", func(pool *infrav1.AWSMachinePool) {
			pool.Spec.AWSLaunchTemplate.InstanceType, pool.Annotations[clusterv1.PausedAnnotation] = "m5.xlarge", ""
		},
		"AWSMachinePool/workers will replace 3 of 3 nodes once the pool is no longer paused: instance type m5.large → m5.xlarge",
	},
	{
		"Paused roll-outs wait.", func(pool *infrav1.AWSMachinePool) {
			pool.Spec.AWSLaunchTemplate.InstanceType, pool.Annotations[infrav1.RolloutPausedAnnotation] = "m5.xlarge", "true"
		},
		"AWSMachinePool/workers will replace 3 of 3 nodes once roll-outs are resumed: instance type m5.large → m5.xlarge",
	},
	{"Overrides of the type alone replace nothing.", func(pool *infrav1.AWSMachinePool) {
		pool.Spec.MixedInstancesPolicy = &infrav1.MixedInstancesPolicy{Overrides: []infrav1.Overrides{{InstanceType: "m5.large"}, {InstanceType: "m5.xlarge"}}}
	}, ""},
	{
		"A pinned version that does not exist may come to.", func(pool *infrav1.AWSMachinePool) { pool.Spec.PinnedVersion = ptr.To[int64](9) },
		"AWSMachinePool/workers may replace up to 3 of 3 nodes: pinnedVersion none → 9",
	},
	{"The version that runs is pinned.", func(pool *infrav1.AWSMachinePool) { pool.Spec.PinnedVersion = ptr.To[int64](1) }, ""},
	{"What is not launched because of the pinned version is no change.", func(pool *infrav1.AWSMachinePool) {
		pool.Spec.PinnedVersion, pool.Spec.AWSLaunchTemplate.InstanceType = ptr.To[int64](1), "m5.xlarge"
	}, ""},
}

// TestReplacementsAsPlanned holds that an edit has a warning if and only if its plan replaces nodes,
// as far as the webhook can know.
func TestReplacementsAsPlanned(t *testing.T) {
	w := plantest.New(t, 3, nil)
	for _, row := range replacementRows {
		before, after := w.Pool(), w.Pool()
		if after.Annotations == nil {
			after.Annotations = map[string]string{}
		}
		row.edit(after)
		made, err := w.Planner.Plan(t.Context(), after)
		if err != nil {
			t.Fatalf("%s Plan: %v", row.reason, err)
		}
		after.Generation++ // by the API server, before it asks webhooks
		said := webhooks.Replacements(t.Context(), cache{w.Cluster}, before, after)
		if diff := cmp.Diff(row.want, strings.ReplaceAll(strings.Join(said, "\n"), imageOf(w), "IMAGE")); diff != "" {
			t.Errorf("%s Replacements: -want +got:\n%s", row.reason, diff)
		}
		if err := agrees(said, made); err != nil {
			t.Errorf("%s %v: %q, and %+v", row.reason, err, said, made.Pools)
		}
	}
}

// agrees returns an error if a warning says something else than a plan.
func agrees(said []string, made plan.Plan) error {
	text, replaced := strings.Join(said, "\n"), len(made.Pools[0].Replaced())
	certain := strings.Contains(text, " will replace 3 of 3 nodes: ")
	switch {
	case made.Failed():
		return nil // AWS does not have what the edit asks for
	case replaced > 0 && !certain && !strings.Contains(text, " may replace "):
		return errors.New("the plan replaces nodes, and the webhook does not warn")
	case replaced == 0 && certain:
		return errors.New("the webhook warns, and the plan replaces no node")
	}
	return nil
}

// imageOf returns the image of the pool.
func imageOf(w *plantest.World) string {
	config := &infrav1.AWSLaunchConfig{}
	if err := w.Cluster.Get(w.Context(), client.ObjectKeyFromObject(w.Pool()), config); err != nil {
		w.Fatal(err)
	}
	return config.Status.Resolved.ImageID
}
