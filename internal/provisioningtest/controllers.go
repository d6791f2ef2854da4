package provisioningtest

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/metrics"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/clustername"
	"github.com/slipway-project/slipway/internal/provisioning/defaults"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
	"github.com/slipway-project/slipway/internal/provisioning/nodelifecycle"
	"github.com/slipway-project/slipway/internal/provisioning/provisionerstatus"
	"github.com/slipway-project/slipway/internal/provisioning/region"
	"github.com/slipway-project/slipway/internal/provisioning/scheduler"
	"github.com/slipway-project/slipway/internal/provisioning/templates"
	"github.com/slipway-project/slipway/internal/report"
)

// intervals are the product's, without a pause in real time between two descriptions.
var intervals = observe.Intervals{Rest: observe.DefaultIntervals.Rest, Motion: observe.DefaultIntervals.Motion}

// build wires the controllers as the manager does.
func (w *World) build(clients *aws.Clients) {
	uid, clock := w.options.ClusterUID, w.Machine
	found := discovery.New(clients, clock)
	here := &region.Region{Name: clients.Region, Discovery: found}
	fleets, made := fleet.New(clients.EC2), launchtemplate.NewTemplates(clients.EC2)
	fleets.Terminating = func(instances int) { w.Progress.Batched(metrics.BatchTerminate, instances) }
	names := &clustername.Names{Instances: fleets, Templates: made, Clock: clock, ClusterUID: uid}
	own := &defaults.Templates{Templates: made, Discovery: found, Cluster: joining{cmp.Or(w.options.Kubernetes, "v1.36.3")}, Clock: clock, InstanceProfile: "nodes.cluster-api-provider-aws.sigs.k8s.io", ClusterUID: uid}
	read := &templates.Reader{Inspection: inspection.NewReader(found), Configs: configs{w.Client}, Profiles: identity.OwnProfiles{Resolver: &identity.Resolver{Reader: w.Client}}}
	asked := &templates.Asked{Wake: func(string) {}}
	shortages, refusals, promises := catalog.NewShortages(clock), launcher.NewRefusals(clock, fleet.DryRuns{Fleets: fleets, Versions: found}), &launcher.Promises{}
	instances := observe.NewSweep(clock, observe.Source[fleet.Instance]{Describe: fleets.Describe, Batch: fleet.DescribeBatch}, intervals, func(types.NamespacedName) {})
	report := report.Reporter{Recorder: w.events, Progress: w.Progress}
	w.Provisioning = &scheduler.Reconciler{
		Client: w.Client, Live: w.Client, ClusterUID: uid, Names: names, Region: here, Defaults: own, Templates: read, Asked: asked, Shortages: shortages, Refusals: refusals,
		Budget: launcher.NewBudget(clock, w.options.LaunchesPerMinute), Promises: promises, Report: report, Clock: clock, PodsPerPass: scheduler.DefaultPodsPerPass,
		Pods: func(ctx context.Context) ([]*corev1.Pod, error) {
			var list corev1.PodList
			err := w.Client.List(ctx, &list)
			var pods []*corev1.Pod
			for i := range list.Items {
				pods = append(pods, &list.Items[i])
			}
			return pods, err
		},
	}
	checks := &nodelifecycle.StatusChecks{Client: w.Client, Fleets: fleets, Clock: clock, Report: report, Interval: intervals.Rest, Wake: func(types.NamespacedName) {}}
	w.Nodes = nodelifecycle.New(&nodelifecycle.Kind{
		Client: w.Client, Live: w.Client, ClusterUID: uid, Names: names, Defaults: own, Templates: read, Cluster: clientset(w.Context(), w.Client), Fleets: fleets, Region: here, Instances: instances, Checks: checks, Shortages: shortages, Refusals: refusals,
		Promises: promises, Report: report, Clock: clock, RegistrationTimeout: nodelifecycle.DefaultRegistrationTimeout, Wake: func(types.NamespacedName) {},
	})
	w.Provisioners = provisionerstatus.New(&provisionerstatus.Kind{
		Client: w.Client, Live: w.Client, ClusterUID: uid, Region: here, Defaults: own, Templates: read, Names: names, Refusals: refusals, Shortages: shortages, Asked: asked, AWS: clients, Progress: w.Progress, Clock: clock,
	}, report)
	w.Collector = &nodelifecycle.Collector{Client: w.Client, Live: w.Client, Fleets: fleets, Clock: clock, ClusterUID: uid, Interval: intervals.Rest}
}

// joining says how nodes of the cluster join.
type joining struct{ version string }

// Version implements defaults.Cluster.
func (j joining) Version(context.Context) (string, error) { return j.version, nil }

// ServiceCIDR implements defaults.Cluster.
func (joining) ServiceCIDR(context.Context) (string, error) { return "10.96.0.0/16", nil }

type configs struct{ client.Reader }

// LaunchConfig implements templates.Configs.
func (c configs) LaunchConfig(ctx context.Context, namespace, name string) (*infrav1.AWSLaunchConfig, error) {
	config := &infrav1.AWSLaunchConfig{}
	return config, c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, config)
}
