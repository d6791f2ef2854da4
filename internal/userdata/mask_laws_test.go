package userdata

import (
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

// pack compresses as some program would, at some time.
func pack(data []byte, level int, unix int64) []byte {
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, level)
	if err != nil {
		panic(err)
	}
	writer.ModTime = time.Unix(unix, 0)
	if _, err := writer.Write(data); err != nil {
		panic(err)
	}
	if err := writer.Close(); err != nil {
		panic(err)
	}
	return packed.Bytes()
}

// tokens, including tokens that YAML reads as numbers.
var tokens = rapid.OneOf(
	rapid.StringMatching(`[a-z0-9]{6}\.[a-z0-9]{16}`),
	rapid.StringMatching(`[0-9]{6}\.[0-9]{16}`),
	rapid.StringMatching(`[0-9]{6}\.[0-9]{12}e[0-9]{3}`),
)

// slots are places of a token, each a text that differs by the token alone.
var slots = []func(token string) string{
	func(token string) string {
		text, err := yaml.Marshal(map[string]string{"token": token})
		if err != nil {
			panic(err)
		}
		return string(text)
	},
	func(token string) string {
		text, err := yaml.Marshal(map[string]any{"discovery": map[string]any{"bootstrapToken": map[string]any{"token": token}, "tlsBootstrapToken": token}})
		if err != nil {
			panic(err)
		}
		return string(text)
	},
	func(token string) string { return `{"token":"` + token + `"}` + "\n" },
	func(token string) string { return "kubeadm join --token " + token + " api:6443\n" },
	func(token string) string { return "kubeadm join --discovery-token=" + token + "\n" },
	func(token string) string { return "export TOKEN='" + token + "'\n" },
}

// document is text with tokens in some of its lines, in one of the encodings.
type document struct {
	lines    []string
	slots    []int
	encoding string
	level    int
}

func documents(t *rapid.T) document {
	names := make([]string, 0, len(encodings))
	for name := range encodings {
		names = append(names, name)
	}
	// Maps have no order, and rapid must draw the same twice.
	slices.Sort(names)
	count := rapid.IntRange(1, 4).Draw(t, "slots")
	d := document{
		encoding: rapid.SampledFrom(names).Draw(t, "encoding"),
		level:    rapid.IntRange(1, 9).Draw(t, "compression level"),
	}
	for range count {
		d.lines = append(d.lines, rapid.StringMatching(`[ -~]{0,60}`).Draw(t, "line"))
		d.slots = append(d.slots, rapid.IntRange(0, len(slots)-1).Draw(t, "slot"))
	}
	d.lines = append(d.lines, rapid.StringMatching(`[ -~]{1,60}`).Draw(t, "last line"))
	return d
}

func (d document) render(tokens []string, unix int64) []byte {
	var content strings.Builder
	for i, slot := range d.slots {
		content.WriteString(d.lines[i] + "\n" + slots[slot](tokens[i]))
	}
	content.WriteString(d.lines[len(d.lines)-1] + "\n")
	return []byte(encodings[d.encoding](content.String(), func(data []byte) []byte { return pack(data, d.level, unix) }))
}

func (d document) tokens(t *rapid.T, label string) []string {
	return rapid.SliceOfN(tokens, len(d.slots), len(d.slots)).Draw(t, label)
}

func TestMaskedLaws(t *testing.T) {
	t.Parallel()
	t.Run("renderings that differ by tokens and times alone mask equal", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			d := documents(t)
			one := Masked(d.render(d.tokens(t, "tokens"), 1), FormatCloudConfig)
			two := Masked(d.render(d.tokens(t, "other tokens"), rapid.Int64Range(1, 1<<31).Draw(t, "time")), FormatCloudConfig)
			if !bytes.Equal(one, two) {
				t.Fatalf("masked differently:\n%q\n%q", one, two)
			}
		})
	})
	t.Run("a change anywhere else never masks equal", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			d := documents(t)
			tokens := d.tokens(t, "tokens")
			before := Masked(d.render(tokens, 1), FormatCloudConfig)
			i := rapid.IntRange(0, len(d.lines)-1).Draw(t, "changed line")
			changed := rapid.StringMatching(`[ -~]{0,60}`).Filter(func(s string) bool { return s != d.lines[i] }).Draw(t, "changed to")
			d.lines[i] = changed
			after := Masked(d.render(tokens, 1), FormatCloudConfig)
			if bytes.Equal(before, after) {
				t.Fatalf("line %d changed to %q, but masks equal:\n%q", i, changed, after)
			}
		})
	})
	t.Run("a changed byte outside of all tokens never masks equal", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			d := documents(t)
			// In base64 and gzip one byte may belong to a token and to something else.
			d.encoding = rapid.SampledFrom([]string{"cloud-init plain", "ignition percent"}).Draw(t, "readable encoding")
			tokens := d.tokens(t, "tokens")
			data := d.render(tokens, 1)
			at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
			to := rapid.Byte().Filter(func(b byte) bool { return b != data[at] }).Draw(t, "to")
			if inToken(data, at, tokens) {
				return
			}
			edited := bytes.Clone(data)
			edited[at] = to
			if bytes.Equal(Masked(data, FormatCloudConfig), Masked(edited, FormatCloudConfig)) {
				t.Fatalf("byte %d changed from %q to %q, but masks equal:\n%q", at, data[at], to, data)
			}
		})
	})
	t.Run("masking twice is masking once", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			d := documents(t)
			once := Masked(d.render(d.tokens(t, "tokens"), 1), FormatIgnition)
			if twice := Masked(once, FormatIgnition); !bytes.Equal(once, twice) {
				t.Fatalf("masked again:\n%q\n%q", once, twice)
			}
		})
	})
	t.Run("without a token nothing changes", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			d := documents(t)
			d.slots, d.lines = nil, d.lines[:1]
			data := d.render(nil, 1)
			if masked := Masked(bytes.Clone(data), FormatCloudConfig); !bytes.Equal(data, masked) {
				t.Fatalf("changed:\n%q\n%q", data, masked)
			}
		})
	})
	t.Run("any bytes", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
			once := Masked(data, FormatCloudConfig)
			if !bytes.Equal(once, Masked(once, FormatCloudConfig)) {
				t.Fatal("masking twice is not masking once")
			}
		})
	})
}

// inToken says whether a byte belongs to a token or to its quotes, which may be percent-encoded.
func inToken(data []byte, at int, tokens []string) bool {
	const quotes = len("%22")
	for _, token := range tokens {
		for from := 0; ; {
			start := bytes.Index(data[from:], []byte(token))
			if start < 0 {
				break
			}
			start += from
			if at >= start-quotes && at < start+len(token)+quotes {
				return true
			}
			from = start + 1
		}
	}
	return false
}
