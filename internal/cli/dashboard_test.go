package cli

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

func TestDashboardAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:8090", ":8090", "127.0.0.1", "[::]:1", "example.com:80", "10.0.0.1:80"} {
		command := New()
		command.SetArgs([]string{"dashboard", "--address", address})
		command.SetOut(&bytes.Buffer{})
		if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "must be a loopback address") {
			t.Errorf("--address %s: got error %v, want one that asks for a loopback address", address, err)
		}
	}
}

func TestVisible(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason    string
		namespace string
		// kinds are the kinds that the cluster has; denied are resources that the user may not
		// watch, where.
		kinds  []string
		denied []string
		fails  error
		want   []string
		lacks  string
		err    string
	}{
		"Management":   {reason: "Without Provisioners, pods are not watched.", kinds: []string{"AWSMachinePool", "MachinePool", "Pod"}, want: []string{"AWSMachinePool", "MachinePool"}},
		"Provisioner":  {reason: "The cluster of a provisioner has no pools.", kinds: []string{"Provisioner", "ProvisionedNode", "Pod"}, want: []string{"Provisioner", "ProvisionedNode", "Pod"}},
		"Part":         {reason: "The page says what it cannot show.", kinds: []string{"AWSMachinePool", "MachinePool"}, denied: []string{"machinepools"}, want: []string{"AWSMachinePool"}, lacks: "machinepools.cluster.x-k8s.io in all namespaces"},
		"Namespace":    {reason: "A user of one namespace sees its pools.", namespace: "team", kinds: []string{"AWSMachinePool"}, denied: []string{"/awsmachinepools"}, want: []string{"AWSMachinePool"}},
		"ClusterScope": {reason: "A Provisioner is in no namespace.", namespace: "team", kinds: []string{"AWSMachinePool", "Provisioner"}, denied: []string{"/provisioners"}, want: []string{"AWSMachinePool"}, lacks: "provisioners"},
		"Denied":       {reason: "A user who may see nothing is told what to do.", kinds: []string{"AWSMachinePool"}, denied: []string{"awsmachinepools"}, err: "choose a namespace with --namespace"},
		"Empty":        {reason: "Another cluster has no pools.", kinds: []string{"Pod"}, err: "neither pools nor Provisioners"},
		"Broken":       {reason: "An API server that does not answer is an error.", kinds: []string{"AWSMachinePool"}, fails: errors.New("refused"), err: "asking the cluster for your permissions: refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown, missing, err := visible(t.Context(), reviewer(t, tc.kinds, tc.denied, tc.fails), tc.namespace)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s got error %v, want one with %q", tc.reason, err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, object := range shown {
				got = append(got, reflect.TypeOf(object).Elem().Name())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
			if text := strings.Join(missing, " "); !strings.Contains(text, tc.lacks) || tc.lacks == "" && text != "" {
				t.Errorf("%s got %q, want %q", tc.reason, text, tc.lacks)
			}
		})
	}
}

// reviewer returns a client of a cluster that has some kinds, whose user may not watch some resources. A
// resource with a slash before it is denied outside of namespaces only.
func reviewer(t *testing.T, kinds, denied []string, fails error) client.Client {
	t.Helper()
	scheme, err := newDashboardScheme()
	if err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range kinds {
		scope := meta.RESTScopeNamespace
		if strings.HasPrefix(kind, "Provision") {
			scope = meta.RESTScopeRoot
		}
		for _, group := range []schema.GroupVersion{infrav1.GroupVersion, provisioningv1.GroupVersion, {Group: "cluster.x-k8s.io", Version: "v1beta2"}, {Version: "v1"}} {
			if scheme.Recognizes(group.WithKind(kind)) {
				mapper.Add(group.WithKind(kind), scope)
			}
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			review := object.(*authorizationv1.SelfSubjectAccessReview)
			asked := review.Spec.ResourceAttributes
			review.Status.Allowed = true
			for _, resource := range denied {
				outside, is := strings.CutPrefix(resource, "/")
				if asked.Resource == outside && (!is || asked.Namespace == "") {
					review.Status.Allowed = false
				}
			}
			return fails
		},
	}).Build()
}
