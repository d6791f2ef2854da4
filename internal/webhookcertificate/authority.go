package webhookcertificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"maps"
	"math/big"
	"net"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// Keys of the Secret. The certificates of authorities are in the first, the newest first.
const (
	authorityCertificateKey = "ca.crt"
	authorityKeyKey         = "ca.key"
)

// skew limits how far the API server's clock may be behind the manager's clock.
const skew = 5 * time.Minute

// Lifetimes holds the durations for which certificates are valid. A certificate is renewed when a
// third of its lifetime is left.
type Lifetimes struct {
	Authority, Serving time.Duration
}

// DefaultLifetimes has an authority outlive several serving certificates.
var DefaultLifetimes = Lifetimes{Authority: 2 * 365 * 24 * time.Hour, Serving: 90 * 24 * time.Hour}

// authority signs serving certificates.
type authority struct {
	// certificates are those to trust, the newest first. The newest signs.
	certificates []*x509.Certificate
	key          crypto.Signer
}

// readAuthority returns the authority that a Secret has. It fails if the Secret has none that can sign.
func readAuthority(secret *corev1.Secret) (*authority, error) {
	certificates, err := cert.ParseCertsPEM(secret.Data[authorityCertificateKey])
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", authorityCertificateKey, err)
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(secret.Data[authorityKeyKey])
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", authorityKeyKey, err)
	}
	key, signs := parsed.(*ecdsa.PrivateKey)
	if !signs || !key.PublicKey.Equal(certificates[0].PublicKey) {
		return nil, fmt.Errorf("%s is not the key of the first certificate in %s", authorityKeyKey, authorityCertificateKey)
	}
	return &authority{certificates: certificates, key: key}, nil
}

// newAuthority returns an authority that signs with a new key. Certificates of earlier ones stay
// trusted until they expire, because other replicas may serve certificates that they signed.
func newAuthority(earlier []*x509.Certificate, now time.Time, lifetime time.Duration) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of the authority: %w", err)
	}
	template, err := template("slipway-webhook-authority", now, now.Add(lifetime))
	if err != nil {
		return nil, err
	}
	template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
	certificate, err := sign(template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of the authority: %w", err)
	}
	return &authority{certificates: append([]*x509.Certificate{certificate}, unexpired(earlier, now)...), key: key}, nil
}

// write puts the authority into a Secret.
func (a *authority) write(secret *corev1.Secret) error {
	key, err := keyutil.MarshalPrivateKeyToPEM(a.key)
	if err != nil {
		return fmt.Errorf("encoding the key of the authority: %w", err)
	}
	bundle, err := a.bundle()
	if err != nil {
		return err
	}
	set(secret, map[string][]byte{authorityCertificateKey: bundle, authorityKeyKey: key})
	return nil
}

// bundle returns the certificates to trust, in PEM.
func (a *authority) bundle() ([]byte, error) {
	bundle, err := cert.EncodeCertificates(a.certificates...)
	if err != nil {
		return nil, fmt.Errorf("encoding the certificates of the authority: %w", err)
	}
	return bundle, nil
}

// issue puts a new serving certificate for the hosts into a Secret, and returns when it expires.
func (a *authority) issue(secret *corev1.Secret, hosts []string, now time.Time, lifetime time.Duration) (time.Time, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return time.Time{}, fmt.Errorf("making the key of the webhook certificate: %w", err)
	}
	end := now.Add(lifetime)
	if limit := a.certificates[0].NotAfter; limit.Before(end) {
		end = limit
	}
	template, err := template(hosts[0], now, end)
	if err != nil {
		return time.Time{}, err
	}
	template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	certificate, err := sign(template, a.certificates[0], key.Public(), a.key)
	if err != nil {
		return time.Time{}, fmt.Errorf("signing the webhook certificate: %w", err)
	}
	encodedCertificate, err := cert.EncodeCertificates(certificate)
	if err != nil {
		return time.Time{}, fmt.Errorf("encoding the webhook certificate: %w", err)
	}
	encodedKey, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return time.Time{}, fmt.Errorf("encoding the key of the webhook certificate: %w", err)
	}
	set(secret, map[string][]byte{corev1.TLSCertKey: encodedCertificate, corev1.TLSPrivateKeyKey: encodedKey})
	return end, nil
}

// suits returns nil if the Secret has a serving certificate for the hosts, signed by the newest
// authority, that need not be renewed yet.
func (a *authority) suits(secret *corev1.Secret, hosts []string, now time.Time) error {
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return fmt.Errorf("reading the pair of %s and %s: %w", corev1.TLSCertKey, corev1.TLSPrivateKeyKey, err)
	}
	if due(pair.Leaf, now) {
		return fmt.Errorf("it expires at %s", pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	if err := pair.Leaf.CheckSignatureFrom(a.certificates[0]); err != nil {
		return fmt.Errorf("it is not signed by the newest authority: %w", err)
	}
	for _, host := range hosts {
		if err := pair.Leaf.VerifyHostname(host); err != nil {
			return fmt.Errorf("it is not for %s: %w", host, err)
		}
	}
	return nil
}

// due reports whether a certificate must be renewed, or is not valid yet.
func due(certificate *x509.Certificate, now time.Time) bool {
	left := certificate.NotAfter.Sub(certificate.NotBefore) / 3
	return now.Before(certificate.NotBefore) || now.Add(left).After(certificate.NotAfter)
}

// unexpired returns the certificates that are still valid.
func unexpired(certificates []*x509.Certificate, now time.Time) []*x509.Certificate {
	return slices.DeleteFunc(slices.Clone(certificates), func(certificate *x509.Certificate) bool { return now.After(certificate.NotAfter) })
}

// template returns what all certificates have in common.
func template(name string, now, end time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("choosing a serial number: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)), Subject: pkix.Name{CommonName: name, Organization: []string{"slipway"}},
		NotBefore: now.Add(-skew), NotAfter: end, BasicConstraintsValid: true,
	}, nil
}

func sign(template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) (*x509.Certificate, error) {
	if len(template.Subject.CommonName) > 64 { // longer common names are not valid (RFC 5280, ub-common-name)
		template.Subject.CommonName = template.Subject.CommonName[:64]
	}
	encoded, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, fmt.Errorf("creating the certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(encoded)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	return certificate, nil
}

func set(secret *corev1.Secret, data map[string][]byte) {
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	maps.Copy(secret.Data, data)
}
