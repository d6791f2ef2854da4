package awssim

import (
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/s3"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/internal/ssm"
)

// Instance is an EC2 instance as it is at a moment, with properties that no call to AWS returns so
// plainly: the user data as the machine reads it, and whether its node is up.
type Instance = ec2.Instance

// EventBooted is the state of the event of kind "instance" which reports that the node in it is up.
const EventBooted = ec2.EventBooted

// Instance returns an instance as it is now, without the lag, the throttling, the faults and the
// log line of a call. It is there for a while after it was terminated, as for EC2's own callers.
func (r Region) Instance(id string) (instance Instance, ok bool) {
	r.look(func(held *sim.Region) { instance, ok = ec2.LookupInstance(held, id) })
	return instance, ok
}

// Instances returns all instances, in the order of their launch, like Instance.
func (r Region) Instances() (instances []Instance) {
	r.look(func(held *sim.Region) { instances = ec2.Instances(held) })
	return instances
}

// Image returns a machine image as it is now, like Instance.
func (r Region) Image(id string) (image types.Image, ok bool) {
	r.look(func(held *sim.Region) { image, ok = ec2.LookupImage(held, id) })
	return image, ok
}

// Volume returns an EBS volume as it is now, like Instance.
func (r Region) Volume(id string) (volume types.Volume, ok bool) {
	r.look(func(held *sim.Region) { volume, ok = ec2.LookupVolume(held, id) })
	return volume, ok
}

// Parameter returns the decrypted value of a parameter as an instance of the account would read it,
// like Instance: without a call.
func (r Region) Parameter(name string) (value string, err error) {
	err = r.do(func(held *sim.Region) (failure error) {
		value, failure = ssm.Value(held, name)
		return failure
	})
	return value, err
}

// Object returns the content of an object in S3 as an instance of the account would read it, like Parameter.
func (r Region) Object(bucket, key string) (content string, err error) {
	err = r.do(func(held *sim.Region) (failure error) {
		content, failure = s3.Content(held.Account, bucket, key)
		return failure
	})
	return content, err
}
