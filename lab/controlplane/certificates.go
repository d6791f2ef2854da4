package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
)

// certificateLifetime is far longer than any laboratory runs, and short enough to betray a forgotten file.
const certificateLifetime = 30 * 24 * time.Hour

// pki holds what one control plane proves its identity with. kube-apiserver reads its part from
// files in dir; everything else stays in memory.
type pki struct {
	dir                    string
	caCertificate, caKey   []byte
	adminCertificate, admK []byte
}

// file returns the path of one of the files that newPKI wrote.
func (p *pki) file(name string) string { return filepath.Join(p.dir, name) }

// newPKI creates an authority, the API server's serving certificate, an administrator's client
// certificate (group system:masters), and the key that signs service account tokens.
func newPKI(dir string) (*pki, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making %s: %w", dir, err)
	}
	authority, err := newAuthority("slipway-laboratory")
	if err != nil {
		return nil, err
	}
	serving, servingKey, err := authority.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{
			"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)},
	})
	if err != nil {
		return nil, err
	}
	admin, adminKey, err := authority.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "laboratory-admin", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return nil, err
	}
	_, serviceAccountKey, err := newKey()
	if err != nil {
		return nil, err
	}
	p := &pki{
		dir:           dir,
		caCertificate: authority.certificatePEM, caKey: authority.keyPEM,
		adminCertificate: admin, admK: adminKey,
	}
	for name, content := range map[string][]byte{
		"ca.crt": p.caCertificate, "apiserver.crt": serving, "apiserver.key": servingKey, "service-account.key": serviceAccountKey,
	} {
		if err := os.WriteFile(p.file(name), content, 0o600); err != nil {
			return nil, fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return p, nil
}

// restConfig returns the administrator's configuration. Negative QPS turns the client's own rate limit off.
func (p *pki) restConfig(host string) *rest.Config {
	return &rest.Config{
		Host: host,
		TLSClientConfig: rest.TLSClientConfig{
			CAData: p.caCertificate, CertData: p.adminCertificate, KeyData: p.admK,
		},
		QPS: -1,
	}
}

// authority signs certificates.
type authority struct {
	certificate            *x509.Certificate
	key                    *ecdsa.PrivateKey
	certificatePEM, keyPEM []byte
}

func newAuthority(commonName string) (*authority, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: commonName},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              []string{commonName},
	}
	a := &authority{certificate: template, key: key, keyPEM: keyPEM}
	der, err := a.create(template, &key.PublicKey)
	if err != nil {
		return nil, err
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("parsing the certificate of authority %q: %w", commonName, err)
	}
	a.certificatePEM = encodePEM("CERTIFICATE", der)
	return a, nil
}

// sign creates a key and a certificate for it.
func (a *authority) sign(template *x509.Certificate) (certificatePEM, keyPEM []byte, err error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := a.create(template, &key.PublicKey)
	if err != nil {
		return nil, nil, err
	}
	return encodePEM("CERTIFICATE", der), keyPEM, nil
}

func (a *authority) create(template *x509.Certificate, public *ecdsa.PublicKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("choosing a serial number: %w", err)
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(certificateLifetime)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, public, a.key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %q: %w", template.Subject.CommonName, err)
	}
	return der, nil
}

func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generating a key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding a key: %w", err)
	}
	return key, encodePEM("EC PRIVATE KEY", der), nil
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// NewAuthority creates a certificate authority and returns its certificate and private key as PEM.
func NewAuthority(commonName string) (certificate, key []byte, err error) {
	authority, err := newAuthority(commonName)
	if err != nil {
		return nil, nil, err
	}
	return authority.certificatePEM, authority.keyPEM, nil
}

// ServingCertificate creates a new authority and a certificate for a TLS server on the loopback
// interface and for further names, all PEM: what an in-process webhook server needs, and the bundle that its callers
// trust it by.
func ServingCertificate(commonName string, names ...string) (caBundle, certificate, key []byte, err error) {
	authority, err := newAuthority(commonName + "-ca")
	if err != nil {
		return nil, nil, nil, err
	}
	certificate, key, err = authority.sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: commonName},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    append([]string{"localhost"}, names...),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return authority.certificatePEM, certificate, key, nil
}
