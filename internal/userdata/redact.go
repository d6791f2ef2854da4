package userdata

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// redacted stands for a secret.
const redacted = "<redacted>"

// The patterns that Redacted removes, in this order. They match too much rather than too little:
// everything that has the form of a token or of a key, wherever it stands.
var (
	privateKey  = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|$)`)
	jsonToken   = regexp.MustCompile(`eyJ[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]+(?:\.[A-Za-z0-9_\-]*)?`)
	joinToken   = regexp.MustCompile(tokenPattern)
	accessKey   = regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`)
	urlPassword = regexp.MustCompile(`(://[^/\s:@]+:)[^/\s@]+@`)
	// namedSecret is a value whose name says that it is one, in YAML, JSON, TOML, in a shell variable, or in a flag.
	namedSecret = regexp.MustCompile(`(?i)([A-Za-z0-9_.\-]*(?:passw(?:or)?d|passphrase|secret|token|credential|api[_\-]?key|access[_\-]?key|private[_\-]?key|certificate[_\-]?key|client[_\-]?key[_\-]?data)[A-Za-z0-9_.\-]*\\*["']?(?:[ \t]*[:=][ \t]*|[ \t]+))(\\*"[^"\n]*"|\\*'[^'\n]*'|[^\s"',}\]]+)`)
	// encoded is a long run of base64 or hexadecimal digits. A hash of the cluster's CA stays.
	encoded = regexp.MustCompile(`(sha256:)?([A-Za-z0-9+/_\-]{32,}={0,2})`)
)

// harmless are values after such a name that are no secrets: the beginning of a YAML block or mapping, a
// boolean, or the next flag.
var harmless = regexp.MustCompile(`^(?:[|>][+\-]?$|true$|false$|null$|[{\[]|--[a-z]|<redacted>)`)

// Redacted returns user data as readable text without secrets, and false for data that is no
// text. Compressed data is unpacked, and encoded pieces are replaced by their size and the beginning of a
// hash of their content, in which join tokens are masked.
func Redacted(data []byte) (string, bool) {
	plain := data
	if bytes.HasPrefix(data, gzipMagic) {
		var whole bool
		if plain, whole = Unpack(data); !whole {
			return "", false
		}
	}
	text := string(Masked(plain, FormatCloudConfig))
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", false
	}
	text = privateKey.ReplaceAllString(text, redacted)
	text = urlPassword.ReplaceAllString(text, "${1}"+redacted+"@")
	text = namedSecret.ReplaceAllStringFunc(text, func(found string) string {
		match := namedSecret.FindStringSubmatch(found)
		words := !strings.ContainsAny(match[1], ":=") && !strings.HasPrefix(match[1], "-")
		if words || harmless.MatchString(match[2]) {
			return found
		}
		return match[1] + redacted
	})
	for _, pattern := range []*regexp.Regexp{jsonToken, joinToken, accessKey} {
		text = pattern.ReplaceAllString(text, redacted)
	}
	text = encoded.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasPrefix(found, "sha256:") || isPath(found) {
			return found
		}
		digest := sha256.Sum256([]byte(found))
		return fmt.Sprintf("<%d encoded characters, hash %s>", len(found), hex.EncodeToString(digest[:4]))
	})
	return text, true
}

// isPath reports whether a long run of characters is a path or a name of words, and no encoded data.
func isPath(text string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '-' || r == '_' })
	for _, word := range words {
		if len(word) > 20 || strings.ContainsAny(word, "0123456789+=") && strings.ToLower(word) != word {
			return false
		}
	}
	return len(words) > 1
}
