package eks

import (
	"encoding/base64"
	"fmt"
	"mime"
	"net/mail"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// userData returns the user data of nodes of an EKS image, in base64: the user's data with EKS's
// additions, depending on the family of the image (UG launch-templates, "Amazon EC2 user data"). It
// contains the labels and taints of the group, so that nodes have them when they register.
func (b *builder) userData(g *group, n *settings, given string) (string, error) {
	own, err := base64.StdEncoding.DecodeString(given)
	if err != nil {
		own = []byte(given)
	}
	view, _ := b.clusters.views.Get(g.cluster.Name)
	labels := nodeLabels(g, n)
	text := ""
	switch imageLines[n.amiType].family {
	case bottlerocket:
		text = bottlerocketData(view, labels, n.taints, string(own))
	case windows:
		text = windowsData(view, labels, string(own))
	case amazonLinux2023:
		text, err = multipart(string(own), "application/node.eks.aws", nodeConfig(view, labels, n.taints))
	default:
		text, err = multipart(string(own), `text/x-shellscript; charset="us-ascii"`, bootstrapScript(view, labels, n.taints))
	}
	return base64.StdEncoding.EncodeToString([]byte(text)), err
}

// Labels that EKS gives the nodes of managed groups (UG managed-node-groups, launch-templates).
const (
	LabelNodegroup     = "eks.amazonaws.com/nodegroup"
	LabelImage         = "eks.amazonaws.com/nodegroup-image"
	LabelSource        = "eks.amazonaws.com/sourceLaunchTemplateId"
	LabelSourceVersion = "eks.amazonaws.com/sourceLaunchTemplateVersion"
	LabelCapacityType  = "eks.amazonaws.com/capacityType"
)

func nodeLabels(g *group, n *settings) map[string]string {
	labels := merged(n.labels, map[string]string{
		LabelNodegroup: g.name, LabelImage: n.image, LabelCapacityType: string(n.capacityType),
	})
	if n.source != nil {
		labels[LabelSource], labels[LabelSourceVersion] = n.source.id, itoa(n.source.version)
	}
	return labels
}

func pairs(labels map[string]string) string {
	var list []string
	for _, key := range sortedKeys(labels) {
		list = append(list, key+"="+labels[key])
	}
	return strings.Join(list, ",")
}

// kubernetesEffects maps EKS's names for the effects of taints to Kubernetes's.
var kubernetesEffects = map[types.TaintEffect]string{
	types.TaintEffectNoSchedule: "NoSchedule", types.TaintEffectNoExecute: "NoExecute", types.TaintEffectPreferNoSchedule: "PreferNoSchedule",
}

func taintFlags(taints []types.Taint) string {
	var list []string
	for _, t := range taints {
		list = append(list, val(t.Key)+"="+val(t.Value)+":"+kubernetesEffects[t.Effect])
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

func kubeletFlags(labels map[string]string, taints []types.Taint) []string {
	flags := []string{"--node-labels=" + pairs(labels)}
	if len(taints) > 0 {
		flags = append(flags, "--register-with-taints="+taintFlags(taints))
	}
	return flags
}

func nodeConfig(c *types.Cluster, labels map[string]string, taints []types.Taint) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  cluster:\n    name: %s\n    apiServerEndpoint: %s\n    certificateAuthority: %s\n    cidr: %s\n",
		*c.Name, *c.Endpoint, *c.CertificateAuthority.Data, *c.KubernetesNetworkConfig.ServiceIpv4Cidr)
	b.WriteString("  kubelet:\n    flags:\n")
	for _, flag := range kubeletFlags(labels, taints) {
		fmt.Fprintf(&b, "    - %q\n", flag)
	}
	return b.String()
}

func bootstrapScript(c *types.Cluster, labels map[string]string, taints []types.Taint) string {
	return fmt.Sprintf("#!/bin/bash\nset -ex\n/etc/eks/bootstrap.sh %s --kubelet-extra-args '%s' --b64-cluster-ca %s --apiserver-endpoint %s\n",
		*c.Name, strings.Join(kubeletFlags(labels, taints), " "), *c.CertificateAuthority.Data, *c.Endpoint)
}

const boundary = "//"

// multipart appends EKS's part to the user's MIME multi-part message, which EKS's images merge when
// they boot. EKS refuses any other user data for Amazon Linux (UG launch-templates: it "must be in
// the MIME multi-part archive format"). Users report the message with health code
// Ec2LaunchTemplateInvalidConfiguration: terraform-aws-modules/terraform-aws-eks#1875 and #2955 for
// a creation, hashicorp/terraform-provider-aws, TestAccAWSEksNodeGroup_LaunchTemplate_Version, for
// an update.
func multipart(own, contentType, part string) (string, error) {
	if strings.TrimSpace(own) == "" {
		return fmt.Sprintf("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=%q\n\n--%s\nContent-Type: %s\n\n%s\n--%s--\n",
			boundary, boundary, contentType, part, boundary), nil
	}
	end := "--" + boundaryOf(own) + "--"
	body, _, closed := strings.Cut(own, end)
	if end == "----" || !closed {
		return "", sim.Errorf(codeNotMultipart, "User data was not in the MIME multipart format.")
	}
	return body + "--" + boundaryOf(own) + "\nContent-Type: " + contentType + "\n\n" + part + "\n" + end + "\n", nil
}

// boundaryOf returns the boundary of a MIME multi-part message, or "" for any other text.
func boundaryOf(message string) string {
	read, err := mail.ReadMessage(strings.NewReader(message))
	if err != nil {
		return ""
	}
	kind, parameters, err := mime.ParseMediaType(read.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "multipart/") {
		return ""
	}
	return parameters["boundary"]
}

func bottlerocketData(c *types.Cluster, labels map[string]string, taints []types.Taint, own string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[settings.kubernetes]\n\"cluster-name\" = %q\n\"api-server\" = %q\n\"cluster-certificate\" = %q\n",
		*c.Name, *c.Endpoint, *c.CertificateAuthority.Data)
	b.WriteString("[settings.kubernetes.\"node-labels\"]\n")
	for _, key := range sortedKeys(labels) {
		fmt.Fprintf(&b, "%q = %q\n", key, labels[key])
	}
	if len(taints) > 0 {
		b.WriteString("[settings.kubernetes.\"node-taints\"]\n")
		for _, t := range taints {
			fmt.Fprintf(&b, "%q = %q\n", val(t.Key), val(t.Value)+":"+kubernetesEffects[t.Effect])
		}
	}
	return b.String() + own // the user's settings override EKS's
}

func windowsData(c *types.Cluster, labels map[string]string, own string) string {
	own = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(own), "<powershell>"), "</powershell>")
	return fmt.Sprintf("<powershell>%s\n[string]$EKSBootstrapScriptFile = \"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\"\n"+
		"& $EKSBootstrapScriptFile -EKSClusterName %q -APIServerEndpoint %q -Base64ClusterCA %q -KubeletExtraArgs \"--node-labels=%s\"\n</powershell>\n",
		own, *c.Name, *c.Endpoint, *c.CertificateAuthority.Data, pairs(labels))
}
