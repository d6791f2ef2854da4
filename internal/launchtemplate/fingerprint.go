package launchtemplate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Fingerprints say what a launch template version is, without reading its data. They are kept in
// the version's description, because EC2 never changes a version once it exists and a version
// cannot be tagged (AWS: launch-template-restrictions).
type Fingerprints struct {
	// Config is what a node is: all the data, with the bootstrap data's short-lived join tokens
	// masked. Nodes roll for it alone.
	Config string
	// Bootstrap is the bytes of the bootstrap data, tokens included.
	Bootstrap string
	// Image is what the image was looked up for, empty for an image given by id. A looked-up image
	// is kept for as long as it is equal.
	Image string
	// Data is where the bootstrap data is that the user data points to, as the store of bootstrap
	// data writes it. Empty for a version that holds its bootstrap data itself.
	Data string
}

// description matches a version's description. Its number versions both this form and the canonical
// form that Config is computed from.
var description = regexp.MustCompile(`^slipway/1 config=([0-9a-f]{32}) bootstrap=([0-9a-f]{32})(?: image=([0-9a-f]{16}))?(?: data=([a-z0-9./-]{1,100}))?$`)

// Description returns the fingerprints as a version's description, in at most 221 of the 255
// characters that EC2 allows.
func (f Fingerprints) Description() string {
	text := fmt.Sprintf("slipway/1 config=%s bootstrap=%s", f.Config, f.Bootstrap)
	if f.Image != "" {
		text += " image=" + f.Image
	}
	if f.Data != "" {
		text += " data=" + f.Data
	}
	return text
}

// ParseDescription reads fingerprints from a version's description. It returns false for a version
// that Slipway did not create.
func ParseDescription(text string) (Fingerprints, bool) {
	parts := description.FindStringSubmatch(text)
	if parts == nil {
		return Fingerprints{}, false
	}
	return Fingerprints{Config: parts[1], Bootstrap: parts[2], Image: parts[3], Data: parts[4]}, true
}

// ImageKey returns the Image fingerprint of a lookup, given by name and value. Empty values count
// as absent, so that a lookup that gains a setting keeps its key where the setting is not used.
func ImageKey(lookup map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(lookup)) {
		if lookup[name] != "" {
			parts = append(parts, name, lookup[name])
		}
	}
	return hash(16, parts...)
}

// hash returns the hexadecimal SHA-256 of the parts, cut to n characters. It includes the length of
// each part, so that no two lists of parts collide.
func hash(n int, parts ...string) string {
	digest := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(digest, "%d:%s,", len(part), part)
	}
	return hex.EncodeToString(digest.Sum(nil))[:n]
}

// canonical returns the JSON of everything that is set in a value of the SDK's types. It leaves out
// members that are nil, enumerations without a value, and empty lists and structures. It sorts
// keys, and lists that EC2 treats as sets. A new member in a newer SDK is therefore invisible until
// it is set. Request and response types give the same text for the same data, because the SDK names
// their members alike and canonical leaves out members that only responses have.
func canonical(value any) (string, error) {
	tree := canonicalTree(reflect.ValueOf(value), "")
	text, err := json.Marshal(tree)
	if err != nil {
		return "", fmt.Errorf("writing the canonical form of %T: %w", value, err)
	}
	return string(text), nil
}

// sets are the members of launch template data whose order means nothing to EC2.
var sets = map[string]bool{
	"SecurityGroupIds": true, "SecurityGroups": true, "Groups": true,
	"TagSpecifications": true, "Tags": true, "BlockDeviceMappings": true,
}

// answersOnly are members that EC2 adds to its answers and that no request can have, by type and
// name: the progress of a setting, and the operator of the template. They do not describe a node.
var answersOnly = map[string]bool{
	"LaunchTemplateInstanceMetadataOptions.State": true,
	"InstanceIpv6Address.IsPrimaryIpv6":           true,
	"OperatorResponse.Managed":                    true,
	"OperatorResponse.HiddenByDefault":            true,
}

// canonicalTree returns nil for a value with nothing set.
func canonicalTree(value reflect.Value, member string) any {
	switch value.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.Pointer:
		if value.IsNil() {
			return nil
		}
		// A pointer to a scalar is set even when the scalar is zero: false and 0 were asked for.
		switch value.Elem().Kind() {
		case reflect.Bool, reflect.String, reflect.Int32, reflect.Int64, reflect.Float64:
			return value.Elem().Interface()
		default:
			return canonicalTree(value.Elem(), member)
		}
	case reflect.Struct:
		if moment, ok := value.Interface().(time.Time); ok {
			return moment.UTC().Format(time.RFC3339)
		}
		return canonicalStruct(value)
	case reflect.Slice:
		return canonicalList(value, member)
	default:
		if value.IsZero() {
			return nil
		}
		return value.Interface()
	}
}

func canonicalStruct(value reflect.Value) any {
	var tree map[string]any
	for _, member := range membersOf(value.Type()) {
		child := canonicalTree(value.Field(member.place), member.name)
		if child == nil {
			continue
		}
		if tree == nil {
			tree = map[string]any{}
		}
		tree[member.name] = child
	}
	if tree == nil {
		return nil
	}
	return tree
}

// member is a member of a structure that describes a node.
type member struct {
	place int
	name  string
}

// knownMembers remembers the answers of membersOf, because reflection takes most of the time of a
// canonical form otherwise. It is a map from reflect.Type to []member.
var knownMembers sync.Map

// membersOf returns the exported members of a structure, except for the members of answersOnly.
func membersOf(structure reflect.Type) []member {
	if known, is := knownMembers.Load(structure); is {
		return known.([]member)
	}
	var members []member
	for i := range structure.NumField() {
		field := structure.Field(i)
		if field.IsExported() && !answersOnly[structure.Name()+"."+field.Name] {
			members = append(members, member{i, field.Name})
		}
	}
	knownMembers.Store(structure, members)
	return members
}

func canonicalList(value reflect.Value, member string) any {
	if value.Len() == 0 {
		return nil
	}
	list := make([]any, value.Len())
	for i := range list {
		list[i] = canonicalTree(value.Index(i), "")
	}
	if sets[member] {
		sortByText(list, member)
	}
	return list
}

// sortByText sorts the trees of a list by their JSON.
func sortByText(list []any, member string) {
	type item struct {
		tree any
		text string
	}
	items := make([]item, len(list))
	for i, tree := range list {
		text, err := json.Marshal(tree)
		if err != nil {
			// Trees hold only strings, numbers, booleans, maps, and lists: JSON can write all of
			// them.
			panic(fmt.Sprintf("canonical form of %s: %v", member, err))
		}
		items[i] = item{tree, string(text)}
	}
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.text, b.text) })
	for i := range items {
		list[i] = items[i].tree
	}
}
