package pool_test

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/pool"
)

func machinePool(annotations map[string]string) *infrav1.AWSMachinePool {
	return &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pool", Annotations: annotations}}
}

func TestPaused(t *testing.T) {
	t.Parallel()
	cluster := func(paused *bool) *clusterv1.Cluster {
		return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: clusterv1.ClusterSpec{Paused: paused}}
	}
	annotated := map[string]string{clusterv1.PausedAnnotation: ""}
	for _, row := range []struct {
		reason      string
		annotations map[string]string
		owner       *clusterv1.Cluster
		want        string
	}{
		{"no Cluster", nil, nil, ""},
		{"a Cluster that does not say", nil, cluster(nil), ""},
		{"a Cluster that says no", nil, cluster(ptr.To(false)), ""},
		{"the Cluster", nil, cluster(ptr.To(true)), `Cluster "one" is paused`},
		{"the object, whatever the annotation's value", annotated, cluster(nil), "annotation cluster.x-k8s.io/paused is set"},
		{"the object, without a Cluster", annotated, nil, "annotation cluster.x-k8s.io/paused is set"},
		{
			"clusterctl move, whose last deletions may come after the Cluster's", map[string]string{"clusterctl.cluster.x-k8s.io/delete-for-move": ""}, nil,
			"clusterctl move moved it to another management cluster: annotation " +
				"clusterctl.cluster.x-k8s.io/delete-for-move is set",
		},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			object := machinePool(row.annotations)
			paused := pool.Paused(object, row.owner)
			condition := meta.FindStatusCondition(object.Status.Conditions, infrav1.PausedCondition)
			if paused != (row.want != "") || condition == nil || condition.Message != row.want || (condition.Status == metav1.ConditionTrue) != paused {
				t.Errorf("paused %t, condition %+v", paused, condition)
			}
		})
	}
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

func TestGetCluster(t *testing.T) {
	t.Parallel()
	stored := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "one"}}
	reader := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(stored).Build()
	if found, err := pool.GetCluster(t.Context(), reader, "default", "one"); err != nil || found == nil || found.Name != "one" {
		t.Errorf("found %v, error %v", found, err)
	}
	if found, err := pool.GetCluster(t.Context(), reader, "other", "one"); err != nil || found != nil {
		t.Errorf("found %v, error %v, in another namespace", found, err)
	}
	broken := errors.New("broken")
	failing := interceptor.NewClient(reader, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return broken
		},
	})
	if _, err := pool.GetCluster(t.Context(), failing, "default", "one"); !errors.Is(err, broken) || err.Error() != `reading Cluster "one": broken` {
		t.Errorf("error %v", err)
	}
}
