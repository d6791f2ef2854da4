package launchtemplate

import (
	"reflect"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Slipway never sends the value false for the encryption of a volume. EC2 refuses it where the
// volume has a snapshot, as the root volume of every image has ("the encrypted flag cannot be
// specified since device /dev/xvda has a snapshot specified"), and it changes nothing elsewhere: a
// volume is encrypted if its snapshot is or if the account encrypts by default, and false prevents
// neither (EBS User Guide, "Encryption by default").
//
// Fingerprints are still taken of the data with the value, as earlier releases took them: leaving
// it out must not replace a node.

// withoutFalse returns the data as it is sent: without the value false for the encryption of a volume.
func withoutFalse(data *ec2types.RequestLaunchTemplateData) *ec2types.RequestLaunchTemplateData {
	sent := *data
	sent.BlockDeviceMappings = slices.Clone(data.BlockDeviceMappings)
	for i := range sent.BlockDeviceMappings {
		ebs := sent.BlockDeviceMappings[i].Ebs
		if ebs == nil || ebs.Encrypted == nil || *ebs.Encrypted {
			continue
		}
		silent := *ebs
		silent.Encrypted = nil
		sent.BlockDeviceMappings[i].Ebs = &silent
	}
	return &sent
}

// asked returns what the version may have been asked for, the likeliest first: its data as EC2
// answers it, and with the value false where Slipway may have left it out, of all volumes and of
// each. The version's fingerprint shows which it was.
func (d Data) asked() []*ec2types.ResponseLaunchTemplateData {
	var silent []int
	for i, mapping := range d.data.BlockDeviceMappings {
		if mapping.Ebs != nil && mapping.Ebs.Encrypted == nil {
			silent = append(silent, i)
		}
	}
	variants := []*ec2types.ResponseLaunchTemplateData{d.data}
	if len(silent) > 0 {
		variants = append(variants, d.withFalse(silent))
	}
	if len(silent) > 1 {
		for _, i := range silent {
			variants = append(variants, d.withFalse([]int{i}))
		}
	}
	return variants
}

// withFalse returns the data with the value false for the encryption of some volumes.
func (d Data) withFalse(mappings []int) *ec2types.ResponseLaunchTemplateData {
	data := *d.data
	data.BlockDeviceMappings = slices.Clone(d.data.BlockDeviceMappings)
	for _, i := range mappings {
		ebs := *data.BlockDeviceMappings[i].Ebs
		ebs.Encrypted = awssdk.Bool(false)
		data.BlockDeviceMappings[i].Ebs = &ebs
	}
	return &data
}

// restored returns the data that the version was asked for, by its fingerprint, if its bootstrap
// data is among the given ones.
func (d Data) restored(encoded ...string) (*ec2types.ResponseLaunchTemplateData, bool) {
	for _, data := range d.asked() {
		for _, bootstrap := range encoded {
			made, err := fingerprintsOf(data, bootstrap)
			if err == nil && made.Config == d.version.Fingerprints.Config {
				return data, true
			}
		}
	}
	return d.data, false
}

// leaveOutFalse removes the value false for the encryption of volumes from a tree of the canonical
// form, where it means the same as no value.
func leaveOutFalse(tree any) any {
	members, _ := tree.(map[string]any)
	mappings, _ := members["BlockDeviceMappings"].([]any)
	for _, mapping := range mappings {
		if fields, isMap := mapping.(map[string]any); isMap {
			leaveOut(fields, "Ebs", "Encrypted", "false")
		}
	}
	return tree
}

// comparableTree returns the canonical tree of data, in which no volume has the value false for its
// encryption.
func comparableTree(data any) any { return leaveOutFalse(canonicalTree(reflect.ValueOf(data), "")) }
