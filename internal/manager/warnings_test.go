package manager

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestWarnings holds that the log has the API server's warnings, except for those about the finalizers that Slipway
// shares with Cluster API Provider AWS. The API server sends these for each object.
func TestWarnings(t *testing.T) {
	t.Parallel()
	const advice = `metadata.finalizers: %q: prefer a domain-qualified finalizer name%s to avoid accidental conflicts with other finalizer writers`
	finalizers := []string{infrav1.MachinePoolFinalizer, infrav1.ManagedMachinePoolFinalizer, infrav1.MachinePoolMachineFinalizer, infrav1.LaunchConfigFinalizer}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, finalizer := range append(slices.Clip(finalizers), "another") {
			for _, version := range []string{"", " including a path (/)"} { // before and since Kubernetes 1.30
				w.Header().Add("Warning", fmt.Sprintf("299 - %q", fmt.Sprintf(advice, finalizer, version)))
			}
		}
		w.Header().Add("Warning", `299 - "v1 Namespace is deprecated"`)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"default"}}`))
	}))
	t.Cleanup(server.Close)
	var logged []string
	sink := funcr.NewJSON(func(text string) { logged = append(logged, text) }, funcr.Options{})
	config := withWarnings(&rest.Config{Host: server.URL, Transport: server.Client().Transport})
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	api, err := client.New(config, client.Options{Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	ctx := log.IntoContext(t.Context(), sink.WithValues("pool", "web"))
	if err := api.Update(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}); err != nil {
		t.Fatal(err)
	}
	message := func(text string) string {
		return fmt.Sprintf(`{"logger":"","level":0,"msg":%q,"pool":"web"}`, text)
	}
	want := []string{
		message(fmt.Sprintf(advice, "another", "")), message(fmt.Sprintf(advice, "another", " including a path (/)")), message("v1 Namespace is deprecated"),
	}
	if diff := cmp.Diff(want, logged); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	own := &rest.Config{WarningHandler: rest.NoWarnings{}}
	if withWarnings(own) != own {
		t.Error("a configuration that has a handler got another one")
	}
}
