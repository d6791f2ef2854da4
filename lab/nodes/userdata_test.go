package nodes

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
)

const joinConfiguration = `apiVersion: kubeadm.k8s.io/v1beta3
discovery:
  bootstrapToken:
    apiServerEndpoint: 127.0.0.1:6443
    token: abcdef.0123456789abcdef
nodeRegistration:
  kubeletExtraArgs:
    node-labels: pool=blue,zone=a
`

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	if _, err := writer.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.String()
}

func ignition(source string) string {
	return `{"ignition":{"version":"3.0.0"},"storage":{"files":[{"path":"/etc/kubeadm.yml","contents":{"source":"` + source + `"}}]}}`
}

func TestReadUserData(t *testing.T) {
	t.Parallel()
	whole := userData{tokens: []string{"abcdef.0123456789abcdef"}, nodeLabels: map[string]string{"pool": "blue", "zone": "a"}}
	for _, row := range []struct {
		reason string
		raw    string
		want   userData
		fails  string
	}{
		{"cloud-init is read as it is", "#cloud-config\nwrite_files:\n- content: |\n    " + strings.ReplaceAll(joinConfiguration, "\n", "\n    "), whole, ""},
		{"and so is gzipped cloud-init", gzipped(t, "#cloud-config\n"+joinConfiguration), whole, ""},
		{"Ignition's files are data URLs", ignition("data:," + url.PathEscape(joinConfiguration)), whole, ""},
		{"also base64 ones", ignition("data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte(joinConfiguration))), whole, ""},
		{"also compressed ones", ignition("data:;base64," + base64.StdEncoding.EncodeToString([]byte(gzipped(t, joinConfiguration)))), whole, ""},
		{
			"a command line has flags",
			"#!/bin/bash\nkubeadm join 1.2.3.4:6443 --token abcdef.0123456789abcdef\nkubelet --node-labels=pool=blue,zone=a",
			whole, "",
		},
		{
			"kubeadm's newer arguments are a list",
			"#cloud-config\ntoken: abcdef.0123456789abcdef\nkubeletExtraArgs:\n- name: node-labels\n  value: pool=blue,zone=a\n",
			whole, "",
		},
		{"what only looks like a token is none", "#!/bin/bash\nsource mylibs.functions0000000\n/etc/eks/bootstrap.sh my-cluster", userData{eks: true}, ""},
		{
			"a NodeConfig has flags in a list",
			"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    flags:\n    - \"--node-labels=pool=blue\"\n    - \"--register-with-taints=a=b:NoSchedule,c=:NoExecute,d:PreferNoSchedule\"\n",
			userData{eks: true, nodeLabels: map[string]string{"pool": "blue"}, taints: []corev1.Taint{
				{Key: "a", Value: "b", Effect: "NoSchedule"}, {Key: "c", Effect: "NoExecute"}, {Key: "d", Effect: "PreferNoSchedule"},
			}}, "",
		},
		{
			"or the kubelet's configuration",
			"apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet:\n    config:\n      maxPods: 17\n      registerWithTaints:\n      - key: a\n        value: b\n        effect: NoSchedule\n      - key: c\n        effect: NoExecute\n      clusterDNS: []\n",
			userData{eks: true, maxPods: 17, taints: []corev1.Taint{{Key: "a", Value: "b", Effect: "NoSchedule"}, {Key: "c", Effect: "NoExecute"}}}, "",
		},
		{
			"kubeadm's list of taints is indented deeper",
			"#cloud-config\nwrite_files:\n- content: |\n    nodeRegistration:\n      taints:\n        - effect: NoSchedule\n          key: a\n      kubeletExtraArgs:\n        max-pods: \"30\"\n",
			userData{maxPods: 30, taints: []corev1.Taint{{Key: "a", Effect: "NoSchedule"}}}, "",
		},
		{"no taints are a list, too", "#cloud-config\ntaints: []\nother: x\n", userData{}, ""},
		{"a label of Kubernetes that is not the kubelet's keeps it from starting", "#!/bin/bash\nkubelet --node-labels=node-role.kubernetes.io/worker=", userData{}, "node-role.kubernetes.io/worker"},
		{"one that is the kubelet's does not", "#!/bin/bash\nkubelet --node-labels=topology.kubernetes.io/zone=a", userData{nodeLabels: map[string]string{"topology.kubernetes.io/zone": "a"}}, ""},
		{"a taint without an effect does", "#!/bin/bash\nkubelet --register-with-taints=a=b", userData{}, "taint"},
		{"no user data is a reason not to join", " \n", userData{}, "no user data"},
		{"and so is a damaged archive", "\x1f\x8bnonsense", userData{}, "damaged"},
		{"and so is broken Ignition", `{"ignition": `, userData{}, "Ignition"},
	} {
		got, err := readUserData([]byte(row.raw))
		if row.fails != "" {
			if err == nil || !strings.Contains(err.Error(), row.fails) {
				t.Errorf("%s: got error %v", row.reason, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", row.reason, err)
			continue
		}
		if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(userData{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s:\n%s", row.reason, diff)
		}
	}
}

func TestKubeletVersion(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, image, want string }{
		{"CAPA's images carry the whole version", "capa-ami-ubuntu-24.04-v1.33.1-1745366400", "v1.33.1"},
		{"older ones without the v", "capa-ami-ubuntu-20.04-1.22.0-1628035200", "v1.22.0"},
		{"EKS's only the minor one", "amazon-eks-node-al2023-x86_64-standard-1.33-v20250501", "v1.33.0"},
		{"others none", "ubuntu/images/hvm-ssd/ubuntu-noble-24.04-amd64-server", ""},
	} {
		if got := kubeletVersion(row.image); got != row.want {
			t.Errorf("%s: %s gives %q, want %q", row.reason, row.image, got, row.want)
		}
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	if got, want := Name("us-east-1", "i-0123"), "i-0123.ec2.internal"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := Name("eu-west-1", "i-0123"), "i-0123.eu-west-1.compute.internal"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
