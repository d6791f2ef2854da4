package v1beta2_test

// attributes are the least that is allowed.
const attributes = `instanceType: null, instanceRequirements: {vCPUCount: {min: 1}, memoryMiB: {min: 1}`

// launchDataCases hold for the fields of an AWSLaunchConfig that awsLaunchTemplate lacks.
var launchDataCases = []ruleCase{
	{
		rule: "IT1", reason: "a type, or what a type must have", accept: `{` + attributes + `}}`,
		refuse: `{instanceRequirements: {vCPUCount: {min: 1}, memoryMiB: {min: 1}}}`, says: "instanceType and instanceRequirements are mutually exclusive",
	},
	{
		rule: "IT2", reason: "vCPUs have a lower bound", accept: `{` + attributes + `, acceleratorCount: {min: 1, max: 1}}}`,
		refuse: `{instanceType: null, instanceRequirements: {vCPUCount: {max: 1}, memoryMiB: {min: 1}}}`, says: "min: Required value",
	},
	{
		rule: "IT2", reason: "ranges are ascending", accept: `{` + attributes + `, networkInterfaceCount: {min: 1, max: 1}}}`,
		refuse: `{` + attributes + `, networkInterfaceCount: {min: 2, max: 1}}}`, says: "min must be less than or equal to max",
	},
	{
		rule: "IT2", reason: "the range of vCPUs too", accept: `{instanceType: null, instanceRequirements: {vCPUCount: {min: 1, max: 1}, memoryMiB: {min: 1}}}`,
		refuse: `{instanceType: null, instanceRequirements: {vCPUCount: {min: 2, max: 1}, memoryMiB: {min: 1}}}`, says: "min must be less than or equal to max",
	},
	{
		rule: "IT2", reason: "decimal ranges too", accept: `{` + attributes + `, memoryGiBPerVCPU: {min: "0.5", max: "0.5"}}}`,
		refuse: `{` + attributes + `, memoryGiBPerVCPU: {min: "0.6", max: "0.5"}}}`, says: "min must be less than or equal to max",
	},
	{
		rule: "IT2", reason: "nothing is negative", accept: `{` + attributes + `, totalLocalStorageGB: {min: "0"}}}`,
		refuse: `{` + attributes + `, totalLocalStorageGB: {min: "-1"}}}`, says: "must not be negative",
	},
	{
		rule: "IT3", reason: "allowed types say all", accept: `{` + attributes + `, allowedInstanceTypes: [m5.*]}}`,
		refuse: `{` + attributes + `, allowedInstanceTypes: [m5.*], excludedInstanceTypes: [m5.large]}}`, says: "allowedInstanceTypes and excludedInstanceTypes are mutually exclusive",
	},
	{
		rule: "IT3", reason: "allowed types are patterns", accept: `{` + attributes + `, allowedInstanceTypes: ["*3*"]}}`,
		refuse: `{` + attributes + `, allowedInstanceTypes: ["m5 large"]}}`, says: "allowedInstanceTypes must be instance types, or patterns with *, such as m5.* or *3*",
	},
	{
		rule: "IT3", reason: "excluded types are patterns", accept: `{` + attributes + `, excludedInstanceTypes: ["*3*"]}}`,
		refuse: `{` + attributes + `, excludedInstanceTypes: ["m5 large"]}}`, says: "excludedInstanceTypes must be instance types, or patterns with *, such as m5.* or *3*",
	},
	{
		rule: "IT4", reason: "one bound of the Spot price", accept: `{` + attributes + `, spotMaxPricePercentageOverLowestPrice: 50}}`,
		refuse: `{` + attributes + `, spotMaxPricePercentageOverLowestPrice: 50, maxSpotPriceAsPercentageOfOptimalOnDemandPrice: 50}}`,
		says:   "spotMaxPricePercentageOverLowestPrice and maxSpotPriceAsPercentageOfOptimalOnDemandPrice are mutually exclusive",
	},
	{
		rule: "IT5", reason: "EC2 compares with one family", accept: `{` + attributes + `, baselinePerformanceFactors: {cpu: {references: [{instanceFamily: c6i}]}}}}`,
		refuse: `{` + attributes + `, baselinePerformanceFactors: {cpu: {references: [{instanceFamily: c6i}, {instanceFamily: m5}]}}}}`,
		says:   "must have at most 1 item",
	},
	{
		rule: "IT5", reason: "a family is no type", accept: `{` + attributes + `, baselinePerformanceFactors: {cpu: {references: [{instanceFamily: mac2-m2}]}}}}`,
		refuse: `{` + attributes + `, baselinePerformanceFactors: {cpu: {references: [{instanceFamily: c6i.large}]}}}}`, says: "instanceFamily must be the part of an instance type before the period, such as c6i for c6i.large",
	},
	{
		rule: "MK1", reason: "EC2's words or CAPA's", accept: `{instanceMarketOptions: {marketType: spot}}`,
		refuse: `{instanceMarketOptions: {marketType: spot}, marketType: Spot}`, says: "instanceMarketOptions cannot be combined with marketType and spotMarketOptions",
	},
	{
		rule: "MK1", reason: "Spot options are for Spot", accept: `{instanceMarketOptions: {marketType: spot, spotOptions: {}}}`,
		refuse: `{instanceMarketOptions: {marketType: on-demand, spotOptions: {}}}`, says: "spotOptions are only valid for marketType spot",
	},
	{
		rule: "MK2", reason: "a price is a number", accept: `{instanceMarketOptions: {marketType: spot, spotOptions: {maxPrice: "0.002"}}}`,
		refuse: `{instanceMarketOptions: {marketType: spot, spotOptions: {maxPrice: "0.001"}}}`, says: "maxPrice must be a decimal number greater than 0.001 (USD per hour), such as 0.05; omit it to use the On-Demand price",
	},
	{
		rule: "MK3", reason: "a one-time request has no end of its own",
		accept: `{instanceMarketOptions: {marketType: spot, spotOptions: {spotInstanceType: persistent, validUntil: "2030-01-01T00:00:00Z"}}}`,
		refuse: `{instanceMarketOptions: {marketType: spot, spotOptions: {validUntil: "2030-01-01T00:00:00Z"}}}`, says: "validUntil is only valid for persistent requests",
	},
	{
		rule: "MK4", reason: "an interrupted one-time request is over",
		accept: `{instanceMarketOptions: {marketType: spot, spotOptions: {spotInstanceType: one-time, instanceInterruptionBehavior: terminate}}}`,
		refuse: `{instanceMarketOptions: {marketType: spot, spotOptions: {spotInstanceType: one-time, instanceInterruptionBehavior: stop}}}`,
		says:   "instances of one-time requests are always terminated when interrupted",
	},
	{
		rule: "MK6", reason: "a reservation is needed to use one", accept: `{instanceMarketOptions: {marketType: interruptible-capacity-reservation}, capacityReservationId: cr-1}`,
		refuse: `{instanceMarketOptions: {marketType: interruptible-capacity-reservation}}`, says: "this market type requires a Capacity Reservation",
	},
	{
		rule: "MK6", reason: "a block is of one type", accept: `{instanceMarketOptions: {marketType: capacity-block}, capacityReservationId: cr-1}`,
		refuse: `{instanceType: null, instanceMarketOptions: {marketType: capacity-block}, capacityReservationId: cr-1}`,
		says:   "marketType capacity-block requires instanceType",
	},
	{
		rule: "CR1", reason: "one target", accept: `{capacityReservationResourceGroupArn: "arn:aws:resource-groups:us-east-1:123456789012:group/odcr"}`,
		refuse: `{capacityReservationId: cr-1, capacityReservationResourceGroupArn: "arn:aws:resource-groups:us-east-1:123456789012:group/odcr"}`,
		says:   "capacityReservationId and capacityReservationResourceGroupArn are mutually exclusive",
	},
	{
		rule: "CR2", reason: "a group is named to be used",
		accept: `{capacityReservationPreference: CapacityReservationsOnly, capacityReservationResourceGroupArn: "arn:aws:resource-groups:us-east-1:123456789012:group/odcr"}`,
		refuse: `{capacityReservationPreference: Open, capacityReservationResourceGroupArn: "arn:aws:resource-groups:us-east-1:123456789012:group/odcr"}`,
		says:   "capacityReservationResourceGroupArn requires capacityReservationPreference CapacityReservationsOnly",
	},
	{
		rule: "CR3", reason: "Spot has no reservations, in any words",
		accept: `{capacityReservationId: cr-1, instanceMarketOptions: {marketType: on-demand}}`,
		refuse: `{capacityReservationId: cr-1, instanceMarketOptions: {marketType: spot}}`, says: "Spot Instances cannot run in Capacity Reservations",
	},
	{
		rule: "SL6", reason: "a resource group has an ARN", accept: `{capacityReservationResourceGroupArn: ""}`,
		refuse: `{capacityReservationResourceGroupArn: odcr}`, says: "must be the ARN of a resource group (arn:aws:resource-groups:<region>:<account>:group/<name>)",
	},
	{
		rule: "CP1", reason: "cores and threads come together", accept: `{cpuOptions: {coreCount: 1, threadsPerCore: 1}}`,
		refuse: `{cpuOptions: {coreCount: 1}}`, says: "coreCount and threadsPerCore must be set together",
	},
	{
		rule: "CP2", reason: "a core has two threads at most", accept: `{cpuOptions: {coreCount: 1, threadsPerCore: 2}}`,
		refuse: `{cpuOptions: {coreCount: 1, threadsPerCore: 3}}`, says: "should be less than or equal to 2",
	},
	{
		rule: "CP3", reason: "bare metal has what it has", accept: `{instanceType: m5.metal, cpuOptions: {}}`,
		refuse: `{instanceType: m5.metal, cpuOptions: {coreCount: 1, threadsPerCore: 1}}`, says: "bare metal instance types have no CPU options",
	},
	{
		rule: "CP3", reason: "AMD's memory encryption and Intel's virtual machines", accept: `{cpuOptions: {amdSevSnp: enabled, nestedVirtualization: disabled}}`,
		refuse: `{cpuOptions: {amdSevSnp: enabled, nestedVirtualization: enabled}}`, says: "AMD SEV-SNP and nested virtualization are mutually exclusive",
	},
	{
		rule: "CS1", reason: "credits are of two kinds", accept: `{instanceType: t4g.large, creditSpecification: {cpuCredits: unlimited}}`,
		refuse: `{instanceType: t4g.large, creditSpecification: {cpuCredits: many}}`, says: "Unsupported value",
	},
	{
		rule: "CS1", reason: "and for burstable types", accept: `{instanceType: t3.large, creditSpecification: {cpuCredits: standard}}`,
		refuse: `{instanceType: trn1.2xlarge, creditSpecification: {cpuCredits: standard}}`, says: "CPU credits are only valid for burstable instance types (T2, T3, T3a, T4g)",
	},
	{
		rule: "EN1", reason: "enclaves do not hibernate", accept: `{enclaveOptions: {enabled: true}, hibernationOptions: {configured: false}}`,
		refuse: `{enclaveOptions: {enabled: true}, hibernationOptions: {configured: true}}`, says: "an instance with enclaves cannot hibernate",
	},
	{
		rule: "HB1", reason: "memory is not written in the clear; without a word the account may encrypt", accept: `{rootVolume: {size: 8}, hibernationOptions: {configured: true}}`,
		refuse: `{rootVolume: {size: 8, encrypted: false}, hibernationOptions: {configured: true}}`, says: "hibernation requires an encrypted root volume",
	},
	{
		rule: "HB1", reason: "bare metal does not hibernate", accept: `{instanceType: m5.metal, hibernationOptions: {configured: false}}`,
		refuse: `{instanceType: m5.metal, hibernationOptions: {configured: true}}`, says: "bare metal instance types cannot hibernate",
	},
	{
		rule: "HB1", reason: "a one-time request does not wake up again",
		accept: `{instanceMarketOptions: {marketType: spot, spotOptions: {spotInstanceType: persistent}}, hibernationOptions: {configured: true}}`,
		refuse: `{spotMarketOptions: {}, hibernationOptions: {configured: true}}`, says: "Spot Instances hibernate only with persistent requests",
	},
	{
		rule: "MD1", reason: "hops are counted from 1 to 64", accept: `{metadataOptions: {httpPutResponseHopLimit: 64}}`,
		refuse: `{metadataOptions: {httpPutResponseHopLimit: 65}}`, says: "should be less than or equal to 64",
	},
	{
		rule: "MD3", reason: "cluster tags have slashes", accept: `{metadataOptions: {instanceMetadataTags: disabled}}`,
		refuse: `{metadataOptions: {instanceMetadataTags: enabled}}`, says: "set instanceMetadataTags to disabled",
	},
	{
		rule: "SL28", reason: "EC2's words or CAPA's", accept: `{instanceMetadataOptions: {}}`,
		refuse: `{metadataOptions: {}, instanceMetadataOptions: {}}`, says: "metadataOptions and instanceMetadataOptions are mutually exclusive",
	},
	{
		rule: "TG1", reason: "a launch tags four types of resources", accept: `{tagSpecifications: [{resourceType: network-interface, tags: {team: a}}]}`,
		refuse: `{tagSpecifications: [{resourceType: subnet, tags: {team: a}}]}`, says: "Unsupported value",
	},
	{
		rule: "TG1", reason: "each once", accept: `{tagSpecifications: [{resourceType: volume, tags: {team: a}}, {resourceType: instance, tags: {team: a}}]}`,
		refuse: `{tagSpecifications: [{resourceType: volume, tags: {team: a}}, {resourceType: volume, tags: {team: b}}]}`, says: "Duplicate value",
	},
	{
		rule: "TG1", reason: "there is a Spot request to tag", accept: `{marketType: Spot, tagSpecifications: [{resourceType: spot-instances-request, tags: {team: a}}]}`,
		refuse: `{tagSpecifications: [{resourceType: spot-instances-request, tags: {team: a}}]}`, says: "EC2 launches no instance from a template that tags Spot requests but requests no Spot Instances",
	},
	{
		rule: "TG2", reason: "both lists are on one resource", accept: `{additionalTags: {k0: x}, tagSpecifications: [{resourceType: volume, tags: ` + tagMap(44) + `}]}`,
		refuse: `{additionalTags: {z: x}, tagSpecifications: [{resourceType: volume, tags: ` + tagMap(44) + `}]}`, says: "AWS allows 50 tags on a resource, and Slipway sets six of them: specify at most 44 in additionalTags and the tags of the resource type together, or 45 if Name is one of them",
	},
	{
		rule: "TG2", reason: "keys are short", accept: `{tagSpecifications: [{resourceType: volume, tags: {team: a}}]}`,
		refuse: `{tagSpecifications: [{resourceType: volume, tags: {"": a}}]}`, says: "1 to 128 characters",
	},
	{
		rule: "TG2", reason: "of some characters", accept: `{tagSpecifications: [{resourceType: volume, tags: {"a b": "c/d"}}]}`,
		refuse: `{tagSpecifications: [{resourceType: volume, tags: {"a*": b}}]}`, says: "letters, digits, spaces",
	},
	{
		rule: "TG2", reason: "and none of AWS's", accept: `{tagSpecifications: [{resourceType: volume, tags: {"my:aws:": a}}]}`,
		refuse: `{tagSpecifications: [{resourceType: volume, tags: {"aws:x": a}}]}`, says: "must not begin with aws:",
	},
	{
		rule: "TG2", reason: "and few", accept: `{tagSpecifications: [{resourceType: volume, tags: ` + tagMap(44) + `}]}`,
		refuse: `{tagSpecifications: [{resourceType: volume, tags: ` + tagMap(45) + `}]}`, says: "AWS allows 50 tags on a resource, and Slipway sets six of them: specify at most 44, or 45 if Name is one of them",
	},
	{
		rule: "TG3", reason: "ownership is the controller's", accept: `{tagSpecifications: [{resourceType: volume, tags: {"kubernetes.io/role": a}}]}`,
		refuse: `{tagSpecifications: [{resourceType: volume, tags: {"kubernetes.io/cluster/one": owned}}]}`, says: "tag keys that begin with kubernetes.io/cluster/, sigs.k8s.io/cluster-api-provider-aws/, or slipway.infrastructure.cluster.x-k8s.io/ identify the owner of a resource and are reserved for Slipway",
	},
	{
		rule: "TG3", reason: "or another controller's", accept: `{tagSpecifications: [{resourceType: volume, tags: {"karpenter": a}}]}`,
		refuse: `{tagSpecifications: [{resourceType: volume, tags: {"eks:cluster-name": a}}]}`, says: "tag keys of Amazon EKS (eks:...) and of Karpenter are reserved, because these programs would manage the instances as their own",
	},
	{
		rule: "SL6", reason: "kernels have ids", accept: `{kernelId: aki-0123456789abcdef0}`, refuse: `{kernelId: linux}`, says: "must be the ID of a kernel (aki-...)",
	},
	{
		rule: "SL6", reason: "RAM disks have ids", accept: `{ramDiskId: ari-01234567}`, refuse: `{ramDiskId: disk}`, says: "must be the ID of a RAM disk (ari-...)",
	},
	{
		rule: "SL6", reason: "license configurations have ARNs",
		accept: `{licenseSpecifications: [{licenseConfigurationArn: "arn:aws:license-manager:us-east-1:123456789012:license-configuration:lic-0a"}]}`,
		refuse: `{licenseSpecifications: [{licenseConfigurationArn: lic-0a}]}`, says: "must be the ARN of a license configuration (arn:aws:license-manager:<region>:<account>:license-configuration:lic-...)",
	},
}
