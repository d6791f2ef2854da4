package oidc

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	_ "crypto/sha256" // RS256, ES256
	_ "crypto/sha512" // RS384, RS512, ES384, ES512
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"
)

// Token is an identity token in the form of a JSON Web Token (RFC 7519), taken apart.
type Token struct {
	Claims

	algorithm string
	keyID     string
	signed    []byte // header and claims, as they were sent
	signature []byte
}

// Claims are the claims that STS decides by.
type Claims struct {
	Issuer    string    `json:"iss"`
	Subject   string    `json:"sub"`
	Audience  Audiences `json:"aud"`
	Party     string    `json:"azp"`
	Expires   Date      `json:"exp"`
	Issued    Date      `json:"iat"`
	NotBefore Date      `json:"nbf"`
}

// Audiences is one audience or a list of them (RFC 7519, 4.1.3).
type Audiences []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *Audiences) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*a = Audiences{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(a))
}

// Date is a number of seconds since the epoch, possibly with a fraction (RFC 7519, 2). Zero is unset.
type Date struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (d *Date) UnmarshalJSON(data []byte) error {
	var seconds float64
	if err := json.Unmarshal(data, &seconds); err != nil {
		return err
	}
	if math.Abs(seconds) > 1<<40 {
		return errors.New("a date is out of range")
	}
	whole, fraction := math.Modf(seconds)
	d.Time = time.Unix(int64(whole), int64(fraction*float64(time.Second))).UTC()
	return nil
}

// Parse takes a token apart. It checks nothing but its form.
func Parse(text string) (*Token, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, errors.New("parsing a JSON Web Token: it does not have three parts")
	}
	var header struct {
		Algorithm string   `json:"alg"`
		KeyID     string   `json:"kid"`
		Critical  []string `json:"crit"`
	}
	token := &Token{signed: []byte(parts[0] + "." + parts[1])}
	for i, into := range []any{&header, &token.Claims} {
		data, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			return nil, fmt.Errorf("parsing a JSON Web Token: %w", err)
		}
		if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
			return nil, errors.New("parsing a JSON Web Token: a part is not an object")
		}
		if err := json.Unmarshal(data, into); err != nil {
			return nil, fmt.Errorf("parsing a JSON Web Token: %w", err)
		}
	}
	// RFC 7515, 4.1.11: an extension that is not understood makes the token invalid
	if len(header.Critical) > 0 {
		return nil, errors.New("parsing a JSON Web Token: it has critical extensions")
	}
	var err error
	if token.signature, err = base64.RawURLEncoding.DecodeString(parts[2]); err != nil {
		return nil, fmt.Errorf("parsing a JSON Web Token: %w", err)
	}
	token.algorithm, token.keyID = header.Algorithm, header.KeyID
	return token, nil
}

// ErrNoKey means that the issuer publishes no key that could have signed a token.
var ErrNoKey = errors.New("the issuer publishes no key with the identifier of the token")

// errSignature means that no key of the issuer has signed a token.
var errSignature = errors.New("the signature is not the issuer's")

// hashes are the algorithms that AWS verifies (AWS: IAM User Guide, "Create an OpenID Connect (OIDC)
// identity provider in IAM": RS256, RS384, RS512, ES256, ES384, ES512). "none" and the symmetric ones
// are not among them.
var hashes = map[string]crypto.Hash{
	"RS256": crypto.SHA256, "RS384": crypto.SHA384, "RS512": crypto.SHA512,
	"ES256": crypto.SHA256, "ES384": crypto.SHA384, "ES512": crypto.SHA512,
}

// curveOf is the curve that each ECDSA algorithm is bound to (RFC 7518, 3.4).
var curveOf = map[string]string{"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}

// Verify checks the signature. It returns ErrNoKey if the issuer has no key with the token's
// identifier; a token without one is tried with every key.
func (t *Token) Verify(keys Keys) error {
	hash, known := hashes[t.algorithm]
	if !known {
		return fmt.Errorf("the algorithm %q is not accepted", t.algorithm)
	}
	sum := hash.New()
	sum.Write(t.signed)
	digest := sum.Sum(nil)
	result := ErrNoKey
	for _, key := range keys {
		if t.keyID != "" && key.ID != t.keyID {
			continue
		}
		if t.signedBy(key.Public, hash, digest) {
			return nil
		}
		result = errSignature
	}
	return result
}

func (t *Token) signedBy(public crypto.PublicKey, hash crypto.Hash, digest []byte) bool {
	switch public := public.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(t.algorithm, "RS") && rsa.VerifyPKCS1v15(public, hash, digest, t.signature) == nil
	case *ecdsa.PublicKey:
		size := (public.Params().BitSize + 7) / 8
		if curveOf[t.algorithm] != public.Params().Name || len(t.signature) != 2*size {
			return false
		}
		r, s := new(big.Int).SetBytes(t.signature[:size]), new(big.Int).SetBytes(t.signature[size:])
		return ecdsa.Verify(public, digest, r, s)
	default:
		return false
	}
}
