package s3

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file says what permissions calls need (AWS: Service Authorization Reference, list_amazons3;
// S3 user guide, using-with-s3-policy-actions). Policies of buckets are not simulated.

const service = "s3"

func registerAuthorization(reg *sim.Registry) {
	reg.Refuse(service, accessDenied)
	sim.Authorize(reg, service, "ListObjectsV2", func(_ *sim.Call, in *s3.ListObjectsV2Input) []sim.Question {
		request := onBucket("s3:ListBucket", str(in.Bucket))
		if in.Prefix != nil {
			request.Context = iampolicy.Context{"s3:prefix": {*in.Prefix}}
		}
		return []sim.Question{{Request: request}}
	})
	sim.Authorize(reg, service, "PutObject", func(_ *sim.Call, in *s3.PutObjectInput) []sim.Question {
		asked := []sim.Question{{Request: onObject("s3:PutObject", str(in.Bucket), str(in.Key))}}
		if str(in.Tagging) != "" {
			asked = append(asked, sim.Question{Request: onObject("s3:PutObjectTagging", str(in.Bucket), str(in.Key))})
		}
		return asked
	})
	sim.Authorize(reg, service, "GetObject", func(_ *sim.Call, in *s3.GetObjectInput) []sim.Question {
		return []sim.Question{{Request: onObject("s3:GetObject", str(in.Bucket), str(in.Key))}}
	})
	sim.Authorize(reg, service, "HeadObject", func(_ *sim.Call, in *s3.HeadObjectInput) []sim.Question {
		return []sim.Question{{Request: onObject("s3:GetObject", str(in.Bucket), str(in.Key))}}
	})
	sim.Authorize(reg, service, "DeleteObject", func(_ *sim.Call, in *s3.DeleteObjectInput) []sim.Question {
		return []sim.Question{{Request: onObject("s3:DeleteObject", str(in.Bucket), str(in.Key))}}
	})
	sim.AuthorizeFree(reg, service, "DeleteObjects") // which is refused key by key, in its answer
}

func accessDenied(message string) *sim.Error {
	return sim.Errorf("AccessDenied", "%s", message).WithStatus(http.StatusForbidden)
}

func onBucket(action, bucket string) iampolicy.Request {
	return iampolicy.Request{Action: action, Resource: "arn:aws:s3:::" + bucket}
}

func onObject(action, bucket, key string) iampolicy.Request {
	return iampolicy.Request{Action: action, Resource: "arn:aws:s3:::" + bucket + "/" + key}
}
