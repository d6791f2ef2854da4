package launchtemplate

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func canonicalText(t rapid.TB, value any) string {
	t.Helper()
	text, err := canonical(value)
	if err != nil {
		t.Fatalf("canonical form: %v", err)
	}
	return text
}

// anyData draws launch template data with any of all members set.
var anyData = rapid.Custom(func(t *rapid.T) *ec2types.RequestLaunchTemplateData {
	data := &ec2types.RequestLaunchTemplateData{}
	fill(t, reflect.ValueOf(data).Elem(), "data")
	return data
})

func fill(t *rapid.T, value reflect.Value, path string) {
	switch value.Kind() {
	case reflect.Pointer:
		if rapid.IntRange(0, 2).Draw(t, path+"?") > 0 {
			value.Set(reflect.New(value.Type().Elem()))
			fill(t, value.Elem(), path)
		}
	case reflect.Struct:
		if value.Type() == reflect.TypeFor[time.Time]() {
			value.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(0, 4e9).Draw(t, path), 0).UTC()))
			return
		}
		for i := range value.NumField() {
			if field := value.Type().Field(i); field.IsExported() {
				fill(t, value.Field(i), path+"."+field.Name)
			}
		}
	case reflect.Slice:
		count := rapid.IntRange(0, 2).Draw(t, path+"#")
		for range count {
			item := reflect.New(value.Type().Elem()).Elem()
			fill(t, item, path+"[]")
			value.Set(reflect.Append(value, item))
		}
	case reflect.String:
		value.SetString(rapid.SampledFrom([]string{"", "a", "b", "<é>"}).Draw(t, path))
	case reflect.Bool:
		value.SetBool(rapid.Bool().Draw(t, path))
	case reflect.Int32, reflect.Int64:
		value.SetInt(rapid.Int64Range(-1, 3).Draw(t, path))
	case reflect.Float64:
		value.SetFloat(rapid.SampledFrom([]float64{0, 0.5, 8}).Draw(t, path))
	default:
		t.Fatalf("launch template data has a %s at %s, which canonical was not made for", value.Kind(), path)
	}
}

// walk visits every addressable value in a value, with the member that it is in.
func walk(value reflect.Value, member string, visit func(value reflect.Value, member string)) {
	visit(value, member)
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			walk(value.Elem(), member, visit)
		}
	case reflect.Slice:
		for i := range value.Len() {
			walk(value.Index(i), "", visit)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			if field := value.Type().Field(i); field.IsExported() {
				walk(value.Field(i), field.Name, visit)
			}
		}
	default: // nothing within
	}
}

func copyOf(t rapid.TB, data *ec2types.RequestLaunchTemplateData) *ec2types.RequestLaunchTemplateData {
	t.Helper()
	return converted[ec2types.RequestLaunchTemplateData](t, data)
}

// converted carries data over to a type with members of the same names.
func converted[T any](t rapid.TB, from any) *T {
	t.Helper()
	text, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	into := new(T)
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
	return into
}

// TestRequestsAndAnswersAreEqual holds that the response of EC2 has the canonical form of the
// request, so that a version that Slipway did not create can be compared.
func TestRequestsAndAnswersAreEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		request := anyData.Draw(t, "data")
		answer := converted[ec2types.ResponseLaunchTemplateData](t, request)
		if answer.MetadataOptions != nil {
			answer.MetadataOptions.State = ec2types.LaunchTemplateInstanceMetadataOptionsStatePending
		}
		if answer.Operator != nil {
			answer.Operator.Managed, answer.Operator.HiddenByDefault = awssdk.Bool(false), awssdk.Bool(false)
		}
		if difference := cmp.Diff(canonicalText(t, request), canonicalText(t, answer)); difference != "" {
			t.Errorf("request (-) and answer (+):\n%s", difference)
		}
	})
}

// TestMembersOfAnswersAlone fails for a member that only answers have: it would make every version
// that Slipway did not create look different from the wanted one. If this fails for a newer SDK,
// decide whether the member describes a node.
func TestMembersOfAnswersAlone(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	compareTypes(t, reflect.TypeFor[ec2types.RequestLaunchTemplateData](), reflect.TypeFor[ec2types.ResponseLaunchTemplateData](), found)
	if difference := cmp.Diff(found, answersOnly); difference != "" {
		t.Errorf("members that only answers have, in the SDK (-) and in answersOnly (+):\n%s", difference)
	}
}

func compareTypes(t *testing.T, request, answer reflect.Type, found map[string]bool) {
	t.Helper()
	for request.Kind() == reflect.Pointer || request.Kind() == reflect.Slice {
		if answer.Kind() != request.Kind() {
			t.Fatalf("%s is asked for, %s is answered", request, answer)
		}
		request, answer = request.Elem(), answer.Elem()
	}
	if request.Kind() != reflect.Struct {
		if request.Kind() != answer.Kind() {
			t.Errorf("%s is asked for, %s is answered", request, answer)
		}
		return
	}
	for i := range request.NumField() {
		if field := request.Field(i); field.IsExported() {
			other, ok := answer.FieldByName(field.Name)
			if !ok {
				t.Errorf("%s.%s is asked for and not answered", request, field.Name)
				continue
			}
			compareTypes(t, field.Type, other.Type, found)
		}
	}
	for i := range answer.NumField() {
		field := answer.Field(i)
		if _, ok := request.FieldByName(field.Name); !ok && field.IsExported() {
			found[answer.Name()+"."+field.Name] = true
		}
	}
}

// unordered are the lists in launch template data that EC2 takes for sets. It is a list of its own,
// so that one that is lost in the code shows.
var unordered = map[string]bool{
	"SecurityGroupIds": true, "SecurityGroups": true, "Groups": true, "TagSpecifications": true, "Tags": true, "BlockDeviceMappings": true,
}

func TestOrderOfSetsIsIrrelevant(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := anyData.Draw(t, "data")
		before := canonicalText(t, data)
		walk(reflect.ValueOf(data).Elem(), "", func(value reflect.Value, member string) {
			if value.Kind() == reflect.Slice && unordered[member] {
				reverse(value)
			}
		})
		if difference := cmp.Diff(before, canonicalText(t, data)); difference != "" {
			t.Errorf("the order of sets shows:\n%s", difference)
		}
	})
}

func reverse(list reflect.Value) {
	swap := reflect.Swapper(list.Interface())
	for i, j := 0, list.Len()-1; i < j; i, j = i+1, j-1 {
		swap(i, j)
	}
}

// TestOrderElsewhereIsRelevant holds that the order of everything else counts: the first network
// interface is the primary one.
func TestOrderElsewhereIsRelevant(t *testing.T) {
	t.Parallel()
	ordered := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		data := anyData.Draw(t, "data")
		before := canonicalText(t, data)
		walk(reflect.ValueOf(data).Elem(), "", func(value reflect.Value, member string) {
			if value.Kind() != reflect.Slice || unordered[member] || value.Len() < 2 {
				return
			}
			if canonicalText(t, value.Index(0).Interface()) == canonicalText(t, value.Index(1).Interface()) {
				return
			}
			ordered[member] = true
			reverse(value)
			if canonicalText(t, data) == before {
				t.Errorf("the order of %s does not show in %s", member, before)
			}
			reverse(value)
		})
	})
	if !ordered["NetworkInterfaces"] {
		t.Errorf("only these lists were tried: %q", slices.Sorted(maps.Keys(ordered)))
	}
}

// TestWhatIsNotSetIsInvisible holds that a member that a newer SDK has and that is not set is
// invisible, and so is an empty list or structure in place of none.
func TestWhatIsNotSetIsInvisible(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := anyData.Draw(t, "data")
		before := canonicalText(t, data)
		walk(reflect.ValueOf(data).Elem(), "", func(value reflect.Value, _ string) {
			switch {
			case value.Kind() == reflect.Slice && value.Len() == 0:
				value.Set(reflect.MakeSlice(value.Type(), 0, 0))
			case value.Kind() == reflect.Pointer && value.IsNil() && value.Type().Elem().Kind() == reflect.Struct &&
				value.Type().Elem() != reflect.TypeFor[time.Time]():
				value.Set(reflect.New(value.Type().Elem()))
			}
		})
		if difference := cmp.Diff(before, canonicalText(t, data)); difference != "" {
			t.Errorf("an unset member shows:\n%s", difference)
		}
	})
	type older struct{ A, B *string }
	type newer struct {
		A, B *string
		C    *int32
		D    []string
		E    ec2types.Tenancy
	}
	text := awssdk.String("x")
	if a, b := canonicalText(t, older{A: text}), canonicalText(t, newer{A: text}); a != b {
		t.Errorf("a newer type says %s, the older %s", b, a)
	}
}

// TestEveryValueThatIsSetIsVisible holds that every value that is set counts, false and 0 among
// them: they were asked for.
func TestEveryValueThatIsSetIsVisible(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := anyData.Draw(t, "data")
		before := canonicalText(t, data)
		walk(reflect.ValueOf(data).Elem(), "", func(value reflect.Value, member string) {
			if value.Kind() != reflect.Pointer || value.Type().Elem().Kind() == reflect.Struct && value.Type().Elem() != reflect.TypeFor[time.Time]() {
				return
			}
			kept := reflect.ValueOf(value.Interface())
			if value.IsNil() {
				value.Set(reflect.New(value.Type().Elem()))
			} else {
				value.SetZero()
			}
			if canonicalText(t, data) == before {
				t.Errorf("%s shows neither when set nor when unset in %s", member, before)
			}
			value.Set(kept)
		})
		if canonicalText(t, copyOf(t, data)) != before {
			t.Error("the test itself changed the data")
		}
	})
}
