package dashboard

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/prices"
)

// shop is a source of prices. It counts its calls, and fails with an error.
type shop struct {
	asked chan string
	fails error
}

func (s *shop) Source(_ context.Context, place prices.Place) (prices.Source, error) {
	s.asked <- strings.TrimSpace(place.Cluster + " " + place.Region)
	return s, nil
}

func (s *shop) OnDemand(_ context.Context, _ string, _ discovery.OperatingSystem) (discovery.Price, error) {
	return discovery.Price{PerHour: 0.096, Currency: "USD", Date: now.Add(-time.Hour)}, s.fails
}

func (s *shop) Spot(_ context.Context, _ string, _ discovery.OperatingSystem) (map[string]discovery.Price, error) {
	return map[string]discovery.Price{"us-east-1a": {PerHour: 0.03, Currency: "USD", Date: now}}, s.fails
}

// priced returns a pool with two instances of version 3, and a node, whose costs are known once prices are.
func priced() (*infrav1.AWSMachinePool, *infrav1.AWSLaunchConfig, *provisioningv1.ProvisionedNode) {
	pool, config := machinePool("web", 2), &infrav1.AWSLaunchConfig{}
	pool.Labels = map[string]string{"cluster.x-k8s.io/cluster-name": "prod"}
	pool.Status.Instances = []infrav1.AWSMachinePoolInstanceStatus{
		{InstanceID: "i-1", LaunchTemplateVersion: "3", InstanceType: "m5.large"}, {InstanceID: "i-2", LaunchTemplateVersion: "3", InstanceType: "m5.large"},
	}
	config.Namespace, config.Name, config.Status.Versions = "team", "web", []infrav1.LaunchTemplateVersionStatus{{Number: 3, Market: "on-demand"}}
	node := &provisioningv1.ProvisionedNode{}
	node.Name, node.Spec.CapacityType = "node", provisioningv1.CapacityTypeSpot
	node.Status.InstanceID, node.Status.InstanceType, node.Status.Zone = "i-3", "m5.large", "us-east-1a"
	return pool, config, node
}

// costOfRow returns the cost in a row.
func costOfRow(t *testing.T, row json.RawMessage) string {
	t.Helper()
	var found struct {
		Cost *cost `json:"cost"`
	}
	if err := json.Unmarshal(row, &found); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(found.Cost)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCosts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason           string
		fails            error
		pool, node, meta string
	}{
		"Known": {
			reason: "The cost of what runs is shown, by list prices and Spot prices, with their dates.",
			pool:   `{"perHour":{"min":0.192,"max":0.192},"currency":"USD","listed":"2026-11-27T07:00:00Z"}`,
			node:   `{"perHour":{"min":0.03,"max":0.03},"currency":"USD","read":"2026-11-27T08:00:00Z"}`, meta: `"prices":true`,
		},
		"Denied": {
			reason: "Without the permissions, no amount is shown, and the page says why once.", fails: &smithy.GenericAPIError{Code: "UnauthorizedOperation", Message: "no"},
			pool: `{"unknown":"these credentials may not call pricing:GetProducts"}`, node: `{"unknown":"these credentials may not call ec2:DescribeSpotPriceHistory"}`,
			meta: `"missing":["Prices, because these credentials may not call ec2:DescribeSpotPriceHistory; these credentials may not call pricing:GetProducts."],"pools":true,"provisioners":true,"budgets":false,"prices":false`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := &shop{asked: make(chan string, 10), fails: tc.fails}
			pool, config, node := priced()
			c := newClusterWith(t, func(o *Options) { o.Prices = prices.NewTable(source, o.Clock) }, pool, config, node)
			page := c.open()
			_, all := page.next()
			if got := costOfRow(t, all.Rows["AWSMachinePool/team/web"]); got != `{"unknown":"the prices are being read"}` {
				t.Errorf("A page does not wait for AWS: got %s", got)
			}
			rows := map[string]json.RawMessage{}
			for rows["AWSMachinePool/team/web"] == nil || rows["ProvisionedNode//node"] == nil || rows["meta"] == nil && tc.fails != nil {
				c.step(interval, 3)
				_, changed := page.next()
				for key, row := range changed.Rows {
					rows[key] = row
				}
			}
			if rows["meta"] == nil {
				rows["meta"] = all.Rows["meta"]
			}
			if diff := cmp.Diff([]string{tc.pool, tc.node}, []string{costOfRow(t, rows["AWSMachinePool/team/web"]), costOfRow(t, rows["ProvisionedNode//node"])}); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
			if meta := string(rows["meta"]); !strings.Contains(meta, tc.meta) {
				t.Errorf("%s got %s, want %s in it", tc.reason, meta, tc.meta)
			}
			if first, second := <-source.asked, <-source.asked; first != "us-east-1" && first != "prod" || second != "us-east-1" && second != "prod" || len(source.asked) > 0 {
				t.Errorf("The prices are those of the Cluster and of the node's region, each once: got %s, %s", first, second)
			}
		})
	}
}

// TestCostsOfVersions holds that a pool's page has the cost of each version, and that versions that cannot be told
// apart have none.
func TestCostsOfVersions(t *testing.T) {
	t.Parallel()
	pool, config, _ := priced()
	pool.Status.Replicas = 3
	pool.Status.Instances = append(pool.Status.Instances, infrav1.AWSMachinePoolInstanceStatus{InstanceID: "i-3", LaunchTemplateVersion: "2", InstanceType: "m5.large"})
	config.Status.Versions = append(config.Status.Versions, infrav1.LaunchTemplateVersionStatus{Number: 2, Market: "on-demand"})
	pool.Status.RunningVersions = []infrav1.RunningVersion{
		{LaunchTemplateID: "lt-1", Version: 3, Instances: 2, UpToDate: true}, {LaunchTemplateID: "lt-1", Version: 2, Instances: 1}, {LaunchTemplateID: "lt-2", Version: 2, Instances: 1},
	}
	table := prices.NewTable(&shop{asked: make(chan string, 10)}, newCluster(t).clock)
	c := newClusterWith(t, func(o *Options) { o.Prices = table }, pool, config)
	key := rowKey{selfManagedRow, "team", "web"}
	if _, err := c.page.pool(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	table.Refresh(t.Context())
	found, err := c.page.pool(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]string, 0, len(found.VersionCosts))
	for _, one := range found.VersionCosts {
		texts = append(texts, one.Unknown)
	}
	ambiguous := "several launch templates or images have instances with this version number"
	if diff := cmp.Diff([]string{"", ambiguous, ambiguous}, texts); diff != "" || found.VersionCosts[0].PerHour.Max != 0.192 || found.Cost.PerHour.Max != 0.288 {
		t.Errorf("got %v in all, and -want +got:\n%s", found.Cost, diff)
	}
}

func TestRegionOfZone(t *testing.T) {
	t.Parallel()
	for zone, want := range map[string]string{"us-east-1a": "us-east-1", "us-west-2-lax-1a": "us-west-2", "us-gov-east-1b": "us-gov-east-1", "ap-southeast-2c": "ap-southeast-2", "nowhere": ""} {
		if got := regionOfZone.FindString(zone); got != want {
			t.Errorf("The region of zone %s is %q, want %q", zone, got, want)
		}
	}
}
