package managertest

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/manager"
	"github.com/slipway-project/slipway/lab"
	"github.com/slipway-project/slipway/lab/product"
)

// unusedRights are the rights that the story may do without, and why the manager has them.
var unusedRights = map[string]string{
	"delete awsmachinepoolmachines.infrastructure.cluster.x-k8s.io":            "Cluster API deletes them as a rule, with the Machine; not where it has made none yet",
	"patch machines.cluster.x-k8s.io":                                          "Machines are taken from a pool that is to have none any more, past Cluster API's draining",
	"patch events":                                                             "what happens often is counted on the event that there is, minutes later",
	"patch events.events.k8s.io":                                               "what happens often is counted on the event that there is, minutes later",
	"update awsmanagedmachinepools/finalizers.infrastructure.cluster.x-k8s.io": "as for awsmachinepools/finalizers",
	"update awsmachinepools/finalizers.infrastructure.cluster.x-k8s.io":        "only an API server that enforces owner references asks for it (OpenShift does)",
	"list awsmachines.infrastructure.cluster.x-k8s.io":                         "a pool is asked once whether CAPA keeps machines for it, when it is taken over",
}

func machinePoolOf(pool *infrav1.AWSMachinePool) *clusterv1.MachinePool {
	machinePool := &clusterv1.MachinePool{}
	machinePool.Namespace, machinePool.Name = pool.Namespace, pool.Name
	return machinePool
}

// asServiceAccount has a manager run as the service account that config/rbac gives it, with a
// client that records its requests.
func (w *world) asServiceAccount(recorded *requests) func(*manager.Options) {
	w.Helper()
	w.installRoles()
	account, err := w.Lab.Management.ServiceAccountConfig(w.Context(), "slipway-system", "slipway-manager")
	if err != nil {
		w.Fatal(err)
	}
	return func(options *manager.Options) {
		config := rest.CopyConfig(account)
		config.Dial = options.RESTConfig.Dial
		config.Wrap(recorded.wrap)
		options.RESTConfig = config
	}
}

// TestRoleIsEnoughAndNoMore walks create, edit, token rotation and delete as the service account
// with exactly the rights of config/rbac.
func TestRoleIsEnoughAndNoMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	recorded, lines := &requests{}, &buffer{}
	identify := w.asServiceAccount(recorded)
	// The namespace of the lease is shared with an earlier run of this test, and the first manager
	// ever creates it.
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "slipway-system", Name: manager.LeaderElectionID}}
	if err := w.Client.Delete(t.Context(), lease); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	running := w.StartManager(product.Manager(product.Settings{
		Log: logr.FromSlogHandler(slog.NewJSONHandler(lines, nil)),
		Change: func(options *manager.Options) {
			identify(options)
			options.MachinePoolMachines = true
			options.LeaderElection = manager.LeaderElection{Enabled: true, Namespace: "slipway-system"}
		},
	}))
	w.ApplyFile(example)
	w.Eventually("the pool has its nodes", func() error { return w.settled(poolName) })
	w.edit(poolName, func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.InstanceType = "m6i.large" })
	w.Eventually("the edit has rolled", func() error { return w.settled(poolName) })
	w.RotateBootstrapToken(poolName)
	w.Eventually("the new token has a version", func() error {
		if made := w.count("CreateLaunchTemplateVersion"); made < 2 {
			return errNotYet
		}
		return w.settled(poolName)
	})
	w.turnToTemplate()
	w.scaleFromOutside(3)
	w.deletePool(poolName)
	if err := running.Stop(); err != nil {
		t.Error(err)
	}
	keepManagedPool(t, recorded)

	used, forbidden := recorded.seen()
	if len(forbidden) > 0 {
		t.Errorf("the API server refused %q", forbidden)
	}
	if text := lines.String(); strings.Contains(text, "forbidden") {
		t.Errorf("the log speaks of something forbidden:\n%s", text)
	}
	for asked := range used {
		if strings.HasSuffix(asked, " secrets") && asked != "get secrets" {
			t.Errorf("the manager asked to %s: Secrets may be read by name alone", asked)
		}
	}
	w.compareRights(used)
}

// turnToTemplate has the pool launched from an AWSLaunchConfigTemplate that says what the pool said.
func (w *world) turnToTemplate() {
	w.Helper()
	pool, err := w.pool(poolName)
	if err != nil {
		w.Fatal(err)
	}
	template := &infrav1.AWSLaunchConfigTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "nodes"}}
	template.Spec.Template.Spec.AWSLaunchTemplate = *pool.Spec.AWSLaunchTemplate
	if err := w.Client.Create(w.Context(), template); err != nil {
		w.Fatal(err)
	}
	w.edit(poolName, func(pool *infrav1.AWSMachinePool) {
		pool.Spec.AWSLaunchTemplate, pool.Spec.LaunchConfigTemplateRef = nil, &infrav1.LaunchConfigTemplateReference{Name: template.Name}
	})
	w.Eventually("the template counts the pool", func() error {
		if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(template), template); err != nil {
			return err
		}
		if template.Status.UpToDateLaunchConfigs != 1 {
			return errNotYet
		}
		return w.settled(poolName)
	})
}

// keepManagedPool walks create and delete of a managed pool, in a world of its own, as the same
// service account.
func keepManagedPool(t *testing.T, recorded *requests) {
	t.Helper()
	w := newWorldOf(t, lab.ClusterOptions{Managed: true, KubernetesVersion: "v1.34.0"})
	running := w.StartManager(product.Manager(product.Settings{Change: w.asServiceAccount(recorded)}))
	w.ApplyFile("../../examples/managedmachinepool.yaml")
	key := client.ObjectKey{Namespace: w.Namespace, Name: "capa-mmp-0"}
	pool := &infrav1.AWSManagedMachinePool{}
	w.Eventually("the managed pool is ready", func() error {
		if err := w.Client.Get(t.Context(), key, pool); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(pool.Status.Conditions, infrav1.ReadyCondition) {
			return errNotYet
		}
		return nil
	})
	machinePool := &clusterv1.MachinePool{}
	machinePool.Namespace, machinePool.Name = key.Namespace, key.Name
	if err := w.Client.Delete(t.Context(), machinePool); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the managed pool is gone", func() error {
		if err := w.Client.Get(t.Context(), key, pool); !apierrors.IsNotFound(err) {
			return errors.Join(errNotYet, err)
		}
		return nil
	})
	if err := running.Stop(); err != nil {
		t.Error(err)
	}
}

// scaleFromOutside changes the size of the group as cluster-autoscaler would, and waits until the
// MachinePool says so too.
func (w *world) scaleFromOutside(replicas int32) {
	w.Helper()
	pool, err := w.pool(poolName)
	if err != nil {
		w.Fatal(err)
	}
	machinePool := machinePoolOf(pool)
	annotation := []byte(`{"metadata":{"annotations":{"` + clusterv1.ReplicasManagedByAnnotation + `":"external-autoscaler"}}}`)
	if err := w.Client.Patch(w.Context(), machinePool, client.RawPatch(types.MergePatchType, annotation)); err != nil {
		w.Fatal(err)
	}
	if _, err := autoscaling.NewFromConfig(w.AWSConfig()).SetDesiredCapacity(w.Context(), &autoscaling.SetDesiredCapacityInput{
		AutoScalingGroupName: &pool.Status.AutoScalingGroup.Name, DesiredCapacity: &replicas,
	}); err != nil {
		w.Fatal(err)
	}
	w.Eventually("the MachinePool has the size of the group", func() error {
		if err := w.Client.Get(w.Context(), client.ObjectKeyFromObject(pool), machinePool); err != nil {
			return err
		}
		if now := machinePool.Spec.Replicas; now == nil || *now != replicas {
			return errNotYet
		}
		return nil
	})
}

// compareRights holds what was used against what config/rbac grants.
func (w *world) compareRights(used sets.Set[string]) {
	w.Helper()
	manage, lead := &rbacv1.ClusterRole{}, &rbacv1.Role{}
	for key, role := range map[client.ObjectKey]client.Object{
		{Name: "slipway-manager-role"}: manage, {Namespace: "slipway-system", Name: "slipway-leader-election-role"}: lead,
	} {
		if err := w.Client.Get(w.Context(), key, role); err != nil {
			w.Fatal(err)
		}
	}
	granted := sets.New[string]()
	for _, rule := range slices.Concat(manage.Rules, lead.Rules) {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					// A cache watches. Where the API server cannot stream its first read, it lists;
					// and who may list may get.
					cached := slices.Contains(rule.Verbs, "list") && slices.Contains(rule.Verbs, "watch")
					if !cached || verb != "get" && verb != "list" {
						granted.Insert(right(verb, group, resource))
					}
				}
			}
		}
	}
	for _, unused := range sets.List(granted.Difference(used)) {
		if unusedRights[unused] == "" {
			w.Errorf("the role grants %q, which nothing uses", unused)
		}
	}
	for listed := range unusedRights {
		if !granted.Has(listed) {
			w.Errorf("%q is listed as unused, and is not granted", listed)
		}
	}
}

// buffer can be written to by several goroutines.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
