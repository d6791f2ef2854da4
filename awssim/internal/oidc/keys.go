// Package oidc checks the identity tokens of OpenID Connect as STS does: the signature against the
// keys that the issuer publishes, and the claims that every token must have. Tokens and keys come
// from callers, so everything that is read is bounded.
//
// Keys are set by tests and never fetched. The URL of an issuer comes from callers, a fetch takes
// real time where the simulator has only simulated time, and the issuers of EKS are hosts of AWS.
package oidc

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
)

const (
	// maxKeys bounds a key set (AWS: IAM User Guide, "Create an OpenID Connect (OIDC) identity
	// provider in IAM": a JWKS holds at most 100 RSA keys and 100 EC keys).
	maxKeys = 200
	// maxModulus bounds the work of one verification, in bits.
	maxModulus = 8192
	minModulus = 2048
)

// Keys are the public keys of an issuer: its JSON Web Key Set.
type Keys []Key

// Key is one public key with its identifier.
type Key struct {
	ID     string
	Public crypto.PublicKey
}

// curves are the curves of AWS's algorithms, by their names in a JSON Web Key (RFC 7518, 6.2.1.1).
var curves = map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}

// ParseKeys reads a JSON Web Key Set (RFC 7517). It skips keys that do not sign.
func ParseKeys(document []byte) (Keys, error) {
	var set struct {
		Keys []webKey `json:"keys"`
	}
	if err := json.Unmarshal(document, &set); err != nil {
		return nil, fmt.Errorf("parsing a JSON Web Key Set: %w", err)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("parsing a JSON Web Key Set: it has %d keys, more than %d", len(set.Keys), maxKeys)
	}
	keys := Keys{}
	for _, raw := range set.Keys {
		if raw.Use != "" && raw.Use != "sig" {
			continue
		}
		public, err := raw.public()
		if err != nil {
			return nil, fmt.Errorf("parsing key %q of a JSON Web Key Set: %w", raw.ID, err)
		}
		keys = append(keys, Key{ID: raw.ID, Public: public})
	}
	if len(keys) == 0 {
		return nil, errors.New("parsing a JSON Web Key Set: it has no key that signs")
	}
	return keys, nil
}

// webKey is a JSON Web Key (RFC 7517, and RFC 7518, 6.2 and 6.3).
type webKey struct {
	Type     string `json:"kty"`
	ID       string `json:"kid"`
	Use      string `json:"use"`
	Modulus  number `json:"n"`
	Exponent number `json:"e"`
	Curve    string `json:"crv"`
	X        number `json:"x"`
	Y        number `json:"y"`
}

// number is a big-endian integer in base64url.
type number struct{ bytes []byte }

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	if len(text) > maxModulus/4 {
		return errors.New("a number is too long")
	}
	var err error
	n.bytes, err = base64.RawURLEncoding.DecodeString(text)
	return err
}

func (n number) value() *big.Int { return new(big.Int).SetBytes(n.bytes) }

func (k webKey) public() (crypto.PublicKey, error) {
	switch k.Type {
	case "RSA":
		modulus, exponent := k.Modulus.value(), k.Exponent.value()
		if bits := modulus.BitLen(); bits < minModulus || bits > maxModulus {
			return nil, fmt.Errorf("its modulus has %d bits", bits)
		}
		if exponent.BitLen() > 31 || exponent.Int64() < 3 || exponent.Bit(0) == 0 {
			return nil, errors.New("its exponent is not an odd number of at most 31 bits")
		}
		return &rsa.PublicKey{N: modulus, E: int(exponent.Int64())}, nil
	case "EC":
		curve, known := curves[k.Curve]
		if !known {
			return nil, fmt.Errorf("its curve is %q", k.Curve)
		}
		size := (curve.Params().BitSize + 7) / 8
		if len(k.X.bytes) != size || len(k.Y.bytes) != size {
			return nil, errors.New("its coordinates do not have the size of its curve")
		}
		// 4 is the uncompressed form (SEC 1, 2.3.3). The point is checked to be on the curve.
		return ecdsa.ParseUncompressedPublicKey(curve, append(append([]byte{4}, k.X.bytes...), k.Y.bytes...))
	default:
		return nil, fmt.Errorf("its type is %q", k.Type)
	}
}
