package launchtemplate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/userdata"
)

// Settings are all that is set in launch template data, user data by a fingerprint without its join
// token. Data that CAPA adds on its own is left out, and so are values that mean the same as no
// value.
type Settings struct {
	tree     map[string]any
	userData string
	// elsewhere is true if the user data points to an object of CAPA's: what is in it is not known here.
	elsewhere bool
}

// Differences describes how a node would differ: "image ami-1 → ami-2".
func (s Settings) Differences(wanted Settings) []string {
	var found []string
	compare(&found, "", path{}, s.tree, wanted.tree)
	if s.userData != wanted.userData && !s.elsewhere {
		found = append(found, bootstrapChanged)
	}
	return found
}

// Equal reports whether there is no difference between the settings.
func (s Settings) Equal(other Settings) bool { return reflect.DeepEqual(s, other) }

// Settings returns the settings of the requested version, with the bootstrap data itself where user
// data points to it.
func (i Input) Settings() (Settings, error) {
	return settingsOf(i.data, i.bootstrap)
}

// settingsOf reads the data of a request or of a response. Encoded is its bootstrap data in base64.
func settingsOf(data any, encoded string) (Settings, error) {
	tree, _ := canonicalTree(reflect.ValueOf(data), "").(map[string]any)
	plain, err := plainUserData(encoded)
	if err != nil {
		return Settings{}, err
	}
	delete(tree, "UserData")
	leaveOutIdle(tree)
	settings := Settings{tree: tree}
	if len(plain) > 0 {
		settings.userData = hash(16, string(userdata.Masked(plain, userdata.FormatCloudConfig)))
		settings.elsewhere = keptByCAPA(plain)
	}
	return settings, nil
}

// leaveOutIdle removes from a tree what does not affect a node: the tags by which CAPA recognizes
// the bootstrap data of a version, and settings that can only have EC2's default (AWS:
// API_LaunchTemplateInstanceMetadataOptionsRequest, HttpProtocolIpv6;
// API_LaunchTemplateEnclaveOptionsRequest).
func leaveOutIdle(tree map[string]any) {
	leaveOut(tree, "MetadataOptions", "HttpProtocolIpv6", "disabled")
	leaveOut(tree, "EnclaveOptions", "Enabled", "false")
	leaveOutFalse(tree)
	specifications, tagged := tree["TagSpecifications"].([]any)
	if !tagged {
		return
	}
	tree["TagSpecifications"] = slices.DeleteFunc(specifications, func(specification any) bool {
		members, _ := specification.(map[string]any)
		tags, _ := members["Tags"].([]any)
		members["Tags"] = slices.DeleteFunc(tags, func(tag any) bool {
			key := fmt.Sprint(tag.(map[string]any)["Key"])
			return key == infrav1.TagBootstrapDataSecret || key == infrav1.TagBootstrapDataHash
		})
		return len(members["Tags"].([]any)) == 0
	})
}

// leaveOut takes a member out of a tree's branch if it has the value, and the branch with it if
// nothing else is there.
func leaveOut(tree map[string]any, branch, member, value string) {
	members, _ := tree[branch].(map[string]any)
	if members[member] == nil || fmt.Sprint(members[member]) != value {
		return
	}
	if delete(members, member); len(members) == 0 {
		delete(tree, branch)
	}
}

// madeByCAPA reports whether data has the tag that CAPA puts on the instances of every version that
// it creates (CAPA: launchtemplate.go).
func madeByCAPA(data *ec2types.ResponseLaunchTemplateData) bool {
	for _, specification := range data.TagSpecifications {
		for _, tag := range specification.Tags {
			if awssdk.ToString(tag.Key) == infrav1.TagBootstrapDataSecret {
				return true
			}
		}
	}
	return false
}

// keptByCAPA reports whether user data is an Ignition config that includes an object that CAPA put
// into the cluster's bucket, by its name or by a presigned URL (CAPA: launchtemplate.go; s3.go,
// bootstrapDataKeyForMachinePool).
func keptByCAPA(userData []byte) bool {
	type resources []struct{ Source string }
	var document struct {
		Ignition struct {
			Config struct{ Append, Merge resources }
		}
	}
	if json.Unmarshal(userData, &document) != nil {
		return false
	}
	sources := slices.Concat(document.Ignition.Config.Append, document.Ignition.Config.Merge)
	return len(sources) == 1 && strings.Contains(sources[0].Source, "/machine-pool/")
}
