package manager

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/aws/observe"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/clouds/cloudstest"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/prices"
)

// TestPriceSources holds that prices are read in the cloud of a Cluster, and that a place whose Cluster cannot
// be read has no source.
func TestPriceSources(t *testing.T) {
	t.Parallel()
	scheme, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	network := &capav1.AWSCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "prod"}}
	network.Spec.Region, network.Status.Ready = "us-east-1", true
	network.Spec.NetworkSpec.VPC.ID = "vpc-0a10000000000000a"
	network.Status.Network.SecurityGroups = map[capav1.SecurityGroupRole]capav1.SecurityGroup{capav1.SecurityGroupNode: {ID: "sg-1"}, capav1.SecurityGroupLB: {ID: "sg-2"}}
	owner := &clusterv1.Cluster{ObjectMeta: network.ObjectMeta}
	owner.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: capav1.GroupVersion.Group, Kind: "AWSCluster", Name: "prod"}
	owner.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	management := fake.NewClientBuilder().WithScheme(scheme).WithObjects(network, owner).Build()
	_, clock, url := awssimtest.Start(t, time.Now(), awssim.Options{})
	sessions := aws.NewSessions(awssimtest.Config(url, "eu-central-1", awssim.DefaultAccount), aws.WithClock(clock))
	registry := clouds.NewRegistry(sessions, cloudstest.AllowAll{}, clock, observe.Intervals{Rest: time.Minute, Motion: time.Second})
	sources := priceSources{management, registry}
	place := prices.Place{Namespace: "blue", Cluster: "prod"}
	source, err := sources.Source(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	if price, err := source.OnDemand(t.Context(), "m5.large", discovery.Linux); err != nil || price.PerHour != 0.096 {
		t.Errorf("the price is %+v, error %v; want the list price of the Cluster's region, us-east-1", price, err)
	}
	again, err := sources.Source(t.Context(), place)
	if err != nil || again != source {
		t.Errorf("the place has another source the second time, error %v", err)
	}
	for reason, unknown := range map[string]prices.Place{
		"no such Cluster": {Namespace: place.Namespace, Cluster: "gone"}, "another namespace": {Namespace: "other", Cluster: place.Cluster},
	} {
		if _, err := sources.Source(t.Context(), unknown); err == nil {
			t.Errorf("%s: a source was found", reason)
		}
	}
}
