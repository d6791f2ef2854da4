package launchconfig

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/watches"
)

// manyPools are pools of both kinds that launch from other configs.
func manyPools() []client.Object {
	var pools []client.Object
	for i := range 30 {
		at := metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("other-", i)}
		managed := &infrav1.AWSManagedMachinePool{ObjectMeta: at}
		managed.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: fmt.Sprint("other-", i%2)}
		pools = append(pools, managed, &infrav1.AWSMachinePool{ObjectMeta: at})
	}
	return pools
}

// counting returns a client that counts the pools which lists return.
func counting(c client.WithWatch, pools *int) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			switch list.(type) {
			case *infrav1.AWSMachinePoolList, *infrav1.AWSManagedMachinePoolList:
				*pools += meta.LenList(list)
			}
			return err
		},
	})
}

// TestConsumingPools holds which managed pools launch from a config, and that no other pools are read
// from the cache, however many there are.
func TestConsumingPools(t *testing.T) {
	t.Parallel()
	pool := func(name string, edit ...func(*infrav1.AWSManagedMachinePool)) *infrav1.AWSManagedMachinePool {
		made := &infrav1.AWSManagedMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-of-" + name)}}
		for _, one := range edit {
			one(made)
		}
		return made
	}
	refers := func(to string) func(*infrav1.AWSManagedMachinePool) {
		return func(pool *infrav1.AWSManagedMachinePool) {
			pool.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: to}
		}
	}
	templated := func(pool *infrav1.AWSManagedMachinePool) {
		pool.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}
	}
	elsewhere := func(pool *infrav1.AWSManagedMachinePool) { pool.Namespace = "elsewhere" }
	for _, row := range []struct {
		reason string
		pools  []client.Object
		// owner is the pool that the config is controlled by.
		owner string
		want  []string
	}{
		{"none", nil, "", nil},
		{"those that refer to it", []client.Object{pool("b", refers(configName)), pool("a", refers(configName)), pool("c", refers("another")), pool("d", refers(configName), elsewhere)}, "", []string{"a", "b"}},
		{"its owner", []client.Object{pool(configName, templated)}, configName, []string{configName}},
		{"its owner, which no longer has a launch template", []client.Object{pool(configName)}, configName, []string{configName}},
		{"its owner of another name", []client.Object{pool("a", templated)}, "a", []string{"a"}},
		{"its owner refers to another", []client.Object{pool("a", refers("another"))}, "a", nil},
		{"its owner refers to it", []client.Object{pool("a", refers(configName))}, "a", []string{"a"}},
		{"its owner is gone", nil, "a", nil},
		{"a pool of its name that is not its owner", []client.Object{pool(configName, templated)}, "", nil},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			config := launchConfig(nil)
			if row.owner != "" {
				config.OwnerReferences = []metav1.OwnerReference{{Kind: kindManaged, Name: row.owner, UID: types.UID("uid-of-" + row.owner), Controller: ptr.To(true)}}
			}
			r, read := newRig(t, append(manyPools(), row.pools...)...), 0
			found, err := (&kind{&Options{Client: counting(r.client, &read)}}).consumingPools(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, one := range found {
				got = append(got, one.Name)
			}
			slices.Sort(got)
			if !slices.Equal(got, row.want) || read > len(row.pools) {
				t.Errorf("pools are %q, want %q; %d were read", got, row.want, read)
			}
		})
	}
}

// TestPassesReadTheirPools holds that a pass reads from the cache only the pools that launch from its
// config, however many there are.
func TestPassesReadTheirPools(t *testing.T) {
	t.Parallel()
	user := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "user"}}
	user.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: configName}
	r := newRig(t, append(manyPools(), user, launchConfig(nil))...)
	store, read := r.client, 0
	r.live = store
	r.client = counting(store, &read)
	r.restart()
	r.client = store
	config := r.reconcile()
	if users := config.Status.UsedBy; len(users) != 1 || users[0].Name != "user" {
		t.Errorf("the users are %v", users)
	}
	// A pass looks up its pools twice, to see whether it is paused and in order to observe.
	if read == 0 || read > 4 {
		t.Errorf("two passes read %d pools", read)
	}
}

// TestConfigsOfCluster holds which launch configs a change of a Cluster wakes, and that no others are
// read from the cache.
func TestConfigsOfCluster(t *testing.T) {
	t.Parallel()
	config := func(at, name, cluster, filter string) client.Object {
		return launchConfig(func(config *infrav1.AWSLaunchConfig) {
			config.Namespace, config.Name, config.Spec.ClusterName = at, name, cluster
			config.Labels = map[string]string{watches.WatchFilterLabel: filter}
		})
	}
	r := newRig(t, config(namespace, "a", clusterName, ""), config(namespace, "b", clusterName, "ours"), config(namespace, "c", "another", "ours"), config("elsewhere", "d", clusterName, "ours"))
	store, read := r.client, 0
	r.client = interceptor.NewClient(store, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			read += meta.LenList(list)
			return err
		},
	})
	r.restart()
	for _, row := range []struct {
		reason, cluster, filter string
		want                    []string
		read                    int
	}{
		{"those of the Cluster in its namespace", clusterName, "", []string{"a", "b"}, 2},
		{"those that this manager reconciles", clusterName, "ours", []string{"b"}, 2},
		{"a Cluster without launch configs", "empty", "", nil, 0},
	} {
		read = 0
		requests, err := r.subject.configsOf(t.Context(), types.NamespacedName{Namespace: namespace, Name: row.cluster}, watches.Settings{WatchFilter: row.filter})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, request := range requests {
			got = append(got, request.Name)
		}
		if slices.Sort(got); !slices.Equal(got, row.want) || read != row.read {
			t.Errorf("%s: configs are %q, want %q; %d were read", row.reason, got, row.want, read)
		}
	}
}
