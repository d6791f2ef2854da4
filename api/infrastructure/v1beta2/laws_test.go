package v1beta2_test

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// words are the strings that the rules mention, their neighbors, and nonsense. Most objects made of
// them are refused; many are not.
var words = []string{
	"", "a", "m5.large", "ami-0123456789abcdef0", "resolve:ssm:/x", "/dev/sdb", "/dev/sdc", "gp3", "0.5", "0.001",
	"v1.34.2", "one", "us-east-1a", "subnet-1", "nodes", "Name", "aws:x", "kubernetes.io/cluster/one", "ü ß", "a,b",
	"0s", "90s", "24h", "1h30m", "lt-0123456789abcdef0", "http://proxy:3128", "Rolling", "Default",
}

// drawn makes a value of the schema: usually of the right type, with fields left out at random.
func drawn(s *schema.Structural, path string) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		if s.ValueValidation != nil && len(s.ValueValidation.Enum) > 0 {
			return rapid.SampledFrom(s.ValueValidation.Enum).Draw(t, path).Object
		}
		switch s.Type {
		case "string":
			return rapid.SampledFrom(words).Draw(t, path)
		case "integer":
			return drawnNumber(s).Draw(t, path)
		case "boolean":
			return rapid.Bool().Draw(t, path)
		case "array":
			return rapid.SliceOfN(drawn(s.Items, path+"[]"), 0, 3).Draw(t, path)
		case "object":
			return drawnObject(t, s, path)
		}
		if s.XIntOrString {
			return rapid.SampledFrom([]any{int64(0), int64(3), int64(-1), "0.5", "4", "x"}).Draw(t, path)
		}
		t.Fatalf("%s: no values of type %q are known", path, s.Type)
		return nil
	})
}

// drawnNumber prefers the bounds and their neighbors.
func drawnNumber(s *schema.Structural) *rapid.Generator[any] {
	numbers := []int64{0, 1, 8, 125, 3000}
	if v := s.ValueValidation; v != nil {
		for _, bound := range []*float64{v.Minimum, v.Maximum} {
			if bound != nil && *bound < math.MaxInt32 {
				numbers = append(numbers, int64(*bound)-1, int64(*bound), int64(*bound)+1)
			}
		}
	}
	return rapid.Map(rapid.SampledFrom(numbers), func(n int64) any { return n })
}

func drawnObject(t *rapid.T, s *schema.Structural, path string) any {
	made := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		required := s.ValueValidation != nil && slices.Contains(s.ValueValidation.Required, name)
		if required || rapid.IntRange(0, 3).Draw(t, path+"."+name+"?") == 0 {
			property := s.Properties[name]
			made[name] = drawn(&property, path+"."+name).Draw(t, path+"."+name)
		}
	}
	if s.AdditionalProperties != nil {
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(words), 0, 3, rapid.ID[string]).Draw(t, path+"{}") {
			made[key] = rapid.SampledFrom(words).Draw(t, path+"{"+key+"}")
		}
	}
	return made
}

// TestLaws holds, for arbitrary specs, what a controller relies on: defaulting is idempotent, both
// versions judge alike, what was accepted is accepted again unchanged, and an object that a
// controller read and wrote back is accepted and means the same.
func TestLaws(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, base string
		typed      func() any
		share      float64 // of the specs must be accepted, or the laws hold for nothing
	}{
		{"AWSMachinePool", machinePoolBase, func() any { return &infrav1.AWSMachinePool{} }, 0.02},
		{"AWSManagedMachinePool", managedPoolBase, func() any { return &infrav1.AWSManagedMachinePool{} }, 0.02},
		{"AWSLaunchConfig", launchConfigBase, func() any { return &infrav1.AWSLaunchConfig{} }, 0.02},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			served := resource(t, c.kind, "v1beta2")
			twin := served
			if c.kind != "AWSLaunchConfig" {
				twin = resource(t, c.kind, "v1beta1")
			}
			specs := served.Structural.Properties["spec"]
			base := object(t, c.base)
			tried, accepted := 0, 0
			rapid.Check(t, func(rt *rapid.T) {
				tried++
				given := runtime.DeepCopyJSON(base)
				// A few fields at a time over a sound spec: entirely random specs are all refused.
				random := drawnObject(rt, thinned(rt, &specs), "spec").(map[string]any)
				maps.Copy(given["spec"].(map[string]any), random)

				once := served.Default(given)
				if diff := cmp.Diff(once, served.Default(once)); diff != "" {
					rt.Fatalf("defaulting twice differs:\n%s", diff)
				}
				stored, err := served.Create(t.Context(), given)
				_, twinErr := twin.Create(t.Context(), given)
				if (err == nil) != (twinErr == nil) {
					rt.Fatalf("versions differ in judgement: %v, %v", err, twinErr)
				}
				if err != nil {
					return
				}
				accepted++
				again, err := served.Update(t.Context(), stored, stored)
				if err != nil {
					rt.Fatalf("an update without a change is refused: %v", err)
				}
				if diff := cmp.Diff(stored, again); diff != "" {
					rt.Fatalf("an update without a change changes:\n%s", diff)
				}

				read := c.typed()
				decode(rt, stored, read)
				written, err := served.Update(t.Context(), stored, encode(rt, read))
				if err != nil {
					rt.Fatalf("what a controller read and wrote back is refused: %v", err)
				}
				reread := c.typed()
				decode(rt, written, reread)
				if diff := cmp.Diff(read, reread, cmpopts.EquateEmpty()); diff != "" {
					rt.Fatalf("what a controller read and wrote back has another meaning:\n%s", diff)
				}
			})
			if float64(accepted) < c.share*float64(tried) {
				t.Errorf("only %d of %d specs were accepted: the laws were hardly tried", accepted, tried)
			}
			t.Logf("%d of %d specs were accepted", accepted, tried)
		})
	}
}

// thinned returns the schema with some of its properties.
func thinned(t *rapid.T, s *schema.Structural) *schema.Structural {
	names := slices.Sorted(maps.Keys(s.Properties))
	kept := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 4, rapid.ID[string]).Draw(t, "fields")
	thin := *s
	thin.Properties = map[string]schema.Structural{}
	for _, name := range kept {
		thin.Properties[name] = s.Properties[name]
	}
	thin.ValueValidation = &schema.ValueValidation{Required: kept}
	return &thin
}

func decode(t *rapid.T, from map[string]any, into any) {
	document, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(document, into)
	}
	if err != nil {
		t.Fatalf("decoding: %v", err)
	}
}

func encode(t *rapid.T, from any) map[string]any {
	encoded, err := runtime.DefaultUnstructuredConverter.ToUnstructured(from)
	if err != nil {
		t.Fatalf("encoding: %v", err)
	}
	return encoded
}
