package nodes

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"regexp"
	"strings"

	"github.com/slipway-project/slipway/awssim"
)

// The commands of a boothook that fetch bootstrap data outside of user data. A machine here runs no
// shell: it knows these two commands of the AWS CLI.
var (
	getParameter = regexp.MustCompile(`\baws ssm get-parameter --region '([^']+)' --name '([^']+)' --with-decryption\b[^\n]*\| base64 -d \| gunzip\b`)
	getObject    = regexp.MustCompile(`\baws s3api get-object --region '([^']+)' --bucket '([^']+)' --key '([^']+)'`)
)

// follow returns what a machine boots with: its user data, or what that points to. The machine
// reads it when it boots, with its instance profile. The error says why it could not.
func (n *Nodes) follow(m machine, instance awssim.Instance) ([]byte, error) {
	raw, err := inflate([]byte(instance.UserData))
	if err != nil {
		return nil, fmt.Errorf("its user data is damaged: %w", err)
	}
	reader := profileReader{cloud: n.cloud, machine: m, hasProfile: instance.IamInstanceProfile != nil}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] == '{' {
		return reader.ignition(trimmed)
	}
	script, err := boothook(raw)
	if err != nil {
		return nil, err
	}
	if command := getParameter.FindStringSubmatch(script); command != nil {
		return reader.parameter(command[1], command[2])
	}
	if command := getObject.FindStringSubmatch(script); command != nil {
		return reader.object(command[1], command[2], command[3])
	}
	return raw, nil
}

// boothook returns the boothook in multi-part user data that includes a file that it writes; empty
// for other user data.
func boothook(raw []byte) (string, error) {
	message, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return "", nil //nolint:nilerr // not multi-part: cloud-config, or a script
	}
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/mixed" {
		return "", nil //nolint:nilerr // as above
	}
	hook, included := "", false
	for reader := multipart.NewReader(message.Body, parameters["boundary"]); ; {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("its user data is damaged: %w", err)
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return "", fmt.Errorf("its user data is damaged: %w", err)
		}
		switch part.Header.Get("Content-Type") {
		case "text/cloud-boothook":
			hook = string(content)
		case "text/x-include-url":
			included = strings.HasPrefix(string(content), "file:///")
		}
	}
	if hook != "" && !included {
		return "", errors.New("its user data has a boothook, and includes nothing of what that fetches")
	}
	return hook, nil
}

// profileReader reads as a machine does.
type profileReader struct {
	cloud Cloud
	machine
	hasProfile bool
}

var errNoProfile = errors.New("it has no instance profile to read its bootstrap data with")

func (r profileReader) parameter(region, name string) ([]byte, error) {
	if !r.hasProfile {
		return nil, errNoProfile
	}
	value, err := r.cloud.Region(r.account, region).Parameter(name)
	if err != nil {
		return nil, fmt.Errorf("it can not read parameter %s: %w", name, err)
	}
	packed, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return nil, fmt.Errorf("parameter %s is not in base64: %w", name, err)
	}
	if !bytes.HasPrefix(packed, []byte{0x1f, 0x8b}) {
		return nil, fmt.Errorf("parameter %s is not compressed", name)
	}
	return inflate(packed)
}

func (r profileReader) object(region, bucket, key string) ([]byte, error) {
	if !r.hasProfile {
		return nil, errNoProfile
	}
	content, err := r.cloud.Region(r.account, region).Object(bucket, key)
	if err != nil {
		return nil, fmt.Errorf("it can not read s3://%s/%s: %w", bucket, key, err)
	}
	return []byte(content), nil
}

// ignition returns a config with the configs that it includes from S3. Ignition gives up if it
// cannot have one of them.
func (r profileReader) ignition(config []byte) ([]byte, error) {
	type sources []struct {
		Source string `json:"source"`
	}
	var document struct {
		Ignition struct {
			Config struct {
				Append sources `json:"append"`
				Merge  sources `json:"merge"`
			} `json:"config"`
		} `json:"ignition"`
	}
	if err := json.Unmarshal(config, &document); err != nil {
		return nil, fmt.Errorf("its user data is not a valid Ignition configuration: %w", err)
	}
	whole := config
	for _, resource := range append(document.Ignition.Config.Append, document.Ignition.Config.Merge...) {
		content, err := r.resource(resource.Source)
		if err != nil {
			return nil, err
		}
		whole = content // a pointer says nothing else that a machine here understands
	}
	return whole, nil
}

func (r profileReader) resource(source string) ([]byte, error) {
	address, inS3 := strings.CutPrefix(source, "s3://")
	if !inS3 {
		return dataURL(source)
	}
	bucket, key, _ := strings.Cut(address, "/")
	// Ignition finds out by itself in which region a bucket is.
	return r.object(r.region, bucket, key)
}
