package webhooks

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/pool"
)

// templateReader reads a template as it is before or after an edit.
type templateReader struct {
	client.Reader
	template *infrav1.AWSLaunchConfigTemplate
}

// Get implements client.Reader.
func (r templateReader) Get(ctx context.Context, name client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if into, is := object.(*infrav1.AWSLaunchConfigTemplate); is && name == client.ObjectKeyFromObject(r.template) {
		r.template.DeepCopyInto(into)
		return nil
	}
	return r.Reader.Get(ctx, name, object, options...)
}

// replacementsOfTemplate returns the warnings for the pools that follow a template: the launch config of each
// is written again when the template changes.
func replacementsOfTemplate(ctx context.Context, reader client.Reader, before, after *infrav1.AWSLaunchConfigTemplate) ([]string, error) {
	if equality.Semantic.DeepEqual(before.Spec, after.Spec) {
		return nil, nil
	}
	configs := &infrav1.AWSLaunchConfigList{}
	labels := client.MatchingLabels(pool.TemplateLabels(client.ObjectKeyFromObject(after)))
	if err := reader.List(ctx, configs, labels, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the launch configs of AWSLaunchConfigTemplate %q: %w", after.Name, err)
	}
	slices.SortFunc(configs.Items, func(a, b infrav1.AWSLaunchConfig) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	var said []string
	for i := range configs.Items {
		text, err := replacementOfFollower(ctx, reader, &configs.Items[i], before, after)
		if ctx.Err() != nil { // reads of caches do not stop at the deadline
			return limited(said, len(configs.Items)-i, "AWSLaunchConfigTemplate", after.Name), nil
		}
		if err != nil {
			return nil, err
		}
		if text != "" {
			said = append(said, text)
		}
	}
	return limited(said, 0, "AWSLaunchConfigTemplate", after.Name), nil
}

// replacementOfFollower returns the warning for the pool that a launch config belongs to, empty if no node is
// replaced. A pool that has come to refer to another template does not follow this one.
func replacementOfFollower(ctx context.Context, reader client.Reader, config *infrav1.AWSLaunchConfig, before, after *infrav1.AWSLaunchConfigTemplate) (string, error) {
	owner := metav1.GetControllerOf(config)
	if owner == nil {
		return "", nil
	}
	object := emptyPool(owner.Kind)
	if object == nil {
		return "", nil
	}
	if err := reader.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: owner.Name}, object); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	seen := viewOf(object)
	if seen.replicas == 0 || seen.template == nil || pool.TemplateKey(config.Namespace, *seen.template) != client.ObjectKeyFromObject(after) {
		return "", nil
	}
	machinePool := machinePoolOf(ctx, reader, seen.kind, object)
	if machinePool == nil {
		return "", nil
	}
	replaced, err := replacementOfPool(ctx, reader, edited{seen, machinePool, before}, edited{seen, machinePool, after})
	replaced.elsewhere = config.Namespace != after.Namespace
	return replaced.text(), err
}
