package adversary

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// third is the name of the cluster that Cluster API Provider AWS runs, in the account of the tenants.
const third = "third"

// victim holds the resources that Cluster API Provider AWS created for the third cluster. None of
// them changes by itself.
type victim struct {
	*world
	template, templateName, group, groupARN string
	instances                               []string
	cluster, nodegroup, nodegroupARN, role  string
	parameter, object, managedGroup         string
	before                                  map[string]any
}

// capaTags are the tags that Cluster API Provider AWS puts on what it creates for nodes of the third cluster.
func capaTags() map[string]string {
	return map[string]string{
		infrav1.ClusterTagKey(third): infrav1.TagValueOwned, infrav1.KubernetesClusterTagKey(third): infrav1.TagValueOwned, infrav1.TagRole: infrav1.TagValueRoleNode,
	}
}

func (w *world) createVictim() {
	w.Helper()
	name := fmt.Sprintf("third-%d", w.victims)
	v := &victim{world: w, templateName: name, group: name, cluster: name + "-eks", nodegroup: name, role: name + "-nodes"}
	w.victims++
	w.victim = v
	v.createTemplate()
	v.createGroup()
	v.createNodegroup()
	v.createData()
	w.Eventually("the third cluster has its instances", v.observe)
	v.register()
	state, err := v.state()
	w.must(err)
	v.before = state
}

func (v *victim) createTemplate() {
	v.Helper()
	var tags []ec2types.Tag
	for key, value := range capaTags() {
		tags = append(tags, ec2types.Tag{Key: aws.String(key), Value: aws.String(value)})
	}
	out, err := v.ec2(v.Account).CreateLaunchTemplate(v.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &v.templateName,
		LaunchTemplateData: &ec2types.RequestLaunchTemplateData{
			ImageId: aws.String(v.image()), InstanceType: ec2types.InstanceTypeT3Large,
			UserData: aws.String(base64.StdEncoding.EncodeToString([]byte("#cloud-config\n# the third cluster's secret\n"))),
			TagSpecifications: []ec2types.LaunchTemplateTagSpecificationRequest{{
				ResourceType: ec2types.ResourceTypeInstance,
				Tags:         append(slices.Clone(tags), ec2types.Tag{Key: aws.String(infrav1.TagBootstrapDataSecret), Value: aws.String(v.Namespace + "/" + v.group)}),
			}},
		},
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeLaunchTemplate, Tags: tags}},
	})
	v.must(err)
	v.template = *out.LaunchTemplate.LaunchTemplateId
}

func (v *victim) createGroup() {
	v.Helper()
	var tags []asgtypes.Tag
	for key, value := range capaTags() {
		tags = append(tags, asgtypes.Tag{Key: aws.String(key), Value: aws.String(value), PropagateAtLaunch: aws.Bool(true), ResourceId: &v.group, ResourceType: aws.String("auto-scaling-group")})
	}
	_, err := v.autoscaling(v.Account).CreateAutoScalingGroup(v.Context(), &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: &v.group, MinSize: aws.Int32(2), MaxSize: aws.Int32(2), VPCZoneIdentifier: aws.String(subnet), Tags: tags,
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &v.template, Version: aws.String("$Latest")},
	})
	v.must(err)
}

func (v *victim) createNodegroup() {
	v.Helper()
	config := tester(v.AWSConfig(), v.Account)
	trust := `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}}`
	role, err := iam.NewFromConfig(config).CreateRole(v.Context(), &iam.CreateRoleInput{RoleName: &v.role, AssumeRolePolicyDocument: &trust})
	v.must(err)
	for _, policy := range []string{"AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly"} {
		_, err := iam.NewFromConfig(config).AttachRolePolicy(v.Context(), &iam.AttachRolePolicyInput{RoleName: &v.role, PolicyArn: aws.String("arn:aws:iam::aws:policy/" + policy)})
		v.must(err)
	}
	v.must(v.Cloud.AWS.Region(v.Account, v.Cloud.Region()).SetCluster(awssim.Cluster{Name: v.cluster, Version: "1.34", Subnets: []string{subnet, "subnet-0b2000000000000ab"}}))
	out, err := eks.NewFromConfig(config).CreateNodegroup(v.Context(), &eks.CreateNodegroupInput{
		ClusterName: &v.cluster, NodegroupName: &v.nodegroup, NodeRole: role.Role.Arn, Subnets: []string{subnet}, Tags: map[string]string{
			infrav1.ClusterTagKey(v.cluster): infrav1.TagValueOwned,
		},
		ScalingConfig: &ekstypes.NodegroupScalingConfig{MinSize: aws.Int32(1), MaxSize: aws.Int32(1), DesiredSize: aws.Int32(1)},
	})
	v.must(err)
	v.nodegroupARN = *out.Nodegroup.NodegroupArn
}

// createData creates a parameter and an object with bootstrap data, at places that Slipway uses too.
func (v *victim) createData() {
	v.Helper()
	config := tester(v.AWSConfig(), v.Account)
	v.parameter, v.object = "/slipway/"+v.group+"/bootstrap", "node/slipway/"+v.group+"/bootstrap"
	_, err := ssm.NewFromConfig(config).PutParameter(v.Context(), &ssm.PutParameterInput{Name: &v.parameter, Value: aws.String("secret"), Type: ssmtypes.ParameterTypeSecureString})
	v.must(err)
	_, err = s3.NewFromConfig(config, func(options *s3.Options) { options.UsePathStyle = true }).PutObject(v.Context(),
		&s3.PutObjectInput{Bucket: aws.String(bucket), Key: &v.object, Body: bytes.NewReader([]byte("secret"))})
	v.must(err)
}

// observe reads what AWS created by itself: the ARN of the group, and the instances.
func (v *victim) observe() error {
	groups, err := v.autoscaling(v.Account).DescribeAutoScalingGroups(v.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{v.group}})
	if err != nil {
		return err
	}
	if len(groups.AutoScalingGroups) != 1 || len(groups.AutoScalingGroups[0].Instances) != 2 {
		return fmt.Errorf("the group is %+v", groups.AutoScalingGroups)
	}
	group := groups.AutoScalingGroups[0]
	v.groupARN, v.instances = *group.AutoScalingGroupARN, nil
	for _, instance := range group.Instances {
		if instance.LifecycleState != asgtypes.LifecycleStateInService {
			return fmt.Errorf("instance %s is %s", *instance.InstanceId, instance.LifecycleState)
		}
		v.instances = append(v.instances, *instance.InstanceId)
	}
	described, err := eks.NewFromConfig(tester(v.AWSConfig(), v.Account)).DescribeNodegroup(v.Context(), &eks.DescribeNodegroupInput{ClusterName: &v.cluster, NodegroupName: &v.nodegroup})
	if err != nil {
		return err
	}
	if resources := described.Nodegroup.Resources; described.Nodegroup.Status != ekstypes.NodegroupStatusActive && described.Nodegroup.Status != ekstypes.NodegroupStatusDegraded || resources == nil || len(resources.AutoScalingGroups) == 0 {
		return fmt.Errorf("the node group is %s", described.Nodegroup.Status)
	}
	v.managedGroup = *described.Nodegroup.Resources.AutoScalingGroups[0].Name
	return nil
}

func (v *victim) register() {
	v.oracle.mu.Lock()
	defer v.oracle.mu.Unlock()
	for _, r := range []resource{
		{v.Account, kindTemplate, v.template}, {v.Account, kindGroup, v.group}, {v.Account, kindGroup, v.managedGroup}, {v.Account, kindNodegroup, v.cluster + "/" + v.nodegroup},
		{v.Account, kindRole, v.role}, {v.Account, kindParameter, v.parameter}, {v.Account, kindObject, bucket + "/" + v.object},
	} {
		v.oracle.resources[r] = capa
	}
	v.oracle.templates[resource{v.Account, kindTemplateName, v.templateName}] = v.template
}

// state returns all that AWS holds for the third cluster, in a form that can be compared.
func (v *victim) state() (map[string]any, error) {
	config := tester(v.AWSConfig(), v.Account)
	templates, err1 := v.ec2(v.Account).DescribeLaunchTemplates(v.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{v.template}})
	versions, err2 := v.ec2(v.Account).DescribeLaunchTemplateVersions(v.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &v.template})
	groups, err3 := v.autoscaling(v.Account).DescribeAutoScalingGroups(v.Context(), &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{v.group, v.managedGroup}})
	nodegroup, err4 := eks.NewFromConfig(config).DescribeNodegroup(v.Context(), &eks.DescribeNodegroupInput{ClusterName: &v.cluster, NodegroupName: &v.nodegroup})
	role, err5 := iam.NewFromConfig(config).GetRole(v.Context(), &iam.GetRoleInput{RoleName: &v.role})
	parameter, err6 := ssm.NewFromConfig(config).GetParameter(v.Context(), &ssm.GetParameterInput{Name: &v.parameter})
	for _, err := range []error{err1, err2, err3, err4, err5, err6} {
		if err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(map[string]any{
		"templates": templates.LaunchTemplates, "versions": versions.LaunchTemplateVersions, "groups": groups.AutoScalingGroups,
		"nodegroup": nodegroup.Nodegroup, "role": role.Role, "parameter": parameter.Parameter,
	})
	if err != nil {
		return nil, err
	}
	state := map[string]any{}
	return state, json.Unmarshal(text, &state)
}

// unchanged is nil if the third cluster has exactly what it had.
func (v *victim) unchanged() error {
	state, err := v.state()
	if err != nil {
		return err
	}
	if diff := cmp.Diff(v.before, state); diff != "" {
		return fmt.Errorf("what Cluster API Provider AWS created changed (-before +after):\n%s", diff)
	}
	return nil
}
