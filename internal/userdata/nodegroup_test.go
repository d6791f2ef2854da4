package userdata

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

var (
	cluster = EKSCluster{Name: "one", Endpoint: "https://api.example.com", CertificateAuthority: "Y2E=", ServiceCIDR: "10.100.0.0/16"}

	plainConfig = "#cloud-config\nruncmd: [echo]\n"
	script      = "#!/bin/bash\necho hello\n"
	ownConfig   = "---\napiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      maxPods: 42\n"
	fullConfig  = string(nodeConfig(cluster))
	powershell  = "<powershell>\nWrite-Host hello\n</powershell>\n"
	settings    = "[settings.kubernetes]\nmax-pods = 42\n"
	message     = string(multipartOf(part{"text/x-shellscript", []byte(script)}))
)

func group(family Family, own bool) Nodegroup {
	return Nodegroup{Family: family, OwnImage: own, Cluster: cluster}
}

// TestRenderNodegroup holds what nodes of each family get: the types of the parts of a message, or
// the text itself.
func TestRenderNodegroup(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		group  Nodegroup
		data   string
		parts  string // types, where it is a message
		text   string // the text, where it is none
	}{
		{"EKS sees to Amazon Linux 2", group(FamilyAmazonLinux2, false), "", "", ""},
		{"EKS sees to Bottlerocket", group(FamilyBottlerocket, false), "", "", ""},
		{"a script is made a part, for EKS to merge", group(FamilyAmazonLinux2, false), script, "text/x-shellscript", ""},
		{"cloud-config is made a part", group(FamilyAmazonLinux2, false), plainConfig, "text/cloud-config", ""},
		{"a message is one already", group(FamilyAmazonLinux2, false), message, "text/x-shellscript", ""},
		{"a NodeConfig is made a part", group(FamilyAmazonLinux2023, false), ownConfig, "application/node.eks.aws", ""},
		{"nodeadm takes scripts beside", group(FamilyAmazonLinux2023, false), script, "text/x-shellscript", ""},
		{"nothing to say makes a whole NodeConfig", group(FamilyAmazonLinux2023, true), "", "application/node.eks.aws", ""},
		{"what a NodeConfig leaves out comes before it", group(FamilyAmazonLinux2023, true), ownConfig, "application/node.eks.aws application/node.eks.aws", ""},
		{"a script joins nothing", group(FamilyAmazonLinux2023, true), script, "application/node.eks.aws text/x-shellscript", ""},
		{"a whole NodeConfig is one", group(FamilyAmazonLinux2023, true), fullConfig, "application/node.eks.aws", ""},
		{"whose script sees to nodeadm itself", group(FamilyAmazonLinux2023, true), "#!/bin/bash\nnodeadm init -c file:///etc/a.yaml\n", "text/x-shellscript", ""},
		{"an image of one's own reads what cloud-init reads", group(FamilyAmazonLinux2, true), script, "", script},
		{"nothing to say calls bootstrap.sh", group(FamilyAmazonLinux2, true), "", "",
			"#!/bin/bash\nset -ex\n/etc/eks/bootstrap.sh 'one' --apiserver-endpoint 'https://api.example.com' --b64-cluster-ca 'Y2E='\n"},
		{"settings are EKS's to merge", group(FamilyBottlerocket, false), settings, "", settings},
		{"nothing to say makes whole settings", group(FamilyBottlerocket, true), "", "",
			"[settings.kubernetes]\napi-server = \"https://api.example.com\"\ncluster-certificate = \"Y2E=\"\ncluster-name = \"one\"\n"},
		{"PowerShell comes before EKS's", group(FamilyWindows, false), powershell, "", powershell},
		{"nothing to say calls Start-EKSBootstrap", group(FamilyWindows, true), "", "",
			"<powershell>\n& \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\" -EKSClusterName 'one' -APIServerEndpoint 'https://api.example.com'" +
				" -Base64ClusterCA 'Y2E=' -ServiceCIDR '10.100.0.0/16' 3>&1 4>&1 5>&1 6>&1\n</powershell>\n"},
		{"the user data of an unknown image is not checked", group("", true), plainConfig, "", plainConfig},
		{"compressed data is looked into", group(FamilyAmazonLinux2, false), string(pack([]byte(script), 9, 0)), "text/x-shellscript", ""},
	} {
		t.Run(string(c.group.Family)+"/"+c.reason, func(t *testing.T) {
			t.Parallel()
			rendered, err := RenderNodegroup([]byte(c.data), FormatCloudConfig, c.group)
			if err != nil {
				t.Fatal(err)
			}
			if c.parts == "" {
				if diff := cmp.Diff(c.text, string(rendered.Bytes)); diff != "" {
					t.Errorf("user data (-want +got):\n%s", diff)
				}
				return
			}
			parts, err := partsOf(rendered.Bytes)
			if err != nil {
				t.Fatalf("%v in\n%s", err, rendered.Bytes)
			}
			var types []string
			for _, p := range parts {
				types = append(types, p.contentType)
			}
			if got := strings.Join(types, " "); got != c.parts {
				t.Errorf("parts are %q, want %q, in\n%s", got, c.parts, rendered.Bytes)
			}
			if c.group.Family == FamilyAmazonLinux2023 && c.group.OwnImage && strings.Contains(c.parts, nodeConfigType) {
				if said, _, err := clusterOf(parts); err != nil || said != cluster {
					t.Errorf("the NodeConfigs say %+v of the cluster, %v", said, err)
				}
			}
		})
	}
}

// TestNodegroupDataIsRefused holds the rules EK14 to EK17 and EK19.
func TestNodegroupDataIsRefused(t *testing.T) {
	t.Parallel()
	alone := Nodegroup{Family: FamilyAmazonLinux2023, OwnImage: true}
	for _, c := range []struct {
		rule, reason string
		group        Nodegroup
		data         string
		says         string
	}{
		{"EK14", "it is unknown how such an image joins", group("", true), "", "set a bootstrap config"},
		{"EK14", "the cluster is not there yet", alone, "", "no name, no API server endpoint, no certificate authority, no service CIDR"},
		{"EK14", "settings that join nothing", group(FamilyBottlerocket, true), settings, "set api-server, cluster-certificate, cluster-name"},
		{"EK14", "PowerShell that joins nothing", group(FamilyWindows, true), powershell, "call Start-EKSBootstrap.ps1"},
		{"EK15", "a NodeConfig that joins nothing", alone, ownConfig, "does not set the name, API server endpoint, certificate authority, service CIDR of the cluster"},
		{"EK15", "a part of the type that is none", group(FamilyAmazonLinux2023, false),
			string(multipartOf(part{nodeConfigType, []byte("kind: Other\n")})), "is not a NodeConfig"},
		{"EK16", "text that the image ignores", group(FamilyAmazonLinux2, false), "hello\n", "start it with #cloud-config or #!"},
		{"EK16", "a message that is none", group(FamilyAmazonLinux2, false), "MIME-Version: 1.0\nContent-Type: text/plain\n\nhello\n", "without parts"},
		{"EK16", "a message without an end", group(FamilyAmazonLinux2023, false),
			"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"a\"\n\n--a\nContent-Type: text/x-shellscript\n\n#!/bin/bash\n", "is not valid MIME"},
		{"EK16", "Amazon Linux 2 has no nodeadm", group(FamilyAmazonLinux2, false), ownConfig, "use an image of Amazon Linux 2023"},
		{"EK17", "no TOML", group(FamilyBottlerocket, false), script, "is not valid TOML"},
		{"EK17", "a quoted key with quotes", group(FamilyBottlerocket, false), `'quoted "value"' = "value"`, "quotes within quoted keys"},
		{"EK17", "escaped quotes", group(FamilyBottlerocket, false), `str = "I'm a string. \"You can quote me\""`, "escaped quotes"},
		{"EK17", "integers and floats", group(FamilyBottlerocket, false), `numbers = [0.1, 0.2, 1, 2]`, "arrays with elements of different types"},
		{"EK17", "strings and tables", group(FamilyBottlerocket, false), `a = ["foo", {name = "baz"}]`, "arrays with elements of different types"},
		{"EK17", "a header with a quoted key", group(FamilyBottlerocket, false), "[foo.\"bar.baz\"]\na = 1\n", "headers with quoted keys"},
		{"EK19", "no PowerShell", group(FamilyWindows, false), script, "the bootstrap data has 0"},
		{"EK19", "two blocks", group(FamilyWindows, false), powershell + powershell, "the bootstrap data has 2"},
	} {
		t.Run(c.rule+"/"+c.reason, func(t *testing.T) {
			t.Parallel()
			_, err := RenderNodegroup([]byte(c.data), FormatCloudConfig, c.group)
			var refusal *NodegroupDataError
			if !errors.As(err, &refusal) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if refusal.Rule != c.rule || !strings.Contains(err.Error(), c.says) || !refusal.WaitsForUser() {
				t.Errorf("%s: %q does not say %q", refusal.Rule, err, c.says)
			}
		})
	}
	if _, err := RenderNodegroup([]byte("{}"), FormatIgnition, group(FamilyAmazonLinux2023, true)); err == nil {
		t.Error("Ignition for an image that does not read it is rendered")
	}
	large := []byte("#cloud-config\n#" + strings.Repeat("a", Limit))
	var tooLarge *TooLargeError
	if _, err := RenderNodegroup(large, FormatCloudConfig, group(FamilyAmazonLinux2, false)); !errors.As(err, &tooLarge) || strings.Contains(err.Error(), "S3") {
		t.Errorf("EKS cannot merge what is compressed, and got no error but %v", err)
	}
	if rendered, err := RenderNodegroup(large, FormatCloudConfig, group(FamilyAmazonLinux2, true)); err != nil || !rendered.Gzipped {
		t.Errorf("cloud-init reads what is compressed: %v", err)
	}
}

// TestTOMLOfOnesOwn: what EKS cannot merge, a node can read.
func TestTOMLOfOnesOwn(t *testing.T) {
	t.Parallel()
	data := "title = \"\\\"quoted\\\"\"\n[settings.kubernetes]\napi-server = \"a\"\ncluster-certificate = \"b\"\ncluster-name = \"c\"\n"
	if _, err := RenderNodegroup([]byte(data), FormatCloudConfig, group(FamilyBottlerocket, true)); err != nil {
		t.Error(err)
	}
}

func TestNodegroupWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		data string
		own  bool
		want int
	}{
		{script, false, 0},
		{"#!/bin/bash\n/etc/eks/bootstrap.sh one\n", false, 1},
		{string(pack([]byte("#!/bin/bash\nnodeadm init\nsystemctl restart kubelet\n"), 9, 0)), false, 2},
		{"#!/bin/bash\n/etc/eks/bootstrap.sh one\n", true, 0},
	} {
		if said := NodegroupWarnings([]byte(c.data), group(FamilyAmazonLinux2, c.own)); len(said) != c.want {
			t.Errorf("%q: warnings are %q, want %d", c.data, said, c.want)
		}
	}
}

// TestGeneratedUserDataIsQuoted: names and endpoints are data, whatever is in them.
func TestGeneratedUserDataIsQuoted(t *testing.T) {
	t.Parallel()
	nasty := EKSCluster{Name: `a'; rm -rf "/`, Endpoint: "https://x", CertificateAuthority: "Y2E=", ServiceCIDR: "fd00::/108"}
	var fields nodeConfigFields
	if err := yaml.Unmarshal(nodeConfig(nasty), &fields); err != nil || fields.Spec.Cluster.Name != nasty.Name {
		t.Errorf("NodeConfig says %q, %v", fields.Spec.Cluster.Name, err)
	}
	if got := string(completeShell(nasty)); !strings.Contains(got, `'a'\''; rm -rf "/'`) {
		t.Errorf("the script is %s", got)
	}
	if got := string(completePowerShell(nasty)); !strings.Contains(got, `'a''; rm -rf "/'`) {
		t.Errorf("PowerShell is %s", got)
	}
	if err := checkBottlerocket(completeTOML(nasty), group(FamilyBottlerocket, true)); err != nil {
		t.Error(err)
	}
}

func TestFamilies(t *testing.T) {
	t.Parallel()
	for amiType, want := range map[string]Family{
		"AL2_x86_64_GPU": FamilyAmazonLinux2, "AL2023_ARM_64_NVIDIA": FamilyAmazonLinux2023, "BOTTLEROCKET_x86_64_NVIDIA_FIPS": FamilyBottlerocket,
		"WINDOWS_CORE_2025_x86_64": FamilyWindows, "CUSTOM": "", "": "",
	} {
		if got, known := FamilyOf(amiType); got != want || known != (want != "") {
			t.Errorf("%s is of family %q, %v", amiType, got, known)
		}
	}
	for name, want := range map[string]Family{
		"amazon-eks-node-al2023-x86_64-standard-1.34-v20251103": FamilyAmazonLinux2023, "amazon-eks-gpu-node-1.30-v20240703": FamilyAmazonLinux2,
		"bottlerocket-aws-k8s-1.34-aarch64-v1.50.0-abc": FamilyBottlerocket, "Windows_Server-2022-English-Core-EKS_Optimized-1.34-2025.11.12": FamilyWindows,
		"ubuntu-24.04": "",
	} {
		if got, _ := FamilyOfImage(name); got != want {
			t.Errorf("%s is of family %q", name, got)
		}
	}
}

// TestPartsComeBack holds that a message has what was put into it, byte for byte, even where that
// is a message with the same boundary.
func TestPartsComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var parts []part
		for range rapid.IntRange(1, 4).Draw(rt, "parts") {
			content := rapid.SampledFrom([]string{script, plainConfig, fullConfig, message, "#!/bin/sh", "#cloud-config\nü\n", "#!\r\n\r\n--slipway-nodegroup--\n"}).Draw(rt, "content") +
				rapid.StringMatching(`[ -~\n]{0,200}`).Draw(rt, "more")
			parts = append(parts, part{"text/x-shellscript", []byte(content)})
		}
		read, err := partsOf(multipartOf(parts...))
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(parts, read, cmp.AllowUnexported(part{})); diff != "" {
			rt.Fatalf("parts (-written +read):\n%s", diff)
		}
	})
}

// TestRotatedTokensRollNothing holds, for every family and form, that user data of two bootstrap
// data that differ in a token alone is the same but for the token: the fingerprint of a node's
// configuration is computed from it.
func TestRotatedTokensRollNothing(t *testing.T) {
	t.Parallel()
	forms := map[Family][]func(token string) string{
		FamilyAmazonLinux2: {
			func(token string) string { return "#!/bin/bash\nkubeadm join --token " + token + " api:6443\n" },
			func(token string) string {
				return "#cloud-config\nwrite_files:\n- encoding: b64\n  content: " +
					base64.StdEncoding.EncodeToString([]byte("#!/bin/bash\nexport TOKEN='"+token+"'\necho a longer script\n")) + "\n"
			},
			func(token string) string {
				return string(multipartOf(part{"text/cloud-config", []byte("#cloud-config\n")}, part{"text/x-shellscript", []byte("#!/bin/bash\nexport MY_TOKEN=" + token + "\n")}))
			},
		},
		FamilyAmazonLinux2023: {
			func(token string) string { return ownConfig + "  token: " + token + "\n" },
			func(token string) string { return "#!/bin/bash\nkubeadm join --discovery-token=" + token + "\n" },
		},
		FamilyBottlerocket: {
			func(token string) string {
				return "[settings.kubernetes]\napi-server = \"a\"\ncluster-certificate = \"b\"\ncluster-name = \"c\"\nbootstrap-token = \"" + token + "\"\n"
			},
			func(token string) string {
				return "settings.kubernetes.bootstrap-token = '" + token + "'\nsettings.kubernetes.api-server = \"a\"\nsettings.kubernetes.cluster-certificate = \"b\"\n" +
					"settings.kubernetes.cluster-name = \"c\"\n"
			},
		},
		FamilyWindows: {
			func(token string) string {
				return "<powershell>\nkubeadm join --token " + token + "\nStart-EKSBootstrap\n</powershell>\n"
			},
			func(token string) string {
				return "<powershell>\n$config = @'\ntoken: " + token + "\n'@\nStart-EKSBootstrap\n</powershell>\n"
			},
		},
	}
	rapid.Check(t, func(rt *rapid.T) {
		first, second := tokens.Draw(rt, "first"), tokens.Draw(rt, "second")
		for family, of := range forms {
			for i, form := range of {
				for _, own := range []bool{false, true} {
					one, err := RenderNodegroup([]byte(form(first)), FormatCloudConfig, group(family, own))
					if err != nil {
						rt.Fatalf("%s form %d: %v", family, i, err)
					}
					two, err := RenderNodegroup([]byte(form(second)), FormatCloudConfig, group(family, own))
					if err != nil {
						rt.Fatalf("%s form %d: %v", family, i, err)
					}
					masked := string(Masked(one.Bytes, FormatCloudConfig))
					if diff := cmp.Diff(masked, string(Masked(two.Bytes, FormatCloudConfig))); diff != "" {
						rt.Fatalf("%s form %d differs in more than the token (-one +two):\n%s", family, i, diff)
					}
					if strings.Contains(masked, first) {
						rt.Fatalf("%s form %d still has the token:\n%s", family, i, masked)
					}
				}
			}
		}
	})
}
