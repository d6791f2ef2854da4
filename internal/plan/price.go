package plan

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	clusterfacts "github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/poolview"
	"github.com/slipway-project/slipway/internal/prices"
)

// Price is the change of what the instances of a pool cost, by list prices and current Spot prices. It is
// for the number of instances that the MachinePool asks for.
type Price struct {
	Currency string        `json:"currency,omitempty"`
	PerHour  *AmountChange `json:"perHour,omitempty"`
	PerMonth *AmountChange `json:"perMonth,omitempty"`
	OnDemand *time.Time    `json:"onDemandListed,omitempty"` // when AWS published the list
	Spot     *time.Time    `json:"spotRead,omitempty"`
	Unknown  string        `json:"unknown,omitempty"` // why the change is not known
}

// AmountChange is an amount before and after an edit. An amount is a range where AWS chooses among
// instance types or zones.
type AmountChange struct {
	Before prices.Range `json:"before"`
	After  prices.Range `json:"after"`
}

// price returns the change of the price of a pool, nil if the edit does not change what the pool buys. A
// price that cannot be read does not fail the plan.
func (p *Planner) price(ctx context.Context, w *world, target target) (*Price, error) {
	after, err := objectsOf(ctx, w.cluster, target)
	if err != nil || after == nil {
		return nil, err
	}
	before, err := objectsOf(ctx, p.Cluster, target)
	if err != nil {
		return nil, err
	}
	var had []prices.Purchase
	if before != nil {
		if had, err = prices.Of(*before); err != nil {
			return unknownPrice(err), nil
		}
	}
	buys, err := prices.Of(*after)
	switch {
	case err != nil:
		return unknownPrice(err), nil
	case reflect.DeepEqual(had, buys) && reflect.DeepEqual(pinOf(before), pinOf(after)):
		return nil, nil
	case pinOf(before) != nil || pinOf(after) != nil:
		return &Price{Unknown: "the pinned version may have another instance type than the spec"}, nil
	}
	present, ctx := p.newWorld(ctx, p.Cluster) // whose clock is not ahead
	return present.compare(ctx, after, had, buys), ctx.Err()
}

// pinOf returns the version that a pool is pinned to, nil if it is not pinned.
func pinOf(objects *poolview.Objects) *int64 {
	if objects == nil || objects.Config == nil {
		return nil
	}
	return objects.Config.Spec.PinnedVersion
}

// unknownPrice returns the price of a pool that buys something that has no price.
func unknownPrice(err error) *Price { return &Price{Unknown: err.Error()} }

// compare returns the difference between the prices of purchases. It reads them as the identity of the
// pool's cluster.
func (w *world) compare(ctx context.Context, of *poolview.Objects, had, buys []prices.Purchase) *Price {
	owner := &clusterv1.Cluster{}
	name := client.ObjectKey{Namespace: of.Config.Namespace, Name: of.Config.Spec.ClusterName}
	if err := w.cluster.Get(ctx, name, owner); err != nil {
		return unknownPrice(fmt.Errorf("reading Cluster %q: %w", name.Name, err))
	}
	facts, err := clusterfacts.Load(ctx, w.cluster, owner)
	if err != nil {
		return unknownPrice(err)
	}
	cloud, err := w.clouds.For(ctx, facts.Identity, facts.Namespace, facts.Region)
	if err != nil {
		return unknownPrice(err)
	}
	book, err := prices.Read(ctx, cloud.Discovery.Prices, slices.Concat(had, buys)...)
	if err != nil {
		return unknownPrice(err)
	}
	before, err := book.Cost(had)
	if err != nil {
		return unknownPrice(err)
	}
	after, err := book.Cost(buys)
	if err != nil {
		return unknownPrice(err)
	}
	return changeOf(before, after)
}

// changeOf returns the change between two costs.
func changeOf(before, after prices.Cost) *Price {
	price := &Price{
		PerHour:  &AmountChange{rounded(before.PerHour), rounded(after.PerHour)},
		PerMonth: &AmountChange{rounded(before.PerHour.Times(prices.HoursPerMonth)), rounded(after.PerHour.Times(prices.HoursPerMonth))},
	}
	for _, cost := range []prices.Cost{before, after} {
		if cost.Currency != "" {
			price.Currency = cost.Currency
		}
		price.OnDemand, price.Spot = older(price.OnDemand, cost.OnDemand), older(price.Spot, cost.Spot)
	}
	return price
}

// older returns the earlier of two times. The zero time is none.
func older(known *time.Time, other time.Time) *time.Time {
	if other.IsZero() || known != nil && !other.Before(*known) {
		return known
	}
	return &other
}

// rounded rounds an amount to what a price list has: ten thousandths.
func rounded(r prices.Range) prices.Range {
	return prices.Range{Min: math.Round(r.Min*1e4) / 1e4, Max: math.Round(r.Max*1e4) / 1e4}
}

// objectsOf reads the objects that say what a pool buys; nil if the pool does not exist.
func objectsOf(ctx context.Context, reader client.Reader, target target) (*poolview.Objects, error) {
	pool, err := target.kind.read(ctx, reader, target.name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the pool for its price: %w", err)
	}
	found := &poolview.Objects{}
	switch object := pool.Object.(type) {
	case *infrav1.AWSMachinePool:
		found.SelfManaged = object
	case *infrav1.AWSManagedMachinePool:
		found.Managed = object
	}
	config, err := configOf(ctx, reader, target)
	if err != nil {
		return nil, err
	}
	if config != nil {
		found.Config = &infrav1.AWSLaunchConfig{}
		if err := reader.Get(ctx, *config, found.Config); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading the launch config for the price: %w", err)
		}
	}
	for _, owner := range pool.GetOwnerReferences() {
		if owner.Kind != "MachinePool" {
			continue
		}
		machinePool := &clusterv1.MachinePool{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: target.name.Namespace, Name: owner.Name}, machinePool)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading the MachinePool for the price: %w", err)
		}
		if err == nil {
			found.MachinePool = machinePool
		}
	}
	return found, nil
}
