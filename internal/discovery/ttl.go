package discovery

import "time"

// How long answers are kept. Each is a balance between calls and how late a change in AWS is seen;
// nothing here decides whether nodes are replaced, because what was resolved for a pool is kept in
// its launch config's status.
const (
	// securityGroupsTTL: users retag groups by hand, and then wait for it to work.
	securityGroupsTTL = time.Minute
	// subnetsTTL: the same; a subnet's zone never changes.
	subnetsTTL = time.Minute
	// imageLookupTTL: which image is the newest is only asked when a launch config has none. With a
	// few minutes, all pools of a roll-out of many clusters get the same.
	imageLookupTTL = 5 * time.Minute
	// imageTTL: an image's properties never change, but it can be deregistered, which launch
	// configs check every eight minutes.
	imageTTL = 7 * time.Minute
	// launchTemplateTTL: the newest and the default version move, and who moves one waits for it.
	launchTemplateTTL = time.Minute
	// templateVersionTTL: a version never changes, but it can be deleted.
	templateVersionTTL = 15 * time.Minute
	// eksClusterTTL: endpoint, certificate authority and network of an EKS cluster stay for its life.
	eksClusterTTL = 12 * time.Hour
	// reservationTTL: users extend Capacity Blocks, and then wait for nodes.
	reservationTTL = time.Minute
	// instanceTypeTTL: what an instance type is never changes; new ones appear, but those are not
	// in the cache.
	instanceTypeTTL = 12 * time.Hour
	// spotPriceTTL: prices move over hours (AWS: how-spot-pricing-works), and what is bought is
	// chosen by EC2.
	spotPriceTTL = 30 * time.Minute
	// listPriceTTL: AWS changes list prices a few times a year.
	listPriceTTL = 12 * time.Hour
)
