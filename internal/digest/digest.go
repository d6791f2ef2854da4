// Package digest owns digests by which values are recognized without being stored.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Suffixed returns a text with a suffix that distinguishes what has the text by another one: a dash, and as
// many hexadecimal digits of the SHA-256 of the other text. It cuts the text to have at most longest
// characters with the suffix.
func Suffixed(text, of string, digits, longest int) string {
	sum := sha256.Sum256([]byte(of))
	suffix := "-" + hex.EncodeToString(sum[:])[:digits]
	return text[:min(len(text), longest-len(suffix))] + suffix
}

// Of returns a digest that is the same for equal values, and for no others. It panics for a value
// that cannot be written as JSON, which is a programming error.
func Of(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:16]
}
