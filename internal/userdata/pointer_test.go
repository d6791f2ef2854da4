package userdata_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http/httptest"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/userdata"
)

const bucket = "cluster-api-provider-aws-bootstrap"

// jinja is a template of kubeadm's bootstrap provider, with braces that no parameter may contain.
var jinja = []byte("## template: jinja\n#cloud-config\nhostname: '{{ ds.meta_data.local_hostname }}'\ntoken: abcdef.0123456789abcdef\n")

// parts reads multi-part user data as cloud-init does.
func parts(t *testing.T, data []byte) map[string]string {
	t.Helper()
	message, err := mail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/mixed" {
		t.Fatalf("it is %s: %v", kind, err)
	}
	found := map[string]string{}
	reader := multipart.NewReader(message.Body, parameters["boundary"])
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		found[part.Header.Get("Content-Type")] = string(content)
	}
}

// TestFetching runs the script as an instance does: with bash, the AWS CLI and a cloud-init that
// says that it was restarted.
func TestFetching(t *testing.T) {
	t.Parallel()
	cli, err := exec.LookPath("aws")
	if err == nil {
		err = exec.CommandContext(t.Context(), cli, "--version").Run()
	}
	if err != nil {
		cli = "/usr/bin/aws" // where hack/install-packages.sh puts it
	}
	server := httptest.NewServer(awssim.New(awssim.Options{}).Handler())
	t.Cleanup(server.Close)
	config := awssdk.Config{
		Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("AKIATEST", "secret", ""),
	}
	value, err := userdata.PackParameter(jinja)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ssm.NewFromConfig(config).PutParameter(t.Context(), &ssm.PutParameterInput{
		Name: awssdk.String("/slipway/a/b"), Value: awssdk.String(string(value)), Type: ssmtypes.ParameterTypeSecureString,
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s3.NewFromConfig(config).PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: awssdk.String(bucket), Key: awssdk.String("node/slipway/a/b"), Body: bytes.NewReader(jinja),
	}); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"parameter": userdata.FromParameter("us-east-1", "/slipway/a/b"),
		"object":    userdata.FromObject("us-east-1", bucket, "node/slipway/a/b"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(data) > 4096 {
				t.Errorf("the pointer has %d bytes", len(data))
			}
			machine := t.TempDir()
			found := parts(t, data)
			file := strings.TrimSpace(strings.TrimPrefix(found["text/x-include-url"], "file://"))
			fetched := filepath.Join(machine, "data")
			script := strings.ReplaceAll(found["text/cloud-boothook"], file, fetched)
			if !strings.HasPrefix(script, "#!/bin/bash\n") || fetched == "" || !strings.Contains(script, fetched) {
				t.Fatalf("the parts are %q", found)
			}
			for program, text := range map[string]string{
				// Older releases of the CLI do not read the variable for the endpoint.
				"aws":       "#!/bin/bash\nexec " + cli + " --endpoint-url " + server.URL + " \"$@\"\n",
				"systemctl": "#!/bin/bash\necho \"$@\" >> " + machine + "/services\n",
			} {
				if err := os.WriteFile(filepath.Join(machine, program), []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			run := func() {
				t.Helper()
				command := exec.CommandContext(t.Context(), "bash", "-c", script)
				command.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AWS_") }),
					"PATH="+machine+":"+os.Getenv("PATH"), "AWS_ACCESS_KEY_ID=AKIATEST", "AWS_SECRET_ACCESS_KEY=secret",
					"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE="+machine+"/none", "AWS_SHARED_CREDENTIALS_FILE="+machine+"/none")
				if output, err := command.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, output)
				}
			}
			run()
			got, err := os.ReadFile(fetched)
			if err != nil || !bytes.Equal(got, jinja) {
				t.Errorf("fetched %q, %v", got, err)
			}
			if info, err := os.Stat(fetched); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("others may read it: %v, %v", info.Mode(), err)
			}
			run() // the second boot, or cloud-init's second round
			if services, err := os.ReadFile(machine + "/services"); err != nil || string(services) != "restart cloud-init\n" {
				t.Errorf("services were told %q, %v", services, err)
			}
		})
	}
}

func TestPackParameter(t *testing.T) {
	t.Parallel()
	one, err := userdata.PackParameter(jinja)
	if err != nil {
		t.Fatal(err)
	}
	if two, _ := userdata.PackParameter(jinja); !bytes.Equal(one, two) {
		t.Error("equal data give different values, which would be written again and again")
	}
	noise := make([]byte, 7000)
	state := uint32(1)
	for i := range noise {
		state = state*1664525 + 1013904223
		noise[i] = byte(state >> 24)
	}
	var tooLarge *userdata.TooLargeError
	if _, err := userdata.PackParameter(noise); !errors.As(err, &tooLarge) || !strings.Contains(err.Error(), "S3") {
		t.Errorf("what no parameter holds: %v", err)
	}
	var empty *userdata.EmptyError
	if _, err := userdata.PackParameter(nil); !errors.As(err, &empty) {
		t.Errorf("nothing: %v", err)
	}
}

func TestIgnitionPointers(t *testing.T) {
	t.Parallel()
	proxy := userdata.Ignition{HTTPProxy: "http://proxy", HTTPSProxy: "https://proxy", NoProxy: []string{"10.0.0.0/8"}, CertificateAuthorities: []string{"s3://b/ca.pem"}}
	with := func(version string) userdata.Ignition {
		settings := proxy
		settings.Version = version
		return settings
	}
	for _, row := range []struct {
		reason   string
		settings userdata.Ignition
		want     string
		fails    string
	}{
		{"CAPA's default", userdata.Ignition{}, `{"ignition":{"version":"2.3.0","config":{"append":[{"source":"s3://b/k"}]}}}`, ""},
		{"version 3 merges", userdata.Ignition{Version: "3.0"}, `{"ignition":{"version":"3.0.0","config":{"merge":[{"source":"s3://b/k"}]}}}`, ""},
		{"certificates, in any version", userdata.Ignition{CertificateAuthorities: []string{"s3://b/ca.pem"}},
			`{"ignition":{"version":"2.3.0","config":{"append":[{"source":"s3://b/k"}]},"security":{"tls":{"certificateAuthorities":[{"source":"s3://b/ca.pem"}]}}}}`, ""},
		{"a proxy since 3.1", with("3.4"), `{"ignition":{"version":"3.4.0","config":{"merge":[{"source":"s3://b/k"}]},` +
			`"proxy":{"httpProxy":"http://proxy","httpsProxy":"https://proxy","noProxy":["10.0.0.0/8"]},` +
			`"security":{"tls":{"certificateAuthorities":[{"source":"s3://b/ca.pem"}]}}}}`, ""},
		{"and not before", with("3.0"), "", "3.1"},
		{"nor in version 2", with(""), "", "3.1"},
	} {
		got, err := row.settings.FromObject("b", "k")
		if row.fails != "" {
			var invalid *userdata.InvalidIgnitionError
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), row.fails) {
				t.Errorf("%s: got %v", row.reason, err)
			}
			continue
		}
		if diff := cmp.Diff(row.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", row.reason, err, diff)
		}
	}
}

func TestIgnitionWrapped(t *testing.T) {
	t.Parallel()
	settings := userdata.Ignition{Version: "3.3", CertificateAuthorities: []string{"https://ca"}}
	got, err := settings.Wrap([]byte(`{"ignition":{"version":"3.3.0"}}`))
	if err != nil || !json.Valid(got) || !bytes.Contains(got, []byte(`"source":"data:;base64,eyJ`)) || !bytes.Contains(got, []byte("https://ca")) {
		t.Errorf("got %s, %v", got, err)
	}
	var tooLarge *userdata.TooLargeError
	if _, err := settings.Wrap(bytes.Repeat([]byte("x"), 13000)); !errors.As(err, &tooLarge) {
		t.Errorf("what EC2 would not take: %v", err)
	}
	if !(userdata.Ignition{Version: "3.4"}).Plain() || settings.Plain() {
		t.Error("a version alone needs no wrapping")
	}
}
