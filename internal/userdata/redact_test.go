package userdata

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedacted(t *testing.T) {
	t.Parallel()
	const token = "abcdef.0123456789abcdef"
	for name, tc := range map[string]struct {
		reason, text, want string
	}{
		"Plain":       {reason: "What is no secret stays.", text: "#cloud-config\nruncmd:\n- systemctl restart containerd\n", want: "#cloud-config\nruncmd:\n- systemctl restart containerd\n"},
		"JoinToken":   {reason: "A token in a known place is masked.", text: "    token: " + token + "\n", want: "    token: <redacted>\n"},
		"LooseToken":  {reason: "A token is redacted wherever it stands.", text: "echo " + token + " > /x", want: "echo <redacted> > /x"},
		"Flag":        {reason: "A flag takes a secret.", text: "kubeadm join --token " + token + " host:6443", want: "kubeadm join --token <redacted> host:6443"},
		"CAHash":      {reason: "The hash of the CA is public, and part of what a node is.", text: "sha256:" + strings.Repeat("0a", 32), want: "sha256:" + strings.Repeat("0a", 32)},
		"Password":    {reason: "The name says that the value is a secret.", text: "DB_PASSWORD='open sesame'", want: "DB_PASSWORD=<redacted>"},
		"JSON":        {reason: "JSON has names in quotes.", text: `{"registryToken": "hunter2", "size": 3}`, want: `{"registryToken": <redacted>, "size": 3}`},
		"PrivateKey":  {reason: "A private key goes as a whole.", text: "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nb", want: "a\n<redacted>\nb"},
		"CutKey":      {reason: "A private key without an end goes too.", text: "-----BEGIN PRIVATE KEY-----\nMIIE", want: "<redacted>"},
		"AccessKey":   {reason: "An access key identifies its owner.", text: "id AKIAIOSFODNN7EXAMPLE", want: "id <redacted>"},
		"JSONToken":   {reason: "A service account's token is a secret.", text: "bearer eyJhbGciOi.eyJpc3Mi.c2ln", want: "bearer <redacted>"},
		"URL":         {reason: "A URL may have a password.", text: "https://bob:secretive@proxy:3128", want: "https://bob:<redacted>@proxy:3128"},
		"Prose":       {reason: "A comment about a token has none.", text: "# renew the token every day", want: "# renew the token every day"},
		"Switch":      {reason: "A switch is no secret.", text: "tokenAuth: true", want: "tokenAuth: true"},
		"MappingOnly": {reason: "A mapping is no secret.", text: "bootstrapToken:\n  apiServerEndpoint: x", want: "bootstrapToken:\n  apiServerEndpoint: x"},
		"Path":        {reason: "A long path is no encoded data.", text: "/etc/kubernetes/manifests/and/many/more/directories/file", want: "/etc/kubernetes/manifests/and/many/more/directories/file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, text := Redacted([]byte(tc.text))
			if !text {
				t.Fatalf("Redacted(%q): not text", tc.text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRedactedHidesTokens holds that no encoding around a token shows it.
func TestRedactedHidesTokens(t *testing.T) {
	t.Parallel()
	const token = "abcdef.0123456789abcdef"
	config := "kind: JoinConfiguration\ndiscovery:\n  bootstrapToken:\n    token: " + token + "\n"
	zipped := &bytes.Buffer{}
	writer := gzip.NewWriter(zipped)
	if _, err := writer.Write([]byte(config)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	encodings := map[string][]byte{
		"plain": []byte(config), "gzip": zipped.Bytes(),
		"base64":         []byte("content: " + base64.StdEncoding.EncodeToString([]byte(config))),
		"base64 of gzip": []byte("content: " + base64.StdEncoding.EncodeToString(zipped.Bytes())),
		"percent":        []byte(`{"source":"data:,token%3A%20` + token + `"}`),
		"short base64":   []byte("x " + base64.StdEncoding.EncodeToString([]byte(token))),
		"unknown place":  []byte("x " + base64.StdEncoding.EncodeToString([]byte("this is a text that nobody knows, with "+token))),
	}
	for name, data := range encodings {
		got, text := Redacted(data)
		if !text {
			t.Errorf("Redacted(%s): not text", name)
		}
		if strings.Contains(got, "0123456789abcdef") || strings.Contains(got, base64.StdEncoding.EncodeToString([]byte("0123456789abcdef"))[:12]) || len(got) > 120 {
			t.Errorf("Redacted(%s) shows the token: %q", name, got)
		}
	}
	if _, text := Redacted([]byte("a\x00b\xff")); text {
		t.Error("Redacted takes binary data for text")
	}
}
