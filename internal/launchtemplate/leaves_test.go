package launchtemplate

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate/templateleaves"
)

// TestEveryLeafOfTheSDKIsSettable fails for members that cannot be set, which a new release of the
// SDK may have. Add a case, or the reason why there is none.
func TestEveryLeafOfTheSDKIsSettable(t *testing.T) {
	t.Parallel()
	var got []string
	for _, c := range templateleaves.Cases() {
		got = append(got, c.Leaf)
	}
	got = append(got, slices.Collect(maps.Keys(templateleaves.Missing))...)
	want := templateleaves.Request()
	slices.Sort(got)
	slices.Sort(want)
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("leaves of RequestLaunchTemplateData (-), and of the cases with those that are missing for a reason (+):\n%s", difference)
	}
}

// applied is the spec that a case leads to, from the base.
func applied(t *testing.T, c templateleaves.Case, n int) infrav1.AWSLaunchConfigSpec {
	t.Helper()
	object := struct {
		Spec infrav1.AWSLaunchConfigSpec `json:"spec"`
	}{base()}
	var patch map[string]map[string]any
	if err := yaml.Unmarshal([]byte(c.Patch(n)), &patch); err != nil {
		t.Fatalf("reading %s: %v", c.Patch(n), err)
	}
	if kind, named := patch["spec"]["instanceType"]; named && kind == nil {
		object.Spec.InstanceType = ""
	}
	if err := yaml.UnmarshalStrict([]byte(c.Patch(n)), &object); err != nil {
		t.Fatalf("reading %s: %v", c.Patch(n), err)
	}
	return object.Spec
}

func TestEveryLeafIsSent(t *testing.T) {
	t.Parallel()
	for _, c := range templateleaves.Cases() {
		if c.Elsewhere {
			continue // what it leads to is in Resolved: TestEveryResolvedValueIsSent
		}
		t.Run(c.Leaf, func(t *testing.T) {
			t.Parallel()
			set, changed := input(t, applied(t, c, 0), resolved()), input(t, applied(t, c, 1), resolved())
			for n, made := range []Input{set, changed} {
				values, other := templateleaves.Values(made.data, c.Leaf), c.Wants(1-n)
				if wanted := c.Wants(n); (wanted != templateleaves.Unset && !slices.Contains(values, wanted)) || slices.Contains(values, other) {
					t.Errorf("the values are %q, want %q among them and not %q", values, wanted, other)
				}
			}
			if set.Fingerprints.Config == changed.Fingerprints.Config {
				t.Error("the config fingerprint is the same: no node would roll")
			}
			if set.Fingerprints.Bootstrap != changed.Fingerprints.Bootstrap {
				t.Error("the bootstrap fingerprint changed, and the user data did not")
			}
		})
	}
}

// set are the paths of the fields that a value sets, as leavesOf has them.
func set(value reflect.Value, path string) []string {
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return nil
		}
		return set(value.Elem(), path)
	case reflect.Slice:
		var found []string
		for i := range value.Len() {
			found = append(found, set(value.Index(i), path)...)
		}
		return found
	case reflect.Struct:
		if leaf(value.Type()) {
			return []string{path[1:]}
		}
		var found []string
		for i := range value.NumField() {
			if field, below := value.Type().Field(i), path; !value.Field(i).IsZero() {
				if !field.Anonymous {
					below += "." + field.Name
				}
				found = append(found, set(value.Field(i), below)...)
			}
		}
		return found
	default:
		return []string{path[1:]}
	}
}

// setByCases are the fields of a spec that the cases of package templateleaves set.
func setByCases(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, c := range templateleaves.Cases() {
		if !c.Elsewhere {
			for n := range 2 {
				found = append(found, set(reflect.ValueOf(applied(t, c, n)), "")...)
			}
		}
	}
	return sortedUnique(found)
}

// TestOrderMakesNoOtherNode holds that the order of a list does not affect a node if EC2 treats the
// list as a set, or identifies its items by index or name.
func TestOrderMakesNoOtherNode(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, one, other string }{
		{"interfaces have places", `{networkInterfaces: [{deviceIndex: 0}, {deviceIndex: 1, networkCardIndex: 1}]}`, `{networkInterfaces: [{deviceIndex: 1, networkCardIndex: 1}, {deviceIndex: 0}]}`},
		{"and so have secondary ones", `{secondaryInterfaces: [{deviceIndex: 1}, {deviceIndex: 2}]}`, `{secondaryInterfaces: [{deviceIndex: 2}, {deviceIndex: 1}]}`},
		{"devices have names", `{blockDeviceMappings: [{deviceName: a, noDevice: true}, {deviceName: b, noDevice: true}]}`, `{blockDeviceMappings: [{deviceName: b, noDevice: true}, {deviceName: a, noDevice: true}]}`},
		{"a device is the same in either field", `{blockDeviceMappings: [{deviceName: b, ebs: {volumeSize: 8}}]}`, `{nonRootVolumes: [{deviceName: b, size: 8}]}`},
		{"licenses are a set", `{licenseSpecifications: [{licenseConfigurationArn: a}, {licenseConfigurationArn: b}]}`, `{licenseSpecifications: [{licenseConfigurationArn: b}, {licenseConfigurationArn: a}]}`},
		{"and so are attributes", `{instanceRequirements: {vCPUCount: {min: 1}, memoryMiB: {min: 1}, cpuManufacturers: [amd, intel]}}`, `{instanceRequirements: {vCPUCount: {min: 1}, memoryMiB: {min: 1}, cpuManufacturers: [intel, amd]}}`},
		{"tags of a type win over those of all", `{tagSpecifications: [{resourceType: volume, tags: {Name: pool}}]}`, `{}`},
	} {
		one, other := base(), base()
		for spec, text := range map[*infrav1.AWSLaunchConfigSpec]string{&one: row.one, &other: row.other} {
			if err := yaml.UnmarshalStrict([]byte(text), spec); err != nil {
				t.Fatal(err)
			}
		}
		a, b := input(t, one, resolved()), input(t, other, resolved())
		if asked(t, a) != asked(t, b) || !reflect.DeepEqual(a.data, b.data) {
			t.Errorf("%s: the requests differ: %s and %s", row.reason, asked(t, a), asked(t, b))
		}
	}
}

// TestInterfacesHaveTheGroups holds that EC2 takes security groups with the instance or with its
// interfaces, never both.
func TestInterfacesHaveTheGroups(t *testing.T) {
	t.Parallel()
	spec, values := base(), resolved()
	spec.NetworkInterfaces = []infrav1.NetworkInterface{{DeviceIndex: 1}, {DeviceIndex: 0}, {DeviceIndex: 2, NetworkInterfaceID: "eni-1"}}
	values.Interfaces = []Interface{{GroupIDs: []string{"sg-9", "sg-8", "sg-9"}, SubnetID: "subnet-1"}, {}, {}}
	got := input(t, spec, values).data
	type nic struct {
		Subnet string
		Groups []string
	}
	var nics []nic
	for i := range got.NetworkInterfaces {
		n := &got.NetworkInterfaces[i]
		subnet := ""
		if n.SubnetId != nil {
			subnet = *n.SubnetId
		}
		nics = append(nics, nic{subnet, n.Groups})
	}
	want := []nic{{"", []string{"sg-0a1", "sg-0b2"}}, {"subnet-1", []string{"sg-8", "sg-9"}}, {"", nil}}
	if difference := cmp.Diff(want, nics); difference != "" || got.SecurityGroupIds != nil {
		t.Errorf("interfaces (-want +got), and groups %q of the instance:\n%s", got.SecurityGroupIds, difference)
	}
}

// TestTokens holds that session tokens are required in new configs, and in all configs with EC2's
// fields that do not say otherwise.
func TestTokens(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, spec string
		required     bool
		want         string
	}{
		{"a new config", `{}`, true, `{"HttpTokens":"required"}`},
		{"one that is older, or a pool's: as it was", `{}`, false, `null`},
		{"CAPA's words say all", `{instanceMetadataOptions: {httpTokens: optional}}`, true, `{"HttpTokens":"optional"}`},
		{"EC2's words may leave tokens out", `{metadataOptions: {httpPutResponseHopLimit: 2}}`, false, `{"HttpPutResponseHopLimit":2,"HttpTokens":"required"}`},
		{"or say that they are optional", `{metadataOptions: {httpTokens: optional}}`, true, `{"HttpTokens":"optional"}`},
	} {
		spec, values := base(), resolved()
		if err := yaml.UnmarshalStrict([]byte(row.spec), &spec); err != nil {
			t.Fatal(err)
		}
		values.TokensRequired = row.required
		got, err := json.Marshal(canonicalTree(reflect.ValueOf(input(t, spec, values).data.MetadataOptions), ""))
		if err != nil || string(got) != row.want {
			t.Errorf("%s: metadata options are %s (%v), want %s", row.reason, got, err, row.want)
		}
	}
}
