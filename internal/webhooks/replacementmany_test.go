package webhooks

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// cached holds objects as the manager's cache does: a read copies what it returns, and nothing else. The fake
// client encodes all objects of a kind for each read, which no manager does.
type cached struct {
	objects map[reflect.Type]map[client.ObjectKey]client.Object
	indexed map[string][]client.Object
	// delay is the duration of each read.
	delay time.Duration
}

// newCached returns a cache of objects.
func newCached(objects ...client.Object) *cached {
	c := &cached{objects: map[reflect.Type]map[client.ObjectKey]client.Object{}, indexed: map[string][]client.Object{}}
	for _, object := range objects {
		of := reflect.TypeOf(object).Elem()
		if c.objects[of] == nil {
			c.objects[of] = map[client.ObjectKey]client.Object{}
		}
		c.objects[of][client.ObjectKeyFromObject(object)] = object
		for _, value := range Indexes()[0].Values(object) {
			c.indexed[value] = append(c.indexed[value], object)
		}
	}
	return c
}

// Get implements client.Reader.
func (c *cached) Get(_ context.Context, name client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	time.Sleep(c.delay)
	stored := c.objects[reflect.TypeOf(object).Elem()][name]
	if stored == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, name.Name)
	}
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(stored.DeepCopyObject()).Elem())
	return nil
}

// List implements client.Reader.
func (c *cached) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	time.Sleep(c.delay)
	var wanted client.ListOptions
	wanted.ApplyOptions(options)
	items, _ := reflect.TypeOf(list).Elem().FieldByName("Items")
	var candidates []client.Object
	if wanted.FieldSelector != nil {
		candidates = c.indexed[wanted.FieldSelector.Requirements()[0].Value]
	} else {
		for _, object := range c.objects[items.Type.Elem()] {
			candidates = append(candidates, object)
		}
	}
	var found []runtime.Object
	for _, object := range candidates {
		inNamespace := wanted.Namespace == "" || object.GetNamespace() == wanted.Namespace
		if !inNamespace || wanted.LabelSelector != nil && !wanted.LabelSelector.Matches(labels.Set(object.GetLabels())) {
			continue
		}
		if wanted.UnsafeDisableDeepCopy == nil || !*wanted.UnsafeDisableDeepCopy {
			object = object.DeepCopyObject().(client.Object)
		}
		found = append(found, object)
	}
	return meta.SetList(list, found)
}

// many returns a fleet of so many pools more, which refer to the shared launch config or follow the template.
func many(t testing.TB, count int, templated bool) (*fleet, *cached) {
	t.Helper()
	f := newFleet(t)
	objects := []client.Object{f.cluster, f.controlPlane, f.shared, f.template}
	for i := range count {
		name := fmt.Sprintf("pool-%04d", i)
		group, machinePool := f.groupOf(name), f.machinePools["templated"].DeepCopy()
		machinePool.Name, machinePool.Spec.Template.Spec.InfrastructureRef.Name = name, name
		if templated {
			config := f.templatedConfig.DeepCopy()
			config.Name, config.OwnerReferences = name, []metav1.OwnerReference{{Kind: "AWSMachinePool", Name: name, Controller: new(true)}}
			group.Spec = *f.templated.Spec.DeepCopy()
			objects = append(objects, config)
		}
		objects = append(objects, group, machinePool)
	}
	return f, newCached(objects...)
}

// edits are edits of objects that many pools share.
var edits = map[string]func(*fleet){
	"AWSLaunchConfig": edit(ofShared, nil, largeConfig),
	"AWSLaunchConfigTemplate": edit(ofTemplate, nil, func(template *infrav1.AWSLaunchConfigTemplate) {
		template.Spec.Template.Spec.InstanceType = "m5.xlarge"
	}),
}

// TestReplacementsOfManyPools holds that the edit of an object that a thousand pools share has three warnings, always
// about the same pools, and says how many more there are.
func TestReplacementsOfManyPools(t *testing.T) {
	t.Parallel()
	for kind, edit := range edits {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f, reader := many(t, 1000, kind == "AWSLaunchConfigTemplate")
			edit(f)
			var said []string
			synctest.Test(t, func(t *testing.T) { // in which no time passes
				said = Replacements(t.Context(), reader, f.before, f.after)
			})
			if len(said) != 4 || !strings.Contains(said[0], "pool-0000 will replace 12 of 12") || !strings.Contains(said[2], "pool-0002 ") || !strings.Contains(said[3], "nodes of 997 more pools") {
				t.Errorf("Replacements: got %q, want the first three of 1000 pools, and how many more there are", said)
			}
		})
	}
}

// TestReplacementsInTime holds that a warning about many pools is not later than its limit, and says how many pools
// were not checked.
func TestReplacementsInTime(t *testing.T) {
	t.Parallel()
	f, reader := many(t, 1000, true)
	edits["AWSLaunchConfigTemplate"](f)
	reader.delay = 5 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		said := Replacements(t.Context(), reader, f.before, f.after)
		if took := time.Since(began); took > readsWithin+100*time.Millisecond {
			t.Errorf("Replacements: took %s, want at most %s", took, readsWithin)
		}
		last := ""
		if len(said) > 0 {
			last = said[len(said)-1]
		}
		if len(said) != 5 || !strings.Contains(last, "There was no time to check them") || len(last) > longestWarning {
			t.Fatalf("Replacements: got %q, want three pools, and how many more there are and were not checked", said)
		}
		var more, unchecked int
		if _, err := fmt.Sscanf(said[3]+" "+last, "and nodes of %d more pools of AWSLaunchConfigTemplate/small Nodes of up to %d more", &more, &unchecked); err != nil || mostPools+more+unchecked != 1000 {
			t.Errorf("Replacements: got %q with error %v, want numbers that add up to 1000 pools", said[3:], err)
		}
	})
}

// BenchmarkReplacements measures the warning about the edit of an object that many pools share.
func BenchmarkReplacements(b *testing.B) {
	for _, kind := range slices.Sorted(maps.Keys(edits)) {
		for _, count := range []int{100, 1000} {
			b.Run(fmt.Sprintf("%s/pools=%d", kind, count), func(b *testing.B) {
				f, reader := many(b, count, kind == "AWSLaunchConfigTemplate")
				edits[kind](f)
				for b.Loop() {
					if said := Replacements(b.Context(), reader, f.before, f.after); len(said) < mostPools+1 {
						b.Fatalf("Replacements: got %q", said)
					}
				}
			})
		}
	}
}
