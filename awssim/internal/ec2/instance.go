package ec2

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// Instance is a snapshot of one instance. Callers must not change the values that its pointers
// refer to.
type Instance struct {
	types.Instance
	ReservationID string
	UserData      string // as the instance reads it, decoded
	Booted        bool   // the node in it is up
}

// instance is an entry of the table; it is never modified in place.
type instance struct {
	api         types.Instance
	owner       string // the account
	reservation string
	userData    string // decoded
	encodedData string // as it was given
	booted      bool
	checks      statusChecks
	hasPublic   bool // it has a public address while it runs
	life        int  // counts the changes of state, so that a timer of an earlier one does nothing
	keepAlive   bool
	keepRunning bool
	shutdown    types.ShutdownBehavior
}

// tombstone is the time for which a terminated instance can still be described (User Guide,
// "Terminate Amazon EC2 instances": about an hour).
const tombstone = time.Hour

func (i instance) public() Instance {
	return Instance{Instance: i.api, ReservationID: i.reservation, UserData: i.userData, Booted: i.booted}
}

func (i instance) id() string                           { return val(i.api.InstanceId) }
func (i instance) stateName() types.InstanceStateName   { return i.api.State.Name }
func (i instance) in(s ...types.InstanceStateName) bool { return slices.Contains(s, i.stateName()) }

// holdsCapacity reports whether the instance occupies a machine: a stopped one does not.
func (i instance) holdsCapacity() bool {
	return i.in(types.InstanceStateNamePending, types.InstanceStateNameRunning, types.InstanceStateNameStopping, types.InstanceStateNameShuttingDown)
}

// stateCodes are the low bytes of the states' codes (SDK, InstanceState.Code).
var stateCodes = map[types.InstanceStateName]int32{
	types.InstanceStateNamePending: 0, types.InstanceStateNameRunning: 16, types.InstanceStateNameShuttingDown: 32,
	types.InstanceStateNameTerminated: 48, types.InstanceStateNameStopping: 64, types.InstanceStateNameStopped: 80,
}

func instanceState(name types.InstanceStateName) *types.InstanceState {
	return &types.InstanceState{Name: name, Code: ptr(stateCodes[name])}
}

// publicAddress derives an address from the instance ID, in the block that is reserved for
// benchmarks (RFC 2544) and that no network owns.
func publicAddress(instanceID string) string {
	sum := hash(instanceID)
	return fmt.Sprintf("198.%d.%d.%d", 18+sum[0]&1, sum[1], sum[2])
}

func macAddress(instanceID, address string) string {
	sum := hash(instanceID + address)
	return fmt.Sprintf("02:%02x:%02x:%02x:%02x:%02x", sum[0], sum[1], sum[2], sum[3], sum[4])
}

func hash(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }

// volumeIOPS returns the IOPS of a volume: the provisioned IOPS, or for gp2 its baseline of 3 per
// GiB, at least 100 and at most 16,000 (EBS User Guide, "General Purpose SSD volumes").
func volumeIOPS(ebs types.EbsBlockDevice) *int32 {
	if ebs.VolumeType == types.VolumeTypeGp2 {
		return ptr(min(max(3*val(ebs.VolumeSize), 100), 16000))
	}
	return ebs.Iops
}
