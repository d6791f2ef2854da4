package launchtemplate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/userdata"
)

// Settings are all that is set in launch template data, by its name in words: "image id", "/dev/sda1 ebs volume size", "instance tag Name". User data
// is there as a fingerprint, without its join token. What CAPA adds and nobody asked for is left out, and so is what means the same as nothing.
type Settings map[string]string

// Differences says in words what a node would be otherwise: "image id ami-1 → ami-2".
func (s Settings) Differences(wanted Settings) []string {
	var differences []string
	names := maps.Clone(s)
	maps.Copy(names, wanted)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		seen, had := s[name]
		asked, has := wanted[name]
		switch {
		case had == has && seen == asked:
		case name == settingUserData:
			differences = append(differences, name)
		default:
			differences = append(differences, fmt.Sprintf("%s %s → %s", name, orUnset(seen, had), orUnset(asked, has)))
		}
	}
	return differences
}

const settingUserData = "user data"

func orUnset(value string, set bool) string {
	if !set {
		return "unset"
	}
	return value
}

// Settings are those of the version that is asked for.
func (i Input) Settings() (Settings, error) {
	return settingsOf(i.data, awssdk.ToString(i.data.UserData))
}

// settingsOf reads the data of a request or of a response. Encoded is its user data in base64.
func settingsOf(data any, encoded string) (Settings, error) {
	text, err := canonical(data)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("reading launch template data: %w", err)
	}
	plain, err := plainUserData(encoded)
	if err != nil {
		return nil, err
	}
	delete(tree, "UserData")
	settings := Settings{}
	flatten(settings, "", tree)
	maps.DeleteFunc(settings, idle)
	if len(plain) > 0 {
		settings[settingUserData] = hash(16, string(userdata.Masked(plain, userdata.FormatCloudConfig)))
	}
	return settings, nil
}

// idle is true for what says nothing of a node: the tags by which CAPA knows again what bootstrap data a version has, and what is EC2's default and
// can have no other (AWS: API_LaunchTemplateInstanceMetadataOptionsRequest, HttpProtocolIpv6; API_LaunchTemplateEnclaveOptionsRequest).
func idle(name, value string) bool {
	switch name {
	case "instance tag " + infrav1.TagBootstrapDataSecret, "instance tag " + infrav1.TagBootstrapDataHash:
		return true
	case "metadata options http protocol ipv6":
		return value == "disabled"
	case "enclave options enabled":
		return value == "false"
	}
	return false
}

// keys are the members by which the items of a list are told apart.
var keys = []string{"DeviceName", "ResourceType", "Key", "DeviceIndex"}

func flatten(settings Settings, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for member, child := range value {
			flatten(settings, join(path, words(member)), child)
		}
	case []any:
		flattenList(settings, path, value)
	default:
		settings[readable(path)] = fmt.Sprint(value)
	}
}

func flattenList(settings Settings, path string, list []any) {
	var plain []string
	for i, item := range list {
		members, isMap := item.(map[string]any)
		if !isMap {
			plain = append(plain, fmt.Sprint(item))
			continue
		}
		name := fmt.Sprint(i)
		for _, key := range keys {
			if value, has := members[key]; has {
				name = fmt.Sprint(value)
				members = maps.Clone(members)
				delete(members, key)
				break
			}
		}
		flatten(settings, join(path, name), members)
	}
	if len(plain) > 0 {
		slices.Sort(plain)
		settings[readable(path)] = strings.Join(slices.Compact(plain), " ")
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + " " + name
}

// words are a member's name in lower case: "ImageId" is "image id".
func words(member string) string {
	var text strings.Builder
	for i, letter := range member {
		if i > 0 && unicode.IsUpper(letter) {
			text.WriteByte(' ')
		}
		text.WriteRune(unicode.ToLower(letter))
	}
	return text.String()
}

// readable leaves out what a reader does not miss.
func readable(path string) string {
	path = strings.TrimPrefix(path, "block device mappings ")
	if rest, isTag := strings.CutPrefix(path, "tag specifications "); isTag {
		path = strings.TrimSuffix(strings.Replace(rest, " tags ", " tag ", 1), " value")
	}
	return path
}

// madeByCAPA is true for data with the tag that CAPA puts on the instances of every version of its own (CAPA: launchtemplate.go).
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
