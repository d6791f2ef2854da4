package prices

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/discovery"
)

// HoursPerMonth is the number of hours in a month by which AWS's own calculator computes.
const HoursPerMonth = 730

// Source knows prices: a discovery.Prices in use.
type Source interface {
	OnDemand(ctx context.Context, instanceType string, system discovery.OperatingSystem) (discovery.Price, error)
	Spot(ctx context.Context, instanceType string, system discovery.OperatingSystem) (map[string]discovery.Price, error)
}

// product identifies a price: an instance type with an operating system.
type product struct {
	instanceType string
	system       discovery.OperatingSystem
}

// Book holds the prices that some purchases need.
type Book struct {
	onDemand map[product]discovery.Price
	spot     map[product]map[string]discovery.Price
}

// Read reads the prices that purchases need. The error says which ones could not be read; the book has the
// others.
func Read(ctx context.Context, source Source, purchases ...Purchase) (Book, error) {
	book := Book{onDemand: map[product]discovery.Price{}, spot: map[product]map[string]discovery.Price{}}
	var failed error
	for _, purchase := range purchases {
		for _, option := range purchase.Options {
			if err := book.add(ctx, source, product{option.InstanceType, purchase.System}, purchase.Spot); err != nil && failed == nil {
				failed = err
			}
		}
	}
	return book, failed
}

func (b *Book) add(ctx context.Context, source Source, of product, spot bool) error {
	if spot {
		if b.spot[of] != nil {
			return nil
		}
		prices, err := source.Spot(ctx, of.instanceType, of.system)
		if err != nil {
			return unread(err, "ec2:DescribeSpotPriceHistory")
		}
		b.spot[of] = prices
		return nil
	}
	if _, known := b.onDemand[of]; known {
		return nil
	}
	price, err := source.OnDemand(ctx, of.instanceType, of.system)
	if err != nil && !discovery.IsNoPrice(err) {
		return unread(err, "pricing:GetProducts")
	}
	if err == nil {
		b.onDemand[of] = price
	}
	return nil
}

// unreadError explains why prices could not be read.
type unreadError struct {
	action string
	err    error
}

// Error implements error.
func (e *unreadError) Error() string {
	if aws.IsAccessDenied(e.err) {
		return fmt.Sprintf("these credentials may not call %s", e.action)
	}
	return fmt.Sprintf("calling %s: %s", e.action, aws.UserMessage(e.err))
}

// Unwrap returns the error of the call.
func (e *unreadError) Unwrap() error { return e.err }

func unread(err error, action string) error { return &unreadError{action: action, err: err} }

// Range is an amount between two amounts, because AWS chooses among instance types and zones.
type Range struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// Times returns the range multiplied by a factor that is not negative.
func (r Range) Times(factor float64) Range { return Range{r.Min * factor, r.Max * factor} }

// Cost holds the cost of purchases per hour.
type Cost struct {
	PerHour  Range
	Currency string
	// OnDemand and Spot are the dates of the oldest price of each kind; zero if there is none.
	OnDemand, Spot time.Time
}

// Cost returns what some purchases cost. The error is an *UnknownError that names an instance type that
// has no price.
func (b Book) Cost(purchases []Purchase) (Cost, error) {
	var sum Cost
	for _, purchase := range purchases {
		cost, err := b.cost(purchase)
		if err != nil {
			return Cost{}, err
		}
		sum.PerHour.Min += cost.PerHour.Min
		sum.PerHour.Max += cost.PerHour.Max
		sum.Currency = cost.Currency
		sum.OnDemand, sum.Spot = older(sum.OnDemand, cost.OnDemand), older(sum.Spot, cost.Spot)
	}
	return sum, nil
}

// cost returns what one purchase costs. Whichever mix of its options AWS buys, each unit costs no less
// than it does with the best option, and no more than with the worst one. The last instance may exceed
// the capacity by all of its units but one.
func (b Book) cost(of Purchase) (Cost, error) {
	var cost Cost
	heaviest, lowest, highest := 1, 0.0, 0.0
	for _, option := range of.Options {
		found := b.pricesOf(of, option)
		if len(found) == 0 {
			return Cost{}, &UnknownError{"no price of " + option.InstanceType + " is known"}
		}
		for _, price := range found {
			unit := price.PerHour / float64(option.Weight)
			if lowest == 0 || unit < lowest {
				lowest = unit
			}
			highest = max(highest, unit)
			cost.Currency = price.Currency
			if of.Spot {
				cost.Spot = older(cost.Spot, price.Date)
			} else {
				cost.OnDemand = older(cost.OnDemand, price.Date)
			}
		}
		heaviest = max(heaviest, option.Weight)
	}
	cost.PerHour.Min = float64(of.Units) * lowest
	if of.Units > 0 {
		cost.PerHour.Max = float64(of.Units+heaviest-1) * highest
	}
	return cost, nil
}

// pricesOf returns the prices that an option may be bought for.
func (b Book) pricesOf(of Purchase, option Option) []discovery.Price {
	sold := product{option.InstanceType, of.System}
	if !of.Spot {
		if price, known := b.onDemand[sold]; known {
			return []discovery.Price{price}
		}
		return nil
	}
	var found []discovery.Price
	for zone, price := range b.spot[sold] {
		if len(of.Zones) == 0 || slices.Contains(of.Zones, zone) {
			found = append(found, price)
		}
	}
	return found
}

// older returns the earlier of two times; the zero time is none.
func older(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
