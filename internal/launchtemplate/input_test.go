package launchtemplate

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// resolved are values that every test starts from.
func resolved() Resolved {
	return Resolved{
		ImageID: "ami-0a1b2c3d4e5f60718", RootDeviceName: "/dev/xvda", SecurityGroupIDs: []string{"sg-0b2", "sg-0a1"},
		UserData: []byte("#cloud-config\nruncmd: [kubeadm join --token abcdef.0123456789abcdef]\n"),
		Tags:     map[string]string{"Name": "pool", "kubernetes.io/cluster/one": "owned"},
	}
}

func input(t testing.TB, spec infrav1.AWSLaunchConfigSpec, resolved Resolved) Input {
	t.Helper()
	made, err := NewInput(&spec, resolved)
	if err != nil {
		t.Fatalf("making the request: %v", err)
	}
	return made
}

type change = func(*infrav1.AWSLaunchConfigSpec)

// sent are the fields of a spec that the request says, by path: a change of the field from before,
// and what it puts into the canonical form.
var sent = map[string]struct {
	before, change change
	says           string
}{
	"IamInstanceProfile": {change: func(s *infrav1.AWSLaunchConfigSpec) { s.IamInstanceProfile = "nodes" }, says: `"IamInstanceProfile":{"Name":"nodes"}`},
	"InstanceType":       {change: func(s *infrav1.AWSLaunchConfigSpec) { s.InstanceType = "c5.large" }, says: `"InstanceType":"c5.large"`},
	"SSHKeyName":         {change: func(s *infrav1.AWSLaunchConfigSpec) { s.SSHKeyName = ptr.To("ops") }, says: `"KeyName":"ops"`},
	"RootVolume.Size": {before: withRoot, change: func(s *infrav1.AWSLaunchConfigSpec) { s.RootVolume.Size = 81 },
		says: `{"DeviceName":"/dev/xvda","Ebs":{"DeleteOnTermination":true,"VolumeSize":81}}`},
	"RootVolume.Type":           {before: withRoot, change: func(s *infrav1.AWSLaunchConfigSpec) { s.RootVolume.Type = "gp3" }, says: `"VolumeType":"gp3"`},
	"RootVolume.IOPS":           {before: withRoot, change: func(s *infrav1.AWSLaunchConfigSpec) { s.RootVolume.IOPS = 3001 }, says: `"Iops":3001`},
	"RootVolume.Throughput":     {before: withRoot, change: func(s *infrav1.AWSLaunchConfigSpec) { s.RootVolume.Throughput = ptr.To[int64](126) }, says: `"Throughput":126`},
	"RootVolume.Encrypted":      {before: withRoot, change: func(s *infrav1.AWSLaunchConfigSpec) { s.RootVolume.Encrypted = ptr.To(false) }, says: `"Encrypted":false`},
	"RootVolume.EncryptionKey":  {before: withRoot, change: func(s *infrav1.AWSLaunchConfigSpec) { s.RootVolume.EncryptionKey = "alias/nodes" }, says: `"Encrypted":true,"KmsKeyId":"alias/nodes"`},
	"NonRootVolumes.DeviceName": {before: withData, change: func(s *infrav1.AWSLaunchConfigSpec) { s.NonRootVolumes[0].DeviceName = "/dev/sdc" }, says: `"DeviceName":"/dev/sdc"`},
	"NonRootVolumes.Size":       {before: withData, change: func(s *infrav1.AWSLaunchConfigSpec) { s.NonRootVolumes[0].Size = 82 }, says: `"VolumeSize":82`},
	"NonRootVolumes.Type":       {before: withData, change: func(s *infrav1.AWSLaunchConfigSpec) { s.NonRootVolumes[0].Type = "st1" }, says: `"VolumeType":"st1"`},
	"NonRootVolumes.IOPS":       {before: withData, change: func(s *infrav1.AWSLaunchConfigSpec) { s.NonRootVolumes[0].IOPS = 3002 }, says: `"Iops":3002`},
	"NonRootVolumes.Throughput": {before: withData, change: func(s *infrav1.AWSLaunchConfigSpec) { s.NonRootVolumes[0].Throughput = ptr.To[int64](127) }, says: `"Throughput":127`},
	"NonRootVolumes.Encrypted":  {before: withData, change: func(s *infrav1.AWSLaunchConfigSpec) { s.NonRootVolumes[0].Encrypted = ptr.To(true) }, says: `"Encrypted":true`},
	"NonRootVolumes.EncryptionKey": {before: withData, change: func(s *infrav1.AWSLaunchConfigSpec) { s.NonRootVolumes[0].EncryptionKey = "alias/data" },
		says: `"Encrypted":true,"KmsKeyId":"alias/data"`},
	"SpotMarketOptions.MaxPrice": {before: func(s *infrav1.AWSLaunchConfigSpec) { s.SpotMarketOptions = &infrav1.SpotMarketOptions{} },
		change: func(s *infrav1.AWSLaunchConfigSpec) { s.SpotMarketOptions.MaxPrice = ptr.To("0.05") },
		says:   `"InstanceMarketOptions":{"MarketType":"spot","SpotOptions":{"MaxPrice":"0.05"}}`},
	"InstanceMetadataOptions.HTTPEndpoint": {before: withMetadata, change: func(s *infrav1.AWSLaunchConfigSpec) { s.InstanceMetadataOptions.HTTPEndpoint = "disabled" },
		says: `"HttpEndpoint":"disabled"`},
	"InstanceMetadataOptions.HTTPProtocolIPv6": {before: withMetadata, change: func(s *infrav1.AWSLaunchConfigSpec) { s.InstanceMetadataOptions.HTTPProtocolIPv6 = "enabled" },
		says: `"HttpProtocolIpv6":"enabled"`},
	"InstanceMetadataOptions.HTTPPutResponseHopLimit": {before: withMetadata, change: func(s *infrav1.AWSLaunchConfigSpec) { s.InstanceMetadataOptions.HTTPPutResponseHopLimit = 2 },
		says: `"HttpPutResponseHopLimit":2`},
	"InstanceMetadataOptions.HTTPTokens": {before: withMetadata, change: func(s *infrav1.AWSLaunchConfigSpec) { s.InstanceMetadataOptions.HTTPTokens = "required" },
		says: `"HttpTokens":"required"`},
	"InstanceMetadataOptions.InstanceMetadataTags": {before: withMetadata, change: func(s *infrav1.AWSLaunchConfigSpec) { s.InstanceMetadataOptions.InstanceMetadataTags = "disabled" },
		says: `"InstanceMetadataTags":"disabled"`},
	"EnclaveOptions.Enabled": {change: func(s *infrav1.AWSLaunchConfigSpec) {
		s.EnclaveOptions = &infrav1.EnclaveOptions{Enabled: ptr.To(false)}
	},
		says: `"EnclaveOptions":{"Enabled":false}`},
	"PrivateDNSName.EnableResourceNameDNSAAAARecord": {before: withDNS, change: func(s *infrav1.AWSLaunchConfigSpec) { s.PrivateDNSName.EnableResourceNameDNSAAAARecord = ptr.To(true) },
		says: `"PrivateDnsNameOptions":{"EnableResourceNameDnsAAAARecord":true}`},
	"PrivateDNSName.EnableResourceNameDNSARecord": {before: withDNS, change: func(s *infrav1.AWSLaunchConfigSpec) { s.PrivateDNSName.EnableResourceNameDNSARecord = ptr.To(false) },
		says: `"PrivateDnsNameOptions":{"EnableResourceNameDnsARecord":false}`},
	"PrivateDNSName.HostnameType": {before: withDNS, change: func(s *infrav1.AWSLaunchConfigSpec) { s.PrivateDNSName.HostnameType = ptr.To("resource-name") },
		says: `"PrivateDnsNameOptions":{"HostnameType":"resource-name"}`},
	"CapacityReservationID": {change: func(s *infrav1.AWSLaunchConfigSpec) { s.CapacityReservationID = ptr.To("cr-1") },
		says: `"CapacityReservationSpecification":{"CapacityReservationTarget":{"CapacityReservationId":"cr-1"}}`},
	"MarketType": {change: func(s *infrav1.AWSLaunchConfigSpec) { s.MarketType = infrav1.MarketTypeSpot }, says: `"InstanceMarketOptions":{"MarketType":"spot"}`},
	"CapacityReservationPreference": {change: func(s *infrav1.AWSLaunchConfigSpec) {
		s.CapacityReservationPreference = infrav1.CapacityReservationPreferenceOnly
	},
		says: `"CapacityReservationSpecification":{"CapacityReservationPreference":"capacity-reservations-only"}`},
}

// silent are the fields that the request does not say by themselves, and why.
var silent = map[string]string{
	"ClusterName":                         "the cluster's facts reach the request as Resolved",
	"LaunchTemplateName":                  "it names the template, not what is in it",
	"VersionsToKeep":                      "it is about versions, not about one",
	"Existing.ID":                         "it names a template that Slipway does not own: nothing is requested",
	"Existing.Name":                       "it names a template that Slipway does not own: nothing is requested",
	"Existing.Version":                    "it names a template that Slipway does not own: nothing is requested",
	"Verify":                              "it says how a version is tried, not what is in it",
	"Rollout":                             "it says when a version is launched, not what is in it",
	"PinnedVersion":                       "it names the version whose data is asked for again",
	"Rollback.From":                       "it names the config that another takes the place of",
	"Rollback.To":                         "it names the configuration that is asked for again",
	"Rollback.Version":                    "it names the version whose data is asked for again",
	"Rollback.Reason":                     "it is only shown to users",
	"KubernetesVersion":                   "it reaches the request as Resolved.ImageID",
	"Nodegroup.AMIType":                   "it decides who chooses the image, which reaches the request as Resolved.ImageID",
	"Bootstrap.DataSecretName":            "it reaches the request as Resolved.UserData",
	"Bootstrap.Storage":                   "it reaches the request as Resolved.UserData",
	"Bootstrap.Ignition.Version":          "it reaches the request as Resolved.UserData",
	"Bootstrap.Ignition.StorageType":      "it reaches the request as Resolved.UserData",
	"Bootstrap.Ignition.Proxy.HTTPProxy":  "it reaches the request as Resolved.UserData",
	"Bootstrap.Ignition.Proxy.HTTPSProxy": "it reaches the request as Resolved.UserData",
	"Bootstrap.Ignition.Proxy.NoProxy":    "it reaches the request as Resolved.UserData",
	"Bootstrap.Ignition.TLS.CertificateAuthorities": "it reaches the request as Resolved.UserData",
	"AdditionalTags":                          "they reach the request in Resolved.Tags",
	"AdditionalSecurityGroups.ID":             "they reach the request in Resolved.SecurityGroupIDs",
	"Name":                                    "refused in a launch config, which has LaunchTemplateName",
	"VersionNumber":                           "refused: the controller chooses the version",
	"AMI.ID":                                  "it reaches the request as Resolved.ImageID",
	"AMI.EKSOptimizedLookupType":              "it reaches the request as Resolved.ImageID",
	"ImageLookupFormat":                       "it reaches the request as Resolved.ImageID",
	"ImageLookupOrg":                          "it reaches the request as Resolved.ImageID",
	"ImageLookupBaseOS":                       "it reaches the request as Resolved.ImageID",
	"RootVolume.DeviceName":                   "the image decides, and CAPA wrote the name that an image had into specs: Resolved.RootDeviceName",
	"AdditionalSecurityGroups.Filters.Name":   "they reach the request in Resolved.SecurityGroupIDs",
	"AdditionalSecurityGroups.Filters.Values": "they reach the request in Resolved.SecurityGroupIDs",
	"NetworkInterfaces.Groups.ID":             "they reach the request in Resolved.Interfaces",
	"NetworkInterfaces.Groups.Filters.Name":   "they reach the request in Resolved.Interfaces",
	"NetworkInterfaces.Groups.Filters.Values": "they reach the request in Resolved.Interfaces",
	"NetworkInterfaces.Subnet.ID":             "it reaches the request in Resolved.Interfaces",
	"NetworkInterfaces.Subnet.Filters.Name":   "it reaches the request in Resolved.Interfaces",
	"NetworkInterfaces.Subnet.Filters.Values": "it reaches the request in Resolved.Interfaces",
}

func withRoot(s *infrav1.AWSLaunchConfigSpec) { s.RootVolume = &infrav1.Volume{Size: 80} }
func withData(s *infrav1.AWSLaunchConfigSpec) {
	s.NonRootVolumes = []infrav1.Volume{{DeviceName: "/dev/sdb", Size: 80}}
}
func withMetadata(s *infrav1.AWSLaunchConfigSpec) {
	s.InstanceMetadataOptions = &infrav1.InstanceMetadataOptions{HTTPTokens: "optional"}
}
func withDNS(s *infrav1.AWSLaunchConfigSpec) { s.PrivateDNSName = &infrav1.PrivateDNSName{} }

func base() infrav1.AWSLaunchConfigSpec {
	return infrav1.AWSLaunchConfigSpec{ClusterName: "one", AWSLaunchTemplate: infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}}
}

// asked returns the canonical form of the data that a spec asks for, the value false for the
// encryption of volumes included.
func asked(t testing.TB, made Input) string {
	t.Helper()
	text, err := canonical(made.data)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEveryFieldIsSent(t *testing.T) {
	t.Parallel()
	for path, row := range sent {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			spec := base()
			if row.before != nil {
				row.before(&spec)
			}
			before := input(t, spec, resolved())
			row.change(&spec)
			after := input(t, spec, resolved())
			if !strings.Contains(asked(t, after), row.says) || strings.Contains(asked(t, before), row.says) {
				t.Errorf("the request says %s after the change and %s before, want %s after it alone", asked(t, after), asked(t, before), row.says)
			}
			if after.Fingerprints.Config == before.Fingerprints.Config {
				t.Error("the config fingerprint is the same: no node would roll")
			}
			if after.Fingerprints.Bootstrap != before.Fingerprints.Bootstrap {
				t.Error("the bootstrap fingerprint changed, and the user data did not")
			}
		})
	}
}

// TestEveryFieldIsAccountedFor fails for a field that is in neither table: it would have no effect,
// without a reason.
func TestEveryFieldIsAccountedFor(t *testing.T) {
	t.Parallel()
	want := leavesOf(reflect.TypeFor[infrav1.AWSLaunchConfigSpec](), "")
	got := sortedUnique(slices.Concat(slices.Collect(maps.Keys(sent)), slices.Collect(maps.Keys(silent)), setByCases(t)))
	slices.Sort(want)
	if difference := cmp.Diff(want, got); difference != "" {
		t.Errorf("fields of AWSLaunchConfigSpec (-) and of the tables in this file, with what package templateleaves sets (+):\n%s", difference)
	}
}

// leavesOf are the paths of the fields that hold values.
func leavesOf(typ reflect.Type, path string) []string {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if leaf(typ) {
		return []string{strings.TrimPrefix(path, ".")}
	}
	var paths []string
	for i := range typ.NumField() {
		field, below := typ.Field(i), path
		if !field.Anonymous {
			below += "." + field.Name
		}
		paths = append(paths, leavesOf(field.Type, below)...)
	}
	return paths
}

// leaf is true for a type that holds one value.
func leaf(typ reflect.Type) bool {
	return typ.Kind() != reflect.Struct || typ == reflect.TypeFor[metav1.Time]() || typ == reflect.TypeFor[resource.Quantity]()
}

func TestEveryResolvedValueIsSent(t *testing.T) {
	t.Parallel()
	changes := map[string]func(*Resolved){
		"ImageID":          func(r *Resolved) { r.ImageID = "ami-0ffffffffffffffff" },
		"RootDeviceName":   func(r *Resolved) { r.RootDeviceName = "/dev/sda1" },
		"SecurityGroupIDs": func(r *Resolved) { r.SecurityGroupIDs = []string{"sg-0a1"} },
		"UserData":         func(r *Resolved) { r.UserData = []byte("#cloud-config\n") },
		"Tags":             func(r *Resolved) { r.Tags = map[string]string{"Name": "other"} },
		"Interfaces":       func(r *Resolved) { r.Interfaces = []Interface{{SubnetID: "subnet-1"}} },
		"TokensRequired":   func(r *Resolved) { r.TokensRequired = true },
	}
	spec := base()
	withRoot(&spec)
	// One interface takes the groups of the config, one has its own.
	spec.NetworkInterfaces = []infrav1.NetworkInterface{{DeviceIndex: 0}, {DeviceIndex: 1}}
	before := input(t, spec, resolved())
	typ := reflect.TypeFor[Resolved]()
	for i := range typ.NumField() {
		name := typ.Field(i).Name
		if slices.Contains([]string{"ImageKey", "Bootstrap", "Data"}, name) {
			continue // they are no part of the request: TestImageKey, TestPointers
		}
		alter, ok := changes[name]
		if !ok {
			t.Errorf("no change for Resolved.%s", name)
			continue
		}
		values := resolved()
		alter(&values)
		if after := input(t, spec, values); asked(t, after) == asked(t, before) || after.Fingerprints.Config == before.Fingerprints.Config {
			t.Errorf("Resolved.%s changes neither request nor fingerprint", name)
		}
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason   string
		change   change
		values   func(*Resolved)
		says     []string
		saysNone []string
	}{
		{"what is left out is left out", nil, nil,
			[]string{`"ImageId":"ami-0a1b2c3d4e5f60718"`, `"InstanceType":"m5.large"`},
			[]string{"BlockDeviceMappings", "MetadataOptions", "InstanceMarketOptions", "KeyName", "Encrypted", "EnclaveOptions", "CapacityReservation", "IamInstanceProfile", "NetworkInterfaces"}},
		{"an ARN is sent as one: as a name EC2 refuses it at launch", func(s *infrav1.AWSLaunchConfigSpec) {
			s.IamInstanceProfile = "arn:aws:iam::123456789012:instance-profile/nodes"
		}, nil, []string{`"IamInstanceProfile":{"Arn":"arn:aws:iam::123456789012:instance-profile/nodes"}`}, []string{`"Name":"arn`}},
		{"an empty key name asks for no key", func(s *infrav1.AWSLaunchConfigSpec) { s.SSHKeyName = ptr.To("") }, nil, nil, []string{"KeyName"}},
		{"an empty reservation asks for none", func(s *infrav1.AWSLaunchConfigSpec) { s.CapacityReservationID = ptr.To("") }, nil, nil, []string{"CapacityReservation"}},
		{"an empty price is the On-Demand price", func(s *infrav1.AWSLaunchConfigSpec) {
			s.SpotMarketOptions = &infrav1.SpotMarketOptions{MaxPrice: ptr.To("")}
		}, nil, []string{`"MarketType":"spot"`}, []string{"SpotOptions"}},
		{"On-Demand is what a template without market options launches", func(s *infrav1.AWSLaunchConfigSpec) { s.MarketType = infrav1.MarketTypeOnDemand }, nil,
			nil, []string{"InstanceMarketOptions"}},
		{"a capacity block is a market type", func(s *infrav1.AWSLaunchConfigSpec) {
			s.MarketType, s.CapacityReservationID = infrav1.MarketTypeCapacityBlock, ptr.To("cr-1")
		}, nil, []string{`"MarketType":"capacity-block"`, `"CapacityReservationId":"cr-1"`}, nil},
		{"no root volume under another name than the image's", func(s *infrav1.AWSLaunchConfigSpec) {
			s.RootVolume = &infrav1.Volume{DeviceName: "/dev/sda1", Size: 80}
		}, nil, []string{`"DeviceName":"/dev/xvda"`}, []string{"/dev/sda1"}},
		{"options with nothing in them ask for nothing", func(s *infrav1.AWSLaunchConfigSpec) {
			s.EnclaveOptions, s.PrivateDNSName = &infrav1.EnclaveOptions{}, &infrav1.PrivateDNSName{}
			s.InstanceMetadataOptions = &infrav1.InstanceMetadataOptions{}
		}, nil, nil, []string{"EnclaveOptions", "PrivateDnsName", "MetadataOptions"}},
		{"no bootstrap data, no user data", nil, func(r *Resolved) { r.UserData = nil }, nil, []string{"UserData"}},
		{"no tags, no tag specifications", nil, func(r *Resolved) { r.Tags = nil }, nil, []string{"TagSpecifications"}},
		{"a group named twice is sent once", nil, func(r *Resolved) { r.SecurityGroupIDs = []string{"sg-0b2", "sg-0a1", "sg-0b2"} },
			[]string{`"SecurityGroupIds":["sg-0a1","sg-0b2"]`}, nil},
		{"instances and volumes are tagged", nil, nil,
			[]string{`"ResourceType":"instance"`, `"ResourceType":"volume"`, `{"Key":"Name","Value":"pool"}`}, nil},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			spec, values := base(), resolved()
			if row.change != nil {
				row.change(&spec)
			}
			if row.values != nil {
				row.values(&values)
			}
			text := asked(t, input(t, spec, values))
			for _, says := range row.says {
				if !strings.Contains(text, says) {
					t.Errorf("the request does not say %s: %s", says, text)
				}
			}
			for _, says := range row.saysNone {
				if strings.Contains(text, says) {
					t.Errorf("the request says %s: %s", says, text)
				}
			}
		})
	}
}

// TestEqualTextIsEqualRequest holds that whatever yields one client token yields one request: a
// token admits only the request that it was first used for.
func TestEqualTextIsEqualRequest(t *testing.T) {
	t.Parallel()
	one, other := base(), base()
	one.NonRootVolumes = []infrav1.Volume{{DeviceName: "/dev/sdb", Size: 80}, {DeviceName: "/dev/sdc", Size: 90}}
	other.NonRootVolumes = []infrav1.Volume{one.NonRootVolumes[1], one.NonRootVolumes[0]}
	reordered := resolved()
	reordered.SecurityGroupIDs = []string{"sg-0a1", "sg-0b2"}
	a, b := input(t, one, resolved()), input(t, other, reordered)
	if asked(t, a) != asked(t, b) {
		t.Fatalf("the order of sets shows in %s and %s", asked(t, a), asked(t, b))
	}
	if !reflect.DeepEqual(a.data, b.data) {
		t.Errorf("requests differ: %+v and %+v", a.data, b.data)
	}
}

// TestRequestLeavesSpecAlone holds that building a request from a spec does not change the spec.
func TestRequestLeavesSpecAlone(t *testing.T) {
	t.Parallel()
	spec, values := base(), resolved()
	for path, row := range sent {
		if path != "MarketType" && row.before != nil {
			row.before(&spec)
		}
		row.change(&spec)
	}
	kept, keptValues := spec.DeepCopy(), resolved()
	input(t, spec, values)
	if difference := cmp.Diff(kept, &spec); difference != "" {
		t.Errorf("the spec changed:\n%s", difference)
	}
	if difference := cmp.Diff(keptValues, values); difference != "" {
		t.Errorf("the resolved values changed:\n%s", difference)
	}
}

// TestPointers holds that the way in which a node gets its bootstrap data does not affect what it
// is: keeping the data elsewhere creates a version and rolls nothing, and a rotated token creates
// no version where the template holds a pointer.
func TestPointers(t *testing.T) {
	t.Parallel()
	const one, two = "#cloud-config\ntoken: abcdef.0123456789abcdef\n", "#cloud-config\ntoken: ghijkl.0123456789abcdef\n"
	with := func(userData, bootstrap, data string) Input {
		values := resolved()
		values.UserData, values.Bootstrap, values.Data = []byte(userData), []byte(bootstrap), data
		return input(t, base(), values)
	}
	inTemplate, pointer, rotated := with(one, "", ""), with("pointer", one, "ssm/1"), with("pointer", two, "ssm/1")
	if pointer.Fingerprints.Config != inTemplate.Fingerprints.Config {
		t.Error("another place for the bootstrap data rolls nodes")
	}
	if pointer.Fingerprints.Bootstrap == inTemplate.Fingerprints.Bootstrap {
		t.Error("another place for the bootstrap data makes no version")
	}
	if diff := cmp.Diff(pointer.Fingerprints, rotated.Fingerprints); diff != "" || asked(t, pointer) != asked(t, rotated) {
		t.Errorf("a rotated token makes another version:\n%s", diff)
	}
	if other := with("pointer", one+"runcmd: []\n", "ssm/2"); other.Fingerprints.Config == pointer.Fingerprints.Config {
		t.Error("other bootstrap data does not roll nodes")
	}
	if strings.Contains(asked(t, pointer), "abcdef") {
		t.Errorf("the request says %s", asked(t, pointer))
	}
	got, ours := ParseDescription(pointer.Fingerprints.Description())
	if diff := cmp.Diff(pointer.Fingerprints, got); diff != "" || !ours {
		t.Errorf("read back (-want +got)\n%s", diff)
	}
	if fingerprints := (Fingerprints{Config: pointer.Fingerprints.Config, Bootstrap: pointer.Fingerprints.Bootstrap, Image: "0123456789abcdef",
		Data: "s3/" + strings.Repeat("b", 63) + "/" + strings.Repeat("0", 32)}); len(fingerprints.Description()) > 255 {
		t.Errorf("%q is longer than EC2 allows", fingerprints.Description())
	}
}
