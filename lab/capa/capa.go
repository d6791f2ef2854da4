// Package capa stands for Cluster API Provider AWS v2.13.0 in tests of how pools come from it and
// go back to it: it creates a pool's launch template and Auto Scaling group with the requests that
// CAPA sends, leaves the marks on the pool that CAPA leaves, and decides what CAPA would do with
// what it finds. It is written from a reading of CAPA's code
// (pkg/cloud/services/ec2/launchtemplate.go, autoscaling/autoscalinggroup.go,
// exp/controllers/awsmachinepool_controller.go), and shares none of Slipway's.
package capa

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	capav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// The tags and marks of CAPA's that have no constant in its API (api/v1beta2/tags.go,
// exp/controllers/awsmachinepool_controller.go).
const (
	tagPrefix       = "sigs.k8s.io/cluster-api-provider-aws/"
	tagSecret       = tagPrefix + "bootstrap-data-secret"
	tagHash         = tagPrefix + "bootstrap-data-hash"
	lastAppliedTags = "sigs.k8s.io/cluster-api-provider-aws-last-applied-tags"
	managedBy       = "cluster-api-provider-aws"
	latest          = "$Latest"
)

// finalizer is CAPA's on its pools.
const finalizer = "awsmachinepool.infrastructure.cluster.x-k8s.io"

// Provider is CAPA in one account, for one pool.
type Provider struct {
	// Client reads and writes the management cluster.
	Client client.Client
	// AWS is whom it calls AWS as.
	AWS awssdk.Config
	// Key is the pool's and its MachinePool's.
	Key client.ObjectKey
	// ImageID is what its look-up of an image leads to. Empty: what ami.id of the pool says.
	ImageID string
}

// objects are all that CAPA reads for a launch template and its group.
type objects struct {
	pool        *infrav1.AWSMachinePool // nil of a managed pool
	machinePool *clusterv1.MachinePool
	secret      *corev1.Secret
	// spec is the pool's launch template, name what CAPA calls that in AWS, and clusterName what it
	// calls the cluster there.
	spec              *infrav1.AWSLaunchTemplate
	name, clusterName string
	// asked are the cluster's tags, and the pool's over them. annotations are the pool's.
	asked, annotations map[string]string
	// groups are the cluster's own for nodes.
	groups []string
	// ignition is the pool's, nil for none, and bucket the cluster's.
	ignition *infrav1.Ignition
	bucket   string
}

func (p Provider) read(ctx context.Context) (objects, error) {
	pool, cluster := &infrav1.AWSMachinePool{}, &capav1.AWSCluster{}
	o := objects{pool: pool, machinePool: &clusterv1.MachinePool{}}
	if err := p.Client.Get(ctx, p.Key, pool); err != nil {
		return o, err
	}
	if err := p.Client.Get(ctx, p.Key, o.machinePool); err != nil {
		return o, err
	}
	if err := p.Client.Get(ctx, client.ObjectKey{Namespace: p.Key.Namespace, Name: o.machinePool.Spec.ClusterName}, cluster); err != nil {
		return o, err
	}
	o.spec, o.name, o.clusterName, o.annotations = pool.Spec.AWSLaunchTemplate, pool.Name, cluster.Name, pool.Annotations
	o.asked = over(cluster.Spec.AdditionalTags, pool.Spec.AdditionalTags)
	o.ignition = pool.Spec.Ignition
	if cluster.Spec.S3Bucket != nil {
		o.bucket = cluster.Spec.S3Bucket.Name
	}
	groups := cluster.Status.Network.SecurityGroups
	o.groups = []string{groups[capav1.SecurityGroupNode].ID, groups[capav1.SecurityGroupLB].ID}
	return p.withSecret(ctx, o)
}

// withSecret adds the bootstrap data, which CAPA wants for every launch template.
func (p Provider) withSecret(ctx context.Context, o objects) (objects, error) {
	name := o.machinePool.Spec.Template.Spec.Bootstrap.DataSecretName
	if name == nil {
		return o, fmt.Errorf("MachinePool %s names no bootstrap data", p.Key.Name)
	}
	o.secret = &corev1.Secret{}
	return o, p.Client.Get(ctx, client.ObjectKey{Namespace: p.Key.Namespace, Name: *name}, o.secret)
}

// over returns the cluster's tags, and the pool's over them.
func over(cluster, pool map[string]string) map[string]string {
	tags := map[string]string{}
	maps.Copy(tags, cluster)
	maps.Copy(tags, pool)
	return tags
}

// tags returns the tags of everything that CAPA creates for a pool.
func (o objects) tags() map[string]string {
	tags := map[string]string{"Name": o.name}
	maps.Copy(tags, o.asked)
	tags["kubernetes.io/cluster/"+o.clusterName] = "owned"
	tags[tagPrefix+"cluster/"+o.clusterName] = "owned"
	tags[tagPrefix+"role"] = "node"
	return tags
}

func (o objects) secretKey() string { return o.secret.Namespace + "/" + o.secret.Name }

func hash(data []byte) string {
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:])
}

// userData returns the bootstrap data, or for Ignition with the cluster's object store a config
// that points to an object of it, which is written at each pass (CAPA: launchtemplate.go; s3.go,
// CreateForMachinePool).
func (p Provider) userData(ctx context.Context, o objects) ([]byte, error) {
	bootstrap := o.secret.Data["value"]
	ignition := o.ignition
	if string(o.secret.Data["format"]) != "ignition" || ignition == nil || ignition.StorageType != infrav1.IgnitionStorageTypeClusterObjectStore {
		return bootstrap, nil
	}
	bucket, key := o.bucket, "machine-pool/"+p.Key.Name+"/"+hash(bootstrap)
	if _, err := s3.NewFromConfig(p.AWS).PutObject(ctx, &s3.PutObjectInput{
		Bucket: &bucket, Key: &key, Body: bytes.NewReader(bootstrap), ServerSideEncryption: s3types.ServerSideEncryptionAwsKms,
	}); err != nil {
		return nil, err
	}
	list := "merge"
	if strings.HasPrefix(ignition.Version, "2.") {
		list = "append"
	}
	return json.Marshal(map[string]any{"ignition": map[string]any{
		"version": ignition.Version + ".0",
		"config":  map[string]any{list: []map[string]string{{"source": "s3://" + bucket + "/" + key}}},
	}})
}

// data returns the data of a version.
func (p Provider) data(ctx context.Context, o objects) (*ec2types.RequestLaunchTemplateData, error) {
	userData, err := p.userData(ctx, o)
	if err != nil {
		return nil, err
	}
	spec := o.spec
	data := &ec2types.RequestLaunchTemplateData{
		ImageId:          awssdk.String(p.image(o)),
		InstanceType:     ec2types.InstanceType(spec.InstanceType),
		UserData:         awssdk.String(base64.StdEncoding.EncodeToString(userData)),
		SecurityGroupIds: o.securityGroups(),
	}
	if ptr.Deref(spec.SSHKeyName, "") != "" {
		data.KeyName = spec.SSHKeyName
	}
	if spec.IamInstanceProfile != "" {
		data.IamInstanceProfile = &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: &spec.IamInstanceProfile}
	}
	if options := metadata(spec.InstanceMetadataOptions); options != nil {
		data.MetadataOptions = &ec2types.LaunchTemplateInstanceMetadataOptionsRequest{
			HttpEndpoint:            ec2types.LaunchTemplateInstanceMetadataEndpointState(options.HTTPEndpoint),
			HttpTokens:              ec2types.LaunchTemplateHttpTokensState(options.HTTPTokens),
			HttpPutResponseHopLimit: awssdk.Int32(int32(options.HTTPPutResponseHopLimit)), //nolint:gosec // at most 64
			InstanceMetadataTags:    ec2types.LaunchTemplateInstanceMetadataTagsState(options.InstanceMetadataTags),
		}
	}
	if spec.RootVolume != nil {
		data.BlockDeviceMappings = append(data.BlockDeviceMappings, ec2types.LaunchTemplateBlockDeviceMappingRequest{
			DeviceName: awssdk.String(spec.RootVolume.DeviceName),
			Ebs: &ec2types.LaunchTemplateEbsBlockDeviceRequest{
				DeleteOnTermination: awssdk.Bool(true), VolumeType: ec2types.VolumeType(spec.RootVolume.Type),
				VolumeSize: awssdk.Int32(int32(spec.RootVolume.Size)), //nolint:gosec // a test's
			},
		})
	}
	tags := o.tags()
	data.TagSpecifications = append(data.TagSpecifications, ec2types.LaunchTemplateTagSpecificationRequest{ResourceType: "volume", Tags: tagList(tags)})
	tags[tagSecret], tags[tagHash] = o.secretKey(), hash(userData)
	data.TagSpecifications = append(data.TagSpecifications, ec2types.LaunchTemplateTagSpecificationRequest{ResourceType: "instance", Tags: tagList(tags)})
	return data, nil
}

func (p Provider) image(o objects) string {
	if id := ptr.Deref(o.spec.AMI.ID, ""); id != "" {
		return id
	}
	return p.ImageID
}

// securityGroups returns the cluster's own groups for nodes and the groups that the pool names by
// ID.
func (o objects) securityGroups() []string {
	ids := slices.Clone(o.groups)
	for _, group := range o.spec.AdditionalSecurityGroups {
		ids = append(ids, ptr.Deref(group.ID, ""))
	}
	return ids
}

// metadata returns the options with the defaults of CAPA's CRD.
func metadata(options *infrav1.InstanceMetadataOptions) *infrav1.InstanceMetadataOptions {
	if options == nil {
		return nil
	}
	defaulted := *options
	orDefault(&defaulted.HTTPEndpoint, "enabled")
	orDefault(&defaulted.HTTPProtocolIPv6, "disabled")
	orDefault(&defaulted.HTTPTokens, "optional")
	orDefault(&defaulted.InstanceMetadataTags, "disabled")
	orDefault(&defaulted.HTTPPutResponseHopLimit, 1)
	return &defaulted
}

func orDefault[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}

func tagList(tags map[string]string) []ec2types.Tag {
	var list []ec2types.Tag
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, ec2types.Tag{Key: awssdk.String(key), Value: awssdk.String(tags[key])})
	}
	return list
}

// CreateTemplate creates the pool's launch template and returns its ID.
func (p Provider) CreateTemplate(ctx context.Context) (string, error) {
	o, err := p.read(ctx)
	if err != nil {
		return "", err
	}
	return p.createTemplate(ctx, o)
}

func (p Provider) createTemplate(ctx context.Context, o objects) (string, error) {
	data, err := p.data(ctx, o)
	if err != nil {
		return "", err
	}
	made, err := ec2.NewFromConfig(p.AWS).CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: &o.name, LaunchTemplateData: data,
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeLaunchTemplate, Tags: tagList(o.tags())}},
	})
	if err != nil {
		return "", err
	}
	return *made.LaunchTemplate.LaunchTemplateId, nil
}

// CreateVersion creates a version of the pool as it is now, as CAPA does for a rotated token.
func (p Provider) CreateVersion(ctx context.Context) error {
	o, err := p.read(ctx)
	if err != nil {
		return err
	}
	data, err := p.data(ctx, o)
	if err != nil {
		return err
	}
	_, err = ec2.NewFromConfig(p.AWS).CreateLaunchTemplateVersion(ctx, &ec2.CreateLaunchTemplateVersionInput{
		LaunchTemplateName: &o.name, LaunchTemplateData: data,
	})
	return err
}

// CreateGroup creates the pool's Auto Scaling group in the subnets that the pool names by ID.
func (p Provider) CreateGroup(ctx context.Context, templateID string) error {
	o, err := p.read(ctx)
	if err != nil {
		return err
	}
	var subnets []string
	for _, subnet := range o.pool.Spec.Subnets {
		subnets = append(subnets, ptr.Deref(subnet.ID, ""))
	}
	var tags []asgtypes.Tag
	for key, value := range o.tags() {
		tags = append(tags, asgtypes.Tag{
			Key: awssdk.String(key), Value: awssdk.String(value), PropagateAtLaunch: awssdk.Bool(false),
			ResourceId: &p.Key.Name, ResourceType: awssdk.String("auto-scaling-group"),
		})
	}
	_, err = autoscaling.NewFromConfig(p.AWS).CreateAutoScalingGroup(ctx, &autoscaling.CreateAutoScalingGroupInput{
		AutoScalingGroupName: &p.Key.Name, MinSize: &o.pool.Spec.MinSize, MaxSize: &o.pool.Spec.MaxSize, DesiredCapacity: o.machinePool.Spec.Replicas,
		VPCZoneIdentifier: awssdk.String(strings.Join(subnets, ", ")), DefaultCooldown: awssdk.Int32(300), DefaultInstanceWarmup: awssdk.Int32(300),
		CapacityRebalance: awssdk.Bool(false), Tags: tags,
		LaunchTemplate: &asgtypes.LaunchTemplateSpecification{LaunchTemplateId: &templateID, Version: awssdk.String(latest)},
	})
	return err
}

// MarkPool leaves on the pool what CAPA leaves there once the group exists.
func (p Provider) MarkPool(ctx context.Context) error {
	o, err := p.read(ctx)
	if err != nil {
		return err
	}
	group, err := p.existing(ctx)
	if err != nil {
		return err
	}
	applied, err := json.Marshal(o.asked)
	if err != nil {
		return err
	}
	before := o.pool.DeepCopy()
	controllerutil.AddFinalizer(o.pool, finalizer)
	if o.pool.Annotations == nil {
		o.pool.Annotations = map[string]string{}
	}
	o.pool.Annotations[lastAppliedTags], o.pool.Annotations[managedBy] = string(applied), "true"
	o.pool.Spec.ProviderID, o.pool.Spec.ProviderIDList = *group.AutoScalingGroupARN, nil
	for _, instance := range group.Instances {
		o.pool.Spec.ProviderIDList = append(o.pool.Spec.ProviderIDList, "aws:///"+*instance.AvailabilityZone+"/"+*instance.InstanceId)
	}
	if err := p.Client.Patch(ctx, o.pool, client.MergeFrom(before)); err != nil {
		return err
	}
	before = o.pool.DeepCopy()
	o.pool.Status.Ready, o.pool.Status.Replicas = true, int32(len(group.Instances)) //nolint:gosec // a test's
	if group.LaunchTemplate != nil {
		o.pool.Status.LaunchTemplateID = awssdk.ToString(group.LaunchTemplate.LaunchTemplateId)
	}
	return p.Client.Status().Patch(ctx, o.pool, client.MergeFrom(before))
}

// existing returns the pool's group, and an error if there is none.
func (p Provider) existing(ctx context.Context) (*asgtypes.AutoScalingGroup, error) {
	group, err := p.group(ctx)
	if err == nil && group == nil {
		err = fmt.Errorf("there is no group %s", p.Key.Name)
	}
	return group, err
}

// group returns the pool's group, nil if there is none.
func (p Provider) group(ctx context.Context) (*asgtypes.AutoScalingGroup, error) {
	found, err := autoscaling.NewFromConfig(p.AWS).DescribeAutoScalingGroups(ctx, &autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{p.Key.Name}})
	if err != nil {
		return nil, err
	}
	if len(found.AutoScalingGroups) == 0 {
		return nil, nil
	}
	return &found.AutoScalingGroups[0], nil
}
