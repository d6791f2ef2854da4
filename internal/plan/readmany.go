package plan

import (
	"context"
	"maps"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/forecast"
	"github.com/slipway-project/slipway/internal/launchconfig"
	"github.com/slipway-project/slipway/internal/machinepool"
)

// many is the number of pools of a namespace from which their objects are read at once.
const many = 10

// readMany lists what the plans of many pools would read one by one, and has their groups and templates
// described together. A list that fails is left out: then each plan reads its objects, and reports what it
// may not read.
func (p *Planner) readMany(ctx context.Context, targets []target) {
	pools := map[string][]target{}
	for _, target := range targets {
		pools[target.name.Namespace] = append(pools[target.name.Namespace], target)
	}
	var groups, templates [][]string
	for _, namespace := range slices.Sorted(maps.Keys(pools)) {
		targets := pools[namespace]
		if len(targets) < many {
			continue
		}
		for _, list := range []client.ObjectList{&clusterv1.MachinePoolList{}, &infrav1.AWSLaunchConfigList{}} {
			_ = p.Cluster.List(ctx, list, client.InNamespace(namespace))
		}
		for _, target := range targets {
			group, template := p.described(ctx, target)
			groups, templates = append(groups, group), append(templates, template)
		}
	}
	p.ahead = forecast.NewAhead(groups, templates)
}

// described returns the names by which the controllers of a pool will describe its group and its template, as
// far as they are known.
func (p *Planner) described(ctx context.Context, target target) (group, template []string) {
	pool, err := target.kind.read(ctx, p.Cluster, target.name)
	if err != nil {
		return nil, nil
	}
	if pool, is := pool.Object.(*infrav1.AWSMachinePool); is {
		group = machinepool.GroupNames(pool, pool.Labels[clusterv1.ClusterNameLabel])
	}
	name, err := configOf(ctx, p.Cluster, target)
	if err != nil || name == nil {
		return group, nil
	}
	config := &infrav1.AWSLaunchConfig{}
	if err := p.Cluster.Get(ctx, *name, config); err != nil {
		return group, nil
	}
	template = launchconfig.TemplateNames(config)
	if !slices.Equal(template, aws.FilterValues(template...)) {
		return group, nil // EC2 has no template of such a name
	}
	return group, template
}
