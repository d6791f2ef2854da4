package inspection

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

var (
	large  = &discovery.InstanceType{Name: "m5.large", Architectures: []string{"i386", "x86_64"}}
	debian = &discovery.Image{
		ID: "ami-1", Name: "debian", Architecture: "x86_64", RootDeviceName: "/dev/xvda", VolumeSizesGiB: map[string]int32{"/dev/xvda": 8},
	}
	bottlerocket = &discovery.Image{
		ID: "ami-2", Name: "bottlerocket-aws-k8s-1.32-arm64-v1.0.0", Architecture: "arm64", RootDeviceName: "/dev/xvda",
		VolumeSizesGiB: map[string]int32{"/dev/xvda": 2, "/dev/xvdb": 20},
	}
)

// whole is a version from which all consumers can launch but for what a test changes.
func whole() (launchtemplate.Contents, Facts) {
	return launchtemplate.Contents{ImageID: "ami-1", InstanceType: "m5.large", UserData: []byte("join")}, Facts{Image: debian, InstanceType: large}
}

func TestGaps(t *testing.T) {
	t.Parallel()
	all := []Consumer{AWSMachinePool, AWSManagedMachinePool, Provisioner}
	for _, row := range []struct {
		reason  string
		change  func(*launchtemplate.Contents, *Facts)
		member  string
		blocked []Consumer
		warned  []Consumer
		// beside is a member that has gaps too, of another row.
		beside string
	}{
		{reason: "every consumer can use a complete version"},
		{reason: "Auto Scaling and fleets take the image of the template; EKS chooses one", change: func(c *launchtemplate.Contents, f *Facts) { c.ImageID, f.Image = "", nil },
			member: "ImageId", blocked: []Consumer{AWSMachinePool, Provisioner}, beside: "UserData"},
		{reason: "EKS merges MIME messages into its user data", change: func(c *launchtemplate.Contents, f *Facts) {
			c.ImageID, f.Image, c.UserData = "", nil, []byte("#!/bin/bash\njoin\n")
		}, member: "UserData", warned: []Consumer{AWSManagedMachinePool}, beside: "ImageId"},
		{reason: "EKS merges MIME messages, such as this one", change: func(c *launchtemplate.Contents, f *Facts) {
			c.ImageID, f.Image = "", nil
			c.UserData = []byte("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/x-shellscript\n\n#!/bin/bash\n--B--\n")
		}, member: "ImageId", blocked: []Consumer{AWSMachinePool, Provisioner}},
		{reason: "EKS merges TOML for Bottlerocket", change: func(c *launchtemplate.Contents, f *Facts) {
			c.ImageID, f.Image, c.UserData = "", nil, []byte("[settings.kubernetes]\nmax-pods = 42\n")
		}, member: "ImageId", blocked: []Consumer{AWSMachinePool, Provisioner}},
		{reason: "nodes are launched in subnets, where groups have ids", change: func(c *launchtemplate.Contents, _ *Facts) { c.SecurityGroupNames = []string{"nodes"} },
			member: "SecurityGroups", blocked: all},
		{reason: "an image that was deregistered launches nothing", change: func(_ *launchtemplate.Contents, f *Facts) {
			f.Image, f.NotFound = nil, []Lack{{Member: "ImageId", Message: "no image found"}}
		}, member: "ImageId", blocked: all},
		{reason: "EKS refuses parameters", change: func(c *launchtemplate.Contents, _ *Facts) { c.ImageID = "resolve:ssm:/golden" }, member: "ImageId", blocked: []Consumer{AWSManagedMachinePool}},
		{reason: "a type that cannot run the image", change: func(_ *launchtemplate.Contents, f *Facts) { f.Image = bottlerocket }, member: "InstanceType", blocked: all},
		{reason: "a provisioner chooses types itself, and EKS has a default", change: func(c *launchtemplate.Contents, f *Facts) { c.InstanceType, f.InstanceType = "", nil },
			member: "InstanceType", blocked: []Consumer{AWSMachinePool}, warned: []Consumer{AWSManagedMachinePool}},
		{reason: "Auto Scaling alone has EC2 choose types", change: func(c *launchtemplate.Contents, f *Facts) {
			c.InstanceType, f.InstanceType, c.Requirements = "", nil, "{}"
		}, member: "InstanceRequirements", blocked: []Consumer{AWSManagedMachinePool, Provisioner}},
		{reason: "the image may have nodes join", change: func(c *launchtemplate.Contents, _ *Facts) { c.UserData = nil }, member: "UserData", warned: all},
		{reason: "EKS's own image needs no user data", change: func(c *launchtemplate.Contents, f *Facts) {
			c.ImageID, f.Image, c.UserData = "", nil, nil
		}, member: "UserData", warned: []Consumer{AWSMachinePool, Provisioner}, beside: "ImageId"},
		{reason: "EKS asks for Spot Instances itself", change: func(c *launchtemplate.Contents, _ *Facts) { c.Market = "spot" }, member: "InstanceMarketOptions", blocked: []Consumer{AWSManagedMachinePool}},
		{reason: "requests for nodes are one-time", change: func(c *launchtemplate.Contents, _ *Facts) { c.Market, c.LastingSpot = "spot", true }, member: "InstanceMarketOptions", blocked: all},
		{reason: "a fleet of single nodes fills no block", change: func(c *launchtemplate.Contents, _ *Facts) {
			c.Market, c.CapacityReservation = "capacity-block", "cr-1"
		}, member: "InstanceMarketOptions", blocked: []Consumer{Provisioner}},
		{reason: "EKS wants to know which block", change: func(c *launchtemplate.Contents, _ *Facts) { c.Market = "capacity-block" },
			member: "InstanceMarketOptions", blocked: []Consumer{AWSManagedMachinePool, Provisioner}},
		{reason: "a network interface is one instance's", change: func(c *launchtemplate.Contents, _ *Facts) { c.InterfaceIDs = []string{"eni-1"} }, member: "NetworkInterfaces", blocked: all},
		{reason: "pools have subnets of their own; EKS minds, Auto Scaling does not", change: func(c *launchtemplate.Contents, _ *Facts) { c.SubnetIDs = []string{"subnet-1"} },
			member: "NetworkInterfaces", blocked: []Consumer{AWSManagedMachinePool}, warned: []Consumer{AWSMachinePool}},
		{reason: "Auto Scaling launches on no host by its id", change: func(c *launchtemplate.Contents, _ *Facts) { c.Host = "h-1" }, member: "Placement", blocked: []Consumer{AWSMachinePool}},
		{reason: "EKS has the node role", change: func(c *launchtemplate.Contents, _ *Facts) { c.InstanceProfile = "nodes" }, member: "IamInstanceProfile", blocked: []Consumer{AWSManagedMachinePool}},
		{reason: "EKS ends nodes itself", change: func(c *launchtemplate.Contents, _ *Facts) { c.ShutdownBehavior = "terminate" },
			member: "InstanceInitiatedShutdownBehavior", blocked: []Consumer{AWSManagedMachinePool}},
		{reason: "EKS hibernates no nodes, and a provisioner chooses among types that cannot", change: func(c *launchtemplate.Contents, _ *Facts) { c.Hibernation = true },
			member: "HibernationOptions", blocked: []Consumer{AWSManagedMachinePool, Provisioner}},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			contents, facts := whole()
			if row.change != nil {
				row.change(&contents, &facts)
			}
			var blocked, warned []Consumer
			for _, gap := range Inspect(contents, facts).Gaps {
				if gap.Member == row.beside {
					continue
				}
				if gap.Member != row.member || gap.Message == "" {
					t.Errorf("there is a gap %+v", gap)
				}
				list := &warned
				if gap.Blocking {
					list = &blocked
				}
				*list = append(*list, gap.Consumer)
			}
			blocked = slices.Compact(blocked) // a persistent Spot request is two reasons for EKS
			if diff := cmp.Diff(row.blocked, blocked); diff != "" {
				t.Errorf("who can launch nothing (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.warned, warned); diff != "" {
				t.Errorf("who is warned (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBlocking holds that a member that a consumer sets itself is no gap of its template.
func TestBlocking(t *testing.T) {
	t.Parallel()
	contents, facts := whole()
	contents.InstanceType, facts.InstanceType = "", nil
	gaps := Inspect(contents, facts).Gaps
	if got := Blocking(gaps, AWSMachinePool); got == "" {
		t.Error("a group without a type can launch")
	}
	if got := Blocking(gaps, AWSMachinePool, "InstanceType"); got != "" {
		t.Errorf("a group with types of its own cannot launch: %s", got)
	}
	if got := Blocking(gaps, AWSManagedMachinePool); got != "" {
		t.Errorf("a warning blocks: %s", got)
	}
}

func TestEphemeralStorage(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		volumes []launchtemplate.Volume
		image   *discovery.Image
		root    string
		want    int64
	}{
		{reason: "the image says", image: debian, want: 8},
		{reason: "the template overrules the image", image: debian, volumes: []launchtemplate.Volume{{DeviceName: "/dev/xvdz", SizeGiB: 500}, {DeviceName: "/dev/xvda", SizeGiB: 50}}, want: 50},
		{reason: "other settings of the volume leave its size", image: debian, volumes: []launchtemplate.Volume{{DeviceName: "/dev/xvda"}}, want: 8},
		{reason: "the snapshot was not described", image: debian, volumes: []launchtemplate.Volume{{DeviceName: "/dev/xvda", SnapshotID: "snap-1"}}, want: 0},
		{reason: "containers of Bottlerocket are on a volume of their own", image: bottlerocket, volumes: []launchtemplate.Volume{{DeviceName: "/dev/xvda", SizeGiB: 50}}, want: 20},
		{reason: "which the template may size", image: bottlerocket, volumes: []launchtemplate.Volume{{DeviceName: "/dev/xvdb", SizeGiB: 80}}, want: 80},
		{reason: "without an image the device is known from who chooses it", root: "/dev/xvda", volumes: []launchtemplate.Volume{{DeviceName: "/dev/xvda", SizeGiB: 30}}, want: 30},
		{reason: "without anything it is not known", want: 0},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			got := Inspect(launchtemplate.Contents{Volumes: row.volumes}, Facts{Image: row.image, RootDeviceName: row.root})
			if got.EphemeralStorageGiB != row.want {
				t.Errorf("got %d GiB, want %d", got.EphemeralStorageGiB, row.want)
			}
		})
	}
}

func TestZones(t *testing.T) {
	t.Parallel()
	contents, facts := whole()
	if got := Inspect(contents, facts); len(got.Zones) != 0 {
		t.Errorf("zones are fixed: %v", got.Zones)
	}
	facts.Subnets = []discovery.Subnet{{ID: "subnet-2", Zone: "b"}, {ID: "subnet-1", Zone: "a"}, {ID: "subnet-3", Zone: "b"}}
	if diff := cmp.Diff([]string{"a", "b"}, Inspect(contents, facts).Zones); diff != "" {
		t.Errorf("the zones of the subnets (-want +got):\n%s", diff)
	}
}

func TestJoinsByToken(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, data string
		want         bool
	}{
		{reason: "as an argument", data: "#!/bin/bash\nkubeadm join 10.0.0.1:6443 --token abcdef.0123456789abcdef --discovery-token-unsafe-skip-ca-verification\n", want: true},
		{reason: "in a configuration", data: "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\ndiscovery: {bootstrapToken: {token: abcdef.0123456789abcdef}}\n", want: true},
		{reason: "kubeadm with a file of its own", data: "kubeadm join --config /etc/kubernetes/join.yaml"},
		{reason: "something of that form, without kubeadm", data: "version abcdef.0123456789abcdef"},
		{reason: "EKS's own way", data: "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n"},
	} {
		if got := Inspect(launchtemplate.Contents{UserData: []byte(row.data)}, Facts{}).JoinsByToken; got != row.want {
			t.Errorf("%s: %v", row.reason, got)
		}
	}
}
