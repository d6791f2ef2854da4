package demo

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/examples"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// The names in examples/launchconfigtemplate.yaml.
const (
	templateName      = "nodes"
	sharedName        = "shared-mp-0"
	sharedManagedName = "shared-mmp-0"
)

// sharedStory is of one description of nodes for two pools: one of each kind, in two clusters.
var sharedStory = []step{
	{
		title:    "Apply an AWSLaunchConfigTemplate, and a pool of each kind that refers to it, in two clusters",
		act:      func(ctx context.Context, s *stage) error { return apply(ctx, s.client, examples.LaunchConfigTemplate) },
		expected: "2 AWSLaunchConfigs of 2 clusters up to date with the template, 2 pools rolled out, 2 nodes Ready, instances t3.large",
		see:      seeShared,
	},
	{
		title: "Change the instance type in the template to m6i.large",
		act: func(ctx context.Context, s *stage) error {
			template, err := s.template(ctx)
			if err != nil {
				return err
			}
			return edit(ctx, s, template, func(template *infrav1.AWSLaunchConfigTemplate) {
				template.Spec.Template.Spec.InstanceType = "m6i.large"
			})
		},
		expected: "2 AWSLaunchConfigs of 2 clusters up to date with the template, 2 pools rolled out, 2 nodes Ready, instances m6i.large",
		see:      seeShared,
	},
	{
		title: "Delete both MachinePools",
		act: func(ctx context.Context, s *stage) error {
			for _, name := range []string{sharedName, sharedManagedName} {
				machinePool := &clusterv1.MachinePool{}
				machinePool.Namespace, machinePool.Name = namespace, name
				if err := s.client.Delete(ctx, machinePool); err != nil {
					return err
				}
			}
			return nil
		},
		expected: "AWS holds nothing, no node and no object is left",
		see: func(ctx context.Context, s *stage) (string, error) {
			return seeNothingOf(ctx, s, sharedName, sharedManagedName)
		},
	},
}

func (s *stage) template(ctx context.Context) (*infrav1.AWSLaunchConfigTemplate, error) {
	template := &infrav1.AWSLaunchConfigTemplate{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: templateName}, template); err != nil {
		return nil, fmt.Errorf("reading the template: %w", err)
	}
	return template, nil
}

// seeShared describes what was created from the template, and whether the pools that refer to it
// run that.
func seeShared(ctx context.Context, s *stage) (string, error) {
	template, err := s.template(ctx)
	if err != nil {
		return "", err
	}
	configs := &infrav1.AWSLaunchConfigList{}
	if err := s.client.List(ctx, configs, client.MatchingLabels{infrav1.LaunchConfigTemplateLabel: templateName}); err != nil {
		return "", err
	}
	current, clusters := 0, map[string]bool{}
	for _, config := range configs.Items {
		if config.Annotations[infrav1.LaunchConfigTemplateGenerationAnnotation] == fmt.Sprint(template.Generation) &&
			config.Status.ObservedGeneration == config.Generation {
			current++
			clusters[config.Spec.ClusterName] = true
		}
	}
	seen := fmt.Sprintf("%d AWSLaunchConfigs of %d clusters up to date with the template", current, len(clusters))
	rolledOut := 0
	for name, pool := range map[string]reconciling.Conditioned{sharedName: &infrav1.AWSMachinePool{}, sharedManagedName: &infrav1.AWSManagedMachinePool{}} {
		if err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pool); err != nil {
			return "", err
		}
		if meta.IsStatusConditionTrue(pool.GetConditions(), infrav1.RolledOutCondition) {
			rolledOut++
		}
	}
	ready, err := s.readyNodes(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %d pools rolled out, %d nodes Ready, instances %s", seen, rolledOut, ready, s.instanceTypes()), nil
}
