package webhooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/launchconfig"
	"github.com/slipway-project/slipway/internal/pool"
)

// readsWithin bounds the time that the reads for a warning about replaced nodes may take. They are
// reads of caches, which only wait while a cache is filled.
const readsWithin = time.Second

// mostPools limits the number of pools of a launch config or a template that a warning names.
const mostPools = 3

// Replacements returns a warning for each pool whose nodes an update of an object replaces, or may
// replace. It reads caches, and never AWS. A failed read is no reason to hold up a user, so nothing is
// said then.
func Replacements(ctx context.Context, reader client.Reader, before, after client.Object) []string {
	if after.GetDeletionTimestamp() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readsWithin)
	defer cancel()
	said, err := replacements(ctx, reader, before, after)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("Not warning about replaced nodes", "reason", err.Error())
		return nil
	}
	return said
}

func replacements(ctx context.Context, reader client.Reader, before, after client.Object) ([]string, error) {
	switch after := after.(type) {
	case *infrav1.AWSLaunchConfig:
		return replacementsOfConfig(ctx, reader, before.(*infrav1.AWSLaunchConfig), after)
	case *infrav1.AWSLaunchConfigTemplate:
		return replacementsOfTemplate(ctx, reader, before.(*infrav1.AWSLaunchConfigTemplate), after)
	case *clusterv1.MachinePool:
		return replacementsOfMachinePool(ctx, reader, before.(*clusterv1.MachinePool), after)
	}
	was, is := viewOf(before), viewOf(after)
	is.current = was.current // the edit has another generation
	if was.replicas == 0 || is.asks(was) {
		return nil, nil
	}
	machinePool := machinePoolOf(ctx, reader, is.kind, after)
	if machinePool == nil {
		return nil, nil
	}
	return one(replacementOfPool(ctx, reader, edited{was, machinePool, nil}, edited{is, machinePool, nil}))
}

// edited is a pool with its MachinePool, before or after an edit of one of them, or of a template.
type edited struct {
	view
	machinePool *clusterv1.MachinePool
	// follows is the template that is edited, nil for another edit.
	follows *infrav1.AWSLaunchConfigTemplate
}

// readTemplate reads the template that the pool refers to.
func (e edited) readTemplate(ctx context.Context, reader client.Reader) (pool.ReferredTemplate, error) {
	if e.follows != nil {
		reader = templateReader{reader, e.follows}
	}
	return pool.ReadTemplate(ctx, reader, e.GetNamespace(), *e.template)
}

// one returns a warning as a list.
func one(replaced replacement, err error) ([]string, error) {
	text := replaced.text()
	if err != nil || text == "" {
		return nil, err
	}
	return []string{text}, nil
}

// replacementsOfMachinePool returns the warnings for another Kubernetes version. Cluster API writes the
// other fields that nodes depend on.
func replacementsOfMachinePool(ctx context.Context, reader client.Reader, before, after *clusterv1.MachinePool) ([]string, error) {
	reference := after.Spec.Template.Spec.InfrastructureRef
	object := emptyPool(reference.Kind)
	if object == nil || reference.APIGroup != infrav1.GroupVersion.Group || before.Spec.Template.Spec.Version == after.Spec.Template.Spec.Version {
		return nil, nil
	}
	if err := reader.Get(ctx, client.ObjectKey{Namespace: after.Namespace, Name: reference.Name}, object); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	seen := viewOf(object)
	if seen.replicas == 0 {
		return nil, nil
	}
	return one(replacementOfPool(ctx, reader, edited{seen, before, nil}, edited{seen, after, nil}))
}

// replacementOfPool returns what an edit of a pool, or of its MachinePool, replaces.
func replacementOfPool(ctx context.Context, reader client.Reader, before, after edited) (replacement, error) {
	facts, paused, err := factsOf(ctx, reader, after.GetNamespace(), after.machinePool.Spec.ClusterName)
	if err != nil {
		return replacement{}, err
	}
	replaced := replacement{view: after.view, clusterPaused: paused}
	if after.configName() != "" {
		if replaced.Effect, err = effectOnConfig(ctx, reader, before, after, facts); err != nil {
			return replacement{}, err
		}
	}
	if after.imageChanges != nil {
		due := before.imageChanges(before.machinePool, facts)
		for _, change := range after.imageChanges(after.machinePool, facts) {
			if !slices.Contains(due, change) {
				replaced.Changes = append(replaced.Changes, change)
			}
		}
	}
	if before.overrides != after.overrides {
		replaced.Possible = append(replaced.Possible, "images or templates of overrides changed")
	}
	if replaced.None() && before.waits() != "" && after.waits() == "" && before.outdated() > 0 {
		replaced.resumed = true
	}
	return replaced, nil
}

// effectOnConfig returns what an edit of a pool does through the launch config that the pool launches
// from.
func effectOnConfig(ctx context.Context, reader client.Reader, before, after edited, facts *cluster.Facts) (launchconfig.Effect, error) {
	stored := &infrav1.AWSLaunchConfig{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: after.GetNamespace(), Name: before.configName()}, stored)
	if err != nil {
		return launchconfig.Effect{}, client.IgnoreNotFound(err)
	}
	if after.config != nil {
		return effectOfReference(ctx, reader, stored, after)
	}
	var asked [2]*infrav1.AWSLaunchConfig
	for i, state := range []edited{before, after} {
		template := pool.ReferredTemplate{}
		if state.template != nil {
			if template, err = state.readTemplate(ctx, reader); err != nil {
				return launchconfig.Effect{}, err
			}
		}
		asked[i] = state.wanted(state.machinePool, facts, stored, template)
	}
	return launchconfig.EffectOf(stored, asked[0], asked[1], facts)
}

// effectOfReference returns what it does to nodes that a pool refers to another launch config than
// the stored one.
func effectOfReference(ctx context.Context, reader client.Reader, stored *infrav1.AWSLaunchConfig, after edited) (launchconfig.Effect, error) {
	if after.config.Name == stored.Name || stored.Status.LaunchTemplateID == "" {
		return launchconfig.Effect{}, nil
	}
	why := []string{fmt.Sprintf("launch template of AWSLaunchConfig %s → %s", stored.Name, after.config.Name)}
	other := &infrav1.AWSLaunchConfig{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: stored.Namespace, Name: after.config.Name}, other)
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return launchconfig.Effect{}, err
	case err != nil || !pool.Launchable(other) || len(other.Status.AcceptedVersions) > 0:
		return launchconfig.Effect{Possible: why}, nil
	case other.Status.LaunchTemplateID == stored.Status.LaunchTemplateID && other.Status.ConfigFingerprint == stored.Status.ConfigFingerprint:
		return launchconfig.Effect{}, nil // both follow a launch template of another owner
	}
	return launchconfig.Effect{Changes: why}, nil
}

// replacementsOfConfig returns the warnings for the pools that refer to a launch config. A config that
// a pool's controller writes has none: the pool had the warning.
func replacementsOfConfig(ctx context.Context, reader client.Reader, before, after *infrav1.AWSLaunchConfig) ([]string, error) {
	if before.Status.LaunchTemplateID == "" || metav1.GetControllerOf(after) != nil || equality.Semantic.DeepEqual(before.Spec, after.Spec) && sameSteering(before, after) {
		return nil, nil
	}
	facts, paused, err := factsOf(ctx, reader, after.Namespace, after.Spec.ClusterName)
	if err != nil {
		return nil, err
	}
	effect, err := launchconfig.EffectOf(before, before, after, facts)
	if err != nil || effect.None() {
		return nil, err
	}
	users, err := poolsOf(ctx, reader, after)
	if err != nil {
		return nil, err
	}
	var said []string
	for _, user := range users {
		if text := (replacement{view: user, Effect: effect, clusterPaused: paused}).text(); text != "" {
			said = append(said, text)
		}
	}
	return limited(said, 0, "AWSLaunchConfig", after.Name), nil
}

// limited returns the first warnings for the pools of an object, how many more there are, and how many were not
// checked in time.
func limited(said []string, unchecked int, kind, name string) []string {
	if more := len(said) - mostPools; more > 0 {
		said = append(said[:mostPools], fmt.Sprintf("and nodes of %d more %s of %s/%s", more, plural(more, "pool", "pools"), kind, shown(name)))
	}
	if unchecked > 0 {
		said = append(said, fmt.Sprintf("Nodes of up to %d more %s of %s/%s may be replaced. There was no time to check them: `kubectl slipway plan` does",
			unchecked, plural(unchecked, "pool", "pools"), kind, shown(name)))
	}
	return said
}

// poolsOf returns the pools with nodes that refer to a launch config, by name.
func poolsOf(ctx context.Context, reader client.Reader, config *infrav1.AWSLaunchConfig) ([]view, error) {
	selfManaged, managed := &infrav1.AWSMachinePoolList{}, &infrav1.AWSManagedMachinePoolList{}
	err := errors.Join(
		reader.List(ctx, selfManaged, client.InNamespace(config.Namespace), client.UnsafeDisableDeepCopy),
		reader.List(ctx, managed, client.InNamespace(config.Namespace), client.UnsafeDisableDeepCopy),
	)
	if err != nil {
		return nil, fmt.Errorf("listing the pools of AWSLaunchConfig %q: %w", config.Name, err)
	}
	var found []view
	add := func(object client.Object, reference *infrav1.LaunchConfigReference, replicas int32) {
		if reference != nil && reference.Name == config.Name && replicas > 0 {
			found = append(found, viewOf(object))
		}
	}
	for i := range selfManaged.Items {
		add(&selfManaged.Items[i], selfManaged.Items[i].Spec.LaunchConfigRef, selfManaged.Items[i].Status.Replicas)
	}
	for i := range managed.Items {
		add(&managed.Items[i], managed.Items[i].Spec.LaunchConfigRef, managed.Items[i].Status.Replicas)
	}
	slices.SortFunc(found, func(a, b view) int { return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.GetName(), b.GetName())) })
	return found, nil
}

// factsOf returns the facts of a cluster, and whether it is paused.
func factsOf(ctx context.Context, reader client.Reader, namespace, name string) (facts *cluster.Facts, paused bool, err error) {
	owner, facts, err := cluster.LoadNamed(ctx, reader, namespace, name)
	return facts, owner != nil && ptr.Deref(owner.Spec.Paused, false), err
}
