package launchconfig

import (
	"errors"
	"math"
	"strings"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// imageSearch says how the image of a config is found: it is the one that the spec names, or one
// that is looked up.
type imageSearch struct {
	// none is true where EKS chooses the image. Device is the root device of EKS's images then.
	none   bool
	device string
	// named is the id in the spec.
	named string
	// key is what an image is looked up for: the query, or a parameter that holds an image.
	key       string
	query     discovery.ImageQuery
	parameter string
}

// searchFor says how the image of a config is found, for instances of an architecture.
func searchFor(spec *infrav1.AWSLaunchConfigSpec, facts *cluster.Facts, architecture string) imageSearch {
	if eksChooses(spec) {
		return imageSearch{none: true, device: rootDevice(spec.Nodegroup.AMIType)}
	}
	search := imageSearch{query: imageQuery(spec, facts, architecture)}
	switch id := ptr.Deref(spec.AMI.ID, ""); {
	case strings.HasPrefix(id, "resolve:ssm:"):
		// A parameter is a look-up too: AWS moves its public ones on with every release.
		search.parameter, search.key = id, launchtemplate.ImageKey(map[string]string{"parameter": id})
	case id != "":
		search.named = id
	default:
		search.key = imageKey(search.query)
	}
	return search
}

// keptInStatus returns the image that was looked up for the same before, if status remembers it. A
// looked-up image stays as long as what it was looked up for does: AWS publishing a newer one rolls
// nothing. If status was lost, the versions themselves remember.
func keptInStatus(status *infrav1.AWSLaunchConfigStatus, key string) (string, bool) {
	if resolved := status.Resolved; resolved != nil && resolved.ImageKey == key && resolved.ImageID != "" {
		return resolved.ImageID, true
	}
	return "", false
}

// runningImage returns the image of the template's newest version if Slipway created none of its
// versions, and "" otherwise. When a template is adopted, this image is kept if CAPA may have
// looked it up for the same requirements.
func runningImage(seen launchtemplate.Observation) string {
	if !seen.Untouched() {
		return ""
	}
	running, _ := seen.NewestForeign(math.MaxInt64)
	return running.ImageID
}

// namedImageMissing returns the error for an image that the spec names by id and that is not there.
// No other is looked up in its place.
func namedImageMissing(err error, id string) error {
	var missing *discovery.NotFoundError
	if !errors.As(err, &missing) {
		return err
	}
	return &discovery.NotFoundError{
		Kind: "image", What: id, Advice: "it does not exist in this region, or is not shared with this account. " +
			"Running nodes are kept, but no new node can be launched. Set ami.id to an image that exists, or " +
			"remove it to have Slipway look up an image",
	}
}

func imageQuery(spec *infrav1.AWSLaunchConfigSpec, facts *cluster.Facts, architecture string) discovery.ImageQuery {
	lookup := cluster.ImageLookup{Format: spec.ImageLookupFormat, Org: spec.ImageLookupOrg, BaseOS: spec.ImageLookupBaseOS}
	return discovery.ImageQuery{
		KubernetesVersion: spec.KubernetesVersion, Architecture: architecture,
		Lookup: lookup.Or(facts.ImageLookup), EKS: facts.EKS, EKSLookupType: ptr.Deref(spec.AMI.EKSOptimizedLookupType, ""),
	}
}

// imageKey says what an image was looked up for, as the user and the cluster said it: defaults of a
// release are no part of it.
func imageKey(query discovery.ImageQuery) string {
	return launchtemplate.ImageKey(map[string]string{
		"kubernetesVersion": query.KubernetesVersion, "architecture": query.Architecture,
		"format": query.Lookup.Format, "org": query.Lookup.Org, "baseOS": query.Lookup.BaseOS,
		"eks": map[bool]string{true: "true"}[query.EKS], "eksLookupType": string(query.EKSLookupType),
	})
}
