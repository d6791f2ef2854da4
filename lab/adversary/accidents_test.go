package adversary

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/lab/fleet"
)

// limitProfiles has the platform's owner say which instance profiles the tenant's identity lends.
func (n *tenant) limitProfiles(patterns string) {
	n.Helper()
	role := &capav1.AWSClusterRoleIdentity{}
	n.must(n.Client.Get(n.Context(), client.ObjectKey{Name: n.identity.Name}, role))
	role.Annotations = map[string]string{identity.InstanceProfilesAnnotation: patterns}
	n.must(n.Client.Update(n.Context(), role))
}

// createTemplateOf creates a launch template by hand, with an instance profile. It belongs to no cluster.
func (n *tenant) createTemplateOf(name, profile string) {
	n.Helper()
	_, err := n.ec2(n.account).CreateLaunchTemplate(n.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &name, LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			ImageId: aws.String(n.image()), InstanceType: ec2types.InstanceTypeT3Large, IamInstanceProfile: &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: &profile},
		},
	})
	n.must(err)
}

// image returns an image that instances can be launched from.
func (w *world) image() string {
	w.Helper()
	images, err := w.ec2(w.Account).DescribeImages(w.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{{Name: aws.String("architecture"), Values: []string{"x86_64"}}}})
	w.must(err)
	return *images.Images[0].ImageId
}

// groupsCreated counts the Auto Scaling groups that were ever created for the tenant.
func (n *tenant) groupsCreated() (count int) {
	n.oracle.mu.Lock()
	defer n.oracle.mu.Unlock()
	for r, party := range n.oracle.resources {
		if r.kind == kindGroup && party == n.party {
			count++
		}
	}
	return count
}

func ownerTag(group, value string) asgtypes.Tag {
	return asgtypes.Tag{
		ResourceId: &group, ResourceType: aws.String("auto-scaling-group"), Key: aws.String(infrav1.TagMachinePool), Value: &value, PropagateAtLaunch: aws.Bool(true),
	}
}

// removeOwnerTag takes Slipway's owner tag from a group, as a careless person in the AWS console would.
func (w *world) removeOwnerTag(group string) error {
	_, err := w.autoscaling(w.Account).DeleteTags(w.Context(), &autoscaling.DeleteTagsInput{
		Tags: []asgtypes.Tag{ownerTag(group, groupTags(w.Context(), tester(w.AWSConfig(), w.Account), group)[infrav1.TagMachinePool])},
	})
	return err
}

// restoreOwnerTag puts the owner tag of an honest pool of the other tenant back.
func (n *tenant) restoreOwnerTag(group string, number int) error {
	_, err := n.autoscaling(n.Account).CreateOrUpdateTags(n.Context(), &autoscaling.CreateOrUpdateTagsInput{
		Tags: []asgtypes.Tag{ownerTag(group, n.other().namespace+"/"+self+"/"+fleet.Name(number))},
	})
	return err
}
