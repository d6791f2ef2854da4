package userdata

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// Bottlerocket reads settings in TOML (Bottlerocket: "Settings", kubernetes).

// completeTOML says how to join, and nothing else. The settings are in quotes that TOML and Go write alike.
func completeTOML(c EKSCluster) []byte {
	return fmt.Appendf(nil, "[settings.kubernetes]\napi-server = %q\ncluster-certificate = %q\ncluster-name = %q\n",
		c.Endpoint, c.CertificateAuthority, c.Name)
}

// unsupportedTOML are the forms that TOML has and EKS does not merge (AWS: launch-templates,
// "Bottlerocket user data"), except for the forms of arrays.
var unsupportedTOML = []struct {
	pattern *regexp.Regexp
	what    string
}{
	{regexp.MustCompile(`(?m)^[ \t]*(?:'[^'\n]*"[^'\n]*'|"[^"\n]*\\"[^\n]*")[ \t]*=`), "quotes within quoted keys"},
	{regexp.MustCompile(`(?m)=[^\n]*\\"`), "escaped quotes in values"},
	{regexp.MustCompile(`(?m)^[ \t]*\[\[?[ \t]*(?:[\w-]+[ \t]*\.[ \t]*)+["'][^\n]*\]|^\[\[?[ \t]*["'][^\n]*\]`), "headers with quoted keys"},
}

func checkBottlerocket(data []byte, group Nodegroup) error {
	settings := map[string]any{}
	if err := toml.Unmarshal(data, &settings); err != nil {
		return refused("EK17", "the bootstrap data is not valid TOML, which Bottlerocket requires: %v", err)
	}
	if group.OwnImage {
		kubernetes := table(table(settings, "settings"), "kubernetes")
		var missing []string
		for _, key := range []string{"api-server", "cluster-certificate", "cluster-name"} {
			if text, _ := kubernetes[key].(string); text == "" {
				missing = append(missing, key)
			}
		}
		if len(missing) > 0 {
			return refused("EK14", "EKS adds no settings for your own image, so nodes could not join: set %s in "+
				"settings.kubernetes", strings.Join(missing, ", "))
		}
		return nil
	}
	for _, form := range unsupportedTOML {
		if form.pattern.Match(data) {
			return refused("EK17", "EKS cannot merge TOML with %s: rewrite it without them", form.what)
		}
	}
	if mixedArray(settings) {
		return refused("EK17", "EKS cannot merge TOML that has arrays with elements of different types, such as "+
			"integers and floats: use one type for each array")
	}
	return nil
}

func table(of map[string]any, key string) map[string]any {
	inner, _ := of[key].(map[string]any)
	return inner
}

// mixedArray finds an array whose items differ in type, at any depth.
func mixedArray(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			if mixedArray(inner) {
				return true
			}
		}
	case []map[string]any:
		for _, inner := range value {
			if mixedArray(inner) {
				return true
			}
		}
	case []any:
		for _, inner := range value {
			if fmt.Sprintf("%T", inner) != fmt.Sprintf("%T", value[0]) || mixedArray(inner) {
				return true
			}
		}
	}
	return false
}

// Windows runs the PowerShell between tags (AWS: ec2-windows-user-data); EKS puts its own after it,
// in a block of its own.

// powerShellQuoted returns text as a single-quoted string of PowerShell.
func powerShellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// completePowerShell calls what the images bring along (AWS: eks-optimized-windows-ami, "Bootstrap
// script configuration parameters").
func completePowerShell(c EKSCluster) []byte {
	return []byte("<powershell>\n" +
		`& "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1" -EKSClusterName ` + powerShellQuoted(c.Name) +
		" -APIServerEndpoint " + powerShellQuoted(c.Endpoint) + " -Base64ClusterCA " + powerShellQuoted(c.CertificateAuthority) +
		" -ServiceCIDR " + powerShellQuoted(c.ServiceCIDR) + " 3>&1 4>&1 5>&1 6>&1\n</powershell>\n")
}

func checkWindows(data []byte, group Nodegroup) error {
	opened, closed := bytes.Count(data, []byte("<powershell>")), bytes.Count(data, []byte("</powershell>"))
	switch {
	case opened != 1 || closed != 1 || bytes.Index(data, []byte("<powershell>")) > bytes.Index(data, []byte("</powershell>")):
		return refused("EK19", "Windows runs one block of PowerShell between <powershell> and </powershell>, "+
			"but the bootstrap data has %d: combine them into one", opened)
	case group.OwnImage && !bytes.Contains(data, []byte("Start-EKSBootstrap")):
		return refused("EK14", "EKS adds no user data for your own image, so nodes could not join: call "+
			"Start-EKSBootstrap.ps1 in the block of PowerShell")
	}
	return nil
}
