package awslaunchconfig

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/bootstrapstorage"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// PlacesAnnotation lists where bootstrap data of the config may be, as ssm and s3/<bucket>, with commas. A place is written down before anything is
// put there, so that deletion finds it when the cluster objects are gone and no version was ever made.
const PlacesAnnotation = infrav1.TagSlipwayPrefix + "bootstrap-storage"

// writtenAnnotation holds the digest of bootstrap data that is about to be written outside of the template. What status says to be there is believed
// only if that is what was to be written last: a pass that died between the write and its status left something else.
const writtenAnnotation = infrav1.TagSlipwayPrefix + "bootstrap-written"

// storedLookAgain is how often bootstrap data outside of the template is looked for that nobody changes. A kubeadm token rotates every few
// minutes, and with each the data is written anew; other data would be missed only when a node is to boot.
const storedLookAgain = 24 * time.Hour

// storeBootstrap puts bootstrap data where the user data points to, before a version does. It costs one call when the data has changed, a look once a
// day, and nothing otherwise: not after a restart either, unless status was lost.
func (r *Reconciler) storeBootstrap(ctx context.Context, p *pass) reconciling.Outcome {
	item := p.delivery.item
	if item == nil {
		r.memory.stored.Forget(p.key())
		p.config.Status.BootstrapDataLocation, p.config.Status.BootstrapDataDigest = "", ""
		return reconciling.Continue()
	}
	last, known := r.lastStored(p)
	known = known && last.location == item.Location
	age := r.Clock.Since(last.seen)
	if !known || last.digest != item.Digest() || age >= storedLookAgain {
		if err := r.announce(ctx, p, *item); err != nil {
			return reconciling.Fail(err)
		}
		written, err := p.cloud.Storage.Put(ctx, *item, known && age < storedLookAgain)
		if err != nil {
			// What is there now is not known: the next pass looks.
			r.memory.stored.Forget(p.key())
			return outcome.Of(p.config, infrav1.BootstrapDataReadyCondition, infrav1.BootstrapStorageFailedReason, err)
		}
		if written && !known {
			r.Report.Done(ctx, p.config, "BootstrapDataStored", "Wrote the bootstrap data to %s", item.Location.URL(item.Owner))
		}
		age = 0
		r.memory.stored.Put(p.key(), storedItem{location: item.Location, digest: item.Digest(), seen: r.Clock.Now()})
	}
	p.config.Status.BootstrapDataLocation, p.config.Status.BootstrapDataDigest = item.Location.URL(item.Owner), item.Digest()
	reconciling.True(p.config, infrav1.BootstrapDataReadyCondition, infrav1.ReadyReason, "")
	return reconciling.ContinueAndComeBack(storedLookAgain-age, "bootstrap data outside of the template is looked for once a day")
}

// lastStored is the bootstrap data as this process saw it last, or as an earlier one wrote down that it left it: a manager that starts beside a thousand
// pools need not look at a thousand parameters, of which AWS lets three be described a second. It looks at them over the day.
func (r *Reconciler) lastStored(p *pass) (storedItem, bool) {
	if last, known := r.memory.stored.Get(p.key()); known {
		return last, true
	}
	item, status := p.delivery.item, &p.config.Status
	if status.BootstrapDataDigest == "" || status.BootstrapDataDigest != p.config.Annotations[writtenAnnotation] ||
		status.BootstrapDataDigest != item.Digest() || status.BootstrapDataLocation != item.Location.URL(item.Owner) {
		return storedItem{}, false
	}
	passed := time.Duration((1 - common.ShareOf(p.key())) * float64(storedLookAgain))
	recorded := storedItem{location: item.Location, digest: item.Digest(), seen: r.Clock.Now().Add(-passed)}
	r.memory.stored.Put(p.key(), recorded)
	return recorded, true
}

// announce writes down where something is about to be written and what, and the places that versions point to, should the annotation have been lost.
func (r *Reconciler) announce(ctx context.Context, p *pass, item bootstrapstorage.Item) error {
	places := append(placesOf(p.config), item.Location.Place)
	for _, location := range pointedTo(p) {
		places = append(places, location.Place)
	}
	var texts []string
	for _, place := range places {
		texts = append(texts, place.String())
	}
	slices.Sort(texts)
	wanted := strings.Join(slices.Compact(texts), ",")
	err := reconciling.Patch(ctx, r.Client, p.config, func(config *infrav1.AWSLaunchConfig) {
		if config.Annotations == nil {
			config.Annotations = map[string]string{}
		}
		config.Annotations[PlacesAnnotation], config.Annotations[writtenAnnotation] = wanted, item.Digest()
	})
	if err != nil {
		return fmt.Errorf("writing down where bootstrap data is kept: %w", err)
	}
	return nil
}

// placesOf are the places that were written down. What can not be read is left out: somebody else wrote it.
func placesOf(config *infrav1.AWSLaunchConfig) []bootstrapstorage.Place {
	var places []bootstrapstorage.Place
	for text := range strings.SplitSeq(config.Annotations[PlacesAnnotation], ",") {
		if place, ok := bootstrapstorage.ParsePlace(text); ok {
			places = append(places, place)
		}
	}
	return places
}

// pointedTo is where the versions that exist, and the wanted one, have their bootstrap data.
func pointedTo(p *pass) []bootstrapstorage.Location {
	var locations []bootstrapstorage.Location
	for _, version := range p.seen.Versions {
		if location, ok := bootstrapstorage.ParseLocation(version.Fingerprints.Data); ok {
			locations = append(locations, location)
		}
	}
	if p.delivery.item != nil {
		locations = append(locations, p.delivery.item.Location)
	}
	return locations
}

// sweepStored deletes bootstrap data that no version points to any more. It is called when versions were deleted.
func (r *Reconciler) sweepStored(ctx context.Context, p *pass) error {
	for _, place := range placesOf(p.config) {
		if _, err := p.cloud.Storage.Sweep(ctx, place, owner(p.config), pointedTo(p), nil); err != nil {
			return err
		}
	}
	return nil
}

// deleteStored deletes all bootstrap data of a config whose template is gone.
func (r *Reconciler) deleteStored(ctx context.Context, p *pass) reconciling.Outcome {
	var also []bootstrapstorage.Location
	if last, known := r.memory.stored.Get(p.key()); known {
		also = append(also, last.location)
	}
	for _, place := range placesOf(p.config) {
		deleted, err := p.cloud.Storage.Sweep(ctx, place, owner(p.config), nil, also)
		if err != nil {
			return outcome.Of(p.config, infrav1.DeletingCondition, infrav1.BootstrapStorageFailedReason, err)
		}
		if deleted > 0 {
			r.Report.Done(ctx, p.config, "BootstrapDataDeleted", "Deleted the bootstrap data in %s", place)
		}
	}
	return reconciling.Continue()
}

// storedItem is bootstrap data outside of the template as this process saw it last.
type storedItem struct {
	location bootstrapstorage.Location
	digest   string
	// seen is when it was last looked for or written.
	seen time.Time
}
