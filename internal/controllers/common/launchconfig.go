package common

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/bootstrapstorage"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// configEnding is when a pool checks again whether a launch config that has its name is gone.
const configEnding = 10 * time.Second

// OwnLaunchConfig reads the launch config that bears a pool's name, nil if there is none. The
// outcome ends the step, if it is not nil: the config could not be read, or is somebody else's.
func OwnLaunchConfig(ctx context.Context, reader client.Reader, pool reconciling.Conditioned) (*infrav1.AWSLaunchConfig, *reconciling.Outcome) {
	config := &infrav1.AWSLaunchConfig{}
	err := reader.Get(ctx, client.ObjectKeyFromObject(pool), config)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, ending(reconciling.Fail(fmt.Errorf("reading AWSLaunchConfig %q: %w", pool.GetName(), err)))
	}
	if !metav1.IsControlledBy(config, pool) && config.DeletionTimestamp != nil {
		message := fmt.Sprintf("AWSLaunchConfig %q, which does not belong to this pool, is being deleted; the pool creates its own once it is gone. Nodes keep what they run", config.Name)
		reconciling.Unknown(pool, infrav1.LaunchTemplateReadyCondition, infrav1.WaitingForLaunchConfigReason, message)
		return nil, ending(reconciling.ComeBack(configEnding, message))
	}
	if !metav1.IsControlledBy(config, pool) {
		message := fmt.Sprintf("AWSLaunchConfig %q exists and does not belong to this pool: rename one of them", config.Name)
		reconciling.False(pool, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchConfigNotOwnedReason, message)
		return nil, ending(reconciling.Stop(message))
	}
	return config, nil
}

// CreateLaunchConfig makes the launch config of a pool. The outcome ends the step, if it is not nil.
func CreateLaunchConfig(ctx context.Context, c client.Client, pool reconciling.Conditioned, config *infrav1.AWSLaunchConfig) *reconciling.Outcome {
	if err := controllerutil.SetControllerReference(pool, config, c.Scheme()); err != nil {
		return ending(reconciling.Fail(fmt.Errorf("owning the launch config: %w", err)))
	}
	err := c.Create(ctx, config)
	if apierrors.IsAlreadyExists(err) {
		return ending(reconciling.Stop("the launch config was made a moment ago, and wakes the pool when it is seen"))
	}
	if err != nil {
		return launchConfigRefused(pool, err, fmt.Sprintf("creating AWSLaunchConfig %q", config.Name))
	}
	return nil
}

// UpdateLaunchConfig writes to the launch config of a pool what is wanted of its spec, labels and
// annotations, if it is not so. The outcome ends the step, if it is not nil.
func UpdateLaunchConfig(ctx context.Context, c client.Client, pool reconciling.Conditioned, config *infrav1.AWSLaunchConfig,
	wanted infrav1.AWSLaunchConfigSpec, labels, annotations map[string]string,
) *reconciling.Outcome {
	if equality.Semantic.DeepEqual(config.Spec, wanted) && maps.Equal(config.Labels, labels) && maps.Equal(config.Annotations, annotations) {
		return nil
	}
	if err := reconciling.Patch(ctx, c, config, func(config *infrav1.AWSLaunchConfig) {
		config.Spec, config.Labels, config.Annotations = wanted, labels, annotations
	}); err != nil {
		return launchConfigRefused(pool, err, "updating the launch config")
	}
	return nil
}

// launchConfigRefused shows that the API server takes no such launch config: only an edit of the
// pool helps, which wakes it. Other failures are retried.
func launchConfigRefused(pool reconciling.Conditioned, err error, doing string) *reconciling.Outcome {
	if !apierrors.IsInvalid(err) {
		return ending(reconciling.Fail(fmt.Errorf("%s: %w", doing, err)))
	}
	reconciling.False(pool, infrav1.LaunchTemplateReadyCondition, infrav1.InvalidSpecReason, err.Error())
	return ending(reconciling.Stop(err.Error()).AndGoOn())
}

func ending(outcome reconciling.Outcome) *reconciling.Outcome { return &outcome }

// LaunchConfigLabels are the config's own labels and two more: its Cluster's, and the pool's for
// one of several managers, which must be the same one for both.
func LaunchConfigLabels(config *infrav1.AWSLaunchConfig, pool client.Object, clusterName string) map[string]string {
	labels := maps.Clone(config.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[clusterv1.ClusterNameLabel] = clusterName
	delete(labels, WatchFilterLabel)
	if value, labelled := pool.GetLabels()[WatchFilterLabel]; labelled {
		labels[WatchFilterLabel] = value
	}
	return labels
}

// LaunchConfigAnnotations are the config's own annotations and those of its pool, of which an empty
// one is left out.
func LaunchConfigAnnotations(config *infrav1.AWSLaunchConfig, pools map[string]string) map[string]string {
	annotations := map[string]string{}
	maps.Copy(annotations, config.Annotations)
	for key, value := range pools {
		delete(annotations, key)
		if value != "" {
			annotations[key] = value
		}
	}
	return annotations
}

// ApprovedVersion returns the version that the user approved, on the pool or on its launch config
// itself. An approval on the pool of a version that the launch config does not have counts for
// nothing.
func ApprovedVersion(pool client.Object, config *infrav1.AWSLaunchConfig) string {
	if approved := pool.GetAnnotations()[infrav1.ApprovedVersionAnnotation]; config.HasVersion(approved) {
		return approved
	}
	return config.Annotations[infrav1.ApprovedVersionAnnotation]
}

// ShowLaunchConfig shows the state of a launch config on a pool, and says whether the pool can
// launch from what its status says: it is ready for its current generation, or holds back what EC2
// would not launch.
func ShowLaunchConfig(pool reconciling.Conditioned, config *infrav1.AWSLaunchConfig) bool {
	if held := meta.FindStatusCondition(config.Status.Conditions, infrav1.RolloutApprovedCondition); held == nil {
		reconciling.Remove(pool, infrav1.RolloutApprovedCondition)
	} else if held.ObservedGeneration == config.Generation {
		show := map[metav1.ConditionStatus]func(reconciling.Conditioned, string, string, string){
			metav1.ConditionTrue: reconciling.True, metav1.ConditionFalse: reconciling.False, metav1.ConditionUnknown: reconciling.Unknown,
		}[held.Status]
		show(pool, infrav1.RolloutApprovedCondition, held.Reason, held.Message)
	}
	condition := meta.FindStatusCondition(config.Status.Conditions, infrav1.ReadyCondition)
	usable := Launchable(config)
	switch {
	case HasToAct(config):
		reconciling.Unknown(pool, infrav1.LaunchTemplateReadyCondition, infrav1.WaitingForLaunchConfigReason,
			fmt.Sprintf("AWSLaunchConfig %q has not acted on its current spec yet", config.Name))
	case condition.Status != metav1.ConditionTrue:
		// The summary names the condition that it follows from, which the pool's own may bear the name of.
		message := strings.TrimPrefix(condition.Message, infrav1.LaunchTemplateReadyCondition+": ")
		if usable {
			message = fmt.Sprintf("%s; the pool goes on with version %d", message, config.Status.Version)
		}
		reconciling.False(pool, infrav1.LaunchTemplateReadyCondition, condition.Reason, message)
	default:
		reconciling.True(pool, infrav1.LaunchTemplateReadyCondition, infrav1.ReadyReason, "")
	}
	return usable
}

// Launchable reports whether a pool can launch from what the status of a launch config says: it is
// ready for its current generation, or holds back what EC2 would not launch.
func Launchable(config *infrav1.AWSLaunchConfig) bool {
	ready := meta.FindStatusCondition(config.Status.Conditions, infrav1.ReadyCondition)
	return !HasToAct(config) && (ready.Status == metav1.ConditionTrue || holdsBack(config, ready))
}

// HasToAct is true for a launch config that has not acted on its current spec yet.
func HasToAct(config *infrav1.AWSLaunchConfig) bool {
	ready := meta.FindStatusCondition(config.Status.Conditions, infrav1.ReadyCondition)
	return ready == nil || ready.ObservedGeneration != config.Generation || ready.Reason == reconciling.PendingReason
}

// holdsBack is true for a launch config that is not ready because EC2 would not launch what its
// spec asks for, and which goes on launching what EC2 would.
func holdsBack(config *infrav1.AWSLaunchConfig, ready *metav1.Condition) bool {
	verified := meta.FindStatusCondition(config.Status.Conditions, infrav1.VerifiedCondition)
	return verified != nil && verified.ObservedGeneration == config.Generation && verified.Status == ready.Status && verified.Reason == ready.Reason &&
		config.Status.PendingVersion != 0 && config.Status.VerifiedFingerprint == config.Status.ConfigFingerprint
}

// DeleteLaunchConfig deletes the launch config of a pool that is being deleted, whose own finalizer
// keeps it until its template is gone. Live reads past the cache, which may not know yet of a
// config that was made a moment ago. Reason is the Deleting condition's.
func DeleteLaunchConfig(ctx context.Context, live client.Reader, c client.Client, pool reconciling.Conditioned, reason string) reconciling.Outcome {
	config := &infrav1.AWSLaunchConfig{}
	err := live.Get(ctx, client.ObjectKeyFromObject(pool), config)
	if apierrors.IsNotFound(err) || (err == nil && !metav1.IsControlledBy(config, pool)) {
		return reconciling.Continue()
	}
	if err != nil {
		return reconciling.Fail(fmt.Errorf("reading AWSLaunchConfig %q: %w", pool.GetName(), err))
	}
	if config.DeletionTimestamp.IsZero() {
		if err := client.IgnoreNotFound(c.Delete(ctx, config)); err != nil {
			return reconciling.Fail(fmt.Errorf("deleting AWSLaunchConfig %q: %w", config.Name, err))
		}
	}
	message := fmt.Sprintf("AWSLaunchConfig %s and its launch template are being deleted", config.Name)
	if condition := meta.FindStatusCondition(config.Status.Conditions, infrav1.DeletingCondition); condition != nil && condition.Message != "" {
		message += ": " + condition.Message
	}
	reconciling.True(pool, infrav1.DeletingCondition, reason, message)
	return reconciling.Stop(message)
}

// DeleteOrphanedTemplates deletes the launch templates of a pool whose launch config is gone, with
// the bootstrap data that their versions point to. The deletion of a pool needs nothing but the
// pool and AWS: its launch config may have been deleted first, and cannot be created again in a
// namespace that is being deleted. Namesake is an empty object of the other kind of pool, whose
// launch config would have the same name.
func DeleteOrphanedTemplates(ctx context.Context, live client.Reader, report Reporter, cloud *clouds.Cloud, pool reconciling.Conditioned, namesake client.Object,
	clusterName string,
) reconciling.Outcome {
	for _, other := range []client.Object{&infrav1.AWSLaunchConfig{}, namesake} {
		err := live.Get(ctx, client.ObjectKeyFromObject(pool), other)
		if err == nil {
			return reconciling.Continue() // the template of this name is the other object's
		}
		if !apierrors.IsNotFound(err) {
			return reconciling.Fail(fmt.Errorf("reading %T %q: %w", other, pool.GetName(), err))
		}
	}
	owner := ownership.Owner(pool, clusterName)
	templates, err := cloud.Templates.OwnedBy(ctx, owner)
	if err != nil {
		return outcome.Of(pool, infrav1.DeletingCondition, infrav1.LaunchTemplateDeleteFailedReason, err)
	}
	for _, template := range templates {
		reconciling.True(pool, infrav1.DeletingCondition, infrav1.DeletingReason, fmt.Sprintf("launch template %s (%s) is being deleted", template.Name, template.ID))
		err := deleteBootstrapData(ctx, cloud, owner, template)
		if err == nil {
			err = cloud.Templates.Delete(ctx, owner, template)
		}
		if err != nil {
			return outcome.Of(pool, infrav1.DeletingCondition, infrav1.LaunchTemplateDeleteFailedReason, err)
		}
		cloud.SeenTemplates.Invalidate(template.Name)
		report.Done(ctx, pool, "LaunchTemplateDeleted", "Deleted launch template %s (%s), whose AWSLaunchConfig is gone", template.Name, template.ID)
	}
	return reconciling.Continue()
}

// deleteBootstrapData deletes the owner's bootstrap data wherever versions of the template say that
// some is kept.
func deleteBootstrapData(ctx context.Context, cloud *clouds.Cloud, owner string, template launchtemplate.Template) error {
	versions, err := cloud.Templates.Versions(ctx, template.ID)
	if err != nil {
		return err
	}
	swept := map[bootstrapstorage.Place]bool{}
	for _, version := range versions {
		location, kept := bootstrapstorage.ParseLocation(version.Fingerprints.Data)
		if !kept || swept[location.Place] {
			continue
		}
		swept[location.Place] = true
		if _, err := cloud.Storage.Sweep(ctx, location.Place, owner, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// longestText bounds what is said in status (API: maxLength 1024), in characters.
const longestText = 1024

// Shortened cuts a text to what status takes.
func Shortened(text string) string {
	if runes := []rune(text); len(runes) > longestText {
		return string(runes[:longestText-1]) + "…"
	}
	return text
}
