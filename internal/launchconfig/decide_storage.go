package launchconfig

import (
	"slices"
	"strings"
	"time"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/bootstrapstorage"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// PlacesAnnotation lists where bootstrap data of the config may be, as ssm and s3/<bucket>, with
// commas. A place is written down before anything is put there, so that deletion finds it when the
// cluster objects are gone and no version was ever made.
const PlacesAnnotation = infrav1.TagSlipwayPrefix + "bootstrap-storage"

// writtenAnnotation holds the digest of bootstrap data that is about to be written outside of the
// template, and after a space the URL that it is written to. Slipway trusts the bootstrap data in
// status only if its digest is the one in the annotation: a pass that died between the write and
// its status left something else. A deletion finds it by the URL, though a list of AWS may not show
// it yet.
const writtenAnnotation = infrav1.TagSlipwayPrefix + "bootstrap-written"

// storedLookAgain is the interval at which Slipway checks that unchanged bootstrap data outside of
// the template still exists. A kubeadm token rotates every few minutes, and each rotation writes
// the data again. The loss of other data would be noticed only when a node boots.
const storedLookAgain = 24 * time.Hour

// decideStorage puts bootstrap data where the user data points to, before a version does. It costs
// one call when the data has changed, a look once a day, and nothing otherwise: not after a restart
// either, unless status was lost.
func decideStorage(in Input, delivered delivery, plan *reconcile.Plan) bool {
	status, item := &in.Object.Status, delivered.item
	if item == nil {
		status.BootstrapDataLocation, status.BootstrapDataDigest = "", ""
		return true
	}
	if err := failure(in, func(storeBootstrap) bool { return true }); err != nil {
		pool.ShowFailure(in.Object, plan, infrav1.BootstrapDataReadyCondition, infrav1.BootstrapStorageFailedReason, err)
		return false
	}
	last := in.Seen.Stored
	known := !last.Seen.IsZero() && last.Location == item.Location && (!last.Recorded || last.Digest == item.Digest())
	recent := known && in.Now.Sub(last.Seen) < storedLookAgain
	if !recent || last.Digest != item.Digest() {
		plan.Annotate(PlacesAnnotation, placesText(in, *item))
		plan.Annotate(writtenAnnotation, item.Digest()+" "+item.Location.URL(item.Owner))
		plan.Do(storeBootstrap{Item: *item, Known: recent, Told: last.Seen.IsZero() || last.Location != item.Location}, "%s", storageReason(last, *item))
		return false
	}
	status.BootstrapDataLocation, status.BootstrapDataDigest = item.Location.URL(item.Owner), item.Digest()
	reconciling.True(in.Object, infrav1.BootstrapDataReadyCondition, infrav1.ReadyReason, "")
	plan.LookAgain(storedLookAgain - in.Now.Sub(last.Seen))
	return true
}

// storageReason says why bootstrap data is put outside of the template.
func storageReason(last storedItem, item bootstrapstorage.Item) string {
	switch {
	case last.Seen.IsZero():
		return "it may not exist"
	case last.Location != item.Location:
		return "bootstrap data changed"
	case last.Digest != item.Digest():
		return reasonToken
	}
	return "its existence was last checked a day ago"
}

// placesText returns where bootstrap data may be once an item is written, as PlacesAnnotation has
// it: the places of versions are among them, should the annotation have been lost.
func placesText(in Input, item bootstrapstorage.Item) string {
	places := append(placesOf(in.Object), item.Location.Place)
	for _, location := range pointedTo(in.Seen.Template.Versions, &item) {
		places = append(places, location.Place)
	}
	var texts []string
	for _, place := range places {
		texts = append(texts, place.String())
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), ",")
}

// placesOf returns the places that the annotation lists. It omits entries that it cannot parse,
// because Slipway did not write them.
func placesOf(config *infrav1.AWSLaunchConfig) []bootstrapstorage.Place {
	var places []bootstrapstorage.Place
	for text := range strings.SplitSeq(config.Annotations[PlacesAnnotation], ",") {
		if place, ok := bootstrapstorage.ParsePlace(text); ok {
			places = append(places, place)
		}
	}
	return places
}

// pointedTo returns the locations of the bootstrap data of versions, and of the item that is
// wanted.
func pointedTo(versions []launchtemplate.Version, item *bootstrapstorage.Item) []bootstrapstorage.Location {
	var locations []bootstrapstorage.Location
	for _, version := range versions {
		if location, ok := bootstrapstorage.ParseLocation(version.Fingerprints.Data); ok {
			locations = append(locations, location)
		}
	}
	if item != nil {
		locations = append(locations, item.Location)
	}
	return locations
}

// recordedItem returns the bootstrap data outside of the template as an earlier process recorded it
// in status, if its digest is the one in writtenAnnotation.
func recordedItem(config *infrav1.AWSLaunchConfig) (storedItem, bool) {
	status := &config.Status
	written, _, _ := strings.Cut(config.Annotations[writtenAnnotation], " ")
	if status.BootstrapDataDigest == "" || status.BootstrapDataDigest != written {
		return storedItem{}, false
	}
	location, known := locationOf(config, status.BootstrapDataLocation)
	if !known {
		return storedItem{}, false
	}
	return storedItem{Location: location, Digest: status.BootstrapDataDigest, Recorded: true}, true
}

// lastWritten returns the location that writtenAnnotation records for the last write of bootstrap
// data, false if that is not known.
func lastWritten(config *infrav1.AWSLaunchConfig) (bootstrapstorage.Location, bool) {
	_, url, _ := strings.Cut(config.Annotations[writtenAnnotation], " ")
	return locationOf(config, url)
}

// locationOf returns the location with a URL, false if it is none of the config's own.
func locationOf(config *infrav1.AWSLaunchConfig, url string) (bootstrapstorage.Location, bool) {
	for _, place := range placesOf(config) {
		location := bootstrapstorage.Location{Place: place, Hash: url[strings.LastIndex(url, "/")+1:]}
		if location.URL(owner(config)) == url {
			return location, true
		}
	}
	return bootstrapstorage.Location{}, false
}
