package pool_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/pool"
)

func template(change func(*infrav1.AWSLaunchConfigTemplate)) *infrav1.AWSLaunchConfigTemplate {
	object := &infrav1.AWSLaunchConfigTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "shared", Name: "web", Generation: 4}}
	object.Spec.Template.Spec.InstanceType, object.Spec.Template.Spec.VersionsToKeep = "m5.large", ptr.To[int32](7)
	object.Spec.Template.Spec.AdditionalTags = infrav1.Tags{"team": "template", "tier": "web"}
	if change != nil {
		change(object)
	}
	return object
}

// TestReadTemplate holds which templates a pool may follow: templates of its own namespace, and
// others only if they allow it. A permission that cannot be determined is an error, and not
// granted.
func TestReadTemplate(t *testing.T) {
	t.Parallel()
	allowed := func(list []string, labels map[string]string) func(*infrav1.AWSLaunchConfigTemplate) {
		return func(object *infrav1.AWSLaunchConfigTemplate) {
			object.Spec.AllowedNamespaces = &infrav1.AllowedNamespaces{NamespaceList: list}
			if labels != nil {
				object.Spec.AllowedNamespaces.Selector = &infrav1.NamespaceSelector{MatchLabels: labels}
			}
		}
	}
	for _, row := range []struct {
		reason, from string
		change       func(*infrav1.AWSLaunchConfigTemplate)
		named        string
		broken       string
		want         string
		fails        bool
	}{
		{reason: "a template of the pool's namespace", from: "shared"},
		{reason: "another namespace, and nothing is allowed", from: "team", want: infrav1.LaunchConfigTemplateNotAllowedReason},
		{reason: "a namespace that is listed", from: "team", change: allowed([]string{"team"}, nil)},
		{reason: "a namespace that is not listed", from: "team", change: allowed([]string{"teams"}, nil), want: infrav1.LaunchConfigTemplateNotAllowedReason},
		{reason: "a namespace with the labels", from: "team", change: allowed(nil, map[string]string{"tier": "gold"})},
		{reason: "a namespace with other labels", from: "team", change: allowed(nil, map[string]string{"tier": "silver"}), want: infrav1.LaunchConfigTemplateNotAllowedReason},
		{reason: "a template that does not exist", from: "shared", named: "gone", want: infrav1.LaunchConfigTemplateNotFoundReason},
		{reason: "the template cannot be read", from: "shared", broken: "AWSLaunchConfigTemplate", fails: true},
		{reason: "the namespace's labels cannot be read", from: "team", change: allowed(nil, map[string]string{"tier": "gold"}), broken: "Namespace", fails: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			known := scheme(t)
			if err := corev1.AddToScheme(known); err != nil {
				t.Fatal(err)
			}
			team := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{"tier": "gold"}}}
			reader := fake.NewClientBuilder().WithScheme(known).WithObjects(template(row.change), team).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					_, isTemplate := object.(*infrav1.AWSLaunchConfigTemplate)
					if row.broken != "" && isTemplate == (row.broken == "AWSLaunchConfigTemplate") {
						return errors.New("no answer")
					}
					return c.Get(ctx, key, object, options...)
				},
			}).Build()
			reference := infrav1.LaunchConfigTemplateReference{Name: "web", Namespace: "shared"}
			if row.named != "" {
				reference.Name = row.named
			}
			read, err := pool.ReadTemplate(t.Context(), reader, row.from, reference)
			if (err != nil) != row.fails || read.Reason != row.want {
				t.Errorf("the reason is %q, %v", read.Reason, err)
			}
			if (read.Template != nil) != (row.want == "" && !row.fails) {
				t.Errorf("the template that is followed is %+v", read.Template)
			}
			if row.want != "" && !strings.Contains(read.Problem, "shared/"+reference.Name) {
				t.Errorf("the problem does not name the template: %s", read.Problem)
			}
		})
	}
}

// TestSource holds what a launch config is made from: the template with what the pool says for
// itself laid over it, and where the template cannot be followed what there is.
func TestSource(t *testing.T) {
	t.Parallel()
	key := client.ObjectKey{Namespace: "shared", Name: "web"}
	original := template(nil)
	followed := pool.ReferredTemplate{Key: key, Template: original}
	source := followed.Source(nil, nil, nil)
	if source.InstanceType != "m5.large" || *source.VersionsToKeep != 7 || source.Problem != "" {
		t.Errorf("the source is %+v", source)
	}
	wantMarks := map[string]string{
		infrav1.LaunchConfigTemplateAnnotation: "shared/web", infrav1.LaunchConfigTemplateGenerationAnnotation: "4",
		clusterv1.TemplateClonedFromNameAnnotation: "web", clusterv1.TemplateClonedFromGroupKindAnnotation: "AWSLaunchConfigTemplate." + infrav1.GroupVersion.Group,
	}
	if diff := cmp.Diff(wantMarks, source.Marks); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	own := followed.Source(nil, ptr.To[int32](2), infrav1.Tags{"team": "pool", "new": "1"})
	if diff := cmp.Diff(infrav1.Tags{"team": "pool", "tier": "web", "new": "1"}, own.AdditionalTags); diff != "" || *own.VersionsToKeep != 2 {
		t.Errorf("%d versions are kept; tags (-want +got):\n%s", *own.VersionsToKeep, diff)
	}
	own.AdditionalTags["more"], own.InstanceType = "1", "c5.large"
	if diff := cmp.Diff(template(nil), original); diff != "" {
		t.Errorf("the template changed with the source (-want +got):\n%s", diff)
	}

	refused := pool.ReferredTemplate{Key: key, Reason: infrav1.LaunchConfigTemplateNotFoundReason, Problem: "it does not exist"}
	if none := refused.Source(nil, nil, nil); none.Problem != "it does not exist" || none.InstanceType != "" {
		t.Errorf("without a launch config, the source is %+v", none)
	}
	present := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Annotations: source.Marks, Labels: map[string]string{infrav1.LaunchConfigTemplateLabel: "web", "other": "label"}}}
	present.Spec.InstanceType, present.Spec.VersionsToKeep = "m4.large", ptr.To[int32](5)
	goesOn := refused.Source(present, ptr.To[int32](2), infrav1.Tags{"team": "pool"})
	if goesOn.InstanceType != "m4.large" || *goesOn.VersionsToKeep != 5 || len(goesOn.AdditionalTags) > 0 {
		t.Errorf("the source is not what the launch config was made from: %+v", goesOn)
	}
	if diff := cmp.Diff(wantMarks, goesOn.Marks); diff != "" {
		t.Errorf("marks of what goes on (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{infrav1.LaunchConfigTemplateLabel: "web"}, goesOn.Labels); diff != "" {
		t.Errorf("labels of what goes on (-want +got):\n%s", diff)
	}
	object := machinePool(nil)
	goesOn.ShowProblem(object)
	if shown := object.Status.Conditions; len(shown) != 1 || shown[0].Reason != infrav1.LaunchConfigTemplateNotFoundReason || !strings.Contains(shown[0].Message, "the pool continues to use its current configuration") {
		t.Errorf("it shows %+v", shown)
	}
	healthy := machinePool(nil)
	if source.ShowProblem(healthy); len(healthy.Status.Conditions) > 0 {
		t.Errorf("a template that is followed shows %+v", healthy.Status.Conditions)
	}
}
