package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
)

// idSource generates pseudo-random text from a seed and a counter: the same calls in the same order
// get the same identifiers.
type idSource struct {
	seed    uint64
	account string
	counter uint64
}

// hex returns n hexadecimal digits.
func (s *idSource) hex(n int) string {
	var digits string
	for len(digits) < n {
		block := binary.BigEndian.AppendUint64(nil, s.seed)
		block = binary.BigEndian.AppendUint64(block, s.counter)
		s.counter++
		sum := sha256.Sum256(append(block, s.account...))
		digits += hex.EncodeToString(sum[:])
	}
	return digits[:n]
}

// share returns a number from 0 to below 1.
func (s *idSource) share() float64 {
	const digits = 8
	number, _ := strconv.ParseUint(s.hex(digits), 16, 64) // hex returns such digits
	return float64(number) / (1 << (4 * digits))
}

// NewID returns prefix followed by n hexadecimal digits, such as NewID("i-", 17). Identifiers are
// unique. They depend only on the seed, on the account that is being served, and on how many it has
// generated before, so that tests in accounts of their own do not change each other's. AWS resource
// IDs have 17 digits (AWS: EC2 user guide, resource IDs).
func (k *Kernel) NewID(prefix string, n int) string {
	source := k.ids[k.serving]
	if source == nil {
		source = &idSource{seed: k.initial.Seed, account: k.serving}
		k.ids[k.serving] = source
	}
	for {
		id := prefix + source.hex(n)
		if !k.taken[id] {
			k.taken[id] = true
			return id
		}
	}
}

// on runs f on behalf of an account.
func (k *Kernel) on(account string, f func()) {
	was := k.serving
	k.serving = account
	defer func() { k.serving = was }()
	f()
}

// NewUUID returns an identifier in the form of a UUID, as activity ids have.
func (k *Kernel) NewUUID() string { return uuid(k.NewID("", 32)) }

func uuid(h string) string {
	return fmt.Sprintf("%s-%s-4%s-a%s-%s", h[:8], h[8:12], h[13:16], h[17:20], h[20:])
}
