// Package defaults owns the launch templates of nodes whose provisioner and pods name none: one for
// each architecture and accelerator of a provisioner, with the newest image of Amazon Linux 2023
// for the cluster's version of Kubernetes and user data that joins the cluster. It creates them
// with package launchtemplate: equal specs share one version, and launches name its number. The
// result is remembered for a while, so that scaling up calls no launch template API.
//
// Default launch templates attach no Elastic Fabric Adapters. The number of adapters differs among
// the instance types of a launch, and they need a security group, an image and a device plugin that
// a default launch template does not have.
package defaults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/digest"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/variants"
	"github.com/slipway-project/slipway/internal/userdata"
)

// lookAgain is the time after which the image, the security groups, and a default launch template
// itself are read again.
const lookAgain = 5 * time.Minute

// visibleAfter is the time that EC2 may take to show a launch template that was created.
const visibleAfter = time.Minute

// lookups are the images of EKS by accelerator.
var lookups = map[string]infrav1.EKSAMILookupType{
	"": infrav1.EKSAMILookupTypeAmazonLinux2023, variants.NVIDIA: infrav1.EKSAMILookupTypeAmazonLinux2023GPU, variants.Neuron: infrav1.EKSAMILookupTypeAmazonLinux2023Neuron,
}

// Cluster says how nodes join, as far as the cluster itself knows.
type Cluster interface {
	// Version of Kubernetes, such as v1.36.3.
	Version(ctx context.Context) (string, error)
	// ServiceCIDR is the range of Services.
	ServiceCIDR(ctx context.Context) (string, error)
}

// Templates creates default launch templates. It is safe for concurrent use.
type Templates struct {
	Templates *launchtemplate.Templates
	Discovery *discovery.Discovery
	Cluster   Cluster
	Clock     clock.PassiveClock
	// InstanceProfile of the nodes.
	InstanceProfile string
	// ClusterUID is the UID of the cluster's kube-system namespace, with which launch templates are marked.
	ClusterUID string

	calls singleflight.Group
	mu    sync.Mutex
	known map[string]ensured
	// began is when they were first asked for: the process may have been a standby before.
	began time.Time
}

// Template is a default launch template that can be launched from.
type Template struct {
	Name string
	provisioningv1.LaunchTemplateVersion
	ImageID string
	// SpecDigest identifies the part of the spec that it was created from.
	SpecDigest string
	// Trouble is why it could not be read again; nil if it could.
	Trouble error
}

type ensured struct {
	Template
	of   revision
	at   time.Time
	seen launchtemplate.Observation
}

// revision identifies a spec of a Provisioner: an edit has another generation, and a Provisioner
// that was created again has another UID.
type revision struct {
	uid        types.UID
	generation int64
}

func revisionOf(provisioner *provisioningv1.Provisioner) revision {
	return revision{uid: provisioner.UID, generation: provisioner.Generation}
}

// Ensure creates or updates the default launch template of a variant. While AWS does not answer, it
// returns the last observation, together with the trouble. It returns an error only if there is
// none.
func (t *Templates) Ensure(ctx context.Context, provisioner *provisioningv1.Provisioner, variant string) (Template, error) {
	key := provisioner.Name + "/" + variant
	known, is := t.lookup(key)
	of := revisionOf(provisioner)
	if is && known.of == of && t.Clock.Since(known.at) < lookAgain {
		return known.Template, nil
	}
	// A call in progress is shared only for the same spec, because its result is remembered as that spec's.
	call := fmt.Sprintf("%s/%s/%d", key, of.uid, of.generation)
	result, err, _ := t.calls.Do(call, func() (any, error) { return t.ensure(ctx, provisioner, variant) })
	if err == nil {
		made := result.(ensured)
		made.of, made.at = of, t.Clock.Now()
		t.remember(key, made)
		return made.Template, nil
	}
	var lost *lostError
	if errors.As(err, &lost) {
		t.Forget(lost.id) // what is gone serves nothing
		return Template{}, err
	}
	last := known.Template
	if !is {
		last = recordedIn(provisioner, variant)
	}
	if last.ID == "" || last.SpecDigest != t.digest(provisioner) {
		return Template{}, fmt.Errorf("making the default launch template of provisioner %q for %s: %w", provisioner.Name, variant, err)
	}
	last.Trouble = err
	return last, nil
}

// Known returns the default launch templates of a provisioner that are known, by variant.
func (t *Templates) Known(provisioner string) map[string]provisioningv1.LaunchTemplateVersion {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[string]provisioningv1.LaunchTemplateVersion{}
	for key, known := range t.known {
		if variant, its := strings.CutPrefix(key, provisioner+"/"); its {
			all[variant] = known.LaunchTemplateVersion
		}
	}
	return all
}

// Forget has a default launch template read again before anything is launched from it: EC2 reported
// that it is gone.
func (t *Templates) Forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.known, func(_ string, known ensured) bool { return known.ID == id })
}

// lostError reports that a default launch template was deleted outside Slipway, and why there is no
// other yet.
type lostError struct {
	id  string
	err error
}

// Error implements error.
func (e *lostError) Error() string {
	return fmt.Sprintf("default launch template %s was deleted outside Slipway, and recreating it failed: %v", e.id, e.err)
}

// Unwrap returns what failed.
func (e *lostError) Unwrap() error { return e.err }

// mine reports whether a template with the provisioner's owner tag is of this cluster: by its mark,
// or, if an earlier release created it, because the status of the provisioner names it. Another
// cluster of the same name may have a provisioner of the same name.
func (t *Templates) mine(provisioner *provisioningv1.Provisioner, template launchtemplate.Template) bool {
	mark := template.Tags[infrav1.TagClusterUID]
	return mark == t.ClusterUID || mark == "" && slices.ContainsFunc(provisioner.Status.LaunchTemplates, func(known provisioningv1.ResolvedLaunchTemplate) bool {
		return known.Generated && known.ID == template.ID
	})
}

// setAside removes the templates with the provisioner's owner tag that are another cluster's, and
// returns their names.
func (t *Templates) setAside(provisioner *provisioningv1.Provisioner, variant string, found map[string]launchtemplate.Template) []string {
	var names []string
	maps.DeleteFunc(found, func(name string, template launchtemplate.Template) bool {
		foreign := template.OwnedBy(owner(provisioner, variant)) && !t.mine(provisioner, template)
		if foreign {
			names = append(names, name)
		}
		return foreign
	})
	slices.Sort(names)
	return names
}

// digest identifies the part of a spec that a default launch template depends on. Other parts of
// the spec may change while AWS does not answer, and nodes are launched all the same.
func (t *Templates) digest(provisioner *provisioningv1.Provisioner) string {
	spec := &provisioner.Spec
	return digest.Of([]any{spec.Cluster, securityGroups(provisioner), t.InstanceProfile})
}

func (t *Templates) lookup(key string) (ensured, bool) {
	t.beginning()
	t.mu.Lock()
	defer t.mu.Unlock()
	known, is := t.known[key]
	return known, is
}

func (t *Templates) remember(key string, made ensured) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = map[string]ensured{}
	}
	t.known[key] = made
}

// recordedIn returns the template that the status reports; its ID is empty if there is none.
func recordedIn(provisioner *provisioningv1.Provisioner, variant string) Template {
	for _, known := range provisioner.Status.LaunchTemplates {
		if known.Generated && variants.Of(&known) == variant && known.ID != "" && known.Version > 0 {
			return Template{Name: known.Name, LaunchTemplateVersion: generated(known.ID, known.Version), ImageID: known.ImageID, SpecDigest: known.SpecDigest}
		}
	}
	return Template{}
}

// ensure reads the template and creates what is missing.
func (t *Templates) ensure(ctx context.Context, provisioner *provisioningv1.Provisioner, variant string) (ensured, error) {
	wanted := launchtemplate.Wanted{
		Owner: owner(provisioner, variant), UID: string(provisioner.UID), Names: names(provisioner, variant, t.ClusterUID),
	}
	found, err := t.Templates.Describe(ctx, wanted.Names)
	if err != nil {
		return ensured{}, err
	}
	foreign := t.setAside(provisioner, variant, found)
	seen := launchtemplate.Observation{}
	if seen.Template, seen.Taken = launchtemplate.Choose(wanted.Owner, wanted.Names, found); seen.Template != nil {
		if seen.Versions, err = t.Templates.Versions(ctx, seen.Template.ID); err != nil {
			return ensured{}, err
		}
	} else if wanted.Lost, err = t.lost(ctx, provisioner, variant); err != nil {
		return ensured{}, err
	}
	seen.Taken = append(seen.Taken, foreign...)
	made, err := t.build(ctx, provisioner, variant, wanted, seen)
	if err != nil && wanted.Lost != "" {
		err = &lostError{wanted.Lost, err}
	}
	return made, err
}

// build resolves what the template holds, and creates what is missing.
func (t *Templates) build(ctx context.Context, provisioner *provisioningv1.Provisioner, variant string, wanted launchtemplate.Wanted, seen launchtemplate.Observation) (ensured, error) {
	resolved, err := t.resolve(ctx, provisioner, variant, seen)
	if err != nil {
		return ensured{}, err
	}
	wanted.Tags = maps.Clone(resolved.Tags)
	wanted.Tags[infrav1.TagLaunchConfig], wanted.Tags[infrav1.TagClusterUID] = wanted.Owner, t.ClusterUID
	spec := &infrav1.AWSLaunchConfigSpec{}
	spec.IamInstanceProfile = t.InstanceProfile
	if wanted.Input, err = launchtemplate.NewInput(spec, resolved); err != nil {
		return ensured{}, err
	}
	version, seen, _, err := t.Templates.Ensure(ctx, wanted, seen)
	if err != nil {
		return ensured{}, err
	}
	made := Template{
		Name: seen.Template.Name, LaunchTemplateVersion: generated(seen.Template.ID, version.Number), ImageID: resolved.ImageID, SpecDigest: t.digest(provisioner),
	}
	return ensured{Template: made, seen: seen}, nil
}

// lost returns the ID of the default launch template that status names, for a provisioner whose
// template is not found by its owner tag: it was deleted outside Slipway. A template that exists
// without the tag is an error, because Slipway must not create a second one next to it.
func (t *Templates) lost(ctx context.Context, provisioner *provisioningv1.Provisioner, variant string) (string, error) {
	recorded := recordedIn(provisioner, variant)
	if recorded.ID == "" {
		return "", nil
	}
	present, err := t.Templates.One(ctx, recorded.ID, "")
	if err != nil {
		return "", err
	}
	if wanted := owner(provisioner, variant); present != nil && !present.OwnedBy(wanted) {
		return "", &launchtemplate.OwnerTagMissingError{ID: recorded.ID, Owner: wanted}
	}
	return recorded.ID, nil
}

func generated(id string, version int64) provisioningv1.LaunchTemplateVersion {
	return provisioningv1.LaunchTemplateVersion{ID: id, Version: version, Generated: true}
}

// resolve finds the input of the template in AWS and in the cluster.
func (t *Templates) resolve(ctx context.Context, provisioner *provisioningv1.Provisioner, variant string, seen launchtemplate.Observation) (launchtemplate.Resolved, error) {
	version, err := t.Cluster.Version(ctx)
	if err != nil {
		return launchtemplate.Resolved{}, fmt.Errorf("asking for the version of Kubernetes: %w", err)
	}
	architecture, accelerator := variants.Parts(variant)
	query := discovery.ImageQuery{KubernetesVersion: version, Architecture: ec2Architecture(architecture), EKS: true, EKSLookupType: lookups[accelerator]}
	resolved := launchtemplate.Resolved{
		ImageKey:       launchtemplate.ImageKey(map[string]string{"version": minor(version), "architecture": query.Architecture, "family": string(query.EKSLookupType)}),
		TokensRequired: true, Tags: tags(provisioner),
	}
	image, err := t.image(ctx, query, seen, resolved.ImageKey, provisioner.Spec.Drift != nil)
	if err != nil {
		return launchtemplate.Resolved{}, err
	}
	resolved.ImageID, resolved.RootDeviceName = image.ID, image.RootDeviceName
	if resolved.SecurityGroupIDs, err = t.Discovery.SecurityGroupIDs(ctx, "", securityGroups(provisioner)); err != nil {
		return launchtemplate.Resolved{}, err
	}
	if resolved.UserData, err = t.userData(ctx, provisioner); err != nil {
		return launchtemplate.Resolved{}, err
	}
	return resolved, nil
}

// image returns the image that was looked up before for the same version of Kubernetes, or else the
// newest: a new image of AWS's causes no roll-out by itself. If drift is followed, or the previous
// image is gone, it returns the newest.
func (t *Templates) image(ctx context.Context, query discovery.ImageQuery, seen launchtemplate.Observation, key string, follow bool) (discovery.Image, error) {
	if id, kept := seen.ImageFor(key); kept && !follow {
		image, err := t.Discovery.ImageByID(ctx, id)
		var gone *discovery.NotFoundError
		if !errors.As(err, &gone) {
			return image, err
		}
	}
	return t.Discovery.Image(ctx, query)
}

// userData joins the cluster. The node says whose it is, and takes no pods until it has its labels
// and taints.
func (t *Templates) userData(ctx context.Context, provisioner *provisioningv1.Provisioner) ([]byte, error) {
	cluster := userdata.EKSCluster{
		Name: provisioner.Spec.Cluster.Name, Endpoint: provisioner.Spec.Cluster.Endpoint, CertificateAuthority: provisioner.Spec.Cluster.CABundle,
	}
	if cluster.Endpoint == "" {
		found, err := t.Discovery.EKSCluster(ctx, cluster.Name)
		if err != nil {
			return nil, err
		}
		cluster = userdata.EKSCluster(found)
	}
	if cluster.ServiceCIDR == "" {
		var err error
		if cluster.ServiceCIDR, err = t.Cluster.ServiceCIDR(ctx); err != nil {
			return nil, fmt.Errorf("asking for the range of Services: %w", err)
		}
	}
	config := fmt.Appendf(nil, `---
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    flags:
    - "--node-labels=%s=%s"
    - "--register-with-taints=%s=:NoExecute"
`, provisioningv1.LabelProvisionerName, provisioner.Name, clusterstate.UnregisteredTaint)
	rendered, err := userdata.RenderNodegroup(config, userdata.FormatCloudConfig, userdata.Nodegroup{
		Family: userdata.FamilyAmazonLinux2023, OwnImage: true, Cluster: cluster,
	})
	return rendered.Bytes, err
}

// Delete deletes the default launch templates of a provisioner that is going. It reports whether
// EC2 shows all templates that there may be: one that was just created may not be shown yet. This
// process or status knows it, unless an earlier process created it and crashed.
func (t *Templates) Delete(ctx context.Context, provisioner *provisioningv1.Provisioner) (shown bool, err error) {
	shown = t.Clock.Since(t.beginning()) >= visibleAfter
	for _, variant := range variants.All {
		found, err := t.Templates.Describe(ctx, names(provisioner, variant, t.ClusterUID))
		if err != nil {
			return false, err
		}
		ids := map[string]bool{}
		for _, template := range found {
			ids[template.ID] = true
		}
		t.setAside(provisioner, variant, found)
		for _, name := range slices.Sorted(maps.Keys(found)) {
			if !found[name].OwnedBy(owner(provisioner, variant)) {
				continue
			}
			if err := t.Templates.Delete(ctx, owner(provisioner, variant), found[name]); err != nil {
				return false, err
			}
		}
		shown = t.dropped(provisioner, variant, ids) && shown
	}
	return shown, nil
}

// beginning returns when this process was first asked for a default launch template.
func (t *Templates) beginning() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.began.IsZero() {
		t.began = t.Clock.Now()
	}
	return t.began
}

// dropped forgets the template of a variant, and reports whether EC2 shows it, if it is known. One that
// EC2 does not show yet is not forgotten.
func (t *Templates) dropped(provisioner *provisioningv1.Provisioner, variant string, shown map[string]bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := provisioner.Name + "/" + variant
	known := t.known[key].ID
	if known == "" {
		known = recordedIn(provisioner, variant).ID
	}
	if known != "" && !shown[known] {
		return false
	}
	delete(t.known, key)
	return true
}

func ec2Architecture(label string) string {
	if label == provisioningv1.ArchitectureAMD64.Label() {
		return string(provisioningv1.ArchitectureX86)
	}
	return label
}

// minor returns the minor version: images are published for it.
func minor(version string) string {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return strings.Join(parts[:min(len(parts), 2)], ".")
}

// tags returns the tags of resources that are created for a provisioner.
func tags(provisioner *provisioningv1.Provisioner) map[string]string {
	cluster := provisioner.Spec.Cluster.Name
	return map[string]string{
		"Name": cluster + "-" + provisioner.Name, "kubernetes.io/cluster/" + cluster: infrav1.TagValueOwned,
		fleet.TagCluster: cluster, fleet.TagProvisioner: provisioner.Name,
	}
}

// owner returns the value of the tag that marks a template as ours.
func owner(provisioner *provisioningv1.Provisioner, variant string) string {
	return strings.Join([]string{launchtemplate.ProvisionerOwner, provisioner.Spec.Cluster.Name, provisioner.Name, variant}, "/")
}

// longestName is the longest name of a launch template (AWS: API_CreateLaunchTemplate).
const longestName = 128

// names returns the possible names of the template: a plain name, one for when another template has
// that, and the second one of earlier releases, which did not distinguish clusters of the same
// name.
func names(provisioner *provisioningv1.Provisioner, variant, clusterUID string) []string {
	plain := strings.Join([]string{"provisioner", provisioner.Spec.Cluster.Name, provisioner.Name, variant}, "-")
	hashed := func(of string) string { return digest.Suffixed(plain, of, 8, longestName) }
	mine := owner(provisioner, variant)
	further := []string{hashed(mine + "/" + clusterUID), hashed(mine)}
	if len(plain) > longestName {
		return further
	}
	return append([]string{plain}, further...)
}

// securityGroups returns the security groups that the spec asks for, or the cluster's.
func securityGroups(provisioner *provisioningv1.Provisioner) []infrav1.AWSResourceReference {
	if len(provisioner.Spec.SecurityGroups) > 0 {
		return provisioner.Spec.SecurityGroups
	}
	return ofCluster(provisioner.Spec.Cluster.Name)
}

// Subnets returns references to the subnets that nodes may be in.
func Subnets(provisioner *provisioningv1.Provisioner) []infrav1.AWSResourceReference {
	if len(provisioner.Spec.Subnets) > 0 {
		return provisioner.Spec.Subnets
	}
	return ofCluster(provisioner.Spec.Cluster.Name)
}

// ofCluster returns a reference to everything that has the tag of the cluster, whatever its value.
func ofCluster(name string) []infrav1.AWSResourceReference {
	return []infrav1.AWSResourceReference{{Filters: []infrav1.Filter{{Name: "tag-key", Values: []string{"kubernetes.io/cluster/" + name}}}}}
}
