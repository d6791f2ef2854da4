package userdata

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// plainByPatterns says what plain finds: what the patterns of all places find in the whole text.
func plainByPatterns(text []byte) []edit {
	var edits []edit
	for _, p := range slices.Concat(tokenPlaces, keyPlaces) {
		for from := 0; from < len(text); {
			match := p.pattern.FindSubmatchIndex(text[from:])
			if match == nil {
				break
			}
			edits = append(edits, edit{start: from + match[2], end: from + match[3], replacement: []byte(p.mask)})
			from += match[3]
		}
	}
	return inOrder(edits)
}

// inOrder sorts edits as text does.
func inOrder(edits []edit) []edit {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.start, b.start) })
	return edits
}

var (
	base64Line = regexp.MustCompile(`[A-Za-z0-9+/]{40,}={0,2}`)
	wrapped    = regexp.MustCompile(`^(\r?\n[ \t]*)([A-Za-z0-9+/]+={0,2})`)
)

// around are the parts of a text with a secret, and of texts that nearly have one.
var around = [][]string{
	{"", " ", "\n", "\\n", "\"", "\\\"", ".", "_", "-", "x", "é", "\xf0\x9f", "\U0001F511", "{", "data:,"},
	{
		"token", "tlsBootstrapToken", "bootstrapToken", "certificateKey", "bootstrap-token", "settings.kubernetes.bootstrap-token",
		"TOKEN", "JOIN_TOKEN", "_0TOKEN", "apiToken", "my-token", "--token", "--discovery-token", "--certificate-key", "-- token", "-token",
	},
	{"", "", "\"", "\\\"", "'", " "},
	{": ", ":", ":\t", "=", " = ", " ", "\n", " : ", ",", "\\\n  ", "\n  - ", ", \"", "\\n", "- ", "==", "\v"},
	{"", "", "\"", "\\\"", "\\\\\\\\\\\"", "'", "é", "\xff"},
	{token, token, otherToken, certKey, certKey, token[1:], token + "x", certKey[1:], strings.ToUpper(token), token + "." + certKey},
	{"", "", "\"", "\\\"", "\\\\\\\\\\\"", "'", "\\\\"},
	{"", "", "\n", " ", ",", "x", "-", ".", "\\n", "é", "\xf0\x9f", "}"},
}

// texts have up to three secrets.
var texts = rapid.Custom(func(t *rapid.T) []byte {
	var text bytes.Buffer
	for range rapid.IntRange(1, 3).Draw(t, "secrets") {
		for _, part := range around {
			text.WriteString(part[rapid.Uint32().Draw(t, "part")%uint32(len(part))])
		}
	}
	return text.Bytes()
})

// TestSecretWords holds that the search around words finds the secrets that the patterns find in the
// whole text. Another result would be another fingerprint, and replace nodes.
func TestSecretWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, text := range rapid.SliceOfN(texts, 50, 50).Draw(t, "texts") {
			want, got := plainByPatterns(text), inOrder((&masker{}).plain(text))
			if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(edit{})); diff != "" {
				t.Fatalf("in %q (-patterns +search):\n%s", text, diff)
			}
		}
	})
}

// TestBase64Lines holds that base64 is found where these patterns find it.
func TestBase64Lines(t *testing.T) {
	t.Parallel()
	pieces := rapid.OneOf(rapid.StringN(0, 3, -1), rapid.SampledFrom([]string{"=", "==", "\n", "\r", "\r\n  ", "\n\t", "Ab+/", strings.Repeat("A", 39), strings.Repeat("b+/9", 10), strings.Repeat("C", 41)}))
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "pieces"), ""))
		from := rapid.IntRange(0, len(text)).Draw(t, "from")
		var want, next span
		if match := base64Line.FindIndex(text[from:]); match != nil {
			want = span{from + match[0], from + match[1]}
		}
		if got := nextBase64(text, from); got != want {
			t.Errorf("in %q from %d on, base64 is at %v, want %v", text, from, got, want)
		}
		next = span{from, from}
		if match := wrapped.FindSubmatchIndex(text[from:]); match != nil {
			next = span{from + match[4], from + match[5]}
		}
		if got := wrappedBase64(text, from); got != next {
			t.Errorf("in %q the line after %d has base64 at %v, want %v", text, from, got, next)
		}
	})
}

// BenchmarkMasked masks cloud-config of the size that EC2 accepts.
func BenchmarkMasked(b *testing.B) {
	data := []byte(cloudConfig(token) + files(1, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("systemctl enable containerd\n"), 100))) +
		strings.Repeat("  - if ! grep -q setting /etc/file; then echo setting=value >> /etc/file; fi\n", 100))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		Masked(data, FormatCloudConfig)
	}
}
