package poolread

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/plan/plantest/owners"
	"github.com/slipway-project/slipway/internal/prices"
)

// TestPricesOfPlaces holds that prices are read in the region of a Cluster, once for all places of it, and as
// the user where there is no Cluster.
func TestPricesOfPlaces(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, clusterv1.AddToScheme, capav1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	management := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&capav1.AWSCluster{}, &clusterv1.Cluster{}).Build()
	if err := owners.Create(t.Context(), management, 1); err != nil {
		t.Fatal(err)
	}
	sim, _, url := awssimtest.Start(t, time.Now(), awssim.Options{})
	reader := NewAWS(management, awssimtest.Config(url, owners.Region, awssim.DefaultAccount), identity.DefaultSecretNamespace, "test")
	table := map[prices.Place]bool{}
	var sources []prices.Source
	for _, row := range []struct {
		reason string
		place  prices.Place
		fails  bool
	}{
		{reason: "the place of a pool", place: prices.Place{Namespace: owners.Key.Namespace, Cluster: "prod"}},
		{reason: "the same again", place: prices.Place{Namespace: owners.Key.Namespace, Cluster: "prod"}},
		{reason: "a region without a Cluster", place: prices.Place{Region: owners.Region}},
		{reason: "a Cluster that does not exist", place: prices.Place{Namespace: owners.Key.Namespace, Cluster: "gone"}, fails: true},
	} {
		source, err := reader.Source(t.Context(), row.place)
		if (err != nil) != row.fails {
			t.Fatalf("%s: error %v", row.reason, err)
		}
		if err != nil {
			continue
		}
		table[row.place], sources = true, append(sources, source)
		price, err := source.OnDemand(t.Context(), "m5.large", discovery.Linux)
		if err != nil || price.PerHour != 0.096 || price.Currency != "USD" {
			t.Errorf("%s: the price is %+v, error %v; want the list price of us-east-1", row.reason, price, err)
		}
		if spot, err := source.Spot(t.Context(), "m5.large", discovery.Linux); err != nil || len(spot) == 0 {
			t.Errorf("%s: the Spot prices are %v, error %v", row.reason, spot, err)
		}
	}
	if sources[0] != sources[1] {
		t.Error("one Cluster has two sources, which read every price twice")
	}
	lists := 0
	for _, call := range sim.Calls() {
		if call.Action == "GetProducts" {
			lists++
		}
	}
	if lists > len(table) {
		t.Errorf("the price list was read %d times for %d places", lists, len(table))
	}
}
