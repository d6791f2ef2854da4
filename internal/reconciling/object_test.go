package reconciling_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// rig is a world with one object in it, and what was written there.
type rig struct {
	*testing.T
	client.Client
	mu     sync.Mutex
	writes []string
	fail   error
}

func newRig(t *testing.T) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t}
	stored := &infrav1.AWSLaunchConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pool", Finalizers: []string{"example.com/other"}},
		Spec:       infrav1.AWSLaunchConfigSpec{ClusterName: "one"},
		Status:     infrav1.AWSLaunchConfigStatus{LaunchTemplateID: "lt-1", Version: 2},
	}
	r.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(stored).WithStatusSubresource(stored).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if err := r.wrote("object", object, patch); err != nil {
				return err
			}
			return c.Patch(ctx, object, patch, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			if err := r.wrote(name, object, patch); err != nil {
				return err
			}
			return c.SubResource(name).Patch(ctx, object, patch, options...)
		},
	}).Build()
	return r
}

func (r *rig) wrote(what string, object client.Object, patch client.Patch) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, err := patch.Data(object)
	if err != nil {
		return err
	}
	r.writes = append(r.writes, what+" "+string(data))
	return r.fail
}

// expect checks what was written since it was last called; each text is part of one write.
func (r *rig) expect(reason string, want ...string) {
	r.Helper()
	got := r.writes
	r.writes = nil
	if !slices.EqualFunc(got, want, strings.Contains) {
		r.Errorf("%s: wrote %q, want %q", reason, got, want)
	}
}

func (r *rig) get() *infrav1.AWSLaunchConfig {
	r.Helper()
	config := &infrav1.AWSLaunchConfig{}
	if err := r.Get(r.Context(), client.ObjectKey{Namespace: "default", Name: "pool"}, config); err != nil {
		r.Fatal(err)
	}
	return config
}

func TestPatchStatus(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	config := r.get()
	before := config.DeepCopy()
	if err := reconciling.PatchStatus(t.Context(), r, config, before); err != nil {
		t.Fatal(err)
	}
	r.expect("nothing differs")

	config.Spec.ClusterName, config.Labels = "two", map[string]string{"a": "b"}
	if err := reconciling.PatchStatus(t.Context(), r, config, before); err != nil {
		t.Fatal(err)
	}
	r.expect("what differs is no status")

	config.Status.Version, config.Status.LaunchTemplateID = 3, ""
	reconciling.True(config, "Ready", "Fine", "")
	kept := config.DeepCopy()
	if err := reconciling.PatchStatus(t.Context(), r, config, before); err != nil {
		t.Fatal(err)
	}
	r.expect("the status differs", "status {")
	stored := r.get()
	kept.ResourceVersion = stored.ResourceVersion
	if difference := cmp.Diff(kept, config); difference != "" {
		t.Errorf("the object in memory changed in more than its version:\n%s", difference)
	}
	if stored.Status.Version != 3 || stored.Status.LaunchTemplateID != "" || len(stored.Status.Conditions) != 1 || stored.Spec.ClusterName != "one" || stored.Labels != nil {
		t.Errorf("stored %+v", stored)
	}

	// Findings for an older object do not undo what was written since.
	other := stored.DeepCopy()
	other.Status.LaunchTemplateName = "theirs"
	if err := r.Status().Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	mine := stored.DeepCopy()
	mine.Status.Version = 4
	if err := reconciling.PatchStatus(t.Context(), r, mine, stored); !apierrors.IsConflict(err) {
		t.Errorf("error %v", err)
	}
	if stored := r.get(); stored.Status.Version != 3 || stored.Status.LaunchTemplateName != "theirs" {
		t.Errorf("stored %+v", stored.Status)
	}
}

func TestPatchStatusFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	before := r.get()
	config := before.DeepCopy()
	config.Status.Version = 3
	r.fail = errors.New("broken")
	if err := reconciling.PatchStatus(t.Context(), r, config, before); !errors.Is(err, r.fail) || err.Error() != "patching status: broken" {
		t.Errorf("error %v", err)
	}
	r.fail = nil
	if err := r.Delete(t.Context(), before.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	if err := reconciling.RemoveFinalizer(t.Context(), r, r.get(), "example.com/other"); err != nil {
		t.Fatal(err)
	}
	if err := reconciling.PatchStatus(t.Context(), r, config, before); err != nil {
		t.Errorf("an object that is gone needs no status: %v", err)
	}
}

func TestPatch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	config := r.get()
	config.Status.Version = 9 // what the pass found out so far
	nothing := func(*infrav1.AWSLaunchConfig) {}
	if err := reconciling.Patch(t.Context(), r, config, nothing); err != nil {
		t.Fatal(err)
	}
	empty := func(c *infrav1.AWSLaunchConfig) { c.Annotations = map[string]string{} }
	if err := reconciling.Patch(t.Context(), r, config, empty); err != nil {
		t.Fatal(err)
	}
	r.expect("nothing differs")

	version := config.ResourceVersion
	set := func(c *infrav1.AWSLaunchConfig) {
		c.Spec.InstanceType, c.Annotations = "m5.large", map[string]string{"a": "b"}
	}
	if err := reconciling.Patch(t.Context(), r, config, set); err != nil {
		t.Fatal(err)
	}
	r.expect("one write for all", `"instanceType":"m5.large"`)
	stored := r.get()
	if stored.Spec.InstanceType != "m5.large" || stored.Annotations["a"] != "b" || stored.Status.Version != 2 {
		t.Errorf("stored %+v", stored)
	}
	if config.Status.Version != 9 || config.ResourceVersion == version || config.ResourceVersion != stored.ResourceVersion {
		t.Errorf("in memory version %d, resource version %s of %s", config.Status.Version, config.ResourceVersion, stored.ResourceVersion)
	}

	stale := config.DeepCopy()
	if err := reconciling.Patch(t.Context(), r, config, func(c *infrav1.AWSLaunchConfig) { c.Spec.InstanceType = "c5.large" }); err != nil {
		t.Fatal(err)
	}
	err := reconciling.Patch(t.Context(), r, stale, func(c *infrav1.AWSLaunchConfig) { c.Spec.InstanceType = "t3.large" })
	if !apierrors.IsConflict(err) || !strings.HasPrefix(err.Error(), "patching pool: ") {
		t.Errorf("error %v", err)
	}
	if stored := r.get(); stored.Spec.InstanceType != "c5.large" {
		t.Errorf("an old look overwrote a newer one: %s", stored.Spec.InstanceType)
	}
}

func TestFinalizers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	config := r.get()
	held := func(c *infrav1.AWSLaunchConfig) { c.Finalizers = append(c.Finalizers, "slipway/held") }
	if err := reconciling.Patch(t.Context(), r, config, held); err != nil {
		t.Fatal(err)
	}
	r.expect("held", `"finalizers":["example.com/other","slipway/held"]`)
	for range 2 {
		if err := reconciling.RemoveFinalizer(t.Context(), r, config, "slipway/held"); err != nil {
			t.Fatal(err)
		}
	}
	r.expect("removed once", `"finalizers":["example.com/other"]`)
	if err := r.Delete(t.Context(), r.get()); err != nil {
		t.Fatal(err)
	}
	last, late := r.get(), r.get()
	controllerHeld := last.DeepCopy()
	if err := reconciling.RemoveFinalizer(t.Context(), r, last, "example.com/other"); err != nil {
		t.Fatal(err)
	}
	if err := r.Get(t.Context(), client.ObjectKeyFromObject(controllerHeld), controllerHeld); !apierrors.IsNotFound(err) {
		t.Errorf("the object is still there: %v", err)
	}
	if err := reconciling.RemoveFinalizer(t.Context(), r, late, "example.com/other"); err != nil {
		t.Errorf("an object that is gone holds nothing: %v", err)
	}
}
