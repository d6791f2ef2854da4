package forecast

import (
	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

var storageWrites = map[string]writer{
	"s3:PutObject": changing(storageOf, &s3.PutObjectOutput{}, func(s *storage, input *s3.PutObjectInput) {
		s.objects[object{awssdk.ToString(input.Bucket), awssdk.ToString(input.Key)}] = input.Metadata
	}),
	"s3:DeleteObjects": changing(storageOf, &s3.DeleteObjectsOutput{}, func(s *storage, input *s3.DeleteObjectsInput) {
		for _, deleted := range input.Delete.Objects {
			delete(s.objects, object{awssdk.ToString(input.Bucket), awssdk.ToString(deleted.Key)})
		}
	}),
	"ssm:PutParameter": changing(storageOf, &ssm.PutParameterOutput{}, func(s *storage, input *ssm.PutParameterInput) {
		s.parameters[awssdk.ToString(input.Name)] = awssdk.ToString(input.Description)
	}),
	"ssm:DeleteParameters": changing(storageOf, &ssm.DeleteParametersOutput{}, func(s *storage, input *ssm.DeleteParametersInput) {
		for _, name := range input.Names {
			delete(s.parameters, name)
		}
	}),
}

var storageReads = map[string]reader{
	"s3:HeadObject": reading(storageOf, func(s *storage, input *s3.HeadObjectInput) *s3.HeadObjectOutput {
		if metadata, own := s.objects[object{awssdk.ToString(input.Bucket), awssdk.ToString(input.Key)}]; own {
			return &s3.HeadObjectOutput{Metadata: metadata}
		}
		return nil
	}, nil),
	"ssm:DescribeParameters": reading(storageOf, (*storage).ownParameter, nil),
}

// storage is the bootstrap data that a forecast stores outside of launch templates. Only its owner and
// its digest are kept.
type storage struct {
	// objects are the metadata of objects, and parameters the descriptions of parameters, by name.
	objects    map[object]map[string]string
	parameters map[string]string
}

func storageOf(a *AWS) *storage { return &a.storage }

// object names an object in a bucket.
type object struct{ bucket, key string }

// ownParameter answers a request for a parameter by its name that exists in the forecast only.
func (s *storage) ownParameter(input *ssm.DescribeParametersInput) *ssm.DescribeParametersOutput {
	for _, filter := range input.ParameterFilters {
		if awssdk.ToString(filter.Key) != "Name" || len(filter.Values) != 1 {
			continue
		}
		if description, own := s.parameters[filter.Values[0]]; own {
			return &ssm.DescribeParametersOutput{Parameters: []ssmtypes.ParameterMetadata{{Name: &filter.Values[0], Description: &description}}}
		}
	}
	return nil
}
