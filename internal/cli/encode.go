package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"

	"sigs.k8s.io/yaml"
)

// encode prints a value as JSON or YAML. Texts in it are of tenants and servers, so characters that a
// terminal interprets are escaped. YAML can escape them only in quotes, and a value that has any is
// written as JSON, which YAML includes.
func encode(out io.Writer, value any, format string) error {
	text := &bytes.Buffer{}
	encoder := json.NewEncoder(text)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	printed := escaped(text.String(), format)
	if format == "yaml" {
		converted, err := yaml.JSONToYAML(text.Bytes())
		if err == nil && !strings.ContainsFunc(string(converted), interpreted) {
			printed = string(converted)
		}
	}
	_, err := io.WriteString(out, printed)
	return err
}

// interpreted reports whether a terminal may interpret a character of an encoded text: control
// characters, and invisible ones that change the direction of the text.
func interpreted(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }

// escaped returns JSON, or YAML in the form of JSON, with escapes for characters that a terminal
// interprets. They occur in strings only. JSON has surrogates for characters beyond 16 bits, and
// YAML has long escapes.
func escaped(text, format string) string {
	result := &strings.Builder{}
	for _, r := range text {
		high, low := utf16.EncodeRune(r)
		switch {
		case !interpreted(r):
			result.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(result, `\u%04x`, r)
		case format == "yaml":
			fmt.Fprintf(result, `\U%08x`, r)
		default:
			fmt.Fprintf(result, `\u%04x\u%04x`, high, low)
		}
	}
	return result.String()
}
