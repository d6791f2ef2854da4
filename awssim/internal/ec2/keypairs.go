package ec2

import (
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// keyPairs holds the key pairs of a Region.
type keyPairs struct {
	*sim.Table[types.KeyPairInfo]
}

func keyPairNotFound(name string) error {
	return sim.Errorf("InvalidKeyPair.NotFound", "The key pair '%s' does not exist", name)
}

func (kp *keyPairs) checkName(name *string) error {
	if val(name) == "" {
		return missingParameter("KeyName")
	}
	if len(*name) > 255 { // SDK, CreateKeyPairInput.KeyName
		return invalidValue("keyName", *name, "Key names have up to 255 characters.")
	}
	for _, p := range kp.All() {
		if val(p.KeyName) == *name {
			return sim.Errorf("InvalidKeyPair.Duplicate", "The keypair already exists")
		}
	}
	return nil
}

func (kp *keyPairs) add(c *sim.Call, name *string, kind types.KeyType, fingerprint, public string, tags []types.Tag) types.KeyPairInfo {
	pair := types.KeyPairInfo{
		KeyPairId: ptr(c.Kernel.NewID("key-", 17)), KeyName: name, KeyType: kind, KeyFingerprint: ptr(fingerprint), PublicKey: ptr(public),
		CreateTime: ptr(c.Now), Tags: tags,
	}
	kp.Put(*pair.KeyPairId, pair)
	return pair
}

func keyPairFromWorld(p world.KeyPair) types.KeyPairInfo {
	return types.KeyPairInfo{
		KeyPairId: ptr(p.ID), KeyName: ptr(p.Name), KeyType: types.KeyType(p.Type), KeyFingerprint: ptr(p.Fingerprint),
		PublicKey: optional(p.PublicKey), CreateTime: ptr(beginning), Tags: tagList(p.Tags),
	}
}
