package inspection

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// Versions that are no number.
const (
	Latest  = "latest"
	Default = "default"
)

// Reference names a version of a launch template.
type Reference struct {
	// ID and Name are alternatives.
	ID, Name string
	// Version is a number, Latest or Default. Empty is Default, as everywhere in EC2.
	Version string
}

// Version is a version of a launch template that was read.
type Version struct {
	// Template as it was seen: its id, name, newest and default version.
	Template launchtemplate.Template
	// Number that the reference's version stands for.
	Number int64
	// Fingerprints of the version; a version with the same Config is the same node.
	Fingerprints launchtemplate.Fingerprints
	Resolved
}

// Reader reads launch templates of one account and region. It only reads.
type Reader struct{ discovery *discovery.Discovery }

// NewReader returns a reader that asks by a discovery, whose caches it shares.
func NewReader(d *discovery.Discovery) Reader { return Reader{discovery: d} }

// Read reads what a reference leads to: at most seven calls, and none within a minute of the last
// time. If the template or the version does not exist the error is a *discovery.NotFoundError. That
// something which the version names does not exist is no error but a gap.
func (r Reader) Read(ctx context.Context, reference Reference) (Version, error) {
	template, err := r.discovery.LaunchTemplate(ctx, reference.ID, reference.Name)
	if err != nil {
		return Version{}, err
	}
	number, err := NumberOf(template, reference.Version)
	if err != nil {
		return Version{}, err
	}
	return r.ReadVersion(ctx, template, number)
}

// Forget has a launch template and its versions read anew: EC2 said that one of them is gone.
func (r Reader) Forget(id string) { r.discovery.ForgetLaunchTemplate(id) }

// NumberOf returns the number that a version of a template stands for. The error is a
// *discovery.InvalidQueryError for an invalid version.
func NumberOf(template launchtemplate.Template, version string) (int64, error) {
	switch version {
	case Latest:
		return template.LatestVersion, nil
	case Default, "":
		return template.DefaultVersion, nil
	}
	number, err := strconv.ParseInt(version, 10, 64)
	if err != nil || number < 1 {
		return 0, &discovery.InvalidQueryError{Message: fmt.Sprintf("%q is not a version of a launch template: "+
			"use a number, %s, or %s", version, Latest, Default)}
	}
	return number, nil
}

// ReadVersion reads a version of a template that was seen.
func (r Reader) ReadVersion(ctx context.Context, template launchtemplate.Template, number int64) (Version, error) {
	data, err := r.discovery.TemplateVersion(ctx, template.ID, number)
	if err != nil {
		return Version{}, err
	}
	contents, err := data.Contents()
	if err != nil {
		return Version{}, err
	}
	resolved, err := r.Resolve(ctx, contents, "")
	if err != nil {
		return Version{}, fmt.Errorf("looking at what version %d of launch template %q names: %w", number, template.Name, err)
	}
	return Version{Template: template, Number: number, Fingerprints: data.Fingerprints(), Resolved: resolved}, nil
}

// Resolve returns what contents resolve to. The root device is the one of the image that the
// consumer chooses, empty if it chooses none, or it is not known.
func (r Reader) Resolve(ctx context.Context, contents launchtemplate.Contents, rootDevice string) (Resolved, error) {
	facts, err := r.Facts(ctx, contents)
	if err != nil {
		return Resolved{}, err
	}
	facts.RootDeviceName = rootDevice
	return Inspect(contents, facts), nil
}

// Facts asks for what a version names, by its contents.
func (r Reader) Facts(ctx context.Context, contents launchtemplate.Contents) (Facts, error) {
	var facts Facts
	if contents.ImageID != "" {
		image, err := r.discovery.ImageByID(ctx, contents.ImageID)
		if err == nil {
			facts.Image = &image
		} else if err := facts.note("ImageId", err); err != nil {
			return Facts{}, err
		}
	}
	if contents.InstanceType != "" {
		instanceType, err := r.discovery.InstanceType(ctx, contents.InstanceType)
		if err == nil {
			facts.InstanceType = &instanceType
		} else if err := facts.note("InstanceType", err); err != nil {
			return Facts{}, err
		}
	}
	if len(contents.SubnetIDs) > 0 {
		subnets, err := r.discovery.SubnetsByID(ctx, contents.SubnetIDs)
		if err == nil {
			facts.Subnets = subnets
		} else if err := facts.note("NetworkInterfaces", err); err != nil {
			return Facts{}, err
		}
	}
	missing, err := r.discovery.MissingSecurityGroups(ctx, contents.SecurityGroupIDs)
	if err != nil {
		return Facts{}, err
	}
	if len(missing) > 0 {
		facts.NotFound = append(facts.NotFound, Lack{Member: "SecurityGroupIds", Message: "the VPC has no security group " + strings.Join(missing, ", ") + " in this region"})
	}
	return facts, nil
}

// note takes an error about something that is not available as a fact, and returns any other.
func (f *Facts) note(member string, err error) error {
	var notFound *discovery.NotFoundError
	var invalid *discovery.InvalidQueryError
	if !errors.As(err, &notFound) && !errors.As(err, &invalid) {
		return err
	}
	f.NotFound = append(f.NotFound, Lack{Member: member, Message: err.Error()})
	return nil
}
