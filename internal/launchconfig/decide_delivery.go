package launchconfig

import (
	"errors"
	"fmt"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/bootstrapstorage"
	"github.com/slipway-project/slipway/internal/userdata"
)

// delivery describes how bootstrap data reaches instances.
type delivery struct {
	// userData goes into the template. Empty for a config without bootstrap data.
	userData []byte
	// bootstrap is the bootstrap data, where the user data is something else: a pointer to it, or around it.
	bootstrap []byte
	// item is what is kept outside of the template, nil if nothing is.
	item *bootstrapstorage.Item
}

// problem explains in a condition why there is no delivery.
type problem struct{ reason, message string }

func invalid(format string, values ...any) *problem {
	return &problem{reason: infrav1.InvalidSpecReason, message: fmt.Sprintf(format, values...)}
}

// deliver decides by the spec and the data's format. It calls nothing.
func deliver(in Input, data []byte, format userdata.Format) (delivery, *problem) {
	bootstrap := in.Object.Spec.Bootstrap
	if format == userdata.FormatCloudConfig && bootstrap.Ignition != nil {
		return delivery{}, invalid("ignition is set, but the bootstrap data is in format %s: set the format of "+
			"the bootstrap config to ignition, or remove ignition",
			userdata.FormatCloudConfig)
	}
	switch storageOf(bootstrap) {
	case infrav1.BootstrapStorageSSM:
		return inParameter(in, data, format)
	case infrav1.BootstrapStorageS3:
		return inObject(in, data, format)
	default:
		return inTemplate(in.Object, data, format)
	}
}

// storageOf returns the storage that the spec names, else CAPA's default: with ignition set, the
// bucket of the cluster, unless ignition asks for unencrypted user data.
func storageOf(bootstrap *infrav1.LaunchConfigBootstrap) infrav1.BootstrapStorage {
	switch {
	case bootstrap.Storage != "":
		return bootstrap.Storage
	case bootstrap.Ignition != nil && bootstrap.Ignition.StorageType != infrav1.IgnitionStorageTypeUnencryptedUserData:
		return infrav1.BootstrapStorageS3
	}
	return infrav1.BootstrapStorageUserData
}

// inTemplate delivers the data itself in the template, wrapped in the additional settings of
// Ignition if there are any.
func inTemplate(config *infrav1.AWSLaunchConfig, data []byte, format userdata.Format) (delivery, *problem) {
	if settings := ignitionOf(config.Spec.Bootstrap); format == userdata.FormatIgnition && !settings.Plain() {
		wrapped, err := settings.Wrap(data)
		if err != nil {
			return delivery{}, unusable(config, err)
		}
		return delivery{userData: wrapped, bootstrap: data}, nil
	}
	rendered, err := userdata.Render(data, format)
	if err != nil {
		return delivery{}, unusable(config, err)
	}
	return delivery{userData: rendered.Bytes}, nil
}

func inParameter(in Input, data []byte, format userdata.Format) (delivery, *problem) {
	if format == userdata.FormatIgnition {
		return delivery{}, invalid("Ignition cannot read Systems Manager parameters: set bootstrapStorage to S3")
	}
	content, err := userdata.PackParameter(data)
	if err != nil {
		return delivery{}, unusable(in.Object, err)
	}
	return outside(in, bootstrapstorage.Place{}, data, content, func(name string) ([]byte, error) {
		return userdata.FromParameter(in.Seen.Access.Location.Region, name), nil
	})
}

func inObject(in Input, data []byte, format userdata.Format) (delivery, *problem) {
	bucket := in.Seen.Access.Facts.Bucket
	switch {
	case bucket == "" && in.Seen.Access.Facts.EKS:
		return delivery{}, &problem{infrav1.BucketNotConfiguredReason, "bootstrapStorage is S3, but a cluster " +
			"with an EKS control plane has no bucket. No launch template version is created, and running " +
			"nodes are kept. Set bootstrapStorage to SSM or UserData"}
	case bucket == "":
		return delivery{}, &problem{infrav1.BucketNotConfiguredReason, "bootstrap data is stored in S3, but the " +
			"cluster has no bucket. No launch template version is created, and running nodes are kept. Set " +
			"AWSCluster.spec.s3Bucket, or set bootstrapStorage to SSM or UserData (for Ignition, set " +
			"ignition.storageType to UnencryptedUserData)"}
	case len(data) == 0:
		return delivery{}, unusable(in.Object, &userdata.EmptyError{})
	}
	return outside(in, bootstrapstorage.Place{Bucket: bucket}, data, data, func(key string) ([]byte, error) {
		if format == userdata.FormatIgnition {
			return ignitionOf(in.Object.Spec.Bootstrap).FromObject(bucket, key)
		}
		return userdata.FromObject(in.Seen.Access.Location.Region, bucket, key), nil
	})
}

// outside is content at a place, and user data that points there. The name of the item follows from
// what the data is without its join tokens: a rotated token changes the content and nothing else.
func outside(in Input, place bootstrapstorage.Place, data, content []byte, pointer func(name string) ([]byte, error)) (delivery, *problem) {
	if in.Object.Spec.IamInstanceProfile == "" {
		return delivery{}, invalid("instances need an instance profile to read bootstrap data that is stored " +
			"outside the launch template: set iamInstanceProfile")
	}
	location := bootstrapstorage.Location{Place: place, Hash: bootstrapstorage.Hash(userdata.Masked(data, userdata.FormatCloudConfig))}
	userData, err := pointer(location.Name(owner(in.Object)))
	if err != nil {
		return delivery{}, unusable(in.Object, err)
	}
	tags := in.Seen.Access.Facts.Ownership()
	tags[infrav1.TagLaunchConfig] = owner(in.Object)
	return delivery{
		userData: userData, bootstrap: data,
		item: &bootstrapstorage.Item{Location: location, Owner: owner(in.Object), Content: content, Tags: tags},
	}, nil
}

// unusable says what is wrong with the data, or with the settings.
func unusable(config *infrav1.AWSLaunchConfig, err error) *problem {
	message := fmt.Sprintf("Secret %q: %v", config.Spec.Bootstrap.DataSecretName, err)
	var tooLarge *userdata.TooLargeError
	var ignition *userdata.InvalidIgnitionError
	switch {
	case errors.As(err, &tooLarge):
		return &problem{infrav1.UserDataTooLargeReason, message}
	case errors.As(err, &ignition):
		return invalid("%v", err)
	}
	return &problem{infrav1.BootstrapDataInvalidReason, message}
}

func ignitionOf(bootstrap *infrav1.LaunchConfigBootstrap) userdata.Ignition {
	if bootstrap.Ignition == nil {
		return userdata.Ignition{}
	}
	settings := userdata.Ignition{Version: bootstrap.Ignition.Version}
	if proxy := bootstrap.Ignition.Proxy; proxy != nil {
		settings.HTTPProxy, settings.HTTPSProxy, settings.NoProxy = ptr.Deref(proxy.HTTPProxy, ""), ptr.Deref(proxy.HTTPSProxy, ""), proxy.NoProxy
	}
	if tls := bootstrap.Ignition.TLS; tls != nil {
		settings.CertificateAuthorities = tls.CertificateAuthorities
	}
	return settings
}
