package ec2

import (
	"crypto/ed25519"
	"crypto/md5" //nolint:gosec // EC2 shows MD5 fingerprints of imported RSA keys
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // EC2 shows SHA-1 fingerprints of the RSA keys that it makes
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

func keyPairTags(p types.KeyPairInfo) []types.Tag { return p.Tags }

var keyPairFilters = filterTable[types.KeyPairInfo]{
	"key-pair-id": func(p types.KeyPairInfo) []string { return text(p.KeyPairId) },
	"fingerprint": func(p types.KeyPairInfo) []string { return text(p.KeyFingerprint) },
	"key-name":    func(p types.KeyPairInfo) []string { return text(p.KeyName) },
}

func describeKeyPairs(c *sim.Call, in *awsec2.DescribeKeyPairsInput) (*awsec2.DescribeKeyPairsOutput, error) {
	all := stateOf(c.Region).keyPairs.VisibleAll()
	all, err := selectByID(keyPairID, all, func(p types.KeyPairInfo) string { return *p.KeyPairId }, in.KeyPairIds)
	if err != nil {
		return nil, err
	}
	all, err = selectByName(all, in.KeyNames, func(p types.KeyPairInfo) string { return *p.KeyName }, keyPairNotFound)
	if err != nil {
		return nil, err
	}
	found, err := keyPairFilters.apply(in.Filters, all, keyPairTags)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	if !val(in.IncludePublicKey) {
		for i := range found {
			found[i].PublicKey = nil
		}
	}
	return &awsec2.DescribeKeyPairsOutput{KeyPairs: found}, nil
}

// createKeyPair makes a key pair with real keys. The keys are the one thing in the simulation that
// differs from run to run.
func createKeyPair(c *sim.Call, in *awsec2.CreateKeyPairInput) (*awsec2.CreateKeyPairOutput, error) {
	s := stateOf(c.Region)
	if err := s.keyPairs.checkName(in.KeyName); err != nil {
		return nil, err
	}
	kind := in.KeyType
	if kind == "" {
		kind = types.KeyTypeRsa
	}
	if err := checkEnum("keyType", kind, kind.Values()); err != nil {
		return nil, err
	}
	if in.KeyFormat != "" && in.KeyFormat != types.KeyFormatPem {
		return nil, sim.Errorf("InvalidParameterValue", "The simulation only makes keys in the format pem.")
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeKeyPair, types.ResourceTypeKeyPair)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	private, public, fingerprint, err := generateKey(kind)
	if err != nil {
		return nil, err
	}
	pair := s.keyPairs.add(c, in.KeyName, kind, fingerprint, public, tags)
	return &awsec2.CreateKeyPairOutput{
		KeyName: pair.KeyName, KeyPairId: pair.KeyPairId, KeyFingerprint: pair.KeyFingerprint, KeyMaterial: ptr(private), Tags: tags,
	}, nil
}

// generateKey returns the private key as PEM, the public one as OpenSSH writes it, and the
// fingerprint that EC2 shows for keys that it made: SHA-1 of the private key for RSA, SHA-256 of
// the public key for ED25519 (User Guide, "Verify the fingerprint of your key pair").
func generateKey(kind types.KeyType) (private, public, fingerprint string, err error) {
	if kind == types.KeyTypeEd25519 {
		publicKey, privateKey, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return "", "", "", fmt.Errorf("making an ED25519 key: %w", err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(privateKey)
		if err != nil {
			return "", "", "", fmt.Errorf("encoding an ED25519 key: %w", err)
		}
		blob := sshBlob([]byte("ssh-ed25519"), publicKey)
		return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), sshLine("ssh-ed25519", blob), sha256Fingerprint(blob), nil
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", "", "", fmt.Errorf("making an RSA key: %w", err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", "", "", fmt.Errorf("encoding an RSA key: %w", err)
	}
	blob := sshBlob([]byte("ssh-rsa"), mpint(big.NewInt(int64(key.E))), mpint(key.N))
	sum := sha1.Sum(pkcs8) //nolint:gosec // see the import
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})), sshLine("ssh-rsa", blob), colons(sum[:]), nil
}

// sshBlob is the wire form of an OpenSSH public key: strings with their lengths (RFC 4253, section 6.6).
func sshBlob(parts ...[]byte) []byte {
	var blob []byte
	for _, p := range parts {
		blob = binary.BigEndian.AppendUint32(blob, uint32(len(p))) //nolint:gosec // the parts of a key are short
		blob = append(blob, p...)
	}
	return blob
}

// mpint is a positive number as OpenSSH writes it: with a leading zero byte if the first bit is set.
func mpint(n *big.Int) []byte {
	raw := n.Bytes()
	if len(raw) > 0 && raw[0]&0x80 != 0 {
		return append([]byte{0}, raw...)
	}
	return raw
}

func sshLine(algorithm string, blob []byte) string {
	return algorithm + " " + base64.StdEncoding.EncodeToString(blob)
}

func sha256Fingerprint(blob []byte) string {
	sum := sha256.Sum256(blob)
	return base64.StdEncoding.EncodeToString(sum[:])
}

func colons(sum []byte) string {
	digits := hex.EncodeToString(sum)
	var pairs []string
	for pair := range slices.Chunk([]byte(digits), 2) {
		pairs = append(pairs, string(pair))
	}
	return strings.Join(pairs, ":")
}

// importKeyPair imports an OpenSSH public key. The fingerprint of an imported RSA key is the MD5
// hash of the public key (User Guide, "Verify the fingerprint of your key pair"). Here, it is the
// hash of the key's OpenSSH form (inference: the key does not exist in AWS, so there is no other
// fingerprint to compare it with).
func importKeyPair(c *sim.Call, in *awsec2.ImportKeyPairInput) (*awsec2.ImportKeyPairOutput, error) {
	s := stateOf(c.Region)
	if err := s.keyPairs.checkName(in.KeyName); err != nil {
		return nil, err
	}
	fields := strings.Fields(string(in.PublicKeyMaterial))
	if len(fields) < 2 {
		return nil, sim.Errorf("InvalidKey.Format", "Key is not in valid OpenSSH public key format")
	}
	blob, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil || (fields[0] != "ssh-rsa" && fields[0] != "ssh-ed25519") {
		return nil, sim.Errorf("InvalidKey.Format", "Key is not in valid OpenSSH public key format")
	}
	tags, err := tagsFor(in.TagSpecifications, types.ResourceTypeKeyPair, types.ResourceTypeKeyPair)
	if err != nil {
		return nil, err
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	kind, fingerprint := types.KeyTypeEd25519, sha256Fingerprint(blob)
	if fields[0] == "ssh-rsa" {
		sum := md5.Sum(blob) //nolint:gosec // see the import
		kind, fingerprint = types.KeyTypeRsa, colons(sum[:])
	}
	pair := s.keyPairs.add(c, in.KeyName, kind, fingerprint, strings.TrimSpace(string(in.PublicKeyMaterial)), tags)
	return &awsec2.ImportKeyPairOutput{KeyName: pair.KeyName, KeyPairId: pair.KeyPairId, KeyFingerprint: pair.KeyFingerprint, Tags: tags}, nil
}

// deleteKeyPair succeeds for a name that no key pair has, as EC2 does.
func deleteKeyPair(c *sim.Call, in *awsec2.DeleteKeyPairInput) (*awsec2.DeleteKeyPairOutput, error) {
	s := stateOf(c.Region)
	if val(in.KeyName) == "" && val(in.KeyPairId) == "" {
		return nil, missingParameter("KeyName")
	}
	if val(in.DryRun) {
		return nil, dryRun()
	}
	for _, p := range s.keyPairs.All() {
		if val(p.KeyName) == val(in.KeyName) || *p.KeyPairId == val(in.KeyPairId) {
			s.keyPairs.Delete(*p.KeyPairId)
			return &awsec2.DeleteKeyPairOutput{Return: ptr(true), KeyPairId: p.KeyPairId}, nil
		}
	}
	return &awsec2.DeleteKeyPairOutput{Return: ptr(true)}, nil
}
