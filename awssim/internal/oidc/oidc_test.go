package oidc_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/slipway-project/slipway/awssim/internal/oidc"
)

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// sign returns a token with a header and claims as they are given.
func sign(t *testing.T, key crypto.Signer, hash crypto.Hash, header, claims string) string {
	t.Helper()
	text := encode([]byte(header)) + "." + encode([]byte(claims))
	sum := hash.New()
	sum.Write([]byte(text))
	digest := sum.Sum(nil)
	if private, isEC := key.(*ecdsa.PrivateKey); isEC {
		r, s, err := ecdsa.Sign(rand.Reader, private, digest)
		if err != nil {
			t.Fatal(err)
		}
		size := (private.Params().BitSize + 7) / 8
		return text + "." + encode(append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...))
	}
	signature, err := key.Sign(rand.Reader, digest, hash)
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + encode(signature)
}

// webKey returns the JSON Web Key of a public key.
func webKey(t *testing.T, id string, public crypto.PublicKey) string {
	t.Helper()
	switch public := public.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf(`{"kty":"RSA","kid":%q,"use":"sig","n":%q,"e":%q}`, id, encode(public.N.Bytes()), encode(big.NewInt(int64(public.E)).Bytes()))
	case *ecdsa.PublicKey:
		point, err := public.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		size := (len(point) - 1) / 2
		return fmt.Sprintf(`{"kty":"EC","kid":%q,"crv":%q,"x":%q,"y":%q}`, id, public.Params().Name, encode(point[1:1+size]), encode(point[1+size:]))
	default:
		t.Fatalf("no key is a %T", public)
		return ""
	}
}

func mustKey[K any](t *testing.T) func(K, error) K {
	return func(key K, err error) K {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	rsaKey := mustKey[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 2048))
	other := mustKey[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 2048))
	ecKey := mustKey[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	ec384 := mustKey[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P384(), rand.Reader))
	keys, err := oidc.ParseKeys([]byte(`{"keys":[` + strings.Join([]string{
		webKey(t, "r", rsaKey.Public()), webKey(t, "e", ecKey.Public()), webKey(t, "e384", ec384.Public()), `{"kty":"oct","use":"enc","kid":"skipped"}`,
	}, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	const claims = `{"iss":"https://example.com","sub":"s","aud":["a","b"],"exp":2000000000}`
	tampered := func(token string) string {
		parts := strings.Split(token, ".")
		return parts[0] + "." + encode([]byte(strings.Replace(claims, `"s"`, `"t"`, 1))) + "." + parts[2]
	}
	rs256 := sign(t, rsaKey, crypto.SHA256, `{"alg":"RS256","kid":"r"}`, claims)
	rows := []struct {
		reason, token string
		good, noKey   bool
	}{
		{reason: "RSA and SHA-256", token: rs256, good: true},
		{reason: "RSA and SHA-512", token: sign(t, rsaKey, crypto.SHA512, `{"alg":"RS512","kid":"r"}`, claims), good: true},
		{reason: "ECDSA and SHA-256", token: sign(t, ecKey, crypto.SHA256, `{"alg":"ES256","kid":"e"}`, claims), good: true},
		{reason: "ECDSA and SHA-384", token: sign(t, ec384, crypto.SHA384, `{"alg":"ES384","kid":"e384"}`, claims), good: true},
		{reason: "a header without a key identifier", token: sign(t, ecKey, crypto.SHA256, `{"alg":"ES256"}`, claims), good: true},
		{reason: "claims that were changed", token: tampered(rs256)},
		{reason: "another key under the same identifier", token: sign(t, other, crypto.SHA256, `{"alg":"RS256","kid":"r"}`, claims)},
		{reason: "a key that is not published", token: sign(t, other, crypto.SHA256, `{"alg":"RS256","kid":"x"}`, claims), noKey: true},
		{reason: "the algorithm none", token: encode([]byte(`{"alg":"none","kid":"r"}`)) + "." + encode([]byte(claims)) + "."},
		{reason: "a symmetric algorithm", token: sign(t, rsaKey, crypto.SHA256, `{"alg":"HS256","kid":"r"}`, claims)},
		{reason: "the algorithm of another curve", token: sign(t, ecKey, crypto.SHA384, `{"alg":"ES384","kid":"e"}`, claims)},
		{reason: "the algorithm of another type of key", token: sign(t, rsaKey, crypto.SHA256, `{"alg":"ES256","kid":"r"}`, claims)},
	}
	for _, row := range rows {
		token, err := oidc.Parse(row.token)
		if err != nil {
			t.Errorf("%s: %v", row.reason, err)
			continue
		}
		if err := token.Verify(keys); (err == nil) != row.good || errors.Is(err, oidc.ErrNoKey) != row.noKey {
			t.Errorf("%s: %v", row.reason, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	header, claims := encode([]byte(`{"alg":"RS256"}`)), encode([]byte(`{"iss":"i"}`))
	for reason, text := range map[string]string{
		"nothing":                      "",
		"two parts":                    header + "." + claims,
		"four parts":                   header + "." + claims + ".x.y",
		"a part that is not base64url": "?." + claims + ".x",
		"a header that is not JSON":    encode([]byte("{")) + "." + claims + ".",
		"claims that are a list":       header + "." + encode([]byte("[]")) + ".",
		"claims that are null":         header + "." + encode([]byte("null")) + ".",
		"a critical extension":         encode([]byte(`{"alg":"RS256","crit":["b64"]}`)) + "." + claims + ".",
		"a date out of range":          header + "." + encode([]byte(`{"exp":1e300}`)) + ".",
		"an audience that is a number": header + "." + encode([]byte(`{"aud":1}`)) + ".",
	} {
		if _, err := oidc.Parse(text); err == nil {
			t.Errorf("%s: accepted", reason)
		}
	}
}

func TestParseKeysRefuses(t *testing.T) {
	t.Parallel()
	weak := encode(append([]byte{0x80}, make([]byte, 127)...))
	many := `{"keys":[` + strings.TrimSuffix(strings.Repeat(`{"kty":"oct","use":"enc"},`, 201), ",") + `]}`
	for reason, document := range map[string]string{
		"no JSON":                     "{",
		"no keys":                     `{"keys":[]}`,
		"a type that is not known":    `{"keys":[{"kty":"oct"}]}`,
		"an RSA key of 1024 bits":     `{"keys":[{"kty":"RSA","n":"` + weak + `","e":"AQAB"}]}`,
		"an even exponent":            `{"keys":[{"kty":"RSA","n":"` + weak + weak + `","e":"Ag"}]}`,
		"a modulus without end":       `{"keys":[{"kty":"RSA","n":"` + strings.Repeat("A", 5000) + `","e":"AQAB"}]}`,
		"a point outside the curve":   `{"keys":[{"kty":"EC","crv":"P-256","x":"` + encode(make([]byte, 32)) + `","y":"` + encode(make([]byte, 32)) + `"}]}`,
		"a curve that is not allowed": `{"keys":[{"kty":"EC","crv":"P-224","x":"AA","y":"AA"}]}`,
		"more keys than AWS takes":    many,
	} {
		if _, err := oidc.ParseKeys([]byte(document)); err == nil {
			t.Errorf("%s: accepted", reason)
		}
	}
}

// FuzzParse holds that no token crashes the parser or the verification.
func FuzzParse(f *testing.F) {
	keys, err := oidc.ParseKeys([]byte(`{"keys":[{"kty":"EC","crv":"P-256","x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY","y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}]}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encode([]byte(`{"alg":"ES256"}`)) + "." + encode([]byte(`{"iss":"i","aud":"a","exp":1.5}`)) + "." + encode(make([]byte, 64)))
	f.Fuzz(func(t *testing.T, text string) {
		token, err := oidc.Parse(text)
		if err != nil {
			return
		}
		if err := token.Verify(keys); err == nil {
			t.Errorf("%q is accepted", text)
		}
		if _, err := json.Marshal(token.Claims); err != nil {
			t.Errorf("%q has claims that cannot be written: %v", text, err)
		}
	})
}
