package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"regexp"
	"time"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/poolview"
	"github.com/slipway-project/slipway/internal/prices"
)

// cost holds the cost of instances per hour, by list prices and Spot prices.
type cost struct {
	PerHour  *prices.Range `json:"perHour,omitempty"`
	Currency string        `json:"currency,omitempty"`
	// Listed is when AWS published the list with the On-Demand prices, and Read when the Spot prices were read;
	// nil if there are no such instances.
	Listed *time.Time `json:"listed,omitempty"`
	Read   *time.Time `json:"read,omitempty"`
	// Unknown says why the cost is not known.
	Unknown string `json:"unknown,omitempty"`
}

// costOf returns the cost of running instances, nil if the page has no prices.
func (d *Dashboard) costOf(place prices.Place, of prices.Running) *cost {
	found, err := d.options.Prices.Cost(place, of)
	if err != nil {
		return &cost{Unknown: err.Error()}
	}
	perHour := prices.Range{Min: rounded(found.PerHour.Min), Max: rounded(found.PerHour.Max)}
	return &cost{PerHour: &perHour, Currency: found.Currency, Listed: dateOf(found.OnDemand), Read: dateOf(found.Spot)}
}

// rounded rounds an amount to what a price list has: ten thousandths.
func rounded(amount float64) float64 { return math.Round(amount*1e4) / 1e4 }

func dateOf(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC().Truncate(time.Second)
	return &at
}

// costsOf returns the cost of a pool, and of each of its versions, in the order of the view. Both are nil if the
// page has no prices.
func (d *Dashboard) costsOf(objects poolview.Objects, view *poolview.View) (*cost, []*cost) {
	if d.options.Prices == nil {
		return nil, nil
	}
	versions := make([]*cost, len(view.Versions))
	running, err := prices.RunningOf(objects)
	if err != nil {
		unknown := &cost{Unknown: err.Error()}
		for i := range versions {
			versions[i] = unknown
		}
		return unknown, versions
	}
	place := prices.Place{Namespace: view.Namespace, Cluster: view.Cluster}
	same := map[int64]int{}
	for i := range view.Versions {
		same[view.Versions[i].Number]++
	}
	for i := range view.Versions {
		number := view.Versions[i].Number
		if same[number] > 1 {
			versions[i] = &cost{Unknown: "several launch templates or images have instances with this version number"}
			continue
		}
		versions[i] = d.costOf(place, running.Versions[number])
	}
	return d.costOf(place, running.All), versions
}

// regionOfZone matches the region that the name of a zone begins with, such as us-west-2a, us-west-2-lax-1a, or
// us-gov-east-1b.
var regionOfZone = regexp.MustCompile(`^[a-z]{2,}(?:-[a-z]+)+-[0-9]`)

// nodeCost returns the cost of a ProvisionedNode, nil if it has no instance or the page has no prices.
func (d *Dashboard) nodeCost(object *provisioningv1.ProvisionedNode) *cost {
	status := &object.Status
	if d.options.Prices == nil || status.InstanceID == "" || status.InstanceType == "" {
		return nil
	}
	region := regionOfZone.FindString(status.Zone)
	if region == "" {
		return &cost{Unknown: "the zone of the instance names no region"}
	}
	running := prices.Running{Instances: []prices.Instance{{Type: status.InstanceType, Zone: status.Zone}}, System: discovery.Linux}
	if object.Spec.CapacityType == provisioningv1.CapacityTypeOnDemand {
		running.LeastOnDemand, running.MostOnDemand = 1, 1
	}
	return d.costOf(prices.Place{Region: region}, running)
}

// readPrices keeps the prices up to date while a page is open, until the context is done.
func (d *Dashboard) readPrices(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.options.Prices.Wanted():
		case <-d.options.Clock.After(recompute):
		}
		if !d.feed.watched() || !d.options.Prices.Refresh(ctx) {
			continue
		}
		d.tracker.markPriced()
		if err := d.describe(); err != nil {
			d.options.Log.Error(err, "Describing the dashboard")
		}
	}
}

// describe sends open pages what the dashboard says about itself, if that has changed.
func (d *Dashboard) describe() error {
	row, err := d.about()
	if err != nil {
		return err
	}
	d.computing.Lock()
	defer d.computing.Unlock()
	if !bytes.Equal(row, d.described) {
		d.described = row
		d.feed.set(map[string]json.RawMessage{metaKey: row})
	}
	return nil
}
