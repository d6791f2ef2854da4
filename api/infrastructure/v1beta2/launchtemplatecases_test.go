package v1beta2_test

import (
	"fmt"
	"strings"
)

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
		rule: "TG2", reason: "AWS reserves it in any case",
		accept: `{additionalTags: {"my:AWS:cost": x}}`, refuse: `{additionalTags: {"AwS:cost": x}}`, says: "must not begin with aws:",
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
