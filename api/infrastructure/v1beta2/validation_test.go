package v1beta2_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// ruleCase is one rule with a neighbor on either side of it: what it must let through, and what it
// must refuse with a message that says what to do. Both are merge patches for an object that is
// accepted as it is.
type ruleCase struct {
	rule   string
	reason string
	accept string
	refuse string
	says   string
}

// launchTemplateCases hold for spec.awsLaunchTemplate of an AWSMachinePool and for spec of an
// AWSLaunchConfig alike.
var launchTemplateCases = []ruleCase{
	{
		rule: "LT6", reason: "CAPA ignores versionNumber; here the controller chooses, and says so",
		accept: `{instanceType: m6i.large}`, refuse: `{versionNumber: 3}`,
		says: "Slipway sets the launch template version",
	},
	{
		rule: "IP1", reason: "an instance profile is given by name",
		accept: `{iamInstanceProfile: nodes.cluster-api-provider-aws.sigs.k8s.io}`, refuse: `{iamInstanceProfile: "a b"}`,
		says: "must be the name or ARN of an instance profile (arn:aws:iam::<account>:instance-profile/<name>), not the ARN of a role",
	},
	{
		rule: "IP1", reason: "or by its ARN, of any partition; a role's ARN is a common mistake",
		accept: `{iamInstanceProfile: "arn:aws-cn:iam::123456789012:instance-profile/path/nodes"}`,
		refuse: `{iamInstanceProfile: "arn:aws:iam::123456789012:role/nodes"}`,
		says:   "must be the name or ARN of an instance profile (arn:aws:iam::<account>:instance-profile/<name>), not the ARN of a role",
	},
	{
		rule: "IM1", reason: "an image has an id of 8 or 17 hexadecimal digits",
		accept: `{ami: {id: ami-0123456789abcdef0}}`, refuse: `{ami: {id: my-image}}`,
		says: "must be an image ID (ami-...), or resolve:ssm",
	},
	{
		rule: "IM1", reason: "an SSM parameter is resolved by the controller",
		accept: `{ami: {id: "resolve:ssm:/golden/image:3"}}`, refuse: `{ami: {id: "resolve:ssm:"}}`,
		says: "must be an image ID (ami-...), or resolve:ssm",
	},
	{
		rule: "IM2", reason: "CAPA ignores eksLookupType beside an id",
		accept: `{ami: {eksLookupType: AmazonLinux2023}}`,
		refuse: `{ami: {eksLookupType: AmazonLinux2023, id: ami-0123456789abcdef0}}`,
		says:   "id determines the image, so eksLookupType has no effect",
	},
	{
		rule: "IM2", reason: "CAPA ignores the lookup beside an id",
		accept: `{ami: {}, imageLookupBaseOS: ubuntu-24.04}`,
		refuse: `{ami: {id: ami-0123456789abcdef0}, imageLookupBaseOS: ubuntu-24.04}`,
		says:   "ami determines the image, so imageLookupFormat, imageLookupOrg, and imageLookupBaseOS have no effect",
	},
	{
		rule: "IM2", reason: "CAPA ignores the lookup beside an EKS optimized image",
		accept: `{ami: {eksLookupType: AmazonLinux}, imageLookupOrg: ""}`,
		refuse: `{ami: {eksLookupType: AmazonLinux}, imageLookupOrg: "258751437250"}`,
		says:   "ami determines the image, so imageLookupFormat, imageLookupOrg, and imageLookupBaseOS have no effect",
	},
	{
		rule: "SL70", reason: "the two fields are replaced, with white space as CAPA takes it",
		accept: `{imageLookupFormat: "capa-ami-{{.BaseOS}}-?{{ .K8sVersion }}-*"}`, refuse: `{imageLookupFormat: "{{.Version}}"}`,
		says: "imageLookupFormat must not contain expressions or braces other than {{.BaseOS}} and {{.K8sVersion}}",
	},
	{
		rule: "SL70", reason: "nothing else is executed",
		accept: `{imageLookupFormat: ""}`, refuse: `{imageLookupFormat: "{{range 2000000000}}aaaa{{end}}"}`,
		says: "imageLookupFormat must not contain expressions or braces other than {{.BaseOS}} and {{.K8sVersion}}",
	},
	{
		rule: "SL70", reason: "no image has a brace in its name",
		accept: `{imageLookupFormat: "golden-*"}`, refuse: `{imageLookupFormat: "golden-{*"}`,
		says: "imageLookupFormat must not contain expressions or braces other than {{.BaseOS}} and {{.K8sVersion}}",
	},
	{
		rule: "BD1", reason: "a volume without a device name is attached nowhere",
		accept: `{nonRootVolumes: [{deviceName: /dev/sdb, size: 8}]}`, refuse: `{nonRootVolumes: [{size: 8}]}`,
		says: "every item of nonRootVolumes must have a deviceName, such as /dev/sdb",
	},
	{
		rule: "BD1", reason: "EC2 attaches one volume per device name",
		accept: `{nonRootVolumes: [{deviceName: /dev/sdb, size: 8}, {deviceName: /dev/sdc, size: 8}]}`,
		refuse: `{nonRootVolumes: [{deviceName: /dev/sdb, size: 8}, {deviceName: /dev/sdb, size: 9}]}`,
		says:   "every item of nonRootVolumes must have a unique deviceName",
	},
	{
		rule: "BD1", reason: "the root volume has a device name too",
		accept: `{rootVolume: {deviceName: /dev/xvda, size: 8}, nonRootVolumes: [{deviceName: /dev/sdb, size: 8}]}`,
		refuse: `{rootVolume: {deviceName: /dev/sdb, size: 8}, nonRootVolumes: [{deviceName: /dev/sdb, size: 8}]}`,
		says:   "deviceName in nonRootVolumes must differ from rootVolume.deviceName",
	},
	{
		rule: "BD2", reason: "a volume has a size",
		accept: `{rootVolume: {size: 8}}`, refuse: `{rootVolume: {type: gp3}}`, says: "size: Required value",
	},
	{
		rule: "BD4", reason: "a key implies encryption, as in CAPA",
		accept: `{rootVolume: {size: 8, encryptionKey: alias/nodes}}`,
		refuse: `{rootVolume: {size: 8, encryptionKey: alias/nodes, encrypted: false}}`,
		says:   "set encrypted to true",
	},
	{
		rule: "BD5", reason: "IOPS cannot be provisioned for gp2",
		accept: `{rootVolume: {size: 8, type: gp2, iops: 0}}`, refuse: `{rootVolume: {size: 8, type: gp2, iops: 3000}}`,
		says: "remove iops",
	},
	{
		rule: "BD5", reason: "without a type the image's may be one that takes IOPS",
		accept: `{rootVolume: {size: 8, iops: 3000}}`,
		refuse: `{nonRootVolumes: [{deviceName: /dev/sdb, size: 125, type: st1, iops: 3000}]}`,
		says:   "remove iops",
	},
	{
		rule: "BD5", reason: "io1 has no default",
		accept: `{rootVolume: {size: 8, type: io1, iops: 400}}`, refuse: `{rootVolume: {size: 8, type: io1}}`,
		says: "iops is required for io1 and io2 volumes",
	},
	{
		rule: "BD6", reason: "gp3 has a baseline of 3,000",
		accept: `{rootVolume: {size: 200, type: gp3, iops: 80000}}`, refuse: `{rootVolume: {size: 8, type: gp3, iops: 2999}}`,
		says: "iops of gp3 volumes must be between 3,000 and 80,000",
	},
	{
		rule: "BD6", reason: "io1 ends at 64,000",
		accept: `{rootVolume: {size: 2000, type: io1, iops: 64000}}`,
		refuse: `{rootVolume: {size: 2000, type: io1, iops: 64001}}`, says: "iops of io1 volumes must be between 100 and 64,000",
	},
	{
		rule: "BD6", reason: "io2 begins at 100",
		accept: `{rootVolume: {size: 8, type: io2, iops: 100}}`, refuse: `{rootVolume: {size: 8, type: io2, iops: 99}}`,
		says: "iops of io2 volumes must be between 100 and 256,000",
	},
	{
		rule: "BD7", reason: "throughput is gp3's",
		accept: `{rootVolume: {size: 8, type: gp3, throughput: 125}}`,
		refuse: `{rootVolume: {size: 8, type: gp2, throughput: 125}}`, says: "set type to gp3",
	},
	{
		rule: "BD7", reason: "CAPA lets non-root volumes pass with any throughput",
		accept: `{nonRootVolumes: [{deviceName: /dev/sdb, size: 500, type: gp3, throughput: 2000}]}`,
		refuse: `{nonRootVolumes: [{deviceName: /dev/sdb, size: 500, type: gp3, throughput: 2001}]}`,
		says:   "should be less than or equal to 2000",
	},
	{
		rule: "BD8", reason: "gp2 ends at 16 TiB, gp3 does not",
		accept: `{rootVolume: {size: 65536, type: gp3}}`, refuse: `{rootVolume: {size: 16385, type: gp2}}`,
		says: "at most 16,384 GiB",
	},
	{
		rule: "BD8", reason: "st1 begins at 125 GiB",
		accept: `{nonRootVolumes: [{deviceName: /dev/sdb, size: 125, type: st1}]}`,
		refuse: `{nonRootVolumes: [{deviceName: /dev/sdb, size: 124, type: st1}]}`, says: "the size of st1 and sc1 volumes must be between 125 and 16,384 GiB",
	},
	{
		rule: "BD8", reason: "standard ends at 1 TiB",
		accept: `{rootVolume: {size: 1024, type: standard}}`, refuse: `{rootVolume: {size: 1025, type: standard}}`,
		says: "at most 1,024 GiB",
	},
	{
		rule: "BD11", reason: "an instance does not boot from a throughput volume",
		accept: `{nonRootVolumes: [{deviceName: /dev/sdb, size: 200, type: sc1}]}`,
		refuse: `{rootVolume: {size: 200, type: sc1}}`, says: "cannot boot",
	},
	{
		rule: "MD1", reason: "the hop limit has EC2's range",
		accept: `{instanceMetadataOptions: {httpPutResponseHopLimit: 64}}`,
		refuse: `{instanceMetadataOptions: {httpPutResponseHopLimit: 65}}`, says: "less than or equal to 64",
	},
	{
		rule: "MD3", reason: "the tags of a cluster's nodes have slashes, with which EC2 launches nothing",
		accept: `{instanceMetadataOptions: {instanceMetadataTags: disabled}}`,
		refuse: `{instanceMetadataOptions: {instanceMetadataTags: enabled}}`, says: "set instanceMetadataTags to disabled",
	},
	{
		rule: "MK1", reason: "Spot options contradict On-Demand",
		accept: `{marketType: Spot, spotMarketOptions: {}}`, refuse: `{marketType: OnDemand, spotMarketOptions: {}}`,
		says: "set marketType to Spot",
	},
	{
		rule: "MK2", reason: "EC2 refuses 0.001 and below",
		accept: `{spotMarketOptions: {maxPrice: "0.0011"}}`, refuse: `{spotMarketOptions: {maxPrice: "0.001"}}`,
		says: "maxPrice must be a decimal number greater than 0.001 (USD per hour), such as 0.05; omit it to use the On-Demand price",
	},
	{
		rule: "MK2", reason: "CAPA's pattern for maxPrice was misspelled, and let everything pass",
		accept: `{spotMarketOptions: {maxPrice: ""}}`, refuse: `{spotMarketOptions: {maxPrice: "five"}}`,
		says: "maxPrice must be a decimal number greater than 0.001 (USD per hour), such as 0.05; omit it to use the On-Demand price",
	},
	{
		rule: "MK6", reason: "a Capacity Block is named",
		accept: `{marketType: CapacityBlock, capacityReservationId: cr-0123456789abcdef0}`,
		refuse: `{marketType: CapacityBlock}`, says: "marketType CapacityBlock requires capacityReservationId",
	},
	{
		rule: "MK6", reason: "a Capacity Block was bought for one type",
		accept: `{marketType: CapacityBlock, capacityReservationId: cr-0123456789abcdef0, instanceType: p5.48xlarge}`,
		refuse: `{marketType: CapacityBlock, capacityReservationId: cr-0123456789abcdef0, instanceType: null}`,
		says:   "marketType CapacityBlock requires instanceType",
	},
	{
		rule: "CR2", reason: "a reservation that is named is the only one to use",
		accept: `{capacityReservationId: cr-0123456789abcdef0, capacityReservationPreference: CapacityReservationsOnly}`,
		refuse: `{capacityReservationId: cr-0123456789abcdef0, capacityReservationPreference: Open}`,
		says:   "capacityReservationId requires capacityReservationPreference CapacityReservationsOnly",
	},
	{
		rule: "CR3", reason: "Spot cannot use reservations",
		accept: `{capacityReservationId: "", marketType: Spot}`,
		refuse: `{capacityReservationId: cr-0123456789abcdef0, marketType: Spot}`,
		says:   "cannot run in a Capacity Reservation",
	},
	{
		rule: "SL1", reason: "a security group is named or described",
		accept: `{additionalSecurityGroups: [{id: sg-1}, {filters: [{name: "tag:Name", values: [a]}]}]}`,
		refuse: `{additionalSecurityGroups: [{id: sg-1, filters: [{name: "tag:Name", values: [a]}]}]}`,
		says:   "exactly one of id and filters must be set",
	},
	{
		rule: "SL1", reason: "a reference to nothing would do nothing",
		accept: `{additionalSecurityGroups: [{id: sg-1, filters: []}]}`,
		refuse: `{additionalSecurityGroups: [{id: ""}]}`, says: "exactly one of id and filters must be set",
	},
}

// sharedCases hold for fields that both kinds have in spec.
var sharedCases = []ruleCase{
	{
		rule: "LT8", reason: "one version is the default, and cannot be deleted",
		accept: `{versionsToKeep: 1}`, refuse: `{versionsToKeep: 0}`, says: "greater than or equal to 1",
	},
	{
		rule: "LT8", reason: "EC2 keeps 10,000 versions, and a new one must fit",
		accept: `{versionsToKeep: 9999}`, refuse: `{versionsToKeep: 10000}`, says: "less than or equal to 9999",
	},
	{
		rule: "TG2", reason: "AWS's own prefix",
		accept: `{additionalTags: {awsome: x}}`, refuse: `{additionalTags: {"aws:cost": x}}`, says: "must not begin with aws:",
	},
	{
		rule: "TG2", reason: "an empty key is no key",
		accept: `{additionalTags: {k: ""}}`, refuse: `{additionalTags: {"": x}}`, says: "1 to 128 characters",
	},
	{
		rule: "TG2", reason: "keys end at 128 characters",
		accept: fmt.Sprintf(`{additionalTags: {%s: x}}`, strings.Repeat("k", 128)),
		refuse: fmt.Sprintf(`{additionalTags: {%s: x}}`, strings.Repeat("k", 129)), says: "1 to 128 characters",
	},
	{
		rule: "TG2", reason: "values end at 256 characters",
		accept: fmt.Sprintf(`{additionalTags: {k: %s}}`, strings.Repeat("v", 256)),
		refuse: fmt.Sprintf(`{additionalTags: {k: %s}}`, strings.Repeat("v", 257)), says: "may not be more than 256",
	},
	{
		rule: "TG2", reason: "letters of any alphabet, and AWS's punctuation",
		accept: `{additionalTags: {"Équipe/größe": "α +-=._:/@ 1"}}`, refuse: `{additionalTags: {k: "a,b"}}`,
		says: "letters, digits, spaces",
	},
	{
		rule: "TG2", reason: "50 tags", accept: tags(44), refuse: tags(51), says: "must have at most 50 items",
	},
	{
		rule: "TG2", reason: "six of them are the controller's", accept: tags(44), refuse: tags(45), says: "AWS allows 50 tags on a resource, and Slipway sets six of them: specify at most 44, or 45 if Name is one of them",
	},
	{
		rule: "TG2", reason: "Name is one of the six", accept: strings.Replace(tags(45), "k0:", "Name:", 1),
		refuse: strings.Replace(tags(46), "k0:", "Name:", 1), says: "AWS allows 50 tags on a resource, and Slipway sets six of them: specify at most 44, or 45 if Name is one of them",
	},
	{
		rule: "TG3", reason: "ownership is the controller's to say",
		accept: `{additionalTags: {kubernetes.io/created-for: x}}`,
		refuse: `{additionalTags: {kubernetes.io/cluster/one: shared}}`, says: "tag keys that begin with kubernetes.io/cluster/, sigs.k8s.io/cluster-api-provider-aws/, or slipway.infrastructure.cluster.x-k8s.io/ identify the owner of a resource and are reserved for Slipway",
	},
	{
		rule: "TG3", reason: "CAPA's ownership tags",
		accept: `{additionalTags: {Name: mine}}`,
		refuse: `{additionalTags: {sigs.k8s.io/cluster-api-provider-aws/role: bastion}}`, says: "tag keys that begin with kubernetes.io/cluster/, sigs.k8s.io/cluster-api-provider-aws/, or slipway.infrastructure.cluster.x-k8s.io/ identify the owner of a resource and are reserved for Slipway",
	},
	{
		rule: "TG3", reason: "Karpenter ends instances with its tags that it has no NodeClaim for",
		accept: `{additionalTags: {karpenter.sh/discovery: one}}`,
		refuse: `{additionalTags: {karpenter.sh/nodepool: default}}`, says: "tag keys of Amazon EKS (eks:...) and of Karpenter are reserved, because these programs would manage the instances as their own",
	},
}

func tags(n int) string { return "{additionalTags: " + tagMap(n) + "}" }

func tagMap(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("k%d: v", i))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// poolCases are about what every pool has.
var poolCases = []ruleCase{
	{
		rule: "LT1", reason: "EC2's alphabet for template names",
		accept: `{awsLaunchTemplate: {name: "team/(a).b_c-1"}}`, refuse: `{awsLaunchTemplate: {name: "a b c"}}`,
		says: "a launch template name must have 3 to 128 characters",
	},
	{
		rule: "LT1", reason: "the empty name is no name", accept: `{awsLaunchTemplate: {name: ""}}`,
		refuse: `{awsLaunchTemplate: {name: ab}}`, says: "a launch template name must have 3 to 128 characters",
	},
	{
		rule: "AS2", reason: "a group has to know a type to launch",
		accept: `{awsLaunchTemplate: {instanceType: null}, mixedInstancesPolicy: {overrides: [{instanceType: m5.large}]}}`,
		refuse: `{awsLaunchTemplate: {instanceType: ""}, mixedInstancesPolicy: {overrides: []}}`,
		says:   "set awsLaunchTemplate.instanceType",
	},
	{
		rule: "AS3", reason: "Auto Scaling calls such a template incompatible",
		accept: `{mixedInstancesPolicy: {instancesDistribution: {onDemandPercentageAboveBaseCapacity: 0}}}`,
		refuse: `{mixedInstancesPolicy: {}, awsLaunchTemplate: {spotMarketOptions: {}}}`,
		says:   "remove awsLaunchTemplate.spotMarketOptions",
	},
	{
		rule: "AS3", reason: "marketType asks for Spot too",
		accept: `{mixedInstancesPolicy: {}, awsLaunchTemplate: {marketType: OnDemand}}`,
		refuse: `{mixedInstancesPolicy: {}, awsLaunchTemplate: {marketType: Spot}}`,
		says:   "remove awsLaunchTemplate.spotMarketOptions",
	},
	{
		rule: "CB1", reason: "AWS does not mix Capacity Blocks",
		accept: `{awsLaunchTemplate: {marketType: CapacityBlock, capacityReservationId: cr-0123456789abcdef0}}`,
		refuse: `{awsLaunchTemplate: {marketType: CapacityBlock, capacityReservationId: cr-0123456789abcdef0},
			mixedInstancesPolicy: {}}`,
		says: "Capacity Blocks cannot be used with mixedInstancesPolicy",
	},
	{
		rule: "AS9", reason: "bounds in order", accept: `{minSize: 3, maxSize: 3}`, refuse: `{minSize: 4, maxSize: 3}`,
		says: "minSize must be less than or equal to maxSize",
	},
	{
		rule: "AS9", reason: "no negative size", accept: `{minSize: 0}`, refuse: `{minSize: -1}`,
		says: "greater than or equal to 0",
	},
	{
		rule: "SL1", reason: "a subnet is named or described, as in CAPA",
		accept: `{subnets: [{id: subnet-1}, {filters: [{name: "tag:role", values: [nodes]}]}]}`,
		refuse: `{subnets: [{}]}`, says: "exactly one of id and filters must be set",
	},
}

var launchConfigCases = slices.Concat(madeConfigCases, existingCases)

var madeConfigCases = []ruleCase{
	{
		rule: "SL7", reason: "Ignition reads S3, not SSM", accept: `{bootstrap: {dataSecretName: s, storage: S3, ignition: {}}}`,
		refuse: `{bootstrap: {dataSecretName: s, storage: SSM, ignition: {}}}`, says: "set storage to S3 or UserData",
	},
	{
		rule: "SL7", reason: "one place for the data, in place",
		accept: `{bootstrap: {dataSecretName: s, storage: UserData, ignition: {storageType: UnencryptedUserData}}}`,
		refuse: `{bootstrap: {dataSecretName: s, storage: UserData, ignition: {}}}`, says: "set ignition.storageType to UnencryptedUserData",
	},
	{
		rule: "SL7", reason: "one place for the data, in S3", accept: `{bootstrap: {dataSecretName: s, storage: S3, ignition: {}}}`,
		refuse: `{bootstrap: {dataSecretName: s, storage: S3, ignition: {storageType: UnencryptedUserData}}}`,
		says:   "set ignition.storageType to ClusterObjectStore",
	},
	{
		rule: "LT1", reason: "EC2's alphabet for template names",
		accept: `{launchTemplateName: "team/(a).b_c-1"}`, refuse: `{launchTemplateName: "a*b"}`, says: "a launch template name must have 3 to 128 characters",
	},
	{
		rule: "LT1", reason: "one field for one thing", accept: `{name: ""}`, refuse: `{name: nodes}`,
		says: "name is not supported",
	},
	{
		rule: "SL3", reason: "images are looked up for a version", accept: `{kubernetesVersion: v1.34.2+k3s1}`,
		refuse: `{kubernetesVersion: "1.34"}`, says: "must be a Kubernetes version, such as v1.34.2",
	},
	{
		rule: "SL29", reason: "a dry run is of a type", accept: `{verify: DryRun}`, refuse: `{instanceType: "", verify: DryRun}`, says: "a dry run requires an instance type",
	},
	{
		rule: "SL29", reason: "and of an image", accept: `{verify: DryRun, nodegroup: {amiType: CUSTOM}}`,
		refuse: `{verify: DryRun, nodegroup: {amiType: AL2023_x86_64_STANDARD}}`, says: "a dry run needs an image, but EKS chooses the image of this pool",
	},
	{
		rule: "EK2", reason: "a node group has subnets", accept: `{nodegroup: {amiType: CUSTOM}, networkInterfaces: [{deviceIndex: 0}]}`,
		refuse: `{nodegroup: {amiType: CUSTOM}, networkInterfaces: [{deviceIndex: 0, subnet: {id: subnet-1}}]}`, says: "EKS rejects launch templates that specify subnets, because a node group has its own",
	},
	{
		rule: "EK3", reason: "EKS ends instances", accept: `{instanceInitiatedShutdownBehavior: terminate}`,
		refuse: `{nodegroup: {amiType: CUSTOM}, instanceInitiatedShutdownBehavior: stop}`, says: "remove instanceInitiatedShutdownBehavior",
	},
	{
		rule: "EK4", reason: "nodes of EKS do not hibernate", accept: `{hibernationOptions: {configured: true}}`,
		refuse: `{nodegroup: {amiType: CUSTOM}, hibernationOptions: {configured: false}}`, says: "remove hibernationOptions",
	},
	{
		rule: "EK5", reason: "the node group asks for Spot", accept: `{nodegroup: {amiType: CUSTOM}, instanceMarketOptions: {marketType: capacity-block}, capacityReservationId: cr-1}`,
		refuse: `{nodegroup: {amiType: CUSTOM}, instanceMarketOptions: {marketType: spot}}`, says: "a node group requests Spot Instances with its capacityType, and EKS rejects launch templates that request them",
	},
	{
		rule: "EK6", reason: "the node group lists types", accept: `{instanceType: null, instanceRequirements: {vCPUCount: {min: 1}, memoryMiB: {min: 1}}}`,
		refuse: `{instanceType: null, nodegroup: {amiType: CUSTOM}, instanceRequirements: {vCPUCount: {min: 1}, memoryMiB: {min: 1}}}`,
		says:   "EKS node groups must list their instance types",
	},
}

// Templates of pools refuse what the pools refuse, and what is of one pool alone.
var (
	machinePoolTemplateCases = []ruleCase{
		{
			rule: "SL30", reason: "the group is of one pool", accept: `{minSize: 2}`, refuse: `{providerID: "arn:aws:autoscaling:us-east-1:123456789012:autoScalingGroup:1"}`,
			says: "Slipway sets providerID and providerIDList of each pool",
		},
		{
			rule: "SL30", reason: "so are its instances", accept: `{minSize: 2}`, refuse: `{providerIDList: ["aws:///us-east-1a/i-1"]}`,
			says: "Slipway sets providerID and providerIDList of each pool",
		},
		{rule: "AS9", reason: "bounds in order, as in a pool", accept: `{minSize: 3}`, refuse: `{minSize: 4}`, says: "minSize must be less than or equal to " +
			"maxSize"},
	}
	managedPoolTemplateCases = []ruleCase{
		{
			rule: "SL30", reason: "instances are of one pool", accept: `{labels: {team: payments}}`, refuse: `{providerIDList: ["aws:///us-east-1a/i-1"]}`,
			says: "Slipway sets providerIDList of each pool",
		},
		{
			rule: "SL31", reason: "two pools of a cluster cannot have one node group", accept: `{eksNodegroupName: ""}`, refuse: `{eksNodegroupName: nodes}`,
			says: "node group names are unique in a cluster, but a template is used for many pools",
		},
	}
)

const bootstrapIgnition = "spec: {bootstrap: {dataSecretName: s, ignition: %s}}"

// ruleGroup is the cases for a version of a kind, and where their patches go in a base object.
type ruleGroup struct {
	kind, version, base, wrap string
	cases                     []ruleCase
}

func ruleGroups() []ruleGroup {
	return []ruleGroup{
		{"AWSMachinePool", "v1beta2", machinePoolBase, "spec: {awsLaunchTemplate: %s}", launchTemplateCases},
		{"AWSMachinePool", "v1beta1", machinePoolBase, "spec: {awsLaunchTemplate: %s}", launchTemplateCases},
		{"AWSLaunchConfig", "v1beta2", launchConfigBase, "spec: %s", launchTemplateCases},
		{"AWSMachinePool", "v1beta2", machinePoolBase, "spec: %s", sharedCases},
		{"AWSLaunchConfig", "v1beta2", launchConfigBase, "spec: %s", sharedCases},
		{"AWSMachinePool", "v1beta2", machinePoolBase, "spec: %s", machinePoolCases},
		{"AWSLaunchConfig", "v1beta2", launchConfigBase, "spec: %s", launchConfigCases},
		{"AWSLaunchConfig", "v1beta2", launchConfigBase, "spec: %s", launchDataCases},
		{"AWSLaunchConfig", "v1beta2", launchConfigBase, "spec: %s", launchPlaceCases},
		{"AWSLaunchConfigTemplate", "v1beta2", launchConfigTemplateBase, inTemplate, launchTemplateCases},
		{"AWSLaunchConfigTemplate", "v1beta2", launchConfigTemplateBase, inTemplate, append(launchConfigTemplateCases, sharedCases...)},
		{"AWSLaunchConfigTemplate", "v1beta2", launchConfigTemplateBase, inTemplate, launchDataCases},
		{"AWSManagedMachinePool", "v1beta2", managedPoolBase, "spec: %s", managedPoolCases},
		{"AWSManagedMachinePool", "v1beta1", managedPoolBase, "spec: %s", managedPoolCases},
		{"AWSMachinePoolTemplate", "v1beta2", machinePoolTemplateBase, "spec: {template: {spec: %s}}", machinePoolTemplateCases},
		{"AWSManagedMachinePoolTemplate", "v1beta2", managedPoolTemplateBase, "spec: {template: {spec: %s}}", managedPoolTemplateCases},
		{"AWSMachinePool", "v1beta2", machinePoolBase, "spec: {ignition: %s}", ignitionCases},
		{"AWSLaunchConfig", "v1beta2", launchConfigBase, bootstrapIgnition, ignitionCases},
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	for _, group := range ruleGroups() {
		served := resource(t, group.kind, group.version)
		for _, c := range group.cases {
			accepted := object(t, group.base, fmt.Sprintf(group.wrap, c.accept))
			refused := object(t, group.base, fmt.Sprintf(group.wrap, c.refuse))

			t.Run(fmt.Sprintf("%s/%s/%s/%s", group.kind, group.version, c.rule, c.reason), func(t *testing.T) {
				t.Parallel()
				if _, err := served.Create(t.Context(), accepted); err != nil {
					t.Errorf("creating what is allowed (%s): %v", c.reason, err)
				}
				_, err := served.Create(t.Context(), refused)
				refusedWith(t, "creating", c, err)

				before := object(t, group.base, `metadata: {labels: {was: here}}`)
				if group.kind == "AWSManagedMachinePool" || strings.Contains(c.accept, "existing:") {
					// most of a node group cannot be changed, nor what a launch config follows:
					// TestTransitions
					before = accepted
				}
				stored, err := served.Create(t.Context(), before)
				if err != nil {
					t.Fatalf("creating the object to update: %v", err)
				}
				if strings.HasPrefix(c.rule, "LT1") {
					return // names cannot be edited at all: TestTransitions
				}
				if _, err := served.Update(t.Context(), stored, accepted); err != nil {
					t.Errorf("updating to what is allowed (%s): %v", c.reason, err)
				}
				_, err = served.Update(t.Context(), stored, refused)
				refusedWith(t, "updating", c, err)
			})
		}
	}
}

func refusedWith(t *testing.T, what string, c ruleCase, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s what is not allowed (%s) was accepted: %s", what, c.reason, c.refuse)
		return
	}
	if !strings.Contains(err.Error(), c.says) {
		t.Errorf("%s what is not allowed (%s): the message does not say %q:\n%v", what, c.reason, c.says, err)
	}
}
