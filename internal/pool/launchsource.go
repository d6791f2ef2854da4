package pool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/namespaces"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// LaunchSource holds what the launch config of a pool is created from: the pool's own
// awsLaunchTemplate, or an AWSLaunchConfigTemplate.
type LaunchSource struct {
	infrav1.AWSLaunchConfigTemplateResourceSpec
	// Marks are the annotations of the launch config that say which template it was created from,
	// with "" for annotations that it must not have.
	Marks map[string]string
	// Labels are the labels that find the launch configs of a template.
	Labels map[string]string
	// Problem is why the template cannot be followed, with its reason, both empty if it is. The
	// source is then what the launch config was made from before: nodes go on as they are, and get
	// join tokens.
	Problem, Reason string
}

// PoolSource returns the source that a pool has in itself.
func PoolSource(template *infrav1.AWSLaunchTemplate, versionsToKeep *int32, tags infrav1.Tags) LaunchSource {
	return LaunchSource{
		AWSLaunchConfigTemplateResourceSpec: infrav1.AWSLaunchConfigTemplateResourceSpec{
			VersionsToKeep: versionsToKeep, AdditionalTags: tags, AWSLaunchTemplate: *template.DeepCopy(),
		},
		Marks: marks("", ""),
	}
}

// ReferredTemplate is an AWSLaunchConfigTemplate that a pool refers to, as it was observed.
type ReferredTemplate struct {
	Key client.ObjectKey
	// Template is nil if the pool cannot follow it. Problem and Reason say why.
	Template        *infrav1.AWSLaunchConfigTemplate
	Problem, Reason string
}

// ReadTemplate reads the template that a pool in a namespace refers to.
func ReadTemplate(ctx context.Context, reader client.Reader, namespace string, reference infrav1.LaunchConfigTemplateReference) (ReferredTemplate, error) {
	read := ReferredTemplate{Key: TemplateKey(namespace, reference)}
	template := &infrav1.AWSLaunchConfigTemplate{}
	err := reader.Get(ctx, read.Key, template)
	if apierrors.IsNotFound(err) {
		read.Reason, read.Problem = infrav1.LaunchConfigTemplateNotFoundReason, fmt.Sprintf("AWSLaunchConfigTemplate %s does not "+
			"exist. Running nodes are kept. Create it, or correct spec.launchConfigTemplateRef", read.Key)
		return read, nil
	}
	if err != nil {
		return read, fmt.Errorf("reading AWSLaunchConfigTemplate %q: %w", read.Key, err)
	}
	if read.Problem, err = notAllowed(ctx, reader, template, namespace); err != nil {
		return read, err
	}
	if read.Problem != "" {
		read.Reason = infrav1.LaunchConfigTemplateNotAllowedReason
		return read, nil
	}
	read.Template = template
	return read, nil
}

// Source returns what a pool's launch config is made from, with what the pool says for itself laid
// over the template. Present is the pool's launch config, nil while there is none. A template that
// cannot be followed leaves the present launch config as it is; the source has the problem.
func (t ReferredTemplate) Source(present *infrav1.AWSLaunchConfig, versionsToKeep *int32, tags infrav1.Tags) LaunchSource {
	switch {
	case t.Problem != "" && present == nil:
		return LaunchSource{Reason: t.Reason, Problem: t.Problem}
	case t.Problem != "":
		return presentSource(present, t.Reason, t.Problem+"; the pool continues to use its current configuration")
	}
	key, template := t.Key, t.Template
	source := LaunchSource{
		AWSLaunchConfigTemplateResourceSpec: *template.Spec.Template.Spec.DeepCopy(),
		Marks:                               marks(key.String(), strconv.FormatInt(template.Generation, 10)),
		Labels:                              TemplateLabels(key),
	}
	if versionsToKeep != nil {
		source.VersionsToKeep = versionsToKeep
	}
	if len(tags) > 0 {
		merged := infrav1.Tags{}
		maps.Copy(merged, source.AdditionalTags)
		maps.Copy(merged, tags)
		source.AdditionalTags = merged
	}
	return source
}

// presentSource returns what a launch config was made from.
func presentSource(config *infrav1.AWSLaunchConfig, reason, problem string) LaunchSource {
	source := LaunchSource{
		AWSLaunchConfigTemplateResourceSpec: infrav1.AWSLaunchConfigTemplateResourceSpec{
			VersionsToKeep: config.Spec.VersionsToKeep, AdditionalTags: config.Spec.AdditionalTags, AWSLaunchTemplate: config.Spec.AWSLaunchTemplate,
			LaunchConfigData: config.Spec.LaunchConfigData, Verify: config.Spec.Verify,
		},
		Marks: map[string]string{}, Labels: map[string]string{}, Reason: reason, Problem: problem,
	}
	for key := range marks("", "") {
		source.Marks[key] = config.Annotations[key]
	}
	for key := range TemplateLabels(client.ObjectKey{}) {
		if value, labelled := config.Labels[key]; labelled {
			source.Labels[key] = value
		}
	}
	return source
}

// ShowProblem shows on the pool that the template cannot be followed, if so.
func (s LaunchSource) ShowProblem(pool reconciling.Conditioned) {
	if s.Problem != "" {
		reconciling.False(pool, infrav1.LaunchTemplateReadyCondition, s.Reason, s.Problem)
	}
}

// labelSource returns a launch config's labels with the labels of its template, and without another's.
func labelSource(labels map[string]string, source LaunchSource) map[string]string {
	for key := range TemplateLabels(client.ObjectKey{}) {
		delete(labels, key)
	}
	maps.Copy(labels, source.Labels)
	return labels
}

// notAllowed says why pools of a namespace may not refer to a template, "" if they may.
func notAllowed(ctx context.Context, reader client.Reader, template *infrav1.AWSLaunchConfigTemplate, namespace string) (string, error) {
	allowed := template.Spec.AllowedNamespaces
	if template.Namespace == namespace {
		return "", nil
	}
	if allowed != nil {
		var selector *metav1.LabelSelector
		if allowed.Selector != nil {
			selector = &metav1.LabelSelector{MatchLabels: allowed.Selector.MatchLabels}
		}
		ok, err := namespaces.Allowed(ctx, reader, allowed.NamespaceList, selector, namespace)
		if err != nil || ok {
			return "", err
		}
	}
	return fmt.Sprintf("AWSLaunchConfigTemplate %s/%s does not allow namespace %q: add the namespace to its "+
		"spec.allowedNamespaces, or refer to a template in the namespace of the pool", template.Namespace, template.Name, namespace), nil
}

// TemplateKey returns the template that a pool in a namespace refers to.
func TemplateKey(namespace string, reference infrav1.LaunchConfigTemplateReference) client.ObjectKey {
	key := client.ObjectKey{Namespace: namespace, Name: reference.Name}
	if reference.Namespace != "" {
		key.Namespace = reference.Namespace
	}
	return key
}

// marks returns the annotations of an object that was created from a template: Slipway's own, and
// Cluster API's for any object that was cloned.
func marks(template, generation string) map[string]string {
	set := map[string]string{
		infrav1.LaunchConfigTemplateAnnotation:           template,
		infrav1.LaunchConfigTemplateGenerationAnnotation: generation,
		clusterv1.TemplateClonedFromNameAnnotation:       "",
		clusterv1.TemplateClonedFromGroupKindAnnotation:  "",
	}
	if template != "" {
		_, name, _ := strings.Cut(template, "/")
		set[clusterv1.TemplateClonedFromNameAnnotation] = name
		set[clusterv1.TemplateClonedFromGroupKindAnnotation] = "AWSLaunchConfigTemplate." + infrav1.GroupVersion.Group
	}
	return set
}

// longestLabel limits the length of a label's value (Kubernetes: labels, syntax).
const longestLabel = 63

// TemplateLabels returns the labels that find the launch configs created from a template. A name
// that is too long for a label is cut and distinguished from others by a hash.
func TemplateLabels(template client.ObjectKey) map[string]string {
	name := template.Name
	if len(name) > longestLabel {
		digest := sha256.Sum256([]byte(name))
		suffix := "x" + hex.EncodeToString(digest[:])[:12]
		name = name[:longestLabel-len(suffix)] + suffix
	}
	return map[string]string{infrav1.LaunchConfigTemplateLabel: name, infrav1.LaunchConfigTemplateNamespaceLabel: template.Namespace}
}
