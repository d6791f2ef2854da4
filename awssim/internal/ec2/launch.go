package ec2

import (
	"strings"

	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// LaunchRequest is a launch from a launch template that a service makes on behalf of its user.
type LaunchRequest struct {
	Template LaunchTemplateSpec
	// Data is what to launch in the place of a launch template; nil for a launch from Template.
	Data  *types.RequestLaunchTemplateData
	Count int

	// InstanceType and ImageID override the template's if they are not empty. With an InstanceType,
	// the template's instance requirements do not matter.
	InstanceType string
	ImageID      string
	// SubnetID is where to launch. It wins over every subnet that the template names, as with Auto
	// Scaling ("Create a launch template for an Auto Scaling group"). Without it, Zone means that
	// zone's default subnet.
	SubnetID string
	Zone     string
	// Market is "" for what the template says, or a market. MaxPrice is for Spot; empty means the
	// on-demand price.
	Market   types.MarketType
	MaxPrice string
	// PlacementGroup is a name, which wins over the template's placement group; empty for what the
	// template says.
	PlacementGroup string
	// ReservationID is the Capacity Reservation to launch into, which wins over the template's;
	// empty for what the template says. A Market of capacity-block or
	// interruptible-capacity-reservation goes with it.
	ReservationID string
	// Tags win over the template's instance tags with the same key. SystemTags have keys with the
	// prefix aws:.
	Tags       []types.Tag
	SystemTags []types.Tag
}

// LaunchInstances launches Count instances or none. The error, if any, is the *sim.Error that
// RunInstances would answer with, for example InsufficientInstanceCapacity.
func LaunchInstances(r *sim.Region, request LaunchRequest) ([]Instance, error) {
	l, err := planRequest(r, request)
	if err != nil {
		return nil, err
	}
	count := max(request.Count, 1)
	if err := l.state.subnets.refuseShared(l.interfaces, count); err != nil {
		return nil, err
	}
	if _, err := l.state.capacities.roomFor(l, count, count); err != nil {
		return nil, err
	}
	return l.start(count, "", "")
}

// CheckLaunch returns the error that LaunchInstances would fail with, capacity and free addresses
// apart, and launches nothing. It is what a dry run of RunInstances answers.
func CheckLaunch(r *sim.Region, request LaunchRequest) error {
	_, err := planRequest(r, request)
	return err
}

func planRequest(r *sim.Region, request LaunchRequest) (*launch, error) {
	data, version, err := launchData(r, request)
	if err != nil {
		return nil, err
	}
	in := mergeLaunch(data, awsec2.RunInstancesInput{
		ImageId: optional(request.ImageID), InstanceType: types.InstanceType(request.InstanceType),
	})
	in.InstanceMarketOptions = marketFor(in.InstanceMarketOptions, request)
	overrideSubnet(&in, request)
	if request.PlacementGroup != "" {
		placement := val(in.Placement)
		placement.GroupName, placement.GroupId = ptr(request.PlacementGroup), nil
		in.Placement = &placement
	}
	if request.ReservationID != "" {
		in.CapacityReservationSpecification = &types.CapacityReservationSpecification{CapacityReservationTarget: &types.CapacityReservationTarget{
			CapacityReservationId: &request.ReservationID,
		}}
	}
	l := &launch{state: stateOf(r), in: in, source: version, extraTags: request.Tags, systemTags: request.SystemTags}
	return l, l.plan()
}

// launchData returns what a request launches, and the launch template version that it is from: nil
// if it is from none.
func launchData(r *sim.Region, request LaunchRequest) (types.RequestLaunchTemplateData, *LaunchTemplateVersion, error) {
	if request.Data != nil {
		return *request.Data, nil, nil
	}
	version, err := ResolveLaunchTemplate(r, request.Template)
	if err != nil {
		return types.RequestLaunchTemplateData{}, nil, err
	}
	return version.Data, version, nil
}

// CheckResources returns the error of a launch that names an image, an instance type, a key pair,
// or a security group that does not exist, or whose user data cannot be read.
func CheckResources(r *sim.Region, data types.RequestLaunchTemplateData) error {
	l := &launch{state: stateOf(r), in: shape.Convert[awsec2.RunInstancesInput](data), stored: true}
	for _, step := range []func(*launch) error{
		(*launch).findImage, (*launch).findType, (*launch).findKeyPair, (*launch).checkGroupsExist, ruleUserData,
	} {
		if err := step(l); err != nil {
			return err
		}
	}
	return nil
}

func marketFor(template *types.InstanceMarketOptionsRequest, request LaunchRequest) *types.InstanceMarketOptionsRequest {
	switch request.Market {
	case "":
		return template
	case types.MarketTypeSpot:
		options := &types.SpotMarketOptions{SpotInstanceType: types.SpotInstanceTypeOneTime, MaxPrice: optional(request.MaxPrice)}
		return &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot, SpotOptions: options}
	case types.MarketTypeCapacityBlock, types.MarketTypeInterruptibleCapacityReservation:
		return &types.InstanceMarketOptionsRequest{MarketType: request.Market}
	default:
		return nil
	}
}

func overrideSubnet(in *awsec2.RunInstancesInput, request LaunchRequest) {
	if request.SubnetID == "" {
		if request.Zone != "" {
			placement := val(in.Placement)
			placement.AvailabilityZone, placement.AvailabilityZoneId = ptr(request.Zone), nil
			in.Placement = &placement
		}
		return
	}
	if len(in.NetworkInterfaces) == 0 {
		in.SubnetId = ptr(request.SubnetID)
		return
	}
	for i := range in.NetworkInterfaces {
		in.NetworkInterfaces[i].SubnetId = ptr(request.SubnetID)
	}
}

// launch is one launch being worked out: what is asked for, and what was found for it.
type launch struct {
	state  *state
	in     awsec2.RunInstancesInput
	source *LaunchTemplateVersion // nil if no launch template is used
	// the data is only being stored: who launches with it may still add to it
	stored     bool
	extraTags  []types.Tag
	systemTags []types.Tag

	image      *types.Image
	kind       *world.InstanceType
	subnet     *types.Subnet // of the primary network interface
	interfaces []interfacePlan
	profile    *types.IamInstanceProfile
	volumes    []volumePlan
	userData   string
}

// plan finds everything that the launch needs and refuses it as RunInstances would. The order of
// the checks is an inference.
func (l *launch) plan() error {
	if val(l.in.ImageId) == "" {
		return missingParameter("ImageId")
	}
	if err := l.chooseType(); err != nil {
		return err
	}
	steps := []func(*launch) error{(*launch).findImage, (*launch).findType}
	steps = append(steps, dataRules...)
	steps = append(steps, (*launch).findKeyPair, (*launch).findProfile, (*launch).place, (*launch).planVolumes, roomToHibernate, checkPlacement)
	for _, step := range steps {
		if err := step(l); err != nil {
			return err
		}
	}
	return nil
}

// chooseType refuses a launch that leaves the type to instance requirements, which RunInstances
// cannot use (SDK, RequestLaunchTemplateData.InstanceRequirements), and fills in RunInstances'
// default type.
func (l *launch) chooseType() error {
	if l.in.InstanceType != "" {
		return nil
	}
	if l.source != nil && l.source.Data.InstanceRequirements != nil {
		return invalidCombination("The launch template has InstanceRequirements, which can't be used to launch an instance. Specify an instance type.")
	}
	// API reference, RunInstances, InstanceType: "Default: m1.small"
	l.in.InstanceType = types.InstanceTypeM1Small
	return nil
}

func (l *launch) findImage() error {
	if val(l.in.ImageId) == "" {
		return nil
	}
	image, err := l.state.images.find(*l.in.ImageId)
	if err != nil {
		return err
	}
	l.image = &image
	return nil
}

func imageNotFound(ids ...string) error {
	return sim.Errorf("InvalidAMIID.NotFound", "The image id%s '[%s]' do%s not exist", plural(len(ids), "s"), strings.Join(ids, ", "), singular(len(ids), "es"))
}

func plural(n int, ending string) string {
	if n == 1 {
		return ""
	}
	return ending
}

func singular(n int, ending string) string {
	if n == 1 {
		return ending
	}
	return ""
}

func (l *launch) findType() error {
	if l.in.InstanceType == "" {
		return nil
	}
	l.kind = l.state.kernel.World().InstanceType(string(l.in.InstanceType))
	if l.kind == nil {
		return sim.Errorf("InvalidParameterValue", "Invalid value '%s' for InstanceType.", l.in.InstanceType)
	}
	return nil
}

func (l *launch) findKeyPair() error {
	if val(l.in.KeyName) == "" {
		return nil
	}
	for _, p := range l.state.keyPairs.All() {
		if val(p.KeyName) == *l.in.KeyName {
			return nil
		}
	}
	return keyPairNotFound(*l.in.KeyName)
}

// findProfile checks that the instance profile exists and holds a role.
func (l *launch) findProfile() error {
	p := l.in.IamInstanceProfile
	if p == nil || (val(p.Arn) == "" && val(p.Name) == "") {
		return nil
	}
	if val(p.Arn) != "" && val(p.Name) != "" {
		return invalidCombination("The parameter 'iamInstanceProfile.name' may not be used in combination with 'iamInstanceProfile.arn'")
	}
	parameter, given, noun := "iamInstanceProfile.name", val(p.Name), "name"
	if given == "" {
		parameter, given, noun = "iamInstanceProfile.arn", val(p.Arn), "ARN"
	}
	found, ok := iam.FindInstanceProfile(l.state.region.Account, given)
	if !ok || (noun == "name") == strings.HasPrefix(given, "arn:") {
		return invalidValue(parameter, given, "Invalid IAM Instance Profile "+noun)
	}
	if found.Role == "" {
		return sim.Errorf("InvalidParameterValue", "IAM Instance Profile %q has no associated IAM Roles", found.ARN)
	}
	l.profile = &types.IamInstanceProfile{Arn: ptr(found.ARN), Id: ptr(found.ID)}
	return nil
}

// spot reports whether the launch asks for Spot capacity.
func (l *launch) spot() bool {
	return l.in.InstanceMarketOptions != nil && l.in.InstanceMarketOptions.MarketType == types.MarketTypeSpot
}

// tags returns the tags that the launch gives to resources of a type, without the tags that AWS
// adds.
func (l *launch) tags(resource types.ResourceType) []types.Tag {
	var tags []types.Tag
	for _, spec := range l.in.TagSpecifications {
		if spec.ResourceType == resource {
			tags = mergeTags(tags, spec.Tags)
		}
	}
	if resource == types.ResourceTypeInstance {
		tags = mergeTags(tags, l.extraTags)
	}
	return tags
}

// validationWarning returns what EC2 reports about data that it stored although no launch with it
// can work. AWS does not document which checks it makes; here it is every rule of a launch that can
// be judged from the data and from what the Region holds (inference).
func validationWarning(s *state, data types.RequestLaunchTemplateData) *types.ValidationWarning {
	l := &launch{state: s, in: shape.Convert[awsec2.RunInstancesInput](data), stored: true}
	steps := []func(*launch) error{(*launch).findImage, (*launch).findType}
	steps = append(steps, dataRules...)
	steps = append(steps, (*launch).findKeyPair, (*launch).findProfile, (*launch).checkGroupsExist)
	var warning types.ValidationWarning
	for _, step := range steps {
		if err := step(l); err != nil {
			e := sim.AsError(err)
			warning.Errors = append(warning.Errors, types.ValidationError{Code: ptr(e.Code), Message: ptr(e.Message)})
		}
	}
	if len(warning.Errors) == 0 {
		return nil
	}
	return &warning
}

// reserved returns the reservation that the launch names by its id.
func (l *launch) reserved() (CapacityReservation, bool) {
	return l.state.capacities.Get(val(val(val(l.in.CapacityReservationSpecification).CapacityReservationTarget).CapacityReservationId))
}
