package userdata

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Where the bootstrap data is kept outside of EC2, user data is a pointer to it, and holds no secret.

// fetchedFile is the path at which an instance stores what it fetched. The directory belongs to the
// instance, not to the image: an image that is created from a node contains no old data.
const fetchedFile = "/var/lib/cloud/instance/slipway-bootstrap-data"

// fetching is the user data of cloud-init that fetches and then starts over. The boothook runs
// early in the boot, before any module; by then cloud-init has found no file to include, so the
// hook restarts it. The second time the file is there, and the hook does nothing. Where cloud-init
// is no service of that name the instance boots again. Nothing may run in between: modules would
// count as done.
const fetching = `MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="slipway-bootstrap"

--slipway-bootstrap
Content-Type: text/cloud-boothook

#!/bin/bash
data=FILE
[ -s "$data" ] && exit 0
umask 077
set -o pipefail
for wait in 2 4 8 15 30 30 30 30 30 30 60 60; do
  if FETCH && [ -s "$data.new" ]; then
    mv "$data.new" "$data"
    echo "slipway: fetched the bootstrap data; starting cloud-init over"
    systemctl restart cloud-init || { systemctl reboot; sleep 600; }
    exit 0
  fi
  echo "slipway: could not fetch the bootstrap data with the instance's profile; trying again in $wait s" >&2
  sleep "$wait"
done
echo "slipway: giving up: this instance will not join its cluster" >&2
exit 1
--slipway-bootstrap
Content-Type: text/x-include-url

file://FILE
--slipway-bootstrap--
`

// FromParameter returns user data for cloud-init that fetches the result of PackParameter from a
// parameter of Systems Manager.
func FromParameter(region, name string) []byte {
	return fetch(fmt.Sprintf("aws ssm get-parameter --region '%s' --name '%s' --with-decryption --query Parameter.Value --output text | "+
		`base64 -d | gunzip > "$data.new"`, region, name))
}

// FromObject returns user data for cloud-init that fetches bootstrap data from an S3 object.
func FromObject(region, bucket, key string) []byte {
	return fetch(fmt.Sprintf(`aws s3api get-object --region '%s' --bucket '%s' --key '%s' "$data.new" > /dev/null`, region, bucket, key))
}

func fetch(command string) []byte {
	return []byte(strings.NewReplacer("FILE", fetchedFile, "FETCH", command).Replace(fetching))
}

// ParameterLimit limits the size of a parameter's value, in bytes (AWS: "Managing parameter tiers",
// advanced parameters).
const ParameterLimit = 8192

// PackParameter returns the value of a parameter of bootstrap data: compressed, because a parameter
// is small, and in base64, because its value is text that must not hold double braces, which
// kubeadm's templates contain (AWS: PutParameter, Value). Equal data give equal values. The error
// is a *TooLargeError or an *EmptyError.
func PackParameter(data []byte) ([]byte, error) {
	if len(data) == 0 {
		return nil, &EmptyError{}
	}
	compressed, err := compress(data)
	if err != nil {
		return nil, fmt.Errorf("compressing %d bytes of bootstrap data: %w", len(data), err)
	}
	value := []byte(base64.StdEncoding.EncodeToString(compressed))
	if len(value) > ParameterLimit {
		return nil, &TooLargeError{Size: len(value), Limit: ParameterLimit, Format: FormatCloudConfig, Uncompressed: len(data), Parameter: true}
	}
	return value, nil
}

// Ignition contains the settings with which Ignition fetches bootstrap data.
type Ignition struct {
	// Version of the specification, such as 2.3 or 3.4. Empty is 2.3, as with CAPA.
	Version string
	// HTTPProxy, HTTPSProxy and NoProxy are how it reaches the network. Since version 3.1.
	HTTPProxy, HTTPSProxy string
	NoProxy               []string
	// CertificateAuthorities are the URLs of certificates that it trusts.
	CertificateAuthorities []string
}

// Plain reports whether Ignition needs nothing but the location of the data.
func (i Ignition) Plain() bool {
	return i.HTTPProxy == "" && i.HTTPSProxy == "" && len(i.NoProxy) == 0 && len(i.CertificateAuthorities) == 0
}

// defaultIgnitionVersion is CAPA's.
const defaultIgnitionVersion = "2.3"

// InvalidIgnitionError says that the settings cannot be written in the wanted version of the specification.
type InvalidIgnitionError struct{ Problem string }

// Error implements error.
func (e *InvalidIgnitionError) Error() string { return e.Problem }

// WaitsForUser says that only a change by a person helps.
func (*InvalidIgnitionError) WaitsForUser() bool { return true }

// The documents of Ignition's specifications, as far as pointing needs them (Ignition:
// "Configuration specifications", v2.3.0 and v3.x).
type (
	ignitionDocument struct {
		Ignition ignitionSection `json:"ignition"`
	}
	ignitionSection struct {
		Version  string            `json:"version"`
		Config   ignitionConfig    `json:"config"`
		Proxy    *ignitionProxy    `json:"proxy,omitempty"`
		Security *ignitionSecurity `json:"security,omitempty"`
	}
	ignitionConfig struct {
		Append []ignitionResource `json:"append,omitempty"`
		Merge  []ignitionResource `json:"merge,omitempty"`
	}
	ignitionResource struct {
		Source string `json:"source"`
	}
	ignitionProxy struct {
		HTTPProxy  string   `json:"httpProxy,omitempty"`
		HTTPSProxy string   `json:"httpsProxy,omitempty"`
		NoProxy    []string `json:"noProxy,omitempty"`
	}
	ignitionSecurity struct {
		TLS struct {
			CertificateAuthorities []ignitionResource `json:"certificateAuthorities"`
		} `json:"tls"`
	}
)

// FromObject returns an Ignition config that includes the config in an S3 object, which Ignition
// reads with the instance's profile. The pointer contains no hash of the object, because the object
// is overwritten when a token rotates. The error is an *InvalidIgnitionError.
func (i Ignition) FromObject(bucket, key string) ([]byte, error) {
	return i.pointer("s3://" + bucket + "/" + key)
}

// Wrap returns an Ignition config with these settings that contains another config, for user data
// without storage. The error is an *InvalidIgnitionError, a *TooLargeError, or an *EmptyError.
func (i Ignition) Wrap(data []byte) ([]byte, error) {
	if len(data) == 0 {
		return nil, &EmptyError{}
	}
	wrapped, err := i.pointer("data:;base64," + base64.StdEncoding.EncodeToString(data))
	if err != nil {
		return nil, err
	}
	if len(wrapped) > Limit {
		return nil, &TooLargeError{Size: len(wrapped), Limit: Limit, Format: FormatIgnition}
	}
	return wrapped, nil
}

// pointer merges, and does not replace: the settings then hold for what the other config fetches, too.
func (i Ignition) pointer(source string) ([]byte, error) {
	version := i.Version
	if version == "" {
		version = defaultIgnitionVersion
	}
	document := ignitionDocument{Ignition: ignitionSection{Version: version + ".0"}}
	resources := []ignitionResource{{Source: source}}
	if strings.HasPrefix(version, "2.") {
		document.Ignition.Config.Append = resources
	} else {
		document.Ignition.Config.Merge = resources
	}
	if i.HTTPProxy != "" || i.HTTPSProxy != "" || len(i.NoProxy) > 0 {
		if slices.Contains([]string{"2.3", "3.0"}, version) {
			return nil, &InvalidIgnitionError{Problem: fmt.Sprintf("ignition.proxy requires ignition.version "+
				"3.1 or later, but it is %s", version)}
		}
		document.Ignition.Proxy = &ignitionProxy{HTTPProxy: i.HTTPProxy, HTTPSProxy: i.HTTPSProxy, NoProxy: i.NoProxy}
	}
	if len(i.CertificateAuthorities) > 0 {
		document.Ignition.Security = &ignitionSecurity{}
		for _, url := range i.CertificateAuthorities {
			document.Ignition.Security.TLS.CertificateAuthorities = append(document.Ignition.Security.TLS.CertificateAuthorities, ignitionResource{Source: url})
		}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("writing an Ignition config: %w", err)
	}
	return bytes.TrimSpace(text.Bytes()), nil
}
