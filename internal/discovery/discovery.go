// Package discovery owns finding things in AWS that Slipway uses but does not own: subnets,
// security groups, machine images, instance types, launch templates of others. It only reads.
// Answers are kept for a while (see ttl.go), per identity and region, so that a thousand pools that
// ask for the same image cost one call; and every page of an answer is read.
//
// A resource that does not exist is a *NotFoundError, which a user has to correct; it is never an
// empty answer.
package discovery

import (
	"fmt"

	"k8s.io/utils/clock"

	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// Discovery finds things in one region with one identity. It is safe for concurrent use.
type Discovery struct {
	clients *aws.Clients
	clock   clock.PassiveClock

	securityGroups *cache[[]string]
	subnets        *cache[[]Subnet]
	lookups        *cache[string]
	images         *cache[Image]
	instanceTypes  *cache[InstanceType]

	templates        *launchtemplate.Templates
	launchTemplates  *cache[launchtemplate.Template]
	templateVersions *cache[launchtemplate.Data]
	templateChanges  *cache[[]string]
	reservations     *cache[CapacityReservation]
	eksClusters      *cache[EKSCluster]

	allTypes      *cache[[]InstanceType]
	typeOfferings *cache[map[string][]string]
	spotPrices    *cache[map[Pool]float64]

	// Prices are the prices of single instance types.
	Prices *Prices
}

// New returns a discovery with empty caches, which age by the given clock.
func New(clients *aws.Clients, clk clock.PassiveClock) *Discovery {
	d := &Discovery{
		clients:        clients,
		clock:          clk,
		securityGroups: newCache[[]string](clk, securityGroupsTTL),
		subnets:        newCache[[]Subnet](clk, subnetsTTL),
		lookups:        newCache[string](clk, imageLookupTTL),
		images:         newCache[Image](clk, imageTTL),
		instanceTypes:  newCache[InstanceType](clk, instanceTypeTTL),

		templates:        launchtemplate.NewTemplates(clients.EC2),
		launchTemplates:  newCache[launchtemplate.Template](clk, launchTemplateTTL),
		templateVersions: newCache[launchtemplate.Data](clk, templateVersionTTL),
		templateChanges:  newCache[[]string](clk, templateVersionTTL),
		reservations:     newCache[CapacityReservation](clk, reservationTTL),
		eksClusters:      newCache[EKSCluster](clk, eksClusterTTL),

		allTypes:      newCache[[]InstanceType](clk, instanceTypeTTL),
		typeOfferings: newCache[map[string][]string](clk, instanceTypeTTL),
		spotPrices:    newCache[map[Pool]float64](clk, spotPriceTTL),
		Prices:        newPrices(clients, clk),
	}
	d.allTypes.patient, d.typeOfferings.patient, d.spotPrices.patient = true, true, true
	return d
}

// NewWaiting returns the same as New, but callers wait for the answer that takes the place of an expired
// one. A simulation is the same each time only if nothing goes on in the background.
func NewWaiting(clients *aws.Clients, clk clock.PassiveClock) *Discovery {
	d := New(clients, clk)
	d.allTypes.patient, d.typeOfferings.patient, d.spotPrices.patient = false, false, false
	return d
}

// NotFoundError says that AWS has nothing that fits what was asked for.
type NotFoundError struct {
	// Kind of the resource, for messages, such as "subnet".
	Kind string
	// What describes the resource that was looked for.
	What string
	// Advice is what to do about it; it may be empty.
	Advice string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("no %s found for %s", e.Kind, e.What)
	if e.Advice != "" {
		text += ": " + e.Advice
	}
	return text
}

// WaitsForUser says that only a change by a person helps, here or in AWS.
func (*NotFoundError) WaitsForUser() bool { return true }

// InvalidQueryError says that what was asked for cannot be looked up at all.
type InvalidQueryError struct {
	// Message says what is wrong, and how to correct it.
	Message string
}

// Error implements error.
func (e *InvalidQueryError) Error() string { return e.Message }

// WaitsForUser says that only a change by a person helps.
func (*InvalidQueryError) WaitsForUser() bool { return true }
