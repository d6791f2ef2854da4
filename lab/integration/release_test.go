package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/lab/capa"
)

// release asks for it and waits until it is done.
func (w *world) release() {
	w.Helper()
	w.annotate(infrav1.ReleaseAnnotation, "true")
	w.Eventually("the pool is released", func() error {
		for _, condition := range w.mustPool().Status.Conditions {
			if condition.Type == infrav1.ReleasedCondition && condition.Status == metav1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("conditions are %+v", w.mustPool().Status.Conditions)
	})
	w.rest()
}

// expectCAPAAtRest demands that CAPA would find nothing to do.
func (w *world) expectCAPAAtRest(provider capa.Provider) {
	w.Helper()
	decision, err := provider.Decide(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	if diff := cmp.Diff(capa.Decision{}, decision, cmpopts.EquateEmpty()); diff != "" {
		w.Errorf("CAPA would do something (-nothing +got):\n%s", diff)
	}
}

// expectDisowned demands that nothing in AWS says that Slipway has to do with it.
func (w *world) expectDisowned() {
	w.Helper()
	group := w.group()
	var keys []string
	for _, tag := range group.Tags {
		keys = append(keys, *tag.Key)
	}
	for key := range tagMap(w.template().Tags) {
		keys = append(keys, key)
	}
	for _, key := range keys {
		if strings.HasPrefix(key, infrav1.TagSlipwayPrefix) {
			w.Errorf("tag %s is left", key)
		}
	}
	version := ""
	if group.LaunchTemplate != nil {
		version = *group.LaunchTemplate.Version
	} else {
		version = *group.MixedInstancesPolicy.LaunchTemplate.LaunchTemplateSpecification.Version
	}
	if version != "$Latest" {
		w.Errorf("the group is at version %s", version)
	}
}

// TestThereAndBackAgain takes a pool over from CAPA, gives it back, and takes it over again: its
// instances stay all the while.
func TestThereAndBackAgain(t *testing.T) {
	t.Parallel()
	w := newCAPAsWorld(t, nil)
	w.expectCAPAAtRest(w.provider)
	w.startManager()
	w.adopted()

	w.release()
	w.keeps("after the release")
	w.expectDisowned()
	w.expectCAPAAtRest(w.provider)
	if finalizers := w.mustPool().Finalizers; !slices.Contains(finalizers, infrav1.MachinePoolFinalizer) {
		t.Errorf("finalizers are %q", finalizers)
	}
	// Slipway no longer does anything for it.
	w.Cloud.AWS.ClearCalls()
	w.touchPool()
	w.rest()
	if writes := w.writes(); len(writes) != 0 {
		t.Errorf("the manager wrote %q", writes)
	}
	// CAPA goes on: a rotated token is a version of its.
	if err := w.Lab.SwapBootstrapToken(w.Context(), w.key()); err != nil {
		t.Fatal(err)
	}
	if err := w.provider.CreateVersion(w.Context()); err != nil {
		t.Fatal(err)
	}
	w.expectCAPAAtRest(w.provider)

	w.annotate(infrav1.ReleaseAnnotation, "")
	w.adopted()
	w.expectCounts(map[string]int{"CreateLaunchTemplate": 0, "CreateAutoScalingGroup": 0, "StartInstanceRefresh": 0})
	w.editType("m6i.large")
	w.Eventually("the edit replaces both", func() error { return w.replaced(w.instances, 2) })
}

// TestReleaseOfPoolsOfSlipwaysOwn gives pools to CAPA that it never had, with settings that it
// would read back otherwise than they are stored.
func TestReleaseOfPoolsOfSlipwaysOwn(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, old, replacement string
	}{
		{"a plain pool", "", ""},
		{"CAPA gives metadata options defaults", "    sshKeyName:", "    instanceMetadataOptions: {httpTokens: required}\n    sshKeyName:"},
		{"tags of the user's", "  minSize: 1", "  additionalTags: {team: a}\n  minSize: 1"},
		{"a template without a type, for overrides", "    instanceType: \"t3.large\"\n    sshKeyName: \"default\"", "    sshKeyName: \"default\"\n  mixedInstancesPolicy:\n    overrides: [{instanceType: t3.large}, {instanceType: m5.large}]"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.havePool(row.old, row.replacement)
			instances := w.running()
			w.release()
			if err := equals(w.running(), instances); err != nil {
				t.Errorf("instances: %v", err)
			}
			w.expectDisowned()
			w.expectCAPAAtRest(capa.Provider{Client: w.Client, AWS: w.awsConfig(), Key: w.key(), ImageID: aws.ToString(w.latest().ImageId)})
		})
	}
}
