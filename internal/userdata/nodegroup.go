package userdata

import (
	"bytes"
	"fmt"
	"strings"
)

// Family is a family of images whose nodes read user data in one way.
type Family string

// The families of Amazon EKS images. The empty Family is for an image whose family is unknown.
const (
	FamilyAmazonLinux2    Family = "AmazonLinux2"
	FamilyAmazonLinux2023 Family = "AmazonLinux2023"
	FamilyBottlerocket    Family = "Bottlerocket"
	FamilyWindows         Family = "Windows"
)

// FamilyOf returns the family of an amiType of EKS. It returns false for CUSTOM, which has no
// family, and for an unknown type.
func FamilyOf(amiType string) (Family, bool) {
	for prefix, family := range map[string]Family{
		"AL2_": FamilyAmazonLinux2, "AL2023_": FamilyAmazonLinux2023, "BOTTLEROCKET_": FamilyBottlerocket, "WINDOWS_": FamilyWindows,
	} {
		if strings.HasPrefix(amiType, prefix) {
			return family, true
		}
	}
	return "", false
}

// FamilyOfImage returns the family of an image that Amazon published for EKS, by its name (AWS:
// eks-ami-build-scripts and the pages of the families). It returns false for every other image.
func FamilyOfImage(name string) (Family, bool) {
	switch {
	case strings.HasPrefix(name, "amazon-eks-node-al2023-"):
		return FamilyAmazonLinux2023, true
	case strings.HasPrefix(name, "amazon-eks-"):
		return FamilyAmazonLinux2, true
	case strings.HasPrefix(name, "bottlerocket-"):
		return FamilyBottlerocket, true
	case strings.HasPrefix(name, "Windows_Server-"):
		return FamilyWindows, true
	}
	return "", false
}

// EKSCluster contains what a node must know about its cluster to join it.
type EKSCluster struct {
	Name, Endpoint string
	// CertificateAuthority is in base64, as EKS gives it.
	CertificateAuthority string
	// ServiceCIDR is the range of the cluster's Services, IPv4 or IPv6.
	ServiceCIDR string
}

// Nodegroup says for which nodes of an EKS managed node group user data is rendered.
type Nodegroup struct {
	// Family of the image; empty if it is unknown, which only happens for custom images.
	Family Family
	// OwnImage says that the launch template has the image. Then EKS adds nothing to user data,
	// which has to be complete; else EKS merges user data into its own (AWS: launch-templates,
	// "Amazon EC2 user data").
	OwnImage bool
	Cluster  EKSCluster
}

// RenderNodegroup renders user data from bootstrap data, which may be empty: user data is empty
// then where EKS provides it, and is generated where the image is a custom one. Equal arguments
// give equal bytes.
//
// The error is a *NodegroupDataError, a *TooLargeError or an *UnknownFormatError.
func RenderNodegroup(data []byte, format Format, group Nodegroup) (Rendered, error) {
	format, err := ParseFormat(string(format))
	if err != nil {
		return Rendered{}, err
	}
	if len(data) == 0 {
		return renderEmpty(group)
	}
	if format == FormatIgnition {
		if group.OwnImage && group.Family == "" {
			return Render(data, format)
		}
		return Rendered{}, refused("EK16", "the bootstrap data is Ignition, which images of Amazon EKS do not "+
			"support: use another bootstrap config, or an image that supports Ignition")
	}
	if data, err = plainNodegroupData(data, group); err != nil {
		return Rendered{}, err
	}
	switch group.Family {
	case FamilyBottlerocket:
		err = checkBottlerocket(data, group)
	case FamilyWindows:
		err = checkWindows(data, group)
	case FamilyAmazonLinux2023:
		data, err = amazonLinux2023(data, group)
	case FamilyAmazonLinux2:
		data, err = amazonLinux2(data, group)
	default:
		if !group.OwnImage {
			return Rendered{}, refused("EK16", "the image family of the bootstrap data is unknown: set amiType")
		}
	}
	if err != nil {
		return Rendered{}, err
	}
	return fit(data, group)
}

// plainNodegroupData undoes the compression of a bootstrap provider: EKS and most families do not
// look into what is compressed. Data that is too long is refused before it is parsed, which takes
// many times as much memory as data has bytes.
func plainNodegroupData(data []byte, group Nodegroup) ([]byte, error) {
	if plain, packed := Unpack(data); packed {
		data = plain
	}
	if len(data) > Limit && !compressible(group) {
		return nil, tooLargeForNodegroup(data)
	}
	return data, nil
}

// fit compresses only what cloud-init reads, and EKS does not look into.
func fit(data []byte, group Nodegroup) (Rendered, error) {
	if len(data) > Limit && !compressible(group) {
		return Rendered{}, tooLargeForNodegroup(data)
	}
	return Render(data, FormatCloudConfig)
}

// compressible reports whether only cloud-init reads the user data, which undoes compression.
func compressible(group Nodegroup) bool {
	return group.OwnImage && (group.Family == "" || group.Family == FamilyAmazonLinux2)
}

func tooLargeForNodegroup(data []byte) error {
	return &TooLargeError{Size: len(data), Limit: Limit, Format: FormatCloudConfig, Nodegroup: true}
}

func renderEmpty(group Nodegroup) (Rendered, error) {
	if !group.OwnImage {
		return Rendered{}, nil
	}
	data, err := complete(group)
	if err != nil {
		return Rendered{}, err
	}
	return Rendered{Bytes: data}, nil
}

// complete returns user data that joins a node to the cluster and does nothing else.
func complete(group Nodegroup) ([]byte, error) {
	missing := group.Cluster.missing()
	switch {
	case group.Family == "":
		return nil, refused("EK14", "there is no bootstrap data, and Slipway can create it only for images of "+
			"Amazon EKS: set a bootstrap config or a data Secret in the MachinePool, or use an image of "+
			"Amazon EKS")
	case len(missing) > 0 && (group.Family != FamilyAmazonLinux2 || group.Cluster.Name == ""):
		return nil, refused("EK14", "nodes cannot join yet: the cluster has no %s", strings.Join(missing, ", no "))
	}
	switch group.Family {
	case FamilyBottlerocket:
		return completeTOML(group.Cluster), nil
	case FamilyWindows:
		return completePowerShell(group.Cluster), nil
	case FamilyAmazonLinux2:
		return completeShell(group.Cluster), nil
	default:
		return multipartOf(part{contentType: nodeConfigType, content: nodeConfig(group.Cluster)}), nil
	}
}

func (c EKSCluster) missing() []string {
	var missing []string
	for _, fact := range []struct{ name, value string }{
		{"name", c.Name}, {"API server endpoint", c.Endpoint}, {"certificate authority", c.CertificateAuthority}, {"service CIDR", c.ServiceCIDR},
	} {
		if fact.value == "" {
			missing = append(missing, fact.name)
		}
	}
	return missing
}

// shellQuoted returns text as a single-quoted word of a POSIX shell.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// completeShell calls what the images of Amazon Linux 2 bring along (AWS: eks-ami-build-scripts,
// bootstrap.sh). Only the name of the cluster is required: the script asks EKS for the rest, which
// the node role allows.
func completeShell(c EKSCluster) []byte {
	command := "/etc/eks/bootstrap.sh " + shellQuoted(c.Name)
	if c.Endpoint != "" && c.CertificateAuthority != "" {
		command += " --apiserver-endpoint " + shellQuoted(c.Endpoint) + " --b64-cluster-ca " + shellQuoted(c.CertificateAuthority)
	}
	return []byte("#!/bin/bash\nset -ex\n" + command + "\n")
}

// NodegroupDataError says that user data of a managed node group would not have nodes join, or not
// be taken by EKS.
type NodegroupDataError struct {
	// Rule is the rule of the validation matrix, EK14 to EK19.
	Rule string
	// Message says what is wrong, and what to do.
	Message string
}

// Error implements error.
func (e *NodegroupDataError) Error() string { return e.Message }

// WaitsForUser says that only a change by a person helps.
func (*NodegroupDataError) WaitsForUser() bool { return true }

func refused(rule, format string, values ...any) error {
	return &NodegroupDataError{Rule: rule, Message: fmt.Sprintf(format, values...)}
}

// MergedByEKS reports whether EKS can merge user data of a launch template without an image into
// its own, for some family of images: a MIME multi-part message for Amazon Linux, TOML for
// Bottlerocket, PowerShell for Windows.
func MergedByEKS(data []byte) bool {
	if isMultipart(data) {
		_, err := partsOf(data)
		return err == nil
	}
	return bytes.Contains(data, []byte("<powershell>")) || len(data) <= Limit && checkBottlerocket(data, Nodegroup{Family: FamilyBottlerocket}) == nil
}

// NodegroupWarnings describes the parts of bootstrap data that would be applied twice: EKS sees to
// it for the images that it chooses.
func NodegroupWarnings(data []byte, group Nodegroup) []string {
	if group.OwnImage {
		return nil
	}
	if plain, packed := Unpack(data); packed {
		data = plain
	}
	var said []string
	for _, call := range []string{"/etc/eks/bootstrap.sh", "Start-EKSBootstrap", "nodeadm init", "kubeadm join", "systemctl restart kubelet", "systemctl start kubelet"} {
		if bytes.Contains(data, []byte(call)) {
			said = append(said, fmt.Sprintf("the bootstrap data calls %q, but EKS adds this call for its own "+
				"images: remove the call", call))
		}
	}
	return said
}
