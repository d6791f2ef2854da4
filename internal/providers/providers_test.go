package providers_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/slipway-project/slipway/internal/providers"
)

func deployment(namespace, name, provider string) *appsv1.Deployment {
	object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if provider != "" {
		object.Labels = map[string]string{providers.Label: provider}
	}
	return object
}

// TestFind holds which objects of a provider are found, by their label and by their name.
func TestFind(t *testing.T) {
	t.Parallel()
	manager := types.NamespacedName{Namespace: "capa-system", Name: "capa-controller-manager"}
	for _, row := range []struct {
		reason  string
		objects []client.Object
		query   providers.Query
		want    []string
	}{
		{reason: "nothing is installed", query: providers.Query{Provider: providers.CAPA, Otherwise: manager}},
		{
			reason: "objects with the label, in every namespace",
			objects: []client.Object{
				deployment("capa-system", "capa-controller-manager", providers.CAPA), deployment("other", "capa-controller-manager", providers.CAPA),
				deployment("capi-system", "capi-controller-manager", providers.ClusterAPI),
			},
			query: providers.Query{Provider: providers.CAPA, Otherwise: manager},
			want:  []string{"capa-system/capa-controller-manager", "other/capa-controller-manager"},
		},
		{
			reason:  "the label in one namespace",
			objects: []client.Object{deployment("one", "manager", providers.Slipway), deployment("two", "manager", providers.Slipway)},
			query:   providers.Query{Provider: providers.Slipway, Namespace: "two", Otherwise: manager},
			want:    []string{"two/manager"},
		},
		{
			reason:  "the name, without the label",
			objects: []client.Object{deployment("capa-system", "capa-controller-manager", ""), deployment("capa-system", "other", "")},
			query:   providers.Query{Provider: providers.CAPA, Otherwise: manager},
			want:    []string{"capa-system/capa-controller-manager"},
		},
	} {
		reader := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(row.objects...).Build()
		found, err := providers.Find(t.Context(), reader, &appsv1.DeploymentList{}, &appsv1.Deployment{}, row.query)
		var names []string
		for _, one := range found {
			names = append(names, one.Namespace+"/"+one.Name)
		}
		slices.Sort(names)
		if diff := cmp.Diff(row.want, names); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", row.reason, err, diff)
		}
	}
}

// TestFindFails holds that an error names what could not be read.
func TestFindFails(t *testing.T) {
	t.Parallel()
	broken, query := errors.New("broken"), providers.Query{Provider: providers.CAPA, Otherwise: types.NamespacedName{Name: "webhook"}}
	reader := fake.NewClientBuilder().WithScheme(scheme(t)).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return broken
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, deployments := list.(*appsv1.DeploymentList); deployments {
				return broken
			}
			return c.List(ctx, list, options...)
		},
	}).Build()
	_, err := providers.Find(t.Context(), reader, &appsv1.DeploymentList{}, &appsv1.Deployment{}, query)
	if want := "listing the Deployments of infrastructure-aws: broken"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
	list, object := &unstructured.UnstructuredList{}, &unstructured.Unstructured{}
	kind := admissionv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration")
	list.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("MutatingWebhookConfigurationList"))
	object.SetGroupVersionKind(kind)
	_, err = providers.Find(t.Context(), reader, list, object, query)
	if want := "reading MutatingWebhookConfiguration webhook: broken"; err == nil || err.Error() != want {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

// TestGate holds which value of a feature gate counts.
func TestGate(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason    string
		args      []string
		on, known bool
	}{
		{reason: "it is on by default", args: []string{"--leader-elect"}, on: true, known: true},
		{reason: "off", args: []string{"--feature-gates=EKS=true,MachinePool=false"}, known: true},
		{reason: "the last value counts", args: []string{"--feature-gates=MachinePool=true", "--feature-gates=MachinePool=false"}, known: true},
		{reason: "a value of its own", args: []string{"-feature-gates", "MachinePool=0"}, known: true},
		{reason: "all gates in beta", args: []string{"--feature-gates=AllBeta=false"}, known: true},
		{reason: "no truth value", args: []string{"--feature-gates=MachinePool=${EXP_MACHINE_POOL}"}},
	} {
		if on, known := providers.Gate(row.args, providers.MachinePoolGate); on != row.on || known != row.known {
			t.Errorf("%s: on %t, known %t", row.reason, on, known)
		}
	}
}

// TestConcernPools holds which webhooks are for kinds of pools.
func TestConcernPools(t *testing.T) {
	t.Parallel()
	const ours = "infrastructure.cluster.x-k8s.io"
	for _, row := range []struct {
		reason            string
		groups, resources []string
		some, only        bool
	}{
		{"a pool", []string{ours}, []string{"awsmachinepools"}, true, true},
		{"both kinds of pools", []string{ours}, []string{"awsmachinepools", "awsmanagedmachinepools"}, true, true},
		{"a pool and a cluster", []string{ours}, []string{"awsmachinepools", "awsclusters"}, true, false},
		{"every resource", []string{ours}, []string{"*"}, true, false},
		{"every resource of every group", []string{"*"}, []string{"*/*"}, true, false},
		{"a pool in two groups", []string{ours, "example.com"}, []string{"awsmachinepools"}, true, false},
		{"a cluster", []string{ours}, []string{"awsclusters"}, false, false},
		{"another group", []string{"example.com"}, []string{"awsmachinepools"}, false, false},
		{"nothing", nil, nil, false, false},
	} {
		rules := []admissionv1.RuleWithOperations{{}, {Rule: admissionv1.Rule{APIGroups: row.groups, Resources: row.resources}}}
		if some, only := providers.ConcernPools(rules); some != row.some || only != row.only {
			t.Errorf("%s: some %t, only %t", row.reason, some, only)
		}
	}
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, admissionv1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}
