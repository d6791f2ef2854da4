package managertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/lab/product"
)

// TestProgressIsCounted walks create, edit and token rotation, and reads the metrics of it.
func TestProgressIsCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	progress := metrics.NewProgress()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(progress)
	read := func() map[string]float64 {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]float64{}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				var labels []string
				for _, label := range metric.GetLabel() {
					labels = append(labels, label.GetValue())
				}
				values[family.GetName()+" "+strings.Join(labels, " ")] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			}
		}
		return values
	}
	w.StartManager(product.Manager(product.Settings{Change: func(options *manager.Options) { options.Progress = progress }}))
	w.ApplyFile(example)
	w.Eventually("the pool has its nodes", func() error { return w.settled(poolName) })
	w.edit(poolName, func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m6i.large" })
	w.Eventually("the edit has rolled", func() error {
		if read()["slipway_rollouts_total succeeded"] == 0 {
			return errNotYet
		}
		return w.settled(poolName)
	})
	before := read()
	w.RotateBootstrapToken(poolName)
	w.Eventually("the new token has a version", func() error {
		if read()["slipway_launch_template_versions_created_total token"] == before["slipway_launch_template_versions_created_total token"] {
			return errNotYet
		}
		return w.settled(poolName)
	})
	want := map[string]float64{
		"slipway_launch_template_versions_created_total first": 1, "slipway_launch_template_versions_created_total config": 1,
		"slipway_rollouts_total started": 1, "slipway_rollouts_total succeeded": 1,
		"slipway_milestones_total AWSMachinePool ASGCreated": 1, "slipway_edit_to_version_seconds ": 2,
	}
	all := read()
	got := map[string]float64{}
	for name := range want {
		got[name] = all[name]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	w.Eventually("the pool and its config are counted as ready", func() error {
		all := read()
		for _, kind := range []string{"AWSMachinePool", "AWSLaunchConfig"} {
			if all["slipway_conditions Ready "+kind+" Ready True"] != 1 {
				return fmt.Errorf("conditions are %v", all)
			}
		}
		return nil
	})
}
