package launchconfig

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/adoption"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/ownership"
)

// Any user who can write a launch config can write its adopt-template annotation and its owner
// reference, so they prove nothing. A template without the config's owner tag is adopted only if
// AWS shows that the one group that the config's pool may adopt uses it, and that CAPA created both
// for this cluster (docs/adr/0012).

// prover finds out whether a template is a pool's.
type prover struct {
	live     client.Reader
	registry *clouds.Registry
}

// notAdoptableError reports that a template must not be adopted, and which condition reason that is.
type notAdoptableError struct {
	template launchtemplate.Template
	reason   string
	why      string
}

// Error implements error.
func (e *notAdoptableError) Error() string {
	return fmt.Sprintf("launch template %s (%s) is not adopted, and Slipway does not create another one in its "+
		"place: %s", e.template.Name, e.template.ID, e.why)
}

// WaitsForUser reports that only a person can resolve it.
func (*notAdoptableError) WaitsForUser() bool { return true }

// adoptable returns the template that the config is asked to adopt, once it is proven to be the
// pool's, and nil if none is asked for or none of the names found has it. A template that cannot be
// proven is an error: launching from a new one would replace every instance.
func (p prover) adoptable(ctx context.Context, pass pass, found map[string]launchtemplate.Template) (*launchtemplate.Template, error) {
	template := unowned(pass.Object, found)
	if template == nil {
		return nil, nil
	}
	// Tags may be as a sweep saw them minutes ago.
	fresh, err := templatesOf(ctx, pass, true)
	if err != nil {
		return nil, err
	}
	if template = unowned(pass.Object, fresh); template == nil {
		return nil, nil
	}
	refuse := func(reason, format string, arguments ...any) (*launchtemplate.Template, error) {
		return nil, &notAdoptableError{template: *template, reason: reason, why: fmt.Sprintf(format, arguments...)}
	}
	if holder := template.Tags[infrav1.TagLaunchConfig]; holder != "" {
		return refuse(infrav1.NameTakenReason, "it belongs to %q", holder)
	}
	if !template.Adoptable(pass.Seen.Access.Facts.KubernetesName) {
		return refuse(infrav1.AdoptionBlockedReason, "it does not have tag %s with value %q, which Cluster API "+
			"Provider AWS sets on the launch templates of this cluster",
			infrav1.ClusterTagKey(pass.Seen.Access.Facts.KubernetesName), infrav1.TagValueOwned)
	}
	why, err := p.notUsedByPool(ctx, pass, *template)
	if err != nil {
		return nil, err
	}
	if why != "" {
		return refuse(infrav1.AdoptionBlockedReason, "%s", why)
	}
	return template, nil
}

// unowned returns the template that the annotation names if it is among those found and does not
// have the config's owner tag.
func unowned(config *infrav1.AWSLaunchConfig, found map[string]launchtemplate.Template) *launchtemplate.Template {
	adopt := config.Annotations[infrav1.AdoptTemplateAnnotation]
	for _, name := range TemplateNames(config) {
		template, exists := found[name]
		if exists && adopt != "" && template.ID == adopt && !template.OwnedBy(owner(config)) {
			return &template
		}
	}
	return nil
}

// notUsedByPool returns why the template is not proven to be the one that the config's pool
// launches from, "" if it is.
func (p prover) notUsedByPool(ctx context.Context, pass pass, template launchtemplate.Template) (string, error) {
	pool, why, err := p.controllingPool(ctx, pass.Object)
	if pool == nil {
		return why, err
	}
	switch pool := pool.(type) {
	case *infrav1.AWSMachinePool:
		return p.notUsedByGroup(ctx, pass, pool, template)
	case *infrav1.AWSManagedMachinePool:
		return p.notUsedByNodegroup(ctx, pass, pool, template)
	}
	return "", fmt.Errorf("unknown kind of pool %T", pool)
}

// controllingPool reads the pool whose own launch config this is, past the cache. It returns nil
// and why if there is none: an owner reference counts only if it is the controller's, has the UID
// of a pool that exists, and the config has the pool's name.
func (p prover) controllingPool(ctx context.Context, config *infrav1.AWSLaunchConfig) (client.Object, string, error) {
	reference := metav1.GetControllerOf(config)
	if reference == nil {
		return nil, "no pool controls this AWSLaunchConfig, and only pools adopt launch templates: remove annotation " + infrav1.AdoptTemplateAnnotation, nil
	}
	pools := map[string]client.Object{"AWSMachinePool": &infrav1.AWSMachinePool{}, "AWSManagedMachinePool": &infrav1.AWSManagedMachinePool{}}
	pool, isPool := pools[reference.Kind]
	version, err := schema.ParseGroupVersion(reference.APIVersion)
	if err != nil || !isPool || version.Group != infrav1.GroupVersion.Group || reference.Name != config.Name {
		return nil, fmt.Sprintf("the controlling owner reference of this AWSLaunchConfig, %s %s, is not a pool "+
			"with the same name", reference.Kind, reference.Name), nil
	}
	err = p.live.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: reference.Name}, pool)
	if client.IgnoreNotFound(err) != nil {
		return nil, "", fmt.Errorf("reading %s %q: %w", reference.Kind, reference.Name, err)
	}
	if apierrors.IsNotFound(err) || pool.GetUID() != reference.UID {
		return nil, fmt.Sprintf("%s %s, which controls this AWSLaunchConfig, does not exist with UID %s", reference.Kind, reference.Name, reference.UID), nil
	}
	if !pool.GetDeletionTimestamp().IsZero() {
		return nil, fmt.Sprintf("%s %s is being deleted", reference.Kind, reference.Name), nil
	}
	return pool, "", nil
}

// notUsedByGroup returns why the template does not belong to the Auto Scaling group that the pool
// may adopt, "" if it does. The pool's own controller applies the same rules: CAPA names the group
// after the pool, the pool names the group's ARN, no other pool does, and the group's instances or
// the cluster's name show that it belongs to the namespace.
func (p prover) notUsedByGroup(ctx context.Context, pass pass, pool *infrav1.AWSMachinePool, template launchtemplate.Template) (string, error) {
	found, err := pass.Memory.cloud.Groups.Describe(ctx, []string{pool.Name})
	if err != nil {
		return "", err
	}
	group, exists := found[pool.Name]
	if !exists {
		return fmt.Sprintf("Auto Scaling group %s does not exist", pool.Name), nil
	}
	if !madeByCAPA(group.Tags, infrav1.ClusterTagKey(pass.Seen.Access.Facts.KubernetesName)) {
		return fmt.Sprintf("Auto Scaling group %s is not an unowned group that Cluster API Provider AWS created "+
			"for this cluster", group.Name), nil
	}
	if group.ARN != pool.Spec.ProviderID && group.ARN != pool.Annotations[infrav1.AdoptAnnotation] {
		return fmt.Sprintf("neither spec.providerID nor annotation %s of AWSMachinePool %s is the ARN of Auto Scaling group %s", infrav1.AdoptAnnotation, pool.Name, group.Name), nil
	}
	if group.LaunchTemplateID != template.ID {
		return fmt.Sprintf("Auto Scaling group %s does not launch from it", group.Name), nil
	}
	if why, err := p.unproven(ctx, pass, pool, "AWSMachinePool", "Auto Scaling group "+group.Name, group.InstanceIDs()); why != "" || err != nil {
		return why, err
	}
	others := &infrav1.AWSMachinePoolList{}
	if err := p.live.List(ctx, others, client.InNamespace(pool.Namespace)); err != nil {
		return "", fmt.Errorf("listing pools: %w", err)
	}
	for i := range others.Items {
		if others.Items[i].UID != pool.UID && others.Items[i].Spec.ProviderID == group.ARN {
			return fmt.Sprintf("AWSMachinePool %s has the ARN of Auto Scaling group %s in spec.providerID too", others.Items[i].Name, group.Name), nil
		}
	}
	return "", nil
}

// unproven returns why the resource that launches from the template is not proven to be the pool's,
// "" if it is.
func (p prover) unproven(ctx context.Context, pass pass, pool client.Object, kind, resource string, instances []string) (string, error) {
	err := adoption.Adoption{
		Live: p.live, Registry: p.registry, Cloud: pass.Memory.cloud, Facts: pass.Seen.Access.Facts, Pool: pool, Kind: kind, Resource: resource, Instances: instances,
	}.Prove(ctx)
	var refused *adoption.Error
	if errors.As(err, &refused) {
		return refused.Message, nil
	}
	return "", err
}

// notUsedByNodegroup returns why the template does not belong to the node group that the pool may
// adopt, "" if it does. CAPA names the node group after the pool and its namespace, or as the
// pool's spec says; then its nodes, or the cluster's name, show that it belongs to the namespace.
func (p prover) notUsedByNodegroup(ctx context.Context, pass pass, pool *infrav1.AWSManagedMachinePool, template launchtemplate.Template) (string, error) {
	if !pass.Seen.Access.Facts.EKS {
		return fmt.Sprintf("Cluster %s is not an EKS cluster", pass.Object.Spec.ClusterName), nil
	}
	name := ownership.NodegroupName(pool)
	group, err := pass.Memory.cloud.Nodegroups.Describe(ctx, pass.Seen.Access.Facts.KubernetesName, name)
	if err != nil {
		return "", err
	}
	if group == nil {
		return fmt.Sprintf("node group %s does not exist in EKS cluster %s", name, pass.Seen.Access.Facts.KubernetesName), nil
	}
	if !madeByCAPA(group.Tags, infrav1.KubernetesClusterTagKey(pass.Seen.Access.Facts.KubernetesName)) {
		return fmt.Sprintf("node group %s is not an unowned node group that Cluster API Provider AWS created "+
			"for this cluster", name), nil
	}
	if group.LaunchTemplateID != template.ID {
		return fmt.Sprintf("node group %s does not launch from it", name), nil
	}
	members := map[string]autoscalinggroup.Group{}
	if group.AutoScalingGroup != "" {
		if members, err = pass.Memory.cloud.Groups.Describe(ctx, []string{group.AutoScalingGroup}); err != nil {
			return "", err
		}
	}
	return p.unproven(ctx, pass, pool, "AWSManagedMachinePool", "node group "+name, members[group.AutoScalingGroup].InstanceIDs())
}

// madeByCAPA reports whether the tags of a resource say that Cluster API Provider AWS owns it in
// the cluster whose tag has the key, and that nothing of Slipway's owns it.
func madeByCAPA(tags map[string]string, clusterTag string) bool {
	for key := range tags {
		if strings.HasPrefix(key, infrav1.TagSlipwayPrefix) {
			return false
		}
	}
	return tags[clusterTag] == infrav1.TagValueOwned
}

func (k *kind) prover() prover { return prover{live: k.Live, registry: k.Clouds} }
