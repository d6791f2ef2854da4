package userdata

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// noise is text that compression does not shrink to less than about three quarters.
func noise(n int) []byte {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, n)
	for i := range text {
		text[i] = digits[random.IntN(len(digits))]
	}
	return text
}

func TestRender(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		reason  string
		data    []byte
		format  Format
		gzipped bool
		err     error
	}{
		{
			name: "small", reason: "What fits is left readable.",
			data: []byte("#cloud-config\n"), format: FormatCloudConfig,
		},
		{
			name: "format missing", reason: "A Secret without a format is cloud-config.",
			data: bytes.Repeat([]byte("a"), Limit+1), gzipped: true,
		},
		{
			name: "exactly the limit", reason: "AWS takes 16,384 bytes.",
			data: bytes.Repeat([]byte("a"), Limit), format: FormatCloudConfig,
		},
		{
			name: "one byte more", reason: "Compression starts where it is needed.",
			data: bytes.Repeat([]byte("a"), Limit+1), format: FormatCloudConfig, gzipped: true,
		},
		{
			name: "does not compress enough", reason: "The message names both sizes, so that the user knows how far off it is.",
			data: noise(40000), format: FormatCloudConfig,
			err: &TooLargeError{Limit: Limit, Format: FormatCloudConfig, Uncompressed: 40000},
		},
		{
			name: "ignition at the limit", reason: "The same limit holds for all formats.",
			data: bytes.Repeat([]byte("a"), Limit), format: FormatIgnition,
		},
		{
			name: "ignition too large", reason: "Ignition does not decompress its configuration.",
			data: bytes.Repeat([]byte("a"), Limit+1), format: FormatIgnition,
			err: &TooLargeError{Size: Limit + 1, Limit: Limit, Format: FormatIgnition},
		},
		{
			name: "empty", reason: "A node without bootstrap data would never join.",
			format: FormatCloudConfig, err: &EmptyError{},
		},
		{
			name: "unknown format", reason: "A guess would make nodes that do not boot.",
			data: []byte("x"), format: "butane", err: &UnknownFormatError{Format: "butane"},
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := Render(tc.data, tc.format)
			var tooLarge *TooLargeError
			if errors.As(err, &tooLarge) && tooLarge.Uncompressed > 0 {
				if tooLarge.Size <= Limit || tooLarge.Size >= tooLarge.Uncompressed {
					t.Errorf("%s: compressed size %d is not between the limit and %d", tc.reason, tooLarge.Size, tooLarge.Uncompressed)
				}
				tooLarge.Size = 0
			}
			if diff := cmp.Diff(tc.err, err); diff != "" {
				t.Fatalf("%s: error (-want +got):\n%s", tc.reason, diff)
			}
			if err != nil {
				return
			}
			if got.Gzipped != tc.gzipped || len(got.Bytes) > Limit {
				t.Errorf("%s: gzipped %v with %d bytes", tc.reason, got.Gzipped, len(got.Bytes))
			}
			read := got.Bytes
			if got.Gzipped {
				read = gunzip(t, got.Bytes)
			}
			if !bytes.Equal(read, tc.data) {
				t.Errorf("%s: the node would not read what was rendered", tc.reason)
			}
		})
	}
}

func TestRenderIsDeterministic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		data := []byte(strings.Repeat(rapid.StringN(1, 40, -1).Draw(t, "text"), rapid.IntRange(1, 2000).Draw(t, "times")))
		first, err1 := Render(data, FormatCloudConfig)
		second, err2 := Render(bytes.Clone(data), FormatCloudConfig)
		if diff := cmp.Diff(err1, err2); diff != "" {
			t.Fatalf("errors differ:\n%s", diff)
		}
		if !bytes.Equal(first.Bytes, second.Bytes) {
			t.Fatalf("equal data rendered differently")
		}
	})
}

func TestTooLargeErrorSaysWhatToDo(t *testing.T) {
	t.Parallel()
	_, err := Render(noise(40000), FormatCloudConfig)
	if err == nil {
		t.Fatal("40,000 bytes of noise were accepted")
	}
	for _, part := range []string{"40000", "16384", "move large files out"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("message %q lacks %q", err, part)
		}
	}
}

func gunzip(t interface{ Fatalf(string, ...any) }, data []byte) []byte {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("not gzip: %v", err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatalf("broken gzip: %v", err)
	}
	return content
}
