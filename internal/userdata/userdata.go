// Package userdata owns the way from bootstrap data, as a bootstrap provider leaves it in a Secret,
// to EC2 user data. It is pure: bytes in, bytes out.
//
// Bootstrap data for EKS node groups is completed where only its form is missing: a script becomes
// a part of a MIME message, and a NodeConfig gets what it omits about the cluster. Boundaries are
// fixed and nothing is encoded, so that bootstrap data that differ in a token make user data that
// differ in the token.
package userdata

import (
	"bytes"
	"compress/gzip"
	"fmt"
)

// Limit is the largest size of user data, in bytes before base64 (AWS: user-data, "limited to 16
// KB, in raw form, before it is base64-encoded").
const Limit = 16384

// NearLimit is the size from which on users are warned that little is left: a release of Kubernetes
// adds to what kubeadm writes.
const NearLimit = Limit * 9 / 10

// Format is the language of bootstrap data.
type Format string

// The formats that Cluster API's contract names for the key "format" of a bootstrap data Secret.
const (
	FormatCloudConfig Format = "cloud-config"
	FormatIgnition    Format = "ignition"
)

// ParseFormat reads the format of a Secret. A Secret that does not say is cloud-config, by Cluster
// API's contract. The error is an *UnknownFormatError.
func ParseFormat(text string) (Format, error) {
	switch format := Format(text); format {
	case "":
		return FormatCloudConfig, nil
	case FormatCloudConfig, FormatIgnition:
		return format, nil
	default:
		return "", &UnknownFormatError{Format: text}
	}
}

// Rendered is user data that EC2 takes.
type Rendered struct {
	// Bytes go base64-encoded into the launch template.
	Bytes []byte
	// Gzipped says that Bytes had to be compressed to fit.
	Gzipped bool
}

// Render renders user data from bootstrap data. Equal data give equal bytes.
//
// Cloud-config that is too large is compressed, which cloud-init undoes by itself (cloud-init:
// User-data formats, "gzip compressed content"). Data that fits is left as it is, so that users can
// read it in the console. Ignition does not decompress its configuration.
//
// The error is a *TooLargeError, an *EmptyError or an *UnknownFormatError.
func Render(data []byte, format Format) (Rendered, error) {
	format, err := ParseFormat(string(format))
	if err != nil {
		return Rendered{}, err
	}
	if len(data) == 0 {
		return Rendered{}, &EmptyError{}
	}
	if len(data) <= Limit {
		return Rendered{Bytes: data}, nil
	}
	if format == FormatIgnition {
		return Rendered{}, &TooLargeError{Size: len(data), Limit: Limit, Format: format}
	}
	compressed, err := compress(data)
	if err != nil {
		return Rendered{}, fmt.Errorf("compressing %d bytes of user data: %w", len(data), err)
	}
	if len(compressed) > Limit {
		return Rendered{}, &TooLargeError{Size: len(compressed), Limit: Limit, Format: format, Uncompressed: len(data)}
	}
	return Rendered{Bytes: compressed, Gzipped: true}, nil
}

// compress returns the same bytes for the same data: the gzip header contains no time and no name.
func compress(data []byte) ([]byte, error) {
	var compressed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := writer.Write(data); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return compressed.Bytes(), nil
}

// TooLargeError says that EC2, or a parameter, does not take user data of this size.
type TooLargeError struct {
	// Size of the data that would have been sent, and the Limit that it exceeds, in bytes.
	Size, Limit int
	Format      Format
	// Uncompressed is the size before compression, zero if compression was not possible.
	Uncompressed int
	// Parameter says that it is a parameter of Systems Manager that would not hold the data.
	Parameter bool
	// Nodegroup says that the data is for an EKS managed node group, of a kind that cannot be compressed.
	Nodegroup bool
}

// Error implements error.
func (e *TooLargeError) Error() string {
	if e.Parameter {
		return fmt.Sprintf("bootstrap data of %d bytes is %d bytes when compressed and base64-encoded, but a "+
			"parameter holds at most %d. Store it in S3 (bootstrapStorage: S3)", e.Uncompressed, e.Size, e.Limit)
	}
	if e.Nodegroup {
		return fmt.Sprintf("bootstrap data is %d bytes as user data, and neither EKS nor the image reads it "+
			"compressed, but EC2 accepts at most %d. Move large files out of the bootstrap config (into the "+
			"image, or fetch them in a command)", e.Size, e.Limit)
	}
	if e.Uncompressed > 0 {
		return fmt.Sprintf("bootstrap data of %d bytes is %d bytes when compressed, but EC2 accepts at most %d. "+
			"Store it in S3 (bootstrapStorage: S3), or move large files out of the bootstrap config (into "+
			"the image, or fetch them in a pre-bootstrap command)",
			e.Uncompressed, e.Size, e.Limit)
	}
	return fmt.Sprintf("bootstrap data is %d bytes in format %s, which cannot be compressed, but EC2 accepts at "+
		"most %d. Store it in S3 (bootstrapStorage: S3), or move large files out of the bootstrap config "+
		"(into the image, or have Ignition fetch them from a URL)",
		e.Size, e.Format, e.Limit)
}

// WaitsForUser says that only a change by a person helps.
func (*TooLargeError) WaitsForUser() bool { return true }

// EmptyError says that there is no bootstrap data.
type EmptyError struct{}

// Error implements error.
func (*EmptyError) Error() string { return "the bootstrap data is empty" }

// UnknownFormatError says that the bootstrap data is in a language that this package does not know.
type UnknownFormatError struct{ Format string }

// Error implements error.
func (e *UnknownFormatError) Error() string {
	return fmt.Sprintf("bootstrap data format %q is not supported. Use %s or %s", e.Format, FormatCloudConfig, FormatIgnition)
}

// WaitsForUser says that only a change by a person helps.
func (*UnknownFormatError) WaitsForUser() bool { return true }
