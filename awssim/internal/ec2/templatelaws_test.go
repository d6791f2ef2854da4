package ec2

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// do calls an action without the wire.
func do[O any](c *caller, action string, in any) (*O, error) {
	out, err := c.kernel.Do(sim.Request{Service: service, Action: action, Account: "111122223333", Region: "us-east-1", Principal: "arn:aws:iam::111122223333:user/test", Input: in})
	if err != nil {
		return nil, err
	}
	return out.(*O), nil
}

// history describes the expected launch template after the calls so far.
type history struct {
	versions       map[int64]types.InstanceType // the existing versions
	number, preset int64                        // the highest number given, the default version
}

// TestLaunchTemplateLaws: whatever is called in whatever order, numbers grow and are not used
// again, the default version exists, the latest is the highest, and every version keeps the data
// that it was made with.
func TestLaunchTemplateLaws(t *testing.T) {
	t.Parallel()
	kinds := []types.InstanceType{"m5.large", "c5.large", "r5.large", "t3.medium"}
	rapid.Check(t, func(rt *rapid.T) {
		c := newCaller(t, sim.Behavior{})
		created, err := do[awsec2.CreateLaunchTemplateOutput](c, "CreateLaunchTemplate", &awsec2.CreateLaunchTemplateInput{
			LaunchTemplateName: ptr("pool"), LaunchTemplateData: &types.RequestLaunchTemplateData{InstanceType: kinds[0]},
		})
		if err != nil {
			rt.Fatal(err)
		}
		id := created.LaunchTemplate.LaunchTemplateId
		h := history{versions: map[int64]types.InstanceType{1: kinds[0]}, number: 1, preset: 1}
		rt.Repeat(map[string]func(*rapid.T){
			"create": func(rt *rapid.T) {
				kind := rapid.SampledFrom(kinds).Draw(rt, "kind")
				out, err := do[awsec2.CreateLaunchTemplateVersionOutput](c, "CreateLaunchTemplateVersion", &awsec2.CreateLaunchTemplateVersionInput{
					LaunchTemplateId: id, LaunchTemplateData: &types.RequestLaunchTemplateData{InstanceType: kind},
				})
				if err != nil {
					rt.Fatal(err)
				}
				h.number++
				h.versions[h.number] = kind
				if got := *out.LaunchTemplateVersion.VersionNumber; got != h.number {
					rt.Fatalf("the new version is %d, want %d", got, h.number)
				}
			},
			"delete": func(rt *rapid.T) {
				number := rapid.Int64Range(1, h.number+1).Draw(rt, "number")
				out, err := do[awsec2.DeleteLaunchTemplateVersionsOutput](c, "DeleteLaunchTemplateVersions", &awsec2.DeleteLaunchTemplateVersionsInput{
					LaunchTemplateId: id, Versions: []string{fmt.Sprint(number)},
				})
				if err != nil {
					rt.Fatal(err)
				}
				_, exists := h.versions[number]
				want := exists && number != h.preset
				if got := len(out.SuccessfullyDeletedLaunchTemplateVersions) == 1; got != want {
					rt.Fatalf("deleting version %d: %t, want %t", number, got, want)
				}
				if want {
					delete(h.versions, number)
				}
			},
			"set the default": func(rt *rapid.T) {
				number := rapid.Int64Range(1, h.number+1).Draw(rt, "number")
				_, err := do[awsec2.ModifyLaunchTemplateOutput](c, "ModifyLaunchTemplate", &awsec2.ModifyLaunchTemplateInput{
					LaunchTemplateId: id, DefaultVersion: ptr(fmt.Sprint(number)),
				})
				if _, exists := h.versions[number]; exists != (err == nil) {
					rt.Fatalf("setting version %d as the default: %v, exists: %t", number, err, exists)
				}
				if err == nil {
					h.preset = number
				}
			},
			"": func(rt *rapid.T) { h.check(rt, c, id) },
		})
	})
}

func (h history) check(rt *rapid.T, c *caller, id *string) {
	out, err := do[awsec2.DescribeLaunchTemplateVersionsOutput](c, "DescribeLaunchTemplateVersions", &awsec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: id})
	if err != nil {
		rt.Fatal(err)
	}
	got := map[int64]types.InstanceType{}
	for _, v := range out.LaunchTemplateVersions {
		got[*v.VersionNumber] = v.LaunchTemplateData.InstanceType
		if *v.DefaultVersion != (*v.VersionNumber == h.preset) {
			rt.Fatalf("version %d says that it is the default: %t", *v.VersionNumber, *v.DefaultVersion)
		}
	}
	if diff := cmp.Diff(h.versions, got); diff != "" {
		rt.Fatalf("versions (-want +got):\n%s", diff)
	}
	templates, err := do[awsec2.DescribeLaunchTemplatesOutput](c, "DescribeLaunchTemplates", &awsec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{*id}})
	if err != nil {
		rt.Fatal(err)
	}
	latest := slices.Max(slices.Collect(maps.Keys(h.versions)))
	if lt := templates.LaunchTemplates[0]; *lt.LatestVersionNumber != latest || *lt.DefaultVersionNumber != h.preset {
		rt.Fatalf("latest %d and default %d, want %d and %d", *lt.LatestVersionNumber, *lt.DefaultVersionNumber, latest, h.preset)
	}
}
