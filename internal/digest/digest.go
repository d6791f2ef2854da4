// Package digest owns digests by which values are recognized without being stored.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

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
