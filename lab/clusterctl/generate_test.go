package clusterctl

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	clusterctlclient "sigs.k8s.io/cluster-api/cmd/clusterctl/client"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/tree"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/product"
)

// flavor is a template of a cluster with a pool.
type flavor struct {
	name, kubernetesVersion string
	// pool is the kind of its pool, poolName its name next to the cluster's.
	pool, poolName string
	// variables are the variables that a user must or may set.
	variables []string
	cluster   lab.ClusterOptions
	// template says that the pool refers to an AWSLaunchConfigTemplate, which is there before the cluster.
	template bool
}

// clusterName is the name of the tests' clusters; each has a namespace of its own.
const clusterName = "production"

var flavors = []flavor{
	{
		name: "machinepool", kubernetesVersion: "v1.25.0", pool: "AWSMachinePool", poolName: clusterName + "-mp-0",
		variables: []string{
			"AWS_CONTROL_PLANE_MACHINE_TYPE", "AWS_NODE_MACHINE_TYPE", "AWS_REGION", "AWS_SSH_KEY_NAME", "CLUSTER_NAME", "CONTROL_PLANE_MACHINE_COUNT",
			"KUBERNETES_VERSION", "WORKER_MACHINE_COUNT", "WORKER_MACHINE_MAX", "WORKER_MACHINE_MIN",
		},
		cluster: lab.ClusterOptions{Name: clusterName},
	},
	{
		name: "eks-managedmachinepool", kubernetesVersion: "v1.34.0", pool: "AWSManagedMachinePool", poolName: clusterName + "-pool-0",
		variables: []string{
			"AWS_AMI_TYPE", "AWS_NODE_MACHINE_TYPE", "AWS_REGION", "AWS_SSH_KEY_NAME", "CLUSTER_NAME", "KUBERNETES_VERSION", "WORKER_MACHINE_COUNT",
			"WORKER_MACHINE_MAX", "WORKER_MACHINE_MIN",
		},
		cluster: lab.ClusterOptions{Name: clusterName, Managed: true, KubernetesVersion: "v1.34.0"},
	},
	{
		name: "machinepool-launchconfigtemplate", kubernetesVersion: "v1.25.0", pool: "AWSMachinePool", poolName: clusterName + "-mp-0",
		variables: []string{
			"AWS_CONTROL_PLANE_MACHINE_TYPE", "AWS_REGION", "AWS_SSH_KEY_NAME", "CLUSTER_NAME", "CONTROL_PLANE_MACHINE_COUNT", "KUBERNETES_VERSION",
			"LAUNCH_CONFIG_TEMPLATE", "LAUNCH_CONFIG_TEMPLATE_NAMESPACE", "WORKER_MACHINE_COUNT", "WORKER_MACHINE_MAX", "WORKER_MACHINE_MIN",
		},
		cluster: lab.ClusterOptions{Name: clusterName}, template: true,
	},
	{
		name: "eks-managedmachinepool-launchconfigtemplate", kubernetesVersion: "v1.34.0", pool: "AWSManagedMachinePool", poolName: clusterName + "-pool-0",
		variables: []string{
			"AWS_AMI_TYPE", "AWS_REGION", "AWS_SSH_KEY_NAME", "CLUSTER_NAME", "KUBERNETES_VERSION", "LAUNCH_CONFIG_TEMPLATE",
			"LAUNCH_CONFIG_TEMPLATE_NAMESPACE", "WORKER_MACHINE_COUNT", "WORKER_MACHINE_MAX", "WORKER_MACHINE_MIN",
		},
		cluster: lab.ClusterOptions{Name: clusterName, Managed: true, KubernetesVersion: "v1.34.0"}, template: true,
	},
}

// TestGenerate generates a cluster of each flavor as its documentation says, has Cluster API accept
// all of it, and waits for the nodes of its pool.
func TestGenerate(t *testing.T) {
	t.Parallel()
	for _, flavor := range flavors {
		t.Run(flavor.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, flavor.cluster)
			options := clusterctlclient.GetClusterTemplateOptions{
				Kubeconfig:               clusterctlclient.Kubeconfig{Path: w.Lab.Kubeconfig()},
				ProviderRepositorySource: &clusterctlclient.ProviderRepositorySourceOptions{InfrastructureProvider: slipway, Flavor: flavor.name},
				TargetNamespace:          w.Namespace, ClusterName: clusterName, KubernetesVersion: flavor.kubernetesVersion,
				ControlPlaneMachineCount: ptr.To[int64](1), WorkerMachineCount: ptr.To[int64](2),
			}
			template := generate(t, options)
			variables := slices.Sorted(slices.Values(template.Variables()))
			if diff := cmp.Diff(flavor.variables, variables); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
			w.StartManager(product.Manager(product.Settings{}))
			if flavor.template {
				w.haveTemplate()
			}
			for _, object := range template.Objs() {
				w.applyGenerated(object)
			}
			pool := &unstructured.Unstructured{}
			pool.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta2")
			pool.SetKind(flavor.pool)
			w.Eventually("the pool is ready with two nodes", func() error {
				if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: flavor.poolName}, pool); err != nil {
					return err
				}
				return errors.Join(ready(pool), w.hasNodes(2))
			})
			w.describes(flavor)
		})
	}
}

// generating is held by who generates: clusterctl keeps what a command line says as variables of
// its one configuration.
var generating sync.Mutex

func generate(t *testing.T, options clusterctlclient.GetClusterTemplateOptions) clusterctlclient.Template {
	t.Helper()
	generating.Lock()
	defer generating.Unlock()
	template, err := clusterctl(t).GetClusterTemplate(t.Context(), options)
	if err != nil {
		t.Fatalf("clusterctl generate cluster --flavor %s: %v", options.ProviderRepositorySource.Flavor, err)
	}
	return template
}

// haveTemplate has the AWSLaunchConfigTemplate that flavors refer to.
func (w *world) haveTemplate() {
	w.Helper()
	template := &infrav1.AWSLaunchConfigTemplate{}
	template.Namespace, template.Name = w.Namespace, variables["LAUNCH_CONFIG_TEMPLATE"]
	template.Spec.Template.Spec.InstanceType = "t3.large"
	if err := w.Client.Create(w.Context(), template); err != nil {
		w.Fatal(err)
	}
}

// applyGenerated applies what belongs to the pool. The laboratory has created the cluster itself,
// under the same name, with the status that the controllers of Cluster API Provider AWS would
// report: for the cluster's objects, the API server only says whether it would accept them.
func (w *world) applyGenerated(object unstructured.Unstructured) {
	w.Helper()
	options := []client.ApplyOption{client.FieldOwner("clusterctl-test"), client.ForceOwnership}
	switch object.GetKind() {
	case "MachinePool", "AWSMachinePool", "AWSManagedMachinePool", "KubeadmConfig":
	default:
		options = append(options, client.DryRunAll)
		object.SetName(object.GetName() + "-generated")
	}
	if err := w.Client.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(&object), options...); err != nil {
		w.Errorf("%s is refused: %v", describe(&object), err)
	}
}

// describes holds that clusterctl describe cluster shows the pool and its infrastructure below the cluster.
func (w *world) describes(flavor flavor) {
	w.Helper()
	c, err := repository(w.TB.(*testing.T)).Client(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	w.Eventually("clusterctl describe cluster shows the pool and its infrastructure as ready", func() error {
		objects, err := c.DescribeCluster(w.Context(), clusterctlclient.DescribeClusterOptions{
			Kubeconfig: clusterctlclient.Kubeconfig{Path: w.Lab.Kubeconfig()}, Namespace: w.Namespace, ClusterName: clusterName, Echo: true,
		})
		if err != nil {
			return err
		}
		for _, kind := range []string{"MachinePool", flavor.pool} {
			if err := shown(objects, objects.GetRoot(), kind, flavor.poolName); err != nil {
				return err
			}
		}
		return nil
	})
}

// shown is nil if a tree has the object below the given one, with a condition Ready.
func shown(objects *tree.ObjectTree, below client.Object, kind, name string) error {
	for _, child := range objects.GetObjectsByParent(below.GetUID()) {
		if child.GetObjectKind().GroupVersionKind().Kind == kind && child.GetName() == name {
			if condition := tree.GetReadyCondition(child); kind != "MachinePool" && (condition == nil || condition.Status != "True") {
				return fmt.Errorf("%s %s has condition %+v", kind, name, condition)
			}
			return nil
		}
		if err := shown(objects, child, kind, name); err == nil {
			return nil
		}
	}
	return fmt.Errorf("there is no %s %s below %s", kind, name, below.GetName())
}

// ready is nil once a pool is ready, for its current generation.
func ready(pool *unstructured.Unstructured) error {
	conditions, _, err := unstructured.NestedSlice(pool.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, one := range conditions {
		condition := one.(map[string]any)
		if condition["type"] == "Ready" && condition["status"] == "True" && condition["observedGeneration"] == pool.GetGeneration() {
			return nil
		}
	}
	return fmt.Errorf("conditions are %v", conditions)
}

// hasNodes is nil once the test has so many Nodes.
func (w *world) hasNodes(count int) error {
	if nodes := w.Nodes(); len(nodes) != count {
		return fmt.Errorf("there are %d nodes, want %d", len(nodes), count)
	}
	return nil
}

// instanceTimes keep the order of things and cost little.
const (
	pending, boot, shuttingDown = 10 * time.Second, 20 * time.Second, 10 * time.Second
	// rate lets simulated minutes pass in fractions of a second.
	rate = 300
)
