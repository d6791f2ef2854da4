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
func (s *Simulator) Instance(account, region, id string) (instance Instance, ok bool) {
	s.inRegion(account, region, func(r *sim.Region) { instance, ok = ec2.LookupInstance(r, id) })
	return instance, ok
}

// Instances returns all instances of an account in a region, in the order of their launch, like
// Instance.
func (s *Simulator) Instances(account, region string) (instances []Instance) {
	s.inRegion(account, region, func(r *sim.Region) { instances = ec2.Instances(r) })
	return instances
}

// Image returns a machine image as it is now, like Instance.
func (s *Simulator) Image(account, region, id string) (image types.Image, ok bool) {
	s.inRegion(account, region, func(r *sim.Region) { image, ok = ec2.LookupImage(r, id) })
	return image, ok
}

// Volume returns an EBS volume as it is now, like Instance.
func (s *Simulator) Volume(account, region, id string) (volume types.Volume, ok bool) {
	s.inRegion(account, region, func(r *sim.Region) { volume, ok = ec2.LookupVolume(r, id) })
	return volume, ok
}

// Parameter returns the decrypted value of a parameter as an instance of the account would read it,
// like Instance: without a call.
func (s *Simulator) Parameter(account, region, name string) (value string, err error) {
	if missing := s.kernel.InRegion(account, region, func(r *sim.Region) { value, err = ssm.Value(r, name) }); missing != nil {
		return "", missing
	}
	return value, err
}

// Object returns the content of an object in S3 as an instance of the account would read it, like Parameter.
func (s *Simulator) Object(account, region, bucket, key string) (content string, err error) {
	if missing := s.kernel.InRegion(account, region, func(r *sim.Region) { content, err = s3.Content(r.Account, bucket, key) }); missing != nil {
		return "", missing
	}
	return content, err
}

// inRegion runs f under the kernel's lock, unless the world has no such region.
func (s *Simulator) inRegion(account, region string, f func(*sim.Region)) {
	// Where there is no region there is nothing to be found, which is what f's caller then answers.
	_ = s.kernel.InRegion(account, region, f)
}
