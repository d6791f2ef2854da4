package awslaunchconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// resolve finds in AWS what the spec names by other means than an id, and makes the request of it.
func (r *Reconciler) resolve(ctx context.Context, p *pass) reconciling.Outcome {
	if end := r.checkProfile(ctx, p, p.config.Spec.IamInstanceProfile); end != nil {
		return *end
	}
	groups, err := p.cloud.Discovery.SecurityGroupIDs(ctx, p.facts.VPCID, p.config.Spec.AdditionalSecurityGroups)
	if err != nil {
		return outcome.Of(p.config, infrav1.ResolvedCondition, reasonOr(err, infrav1.SecurityGroupNotFoundReason), err)
	}
	interfaces, end := interfaces(ctx, p)
	if end != nil {
		return *end
	}
	instanceType, err := r.instanceType(ctx, p)
	if err != nil {
		return outcome.Of(p.config, infrav1.ResolvedCondition, reasonOr(err, infrav1.InstanceTypeNotFoundReason), err)
	}
	image, imageKey, err := r.image(ctx, p, instanceType.Architecture())
	if err != nil {
		return outcome.Of(p.config, infrav1.ResolvedCondition, reasonOr(err, infrav1.ImageNotFoundReason), err)
	}
	if reason, message := contradiction(&p.config.Spec, instanceType, image); reason != "" {
		reconciling.False(p.config, infrav1.ResolvedCondition, reason, message)
		return reconciling.Stop(message)
	}
	if stop := r.renderNodegroup(ctx, p, image); stop != nil {
		return *stop
	}
	p.resolved = launchtemplate.Resolved{
		ImageID: image.ID, ImageKey: imageKey, RootDeviceName: image.RootDeviceName,
		SecurityGroupIDs: slices.Concat(p.facts.NodeSecurityGroupIDs, groups),
		Tags:             p.facts.OwnedTags(names(p.config)[0], p.config.Spec.AdditionalTags),
		Interfaces:       interfaces,
	}
	p.resolved.UserData, p.resolved.Bootstrap = p.delivery.userData, p.delivery.bootstrap
	if p.delivery.item != nil {
		p.resolved.Data = p.delivery.item.Location.String()
	}
	p.resolved.TokensRequired = tokensRequired(p)
	if p.input, err = launchtemplate.NewInput(&p.config.Spec, p.resolved); err != nil {
		return reconciling.Fail(err)
	}
	p.asked = p.input.Fingerprints.Config
	if err := r.showResolved(ctx, p, image, instanceType, imageKey); err != nil {
		return outcome.Of(p.config, infrav1.ResolvedCondition, reasonOr(err, infrav1.SubnetsNotFoundReason), err)
	}
	reconciling.True(p.config, infrav1.ResolvedCondition, infrav1.ReadyReason, "")
	return reconciling.Continue()
}

// checkProfile ends the pass if the cluster's identity may not be used to launch instances with an instance profile.
func (r *Reconciler) checkProfile(ctx context.Context, p *pass, profile string) *reconciling.Outcome {
	err := r.Clouds.AllowsInstanceProfile(ctx, p.facts.Identity, profile)
	if err == nil {
		return nil
	}
	end := reconciling.Fail(err)
	if unusable, is := identity.IsUnusable(err); is {
		reconciling.False(p.config, infrav1.ResolvedCondition, unusable.Reason, unusable.Message)
		end = reconciling.Stop(unusable.Message)
	}
	return &end
}

// scheduleCheck has what was looked up in AWS checked again after the interval of the sweeps, of which no event tells: whether the image still exists, and
// which security groups match. The answers are shared by all objects that ask the same.
func (r *Reconciler) scheduleCheck(context.Context, *pass) reconciling.Outcome {
	return reconciling.ContinueAndComeBack(r.Clouds.TemplateInterval(), "image and security groups are checked")
}

// reasonOr is the given reason for something that AWS does not have, and a general one for any other failure.
func reasonOr(err error, notFound string) string {
	var missing *discovery.NotFoundError
	if errors.As(err, &missing) {
		return notFound
	}
	return infrav1.ResolveFailedReason
}

// instanceType is the zero value for a config that leaves the type to whoever launches from it.
func (r *Reconciler) instanceType(ctx context.Context, p *pass) (discovery.InstanceType, error) {
	if p.config.Spec.InstanceType == "" {
		return discovery.InstanceType{}, nil
	}
	return p.cloud.Discovery.InstanceType(ctx, p.config.Spec.InstanceType)
}

// image is the one that the spec names, or the one that was looked up for it. A looked-up image stays as long as what it was looked up for does:
// AWS publishing a newer one rolls nothing. It is remembered in status, and if that was lost, in the versions themselves.
func (r *Reconciler) image(ctx context.Context, p *pass, architecture string) (image discovery.Image, key string, err error) {
	spec := &p.config.Spec
	if eksChooses(spec) {
		return discovery.Image{RootDeviceName: rootDevice(spec.Nodegroup.AMIType)}, "", nil
	}
	lookUp := func() (discovery.Image, error) {
		return p.cloud.Discovery.Image(ctx, imageQuery(spec, p.facts, architecture))
	}
	switch id := ptr.Deref(spec.AMI.ID, ""); {
	case strings.HasPrefix(id, "resolve:ssm:"):
		// A parameter is a look-up too: AWS moves its public ones on with every release.
		key = launchtemplate.ImageKey(map[string]string{"parameter": id})
		lookUp = func() (discovery.Image, error) { return p.cloud.Discovery.ImageByID(ctx, id) }
	case id != "":
		image, err = p.cloud.Discovery.ImageByID(ctx, id)
		return image, "", namedImageMissing(err, id)
	default:
		key = imageKey(imageQuery(spec, p.facts, architecture))
	}
	kept, known := "", false
	if resolved := p.config.Status.Resolved; resolved != nil && resolved.ImageKey == key && resolved.ImageID != "" {
		kept, known = resolved.ImageID, true
	} else {
		if err := r.verify(ctx, p); err != nil {
			return discovery.Image{}, "", err
		}
		kept, known = p.seen.ImageFor(key)
	}
	if !known && p.seen.Untouched() {
		// The image that runs is kept when a template is taken over, if it may have been looked up for the same thing.
		return r.runningImage(ctx, p, key, architecture, lookUp)
	}
	if known {
		image, err = p.cloud.Discovery.ImageByID(ctx, kept)
		var missing *discovery.NotFoundError
		if !errors.As(err, &missing) {
			return image, key, err
		}
		// Without its image the pool could not launch another instance: this one look-up does roll nodes.
		r.Report.Warn(ctx, p.config, "ImageGone", "Image %s does not exist any more; looking up another one", kept)
	}
	image, err = lookUp()
	return image, key, err
}

// namedImageMissing returns the error for an image that the spec names by id and that is not there. No other is looked up in its place.
func namedImageMissing(err error, id string) error {
	var missing *discovery.NotFoundError
	if !errors.As(err, &missing) {
		return err
	}
	return &discovery.NotFoundError{
		Kind: "image", What: id, Advice: "it does not exist in this region, or is not shared with this account. Running nodes are left alone, and no new node can be launched: " +
			"set ami.id to an image that exists, or leave it out to have one looked up",
	}
}

func imageQuery(spec *infrav1.AWSLaunchConfigSpec, facts *cluster.Facts, architecture string) discovery.ImageQuery {
	lookup := cluster.ImageLookup{Format: spec.ImageLookupFormat, Org: spec.ImageLookupOrg, BaseOS: spec.ImageLookupBaseOS}
	return discovery.ImageQuery{
		KubernetesVersion: spec.KubernetesVersion, Architecture: architecture,
		Lookup: lookup.Or(facts.ImageLookup), EKS: facts.EKS, EKSLookupType: ptr.Deref(spec.AMI.EKSOptimizedLookupType, ""),
	}
}

// imageKey says what an image was looked up for, as the user and the cluster said it: defaults of a release are no part of it.
func imageKey(query discovery.ImageQuery) string {
	return launchtemplate.ImageKey(map[string]string{
		"kubernetesVersion": query.KubernetesVersion, "architecture": query.Architecture,
		"format": query.Lookup.Format, "org": query.Lookup.Org, "baseOS": query.Lookup.BaseOS,
		"eks": map[bool]string{true: "true"}[query.EKS], "eksLookupType": string(query.EKSLookupType),
	})
}

// contradiction says what of type, image and volume can not go together: a launch would fail.
func contradiction(spec *infrav1.AWSLaunchConfigSpec, instanceType discovery.InstanceType, image discovery.Image) (reason, message string) {
	if reason, message := nodegroupContradiction(spec, instanceType); reason != "" {
		return reason, message
	}
	if instanceType.Name != "" && image.ID != "" && !slices.Contains(instanceType.Architectures, image.Architecture) {
		return infrav1.ArchitectureMismatchReason, fmt.Sprintf("image %s is for %s, and instance type %s runs %v: change spec.ami or spec.instanceType",
			image.ID, image.Architecture, instanceType.Name, instanceType.Architectures)
	}
	if root := spec.RootVolume; root != nil && root.DeviceName != "" && image.ID != "" && root.DeviceName != image.RootDeviceName {
		return infrav1.InvalidSpecReason, fmt.Sprintf("rootVolume.deviceName is %s, and the root device of image %s is %s: leave deviceName out",
			root.DeviceName, image.ID, image.RootDeviceName)
	}
	for _, volume := range spec.NonRootVolumes {
		if volume.DeviceName == image.RootDeviceName {
			return infrav1.InvalidSpecReason, fmt.Sprintf("nonRootVolumes names %s, which is the root device of image %s: use rootVolume for it",
				volume.DeviceName, image.ID)
		}
	}
	if reason, message := deviceContradiction(spec, image); reason != "" {
		return reason, message
	}
	if root := spec.RootVolume; root != nil && root.Size < int64(image.RootSnapshotSizeGiB) {
		return infrav1.RootVolumeTooSmallReason, fmt.Sprintf("rootVolume.size is %d GiB, and image %s needs at least %d GiB",
			root.Size, image.ID, image.RootSnapshotSizeGiB)
	}
	return "", ""
}
