package userdata

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v2"
)

// nodeConfigType is the type of parts that nodeadm reads (nodeadm: "Configuration").
const nodeConfigType = "application/node.eks.aws"

// part is a part of a MIME multi-part message.
type part struct {
	contentType string
	content     []byte
}

// partTypes lists the content types that cloud-init recognizes by the first line (cloud-init:
// User-data formats).
var partTypes = []struct{ prefix, contentType string }{
	{"#!", "text/x-shellscript"},
	{"#cloud-config-archive", "text/cloud-config-archive"},
	{"#cloud-config", "text/cloud-config"},
	{"#cloud-boothook", "text/cloud-boothook"},
	{"#include", "text/x-include-url"},
	{"## template: jinja", "text/jinja2"},
}

// multipartOf writes a message. The boundary is the same for all content but what happens to hold
// it, so that a rotated token changes nothing else.
func multipartOf(parts ...part) []byte {
	boundary := "slipway-nodegroup"
	for held(parts, "--"+boundary) {
		boundary += "-"
	}
	var message bytes.Buffer
	fmt.Fprintf(&message, "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"%s\"\n\n", boundary)
	for _, p := range parts {
		fmt.Fprintf(&message, "--%s\nContent-Type: %s; charset=\"%s\"\n\n%s\n", boundary, p.contentType, charset(p.content), p.content)
	}
	fmt.Fprintf(&message, "--%s--\n", boundary)
	return message.Bytes()
}

func held(parts []part, text string) bool {
	for _, p := range parts {
		if bytes.Contains(p.content, []byte(text)) {
			return true
		}
	}
	return false
}

func charset(content []byte) string {
	if bytes.IndexFunc(content, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		return "utf-8"
	}
	return "us-ascii"
}

// isMultipart recognizes a MIME message by its first header, as cloud-init does.
func isMultipart(data []byte) bool {
	start := bytes.ToLower(data[:min(len(data), 64)])
	return bytes.HasPrefix(start, []byte("mime-version:")) || bytes.HasPrefix(start, []byte("content-type: multipart/"))
}

// partsOf reads a message.
func partsOf(data []byte) ([]part, error) {
	message, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		return nil, refused("EK16", "the bootstrap data is not a valid MIME multi-part message: %v", err)
	}
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "multipart/") || parameters["boundary"] == "" {
		return nil, refused("EK16", "the bootstrap data is a MIME message without parts: set its Content-Type "+
			"to multipart/mixed with a boundary")
	}
	var parts []part
	for reader := multipart.NewReader(message.Body, parameters["boundary"]); ; {
		next, err := reader.NextPart()
		if err == io.EOF { //nolint:errorlint // by the contract of NextPart
			break
		}
		if err != nil {
			return nil, refused("EK16", "part %d of the bootstrap data is not valid MIME: %v", len(parts)+1, err)
		}
		content, err := io.ReadAll(next)
		if err != nil {
			return nil, refused("EK16", "part %d of the bootstrap data is not valid MIME: %v", len(parts)+1, err)
		}
		contentType, _, err := mime.ParseMediaType(next.Header.Get("Content-Type"))
		if err != nil {
			contentType = "text/plain"
		}
		parts = append(parts, part{contentType: contentType, content: content})
	}
	if len(parts) == 0 {
		return nil, refused("EK16", "the bootstrap data is a MIME message without parts: add a part, or remove "+
			"the bootstrap data")
	}
	return parts, nil
}

// single returns data that is not a MIME message as one part.
func single(data []byte) (part, error) {
	for _, known := range partTypes {
		if bytes.HasPrefix(data, []byte(known.prefix)) {
			return part{contentType: known.contentType, content: data}, nil
		}
	}
	if isNodeConfig(data) {
		return part{contentType: nodeConfigType, content: data}, nil
	}
	return part{}, refused("EK16", "the bootstrap data is not in a format that nodes support: start it with "+
		"#cloud-config or #!, or use a NodeConfig or a MIME multi-part message")
}

// nodeConfigFields are the fields of a NodeConfig that a node needs (nodeadm: api/v1alpha1,
// ClusterDetails).
type nodeConfigFields struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Spec       struct {
		Cluster struct {
			Name                 string `yaml:"name"`
			APIServerEndpoint    string `yaml:"apiServerEndpoint"`
			CertificateAuthority string `yaml:"certificateAuthority"`
			CIDR                 string `yaml:"cidr"`
		} `yaml:"cluster"`
	} `yaml:"spec"`
}

// parseNodeConfig reads the fields of a NodeConfig, and nothing else of it: the aliases of a short
// document can stand for gigabytes.
func parseNodeConfig(data []byte) (fields nodeConfigFields, err error) {
	if len(data) > Limit {
		return fields, fmt.Errorf("it has %d bytes, but user data is limited to %d", len(data), Limit)
	}
	return fields, yaml.Unmarshal(data, &fields)
}

func isNodeConfig(data []byte) bool {
	fields, err := parseNodeConfig(data)
	return err == nil && strings.HasPrefix(fields.APIVersion, "node.eks.aws/") && fields.Kind == "NodeConfig"
}

// nodeConfig returns a NodeConfig that only contains how to join the cluster.
func nodeConfig(c EKSCluster) []byte {
	return fmt.Appendf(nil, `---
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  cluster:
    name: %q
    apiServerEndpoint: %q
    certificateAuthority: %q
    cidr: %q
`, c.Name, c.Endpoint, c.CertificateAuthority, c.ServiceCIDR)
}

// clusterOf returns the cluster that the NodeConfigs among the parts describe together, because
// nodeadm merges them, and the number of NodeConfigs.
func clusterOf(parts []part) (cluster EKSCluster, count int, err error) {
	for i, p := range parts {
		if p.contentType != nodeConfigType {
			continue
		}
		fields, err := parseNodeConfig(p.content)
		if err != nil || fields.Kind != "NodeConfig" {
			return EKSCluster{}, 0, refused("EK15", "part %d of the bootstrap data has type %s, but is not a "+
				"NodeConfig: %v", i+1, nodeConfigType, err)
		}
		count++
		said := fields.Spec.Cluster
		for _, fact := range []struct {
			into  *string
			value string
		}{
			{&cluster.Name, said.Name},
			{&cluster.Endpoint, said.APIServerEndpoint},
			{&cluster.CertificateAuthority, said.CertificateAuthority},
			{&cluster.ServiceCIDR, said.CIDR},
		} {
			if fact.value != "" {
				*fact.into = fact.value
			}
		}
	}
	return cluster, count, nil
}

// amazonLinux2 has EKS merge the data, which it does with MIME messages alone; a node with an image
// of one's own reads what cloud-init reads.
func amazonLinux2(data []byte, group Nodegroup) ([]byte, error) {
	parts, err := readParts(data)
	if err != nil {
		return nil, err
	}
	if _, count, err := clusterOf(parts); err != nil || count > 0 {
		return nil, refused("EK16", "the bootstrap data has a NodeConfig, which Amazon Linux 2 does not "+
			"support: use an image of Amazon Linux 2023, or remove the NodeConfig")
	}
	if group.OwnImage || isMultipart(data) {
		return data, nil
	}
	return multipartOf(parts...), nil
}

// amazonLinux2023 has EKS, or nodeadm, merge the data. If the image is a custom one, cluster
// details that NodeConfigs leave out are put before them: nodeadm lets the later win.
func amazonLinux2023(data []byte, group Nodegroup) ([]byte, error) {
	parts, err := readParts(data)
	if err != nil {
		return nil, err
	}
	said, count, err := clusterOf(parts)
	if err != nil {
		return nil, err
	}
	missing := said.missing()
	switch {
	case !group.OwnImage || len(missing) == 0 || count == 0 && bytes.Contains(data, []byte("nodeadm init")):
		// EKS adds what is missing; nothing is; or the data sees to it itself.
		if isMultipart(data) {
			return data, nil
		}
		return multipartOf(parts...), nil
	case len(group.Cluster.missing()) > 0:
		return nil, refused("EK15", "the NodeConfig in the bootstrap data does not set the %s of the cluster, "+
			"which EKS does not add: set name, apiServerEndpoint, certificateAuthority, and cidr in "+
			"spec.cluster", strings.Join(missing, ", "))
	}
	return multipartOf(append([]part{{contentType: nodeConfigType, content: nodeConfig(group.Cluster)}}, parts...)...), nil
}

func readParts(data []byte) ([]part, error) {
	if isMultipart(data) {
		return partsOf(data)
	}
	one, err := single(data)
	return []part{one}, err
}
