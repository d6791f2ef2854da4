package webhooks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// nothing is a reader that can read nothing.
type nothing struct{ client.Reader }

func (nothing) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("the cache is not there")
}

// Get implements client.Reader.
func (nothing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("the cache is not there")
}

func TestMachinePoolIsFoundByItsReference(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := clusterv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	referring := func(namespace, name, kind, to string) *clusterv1.MachinePool {
		pool := &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		pool.Spec.Replicas = ptr.To[int32](7)
		pool.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: infrav1.GroupVersion.Group, Kind: kind, Name: to}
		return pool
	}
	validator := &machinePools{reader: indexed(scheme).WithObjects(
		referring("one", "other", "AWSMachinePool", "others"), referring("two", "elsewhere", "AWSMachinePool", "pool"),
		referring("one", "managed", "AWSManagedMachinePool", "pool"), referring("one", "workers", "AWSMachinePool", "pool"),
	).Build()}
	pool := &infrav1.AWSMachinePool{
		ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "pool"}, Spec: infrav1.AWSMachinePoolSpec{MinSize: 1, MaxSize: 3},
	}
	warnings, err := validator.ValidateCreate(t.Context(), pool)
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], `spec.replicas of MachinePool "workers" is 7`) {
		t.Errorf("got %q, %v", warnings, err)
	}

	validator.reader = nothing{}
	if warnings, err := validator.ValidateCreate(t.Context(), pool); err != nil || len(warnings) > 0 {
		t.Errorf("a failed read blocks or delays admission: %q, %v", warnings, err)
	}
}

// TestOtherMachinePoolsAreNotRead holds that an answer reads the MachinePool of its pool from the cache
// and no other, however many there are, and that MachinePools of other providers have the same names.
func TestOtherMachinePoolsAreNotRead(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := clusterv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	referring := func(name, group, to string) *clusterv1.MachinePool {
		pool := &clusterv1.MachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: name}}
		pool.Spec.Template.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: "AWSMachinePool", Name: to}
		return pool
	}
	objects := []client.Object{referring("foreign", "infrastructure.example.com", "pool"), referring("workers", infrav1.GroupVersion.Group, "pool")}
	for i := range 50 {
		objects = append(objects, referring(fmt.Sprint("other-", i), infrav1.GroupVersion.Group, fmt.Sprint("other-", i)))
	}
	read := 0
	reader := indexed(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			err := c.List(ctx, list, options...)
			read += meta.LenList(list)
			return err
		},
	}).Build()
	pool := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "pool"}}
	if found := machinePoolOf(t.Context(), reader, "AWSMachinePool", pool); found == nil || found.Name != "workers" || read != 1 {
		t.Errorf("found %+v, and read %d MachinePools", found, read)
	}
	pool.Name = "another"
	if found := machinePoolOf(t.Context(), reader, "AWSMachinePool", pool); found != nil {
		t.Errorf("found %+v for a pool without a MachinePool", found)
	}
}
