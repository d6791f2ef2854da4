package cli

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"sigs.k8s.io/yaml"
)

// TestEncodedText holds that programs get every character that a tenant wrote, and that a terminal interprets none.
func TestEncodedText(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"Plain":                  "pool <a> & b, ü, 日本, 😀",
		"Escape sequences":       "\x1b[2J\x1b]0;title\a\r\n\t\x00",
		"C1":                     "\u009b31m\u0085\x7f\u0080",
		"Bidi":                   "\u202etxet\u202c\u2066a\u2069\u200f\u061c",
		"Line separators":        "one\u2028two\u2029three\nfour",
		"Invisible":              "a\u200bb\ufeffc\u00adc\u00a0d",
		"Beyond 16 bits":         "a\U000e0041b\U0010ffffc",
		"Escapes that are texts": `\u202e \U000e0041 "\u009b" \\`,
		"Number":                 "1e3",
	} {
		for _, format := range []string{"json", "yaml"} {
			t.Run(name+" as "+format, func(t *testing.T) {
				t.Parallel()
				want := map[string]any{"of": text, "all": []any{text, map[string]any{text: text}}, "number": 1.5, "none": nil}
				out := &strings.Builder{}
				if err := encode(out, want, format); err != nil {
					t.Fatal(err)
				}
				shown := out.String()
				if at := strings.IndexFunc(shown, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); at >= 0 {
					t.Errorf("a terminal interprets the text from byte %d: %q", at, shown)
				}
				decode := map[string]func([]byte, any) error{
					"json": json.Unmarshal,
					"yaml": func(data []byte, into any) error { return yaml.Unmarshal(data, into) },
				}[format]
				var got map[string]any
				if err := decode([]byte(shown), &got); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("got %q, %v from %s", got, err, shown)
				}
			})
		}
	}
}
