package shape_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim/internal/shape"
)

// leaves lists the path of every leaf that is set in v, with its printed value.
func leaves(v reflect.Value, path string, into map[string]any) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			leaves(v.Elem(), path, into)
		}
	case reflect.Slice:
		for i := range v.Len() {
			leaves(v.Index(i), path+"[]", into)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			into[path] = v.Interface().(time.Time).Unix()
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				leaves(v.Field(i), path+"."+f.Name, into)
			}
		}
	case reflect.String:
		if v.Len() > 0 { // an enumeration's empty string means that it is not set
			into[path] = v.String()
		}
	case reflect.Bool:
		into[path] = v.Bool()
	case reflect.Int32, reflect.Int64:
		into[path] = v.Int()
	case reflect.Float64:
		into[path] = v.Float()
	default:
		panic("a kind of leaf that the conversion does not know: " + path + " " + v.Kind().String())
	}
}

// fill sets every leaf of v to a value of its own.
func fill(v reflect.Value, next *int) {
	*next++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), next)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(int64(*next), 0)))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), next)
			}
		}
	case reflect.String:
		v.SetString("value-" + string(rune('a'+*next%26)) + time.Duration(*next).String())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(*next))
	case reflect.Float64:
		v.SetFloat(float64(*next) + 0.5)
	default:
		panic("a kind of member that the test can not fill: " + v.Kind().String())
	}
}

func filledData() types.RequestLaunchTemplateData {
	var data types.RequestLaunchTemplateData
	next := 0
	fill(reflect.ValueOf(&data).Elem(), &next)
	return data
}

func leavesOf(v any) map[string]any {
	found := map[string]any{}
	leaves(reflect.ValueOf(v), "", found)
	return found
}

func TestConvertLosesNoLeafOfLaunchTemplateData(t *testing.T) {
	t.Parallel()
	request := filledData()
	want := leavesOf(request)
	// The SDK of go.mod has 34 members with 141 leaves; fewer would mean that fill or leaves skip some.
	if got := reflect.TypeOf(request).NumField() - 1; got < 34 {
		t.Errorf("RequestLaunchTemplateData has %d members, want at least 34", got)
	}
	if len(want) < 141 {
		t.Errorf("%d leaves were filled, want at least 141", len(want))
	}
	response := shape.Convert[types.ResponseLaunchTemplateData](request)
	if diff := cmp.Diff(want, leavesOf(response)); diff != "" {
		t.Errorf("the response lost or changed leaves (-request +response):\n%s", diff)
	}
	back := shape.Convert[types.RequestLaunchTemplateData](response)
	if diff := cmp.Diff(want, leavesOf(back)); diff != "" {
		t.Errorf("the way back lost or changed leaves (-want +got):\n%s", diff)
	}
}

func TestConvertCarriesLaunchTemplateDataToRunInstances(t *testing.T) {
	t.Parallel()
	request := filledData()
	want := leavesOf(request)
	run := shape.Convert[awsec2.RunInstancesInput](request)
	got := leavesOf(run)
	for path, value := range want {
		if isRequirementPath(path) {
			continue // instance requirements are for fleets and groups; RunInstances has no such member
		}
		alias := path
		for from, to := range map[string]string{".RamDiskId": ".RamdiskId", ".ElasticGpuSpecifications[]": ".ElasticGpuSpecification[]"} {
			if len(path) >= len(from) && path[:len(from)] == from {
				alias = to + path[len(from):]
			}
		}
		if got[alias] != value {
			t.Errorf("RunInstancesInput%s is %v, want %v", alias, got[alias], value)
		}
	}
}

func isRequirementPath(path string) bool {
	const prefix = ".InstanceRequirements"
	return len(path) >= len(prefix) && path[:len(prefix)] == prefix
}

func TestCloneSharesNothing(t *testing.T) {
	t.Parallel()
	original := filledData()
	want := leavesOf(original)
	copied := shape.Clone(original)
	*copied.ImageId = "changed"
	copied.SecurityGroupIds[0] = "changed"
	*copied.TagSpecifications[0].Tags[0].Key = "changed"
	if diff := cmp.Diff(want, leavesOf(original)); diff != "" {
		t.Errorf("a change of the copy reached the original:\n%s", diff)
	}
}

func TestOverlayReplacesWholeMembers(t *testing.T) {
	t.Parallel()
	base := types.RequestLaunchTemplateData{
		ImageId: aws.String("ami-1"), KeyName: aws.String("key"), SecurityGroupIds: []string{"sg-1", "sg-2"},
		MetadataOptions: &types.LaunchTemplateInstanceMetadataOptionsRequest{HttpTokens: "required", HttpPutResponseHopLimit: aws.Int32(2)},
	}
	shape.Overlay(&base, types.RequestLaunchTemplateData{
		ImageId: aws.String("ami-2"), SecurityGroupIds: []string{"sg-3"},
		MetadataOptions: &types.LaunchTemplateInstanceMetadataOptionsRequest{HttpTokens: "optional"},
	})
	want := map[string]any{
		".ImageId": "ami-2", ".KeyName": "key", ".SecurityGroupIds[]": "sg-3", ".MetadataOptions.HttpTokens": "optional",
	}
	if diff := cmp.Diff(want, leavesOf(base)); diff != "" {
		t.Errorf("overlay (-want +got):\n%s", diff)
	}
}

func TestIsEmpty(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason string
		data   types.RequestLaunchTemplateData
		want   bool
	}{
		{"nothing is set", types.RequestLaunchTemplateData{}, true},
		{"an empty structure leaves no trace on the wire", types.RequestLaunchTemplateData{Placement: &types.LaunchTemplatePlacementRequest{}}, true},
		{"an empty list leaves no trace on the wire", types.RequestLaunchTemplateData{SecurityGroupIds: []string{}}, true},
		{"an explicit false is a value", types.RequestLaunchTemplateData{EbsOptimized: aws.Bool(false)}, false},
		{"an explicit empty string is a value", types.RequestLaunchTemplateData{KeyName: aws.String("")}, false},
	}
	for _, row := range rows {
		if got := shape.IsEmpty(reflect.ValueOf(row.data)); got != row.want {
			t.Errorf("%s: isEmpty = %t, want %t", row.reason, got, row.want)
		}
	}
}
