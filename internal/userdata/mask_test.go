package userdata

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	token      = "abcdef.0123456789abcdef"
	otherToken = "123456.1234567890123456"
	certKey    = "9a2c1f0e9a2c1f0e9a2c1f0e9a2c1f0e9a2c1f0e9a2c1f0e9a2c1f0e9a2c1f0e"
)

func TestMaskedPlaces(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, reason, data, want string }{
		{
			name: "join configuration", reason: "Where kubeadm's bootstrap provider puts it; the CA hash is what the node is.",
			data: "discovery:\n  bootstrapToken:\n    apiServerEndpoint: api.example.com:6443\n    caCertHashes:\n    - sha256:" + certKey + "\n    token: " + token + "\nkind: JoinConfiguration\n",
			want: "discovery:\n  bootstrapToken:\n    apiServerEndpoint: api.example.com:6443\n    caCertHashes:\n    - sha256:" + certKey + "\n    token: " + tokenMask + "\nkind: JoinConfiguration\n",
		},
		{
			name: "quoted because it is a number", reason: "The quotes come with the token's digits, so they are not a difference.",
			data: `    token: "` + otherToken + `"` + "\n", want: "    token: " + tokenMask + "\n",
		},
		{
			name: "single quotes", reason: "YAML writers differ.",
			data: "token: '" + token + "'", want: "token: " + tokenMask,
		},
		{
			name: "TLS bootstrap token", reason: "A field of JoinConfiguration.",
			data: "tlsBootstrapToken: " + token + "\n", want: "tlsBootstrapToken: " + tokenMask + "\n",
		},
		{
			name: "list of tokens", reason: "InitConfiguration has a list.",
			data: "bootstrapTokens:\n- token: " + token + "\n  ttl: 24h0m0s\n", want: "bootstrapTokens:\n- token: " + tokenMask + "\n  ttl: 24h0m0s\n",
		},
		{
			name: "JSON", reason: "JSON keeps its quotes.",
			data: `{"discovery":{"bootstrapToken":{"token":"` + token + `"}},"tlsBootstrapToken" : "` + token + `"}`,
			want: `{"discovery":{"bootstrapToken":{"token":"` + tokenMask + `"}},"tlsBootstrapToken" : "` + tokenMask + `"}`,
		},
		{
			name: "YAML in a JSON string", reason: "Line breaks are escapes there, and the n of one is no part of the name.",
			data: `{"content":"a: b\ntoken: ` + token + `\nc: d"}`, want: `{"content":"a: b\ntoken: ` + tokenMask + `\nc: d"}`,
		},
		{
			name: "quoted YAML in a JSON string", reason: "Quotes are escaped there.",
			data: `{"content":"token: \"` + otherToken + `\"\n"}`, want: `{"content":"token: ` + tokenMask + `\n"}`,
		},
		{
			name: "JSON in a JSON string", reason: "Both names and values have escaped quotes there.",
			data: `{"content":"{\"token\":\"` + token + `\"}"}`, want: `{"content":"{\"token\":\"` + tokenMask + `\"}"}`,
		},
		{
			name: "flags", reason: "All of kubeadm join's flags that take a token, with a space or an equals sign.",
			data: "kubeadm join api:6443 --token " + token + " --discovery-token=" + token + " --tls-bootstrap-token '" + token + "' --discovery-token-ca-cert-hash sha256:" + certKey,
			want: "kubeadm join api:6443 --token " + tokenMask + " --discovery-token=" + tokenMask + " --tls-bootstrap-token '" + tokenMask + "' --discovery-token-ca-cert-hash sha256:" + certKey,
		},
		{
			name: "flag and line break", reason: "Scripts break long commands.",
			data: "kubeadm join --token \\\n  " + token + " api:6443", want: "kubeadm join --token \\\n  " + tokenMask + " api:6443",
		},
		{
			name: "flags in lists", reason: "cloud-init's runcmd may be a list, in either style.",
			data: "- [kubeadm, join, --token, " + token + "]\n- [\"join\",\"--token\",\"" + token + "\"]\n-\n  - --token\n  - " + token + "\n",
			want: "- [kubeadm, join, --token, " + tokenMask + "]\n- [\"join\",\"--token\",\"" + tokenMask + "\"]\n-\n  - --token\n  - " + tokenMask + "\n",
		},
		{
			name: "shell variables", reason: "Scripts read it from one.",
			data: "TOKEN=" + token + "\nexport JOIN_TOKEN=\"" + token + "\"\n", want: "TOKEN=" + tokenMask + "\nexport JOIN_TOKEN=\"" + tokenMask + "\"\n",
		},
		{
			name: "certificate key", reason: "What it decrypts is gone after two hours; it is for joining only.",
			data: "certificateKey: " + certKey + "\n# --certificate-key " + certKey + "\n", want: "certificateKey: " + keyMask + "\n# --certificate-key " + keyMask + "\n",
		},
		{
			name: "two on a line", reason: "One does not hide the next.",
			data: "{token: " + token + ",tlsBootstrapToken: " + token + "}", want: "{token: " + tokenMask + ",tlsBootstrapToken: " + tokenMask + "}",
		},
		{
			name: "other names", reason: "Not a join token's place: a change there is a change of the node.",
			data: "apiToken: " + token + "\nmy-token: " + token + "\ntoken.old: " + token + "\nversion: " + token + "\n--registry-token " + token,
			want: "apiToken: " + token + "\nmy-token: " + token + "\ntoken.old: " + token + "\nversion: " + token + "\n--registry-token " + token,
		},
		{
			name: "other values", reason: "Not a join token: k3s's and others' live long and say which cluster it is.",
			data: "token: K10abc::server:1234\ntoken: abcdef.0123456789abcdefg\ntoken: ABCDEF.0123456789abcdef\ntoken: " + token + ".x\n",
			want: "token: K10abc::server:1234\ntoken: abcdef.0123456789abcdefg\ntoken: ABCDEF.0123456789abcdef\ntoken: " + token + ".x\n",
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, string(Masked([]byte(tc.data), FormatCloudConfig))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// joinConfiguration as kubeadm's bootstrap provider writes it, with whatever quotes YAML needs.
func joinConfiguration(token string) string {
	if strings.Trim(token, "0123456789.") == "" {
		token = `"` + token + `"`
	}
	return `apiVersion: kubeadm.k8s.io/v1beta4
discovery:
  bootstrapToken:
    apiServerEndpoint: api.example.com:6443
    caCertHashes:
    - sha256:` + certKey + `
    token: ` + token + `
kind: JoinConfiguration
nodeRegistration:
  kubeletExtraArgs:
  - name: cloud-provider
    value: 'external'
  name: '{{ ds.meta_data.local_hostname }}'
`
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+by)
}

// cloudConfig in the shape of kubeadm's bootstrap provider.
func cloudConfig(token string) string {
	return `## template: jinja
#cloud-config

write_files:
-   path: /etc/motd
    content: |
      welcome
-   path: /run/kubeadm/kubeadm-join-config.yaml
    owner: root:root
    permissions: '0640'
    content: |
      ---
` + indent(joinConfiguration(token), "      ") + `
-   path: /run/cluster-api/placeholder
    owner: root:root
    permissions: '0640'
    content: "This placeholder file is used to create the /run/cluster-api sub directory"
runcmd:
  - hostnamectl set-hostname "{{ ds.meta_data.local_hostname }}"
  - kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml  && echo success > /run/cluster-api/bootstrap-success.complete
`
}

// writeFile is a file of cloud-init's write_files.
func writeFile(encoding, content string) string {
	return "#cloud-config\nwrite_files:\n-   path: /etc/join.yaml\n    encoding: \"" + encoding + "\"\n    content: |\n" + indent(content, "      ") + "\n    owner: root\nruncmd: []\n"
}

// escape returns text as Ignition's tools write it in a data URL: all but the unreserved characters
// of RFC 2396 are escaped.
func escape(text string) string {
	var encoded strings.Builder
	for _, b := range []byte(text) {
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("-_.!~*'()", b) >= 0 {
			encoded.WriteByte(b)
			continue
		}
		const digits = "0123456789ABCDEF"
		encoded.Write([]byte{'%', digits[b>>4], digits[b&15]})
	}
	return encoded.String()
}

func encodeBase64(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// lines breaks base64 as the base64 command does.
func lines(digits string, width int) string {
	var broken []string
	for len(digits) > width {
		broken = append(broken, digits[:width])
		digits = digits[width:]
	}
	return strings.Join(append(broken, digits), "\n")
}

// ignition is a config with the join configuration in a file, whose contents are the given URL.
func ignition(url string) string {
	file := map[string]any{"filesystem": "root", "path": "/etc/kubeadm.yml", "mode": 384, "contents": map[string]any{"source": url}}
	text, err := json.Marshal(map[string]any{
		"ignition": map[string]any{"version": "2.3.0"},
		"storage":  map[string]any{"files": []any{file}},
		"systemd":  map[string]any{"units": []any{map[string]any{"name": "kubeadm.service", "contents": "[Unit]\nDescription=kubeadm\n"}}},
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// encodings are all ways in which a join configuration gets into bootstrap data.
var encodings = map[string]func(content string, pack func([]byte) []byte) string{
	"cloud-init plain": func(content string, _ func([]byte) []byte) string { return writeFile("", content) },
	"cloud-init b64": func(content string, _ func([]byte) []byte) string {
		return writeFile("b64", encodeBase64([]byte(content)))
	},
	"cloud-init b64 in lines": func(content string, _ func([]byte) []byte) string {
		return writeFile("b64", lines(encodeBase64([]byte(content)), 76))
	},
	"cloud-init b64 unpadded": func(content string, _ func([]byte) []byte) string {
		return writeFile("b64", strings.TrimRight(encodeBase64([]byte(content)), "="))
	},
	"cloud-init gz+b64": func(content string, pack func([]byte) []byte) string {
		return writeFile("gz+b64", encodeBase64(pack([]byte(content))))
	},
	"cloud-init gz+b64 in lines": func(content string, pack func([]byte) []byte) string {
		return writeFile("gz+b64", lines(encodeBase64(pack([]byte(content))), 64))
	},
	"YAML binary gzip": func(content string, pack func([]byte) []byte) string {
		return "#cloud-config\nwrite_files:\n- {path: /a, encoding: gzip, content: !!binary " + encodeBase64(pack([]byte(content))) + "}\n"
	},
	"all of it gzip": func(content string, pack func([]byte) []byte) string {
		return string(pack([]byte(writeFile("", content))))
	},
	"gzip in gzip": func(content string, pack func([]byte) []byte) string {
		return string(pack([]byte(writeFile("gz+b64", encodeBase64(pack([]byte(content)))))))
	},
	"ignition percent": func(content string, _ func([]byte) []byte) string { return ignition("data:," + escape(content)) },
	"ignition base64": func(content string, _ func([]byte) []byte) string {
		return ignition("data:;base64," + encodeBase64([]byte(content)))
	},
	"ignition base64 percent": func(content string, _ func([]byte) []byte) string {
		return ignition("data:text/plain;charset=utf-8;base64," + escape(encodeBase64([]byte(content))))
	},
	"ignition gzip": func(content string, pack func([]byte) []byte) string {
		return ignition("data:;base64," + encodeBase64(pack([]byte(content))))
	},
	"ignition gzip percent": func(content string, pack func([]byte) []byte) string {
		return ignition("data:;base64," + escape(encodeBase64(pack([]byte(content)))))
	},
	"multi-part": func(content string, _ func([]byte) []byte) string {
		return "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"B\"\r\n\r\n--B\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
			strings.ReplaceAll(lines(encodeBase64([]byte(content)), 76), "\n", "\r\n") + "\r\n--B--\r\n"
	},
}

// readable undoes what two spellings of one content differ in: escapes in URLs, and padding.
func readable(data string) string {
	return strings.NewReplacer("%2B", "+", "%2F", "/", "%3D", "", "=", "").Replace(data)
}

func TestMaskedEncodings(t *testing.T) {
	t.Parallel()
	for name, encode := range encodings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			best := func(data []byte) []byte { return pack(data, 9, 0) }
			data := encode(joinConfiguration(token), best)
			masked := Masked([]byte(data), FormatCloudConfig)
			want := readable(encode(joinConfiguration(tokenMask), storedGzip))
			if diff := cmp.Diff(want, readable(string(masked))); diff != "" {
				t.Errorf("masked (-want +got):\n%s", diff)
			}
			rotated := Masked([]byte(encode(joinConfiguration(otherToken), best)), FormatCloudConfig)
			if !bytes.Equal(masked, rotated) {
				t.Errorf("a rotated token makes a difference (-before +after):\n%s", cmp.Diff(string(masked), string(rotated)))
			}
			edited := encode(strings.Replace(joinConfiguration(token), "external", "internal", 1), best)
			if bytes.Equal(masked, Masked([]byte(edited), FormatCloudConfig)) {
				t.Error("an edited argument makes no difference")
			}
		})
	}
}

func TestMaskedCloudConfigOfKubeadm(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(cloudConfig(tokenMask), string(Masked([]byte(cloudConfig(token)), FormatCloudConfig))); diff != "" {
		t.Errorf("nothing but the token changes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(cloudConfig(tokenMask), string(Masked([]byte(cloudConfig(otherToken)), FormatCloudConfig))); diff != "" {
		t.Errorf("nor does a token that needs quotes make a difference (-want +got):\n%s", diff)
	}
}

// TestMaskedLeavesAlone holds that data that contains no secret, or cannot be read, stays as it is.
func TestMaskedLeavesAlone(t *testing.T) {
	t.Parallel()
	secret := []byte(joinConfiguration(token))
	tooDeep := secret
	for range maxDepth + 1 {
		tooDeep = pack(tooDeep, 9, 0)
	}
	cases := []struct {
		name, reason string
		data         []byte
	}{
		{name: "empty", reason: "There is nothing to mask."},
		{name: "compressed without secret", reason: "Its bytes are what the node gets.", data: pack([]byte("#cloud-config\n"), 1, 7)},
		{name: "base64 without secret", reason: "Its bytes are what the node gets.", data: []byte(writeFile("b64", encodeBase64(noise(500))))},
		{name: "broken gzip", reason: "The node could not read it either.", data: pack(secret, 9, 0)[:60]},
		{name: "too deep", reason: "Depth is bounded.", data: tooDeep},
		{name: "compression bomb", reason: "Memory is bounded.", data: pack(append(bytes.Repeat([]byte("\n"), maxUnpacked), secret...), 9, 0)},
		{name: "base64 with stray bits", reason: "Another text with the same meaning is still another text.", data: []byte(writeFile("b64", strings.Replace(encodeBase64([]byte("token: "+token+"\n-")), "Ci0=", "Ci1=", 1)))},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := Masked(tc.data, FormatCloudConfig); !bytes.Equal(got, tc.data) {
				t.Errorf("%s, but %d bytes became %d", tc.reason, len(tc.data), len(got))
			}
		})
	}
}

// TestMaskedEnds holds that URLs that begin within URLs are not searched once for each way to nest them.
func TestMaskedEnds(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	go func() {
		Masked(bytes.Repeat([]byte("data:,"), 1000), FormatCloudConfig)
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Error("6,000 bytes take more than half a minute")
	}
}

func TestStoredGzip(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 0xffff, 0x10000, 200000} {
		content := bytes.Repeat([]byte("x"), size)
		if got := gunzip(t, storedGzip(content)); !bytes.Equal(got, content) {
			t.Errorf("%d bytes are not read back as written", size)
		}
	}
}

// TestMaskedIsStable holds that masked data does not change between releases: it goes into the
// fingerprints that decide about roll-outs, so a change rolls every pool.
func TestMaskedIsStable(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"YAML binary gzip":           "a6b57cbf8773c325",
		"all of it gzip":             "ebc558a7aa502893",
		"cloud-init b64 in lines":    "81e6e01a7bc07d9a",
		"cloud-init b64 unpadded":    "6eb8090718bea35a",
		"cloud-init b64":             "6eb8090718bea35a",
		"cloud-init gz+b64 in lines": "e32d3e21b8b62aaa",
		"cloud-init gz+b64":          "475c12b6cea95ad2",
		"cloud-init plain":           "0c69bbe0fa4eace1",
		"gzip in gzip":               "2c1fc38e6c004958",
		"ignition base64 percent":    "34421c1d409abcb7",
		"ignition base64":            "c60aeca8ef6cdb27",
		"ignition gzip percent":      "0d4200f9f30daa92",
		"ignition gzip":              "0d4200f9f30daa92",
		"ignition percent":           "8e77158c5bcfc666",
		"multi-part":                 "242faf73e8517e3a",
	}
	for name, encode := range encodings {
		data := encode(joinConfiguration(token), func(data []byte) []byte { return pack(data, 9, 0) })
		sum := sha256.Sum256(Masked([]byte(data), FormatCloudConfig))
		if got := hex.EncodeToString(sum[:8]); got != want[name] {
			t.Errorf("%q: %q,", name, got)
		}
	}
}
