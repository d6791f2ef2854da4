package aws

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// Principal contains everything that an identity's credentials are created from. The zero Principal
// is the controller itself.
type Principal struct {
	// Identity names it. Two identities never share clients, though they may have the same credentials.
	Identity Identity
	// Keys begin the chain of roles, or are all there is. Nil stands for the controller's own credentials.
	Keys *Keys
	// Roles are assumed in this order, each with the credentials of the one before.
	Roles []Role
}

// Keys are an access key of an IAM user, or of a session that is renewed elsewhere.
type Keys struct {
	AccessKeyID, SecretAccessKey string
	// SessionToken is empty for a user's key.
	SessionToken string
}

// String keeps the secret out of logs.
func (k Keys) String() string { return "access key " + k.AccessKeyID }

// GoString keeps the secret out of logs.
func (k Keys) GoString() string { return k.String() }

// Role is a role to assume, and how. AWS: API_AssumeRole.
type Role struct {
	ARN string
	// SessionName is seen in CloudTrail; defaultSessionName if empty.
	SessionName string
	// ExternalID is the external ID that the role's trust policy requires; empty for none.
	ExternalID string
	// InlinePolicy and PolicyARNs narrow what the session may do; empty for all that the role may.
	InlinePolicy string
	PolicyARNs   []string
	// Duration of a session; AWS's default of an hour if zero. A role assumed with another role's
	// session lasts an hour at most.
	Duration time.Duration
}

// Account returns the account that the principal acts in, or "" if that is not known without asking
// AWS.
func (p Principal) Account() string {
	if len(p.Roles) == 0 {
		return ""
	}
	// arn:aws:iam::123456789012:role/name
	parts := strings.Split(p.Roles[len(p.Roles)-1].ARN, ":")
	if len(parts) < 6 {
		return ""
	}
	return parts[4]
}

// fingerprint returns the same hash for principals with the same name and credentials. It does not
// reveal the credentials.
func (p Principal) fingerprint() string {
	p.Identity = p.Identity.Canonical()
	content, err := json.Marshal(p)
	if err != nil {
		panic("a principal is made of text: " + err.Error())
	}
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:])
}

// Equal says whether two principals have the same name and credentials.
func (p Principal) Equal(other Principal) bool { return p.fingerprint() == other.fingerprint() }
