package launchtemplate

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
)

// Changes describes what a node from the new input has that one from the old data did not have:
// "instance type m5.large → m6i.large". Of bootstrap data it says that it changed, never what, and
// nothing of a join token; of tags their keys.
func Changes(old Data, wanted Input) []string {
	var found []string
	if data, known := old.restored(awssdk.ToString(old.data.UserData), wanted.bootstrap); known {
		compare(&found, "", path{}, canonicalTree(reflect.ValueOf(withoutUserData(data)), ""), canonicalTree(reflect.ValueOf(wanted.withoutUserData()), ""))
	} else {
		compare(&found, "", path{}, comparableTree(old.withoutUserData()), comparableTree(wanted.withoutUserData()))
	}
	// Were the bootstrap data the same, the old data with it would have the old fingerprint. User
	// data may hold no more than a pointer.
	if _, err := plainUserData(wanted.bootstrap); err == nil {
		if _, same := old.restored(wanted.bootstrap); !same {
			found = append(found, bootstrapChanged)
		}
	}
	return found
}

// ChangesBetween does the same as Changes for two versions that exist.
func ChangesBetween(old, present Data) []string {
	var found []string
	compare(&found, "", path{}, comparableTree(old.withoutUserData()), comparableTree(present.withoutUserData()))
	was, err := fingerprintsOf(old.data, awssdk.ToString(old.data.UserData))
	if err != nil {
		return found
	}
	if with, err := fingerprintsOf(old.data, awssdk.ToString(present.data.UserData)); err == nil && with.Config != was.Config {
		found = append(found, bootstrapChanged)
	}
	return found
}

// bootstrapChanged is the only message about bootstrap data.
const bootstrapChanged = "bootstrap data changed"

// path describes the position of a value in the data, for messages.
type path []string

func (p path) with(words ...string) path {
	return append(slices.Clip(p), slices.DeleteFunc(words, func(word string) bool { return word == "" })...)
}

func (p path) String() string { return strings.Join(p, " ") }

// memberWords maps members to the words used in messages, where the member's own name says too
// little or too much.
var memberWords = map[string]string{
	"InstanceType": "instance type", "ImageId": "image", "KeyName": "key pair", "IamInstanceProfile": "instance profile", "SecurityGroupIds": "security group",
	"BlockDeviceMappings": "volume", "Ebs": "", "VolumeSize": "size in GiB", "VolumeType": "type", "KmsKeyId": "KMS key", "MetadataOptions": "metadata",
	"HttpPutResponseHopLimit": "hop limit", "InstanceMarketOptions": "", "SpotOptions": "Spot", "CapacityReservationSpecification": "",
	"CapacityReservationTarget": "", "PrivateDnsNameOptions": "DNS", "EnclaveOptions": "enclave", "TagSpecifications": "", "Arn": "", "Name": "",
	"CapacityReservationId": "capacity reservation", "NetworkInterfaces": "network interface",
}

// memberKeys maps lists to the members that distinguish their elements.
var memberKeys = map[string]string{"BlockDeviceMappings": "DeviceName", "TagSpecifications": "ResourceType", "Tags": "Key", "NetworkInterfaces": "DeviceIndex"}

// wordFor returns the word for a member in messages.
func wordFor(member string) string {
	if word, known := memberWords[member]; known {
		return word
	}
	var text strings.Builder
	for i, letter := range member {
		if unicode.IsUpper(letter) && i > 0 {
			text.WriteByte(' ')
		}
		text.WriteRune(unicode.ToLower(letter))
	}
	return text.String()
}

// compare adds what differs between two trees of the canonical form. The member is what holds them.
func compare(found *[]string, member string, at path, old, wanted any) {
	add := func(format string, values ...any) {
		if line := fmt.Sprintf(format, values...); !slices.Contains(*found, line) {
			*found = append(*found, line)
		}
	}
	oldMap, oldIsMap := old.(map[string]any)
	wantedMap, wantedIsMap := wanted.(map[string]any)
	oldList, oldIsList := old.([]any)
	wantedList, wantedIsList := wanted.([]any)
	switch {
	case oldIsMap || wantedIsMap:
		for _, name := range sortedUnique(slices.Concat(slices.Collect(maps.Keys(oldMap)), slices.Collect(maps.Keys(wantedMap)))) {
			compare(found, name, at.with(wordFor(name)), oldMap[name], wantedMap[name])
		}
	case oldIsList || wantedIsList:
		before, after := byKey(member, oldList), byKey(member, wantedList)
		for _, key := range sortedUnique(slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)))) {
			compareElement(found, add, member, at, key, before, after)
		}
	case old != wanted:
		add("%s %s → %s", at, valueText(old), valueText(wanted))
	}
}

// compareElement compares the elements of two lists that have the same key.
func compareElement(found *[]string, add func(string, ...any), member string, at path, key string, before, after map[string]any) {
	old, had := before[key]
	wanted, has := after[key]
	name := at.with(key)
	switch member {
	case "TagSpecifications":
		compare(found, "Tags", path{}, tagsOf(old), tagsOf(wanted))
		return
	case "Tags":
		name = path{"tag", key}
	}
	switch {
	case !had:
		add("%s added", name)
	case !has:
		add("%s removed", name)
	case member == "Tags" && !reflect.DeepEqual(old, wanted):
		add("%s changed", name)
	case member != "Tags":
		compare(found, "", name, old, wanted)
	}
}

// tagsOf returns the tags of a specification, or nil if there are none.
func tagsOf(specification any) any {
	members, _ := specification.(map[string]any)
	return members["Tags"]
}

// byKey returns the elements of a list by the value that identifies them: a member, the index, or
// the element itself.
func byKey(member string, list []any) map[string]any {
	elements := make(map[string]any, len(list))
	for i, element := range list {
		key := fmt.Sprint(i)
		if fields, isMap := element.(map[string]any); isMap {
			if name := memberKeys[member]; name != "" && fields[name] != nil {
				key = fmt.Sprint(fields[name])
			}
		} else {
			key = fmt.Sprint(element)
		}
		elements[key] = element
	}
	return elements
}

// valueText returns a value as users read it. It quotes the value "none", which EC2 has for some
// members, to distinguish it from a member that is not set.
func valueText(value any) string {
	if value == nil {
		return "none"
	}
	text := fmt.Sprint(value)
	if text == "" || text == "none" {
		return strconv.Quote(text)
	}
	return text
}
