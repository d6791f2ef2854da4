package v1beta2_test

import (
	"fmt"
	"slices"
	"strings"
)

// machinePoolCases hold for spec of an AWSMachinePool.
var machinePoolCases = slices.Concat(poolCases, sharingCases, mixedCases, refreshCases, hookCases, groupCases)

// reservedGroup names a resource group of Capacity Reservations.
const reservedGroup = `capacityReservation: {preference: capacity-reservations-first, resourceGroupARNs: ["arn:aws:resource-groups:us-east-1:123456789012:group/cr"]}`

// segmented is a spec with one distribution segment.
func segmented(types, distribution, spec string) string {
	if distribution != "" {
		distribution = ", " + distribution
	}
	return fmt.Sprintf("{mixedInstancesPolicy: {overrides: [{instanceType: m5.large}], instancesDistribution: {distributionSegments: [{targetCapacityTypes: %s}]%s}}, %s}", types, distribution, spec)
}

func sources(list ...string) string { return "{trafficSources: [" + strings.Join(list, ", ") + "]}" }

func loadBalancers(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{type: elb, identifier: nodes-%d}`, i))
	}
	return all
}

func latticeSource(n int) string {
	return fmt.Sprintf(`{type: vpc-lattice, identifier: "arn:aws:vpc-lattice:us-east-1:123456789012:targetgroup/tg-0123456789abcdef%d"}`, n)
}

// groupCases are about the group's other settings.
var groupCases = []ruleCase{
	{
		rule: "SL4", reason: "no negative cooldown; 0 is none", accept: `{defaultCoolDown: 0s}`, refuse: `{defaultCoolDown: -5s}`,
		says: "defaultCoolDown must be a non-negative duration in whole seconds, such as 300s or 5m",
	},
	{
		rule: "SL4", reason: "no negative warmup", accept: `{defaultInstanceWarmup: 5m0s}`, refuse: `{defaultInstanceWarmup: "300"}`,
		says: "defaultInstanceWarmup must be a non-negative duration in whole seconds, such as 300s or 5m",
	},
	{
		rule: "SL4", reason: "no negative grace", accept: `{healthCheck: {types: [EC2, ELB, EBS], gracePeriod: 300s}}`,
		refuse: `{healthCheck: {gracePeriod: never}}`, says: "gracePeriod must be a non-negative duration in whole seconds, such as 300s or 5m",
	},
	{
		rule: "AS22", reason: "an instance lives a day at least", accept: `{maxInstanceLifetime: 24h}`,
		refuse: `{maxInstanceLifetime: 23h59m59s}`, says: "maxInstanceLifetime must be at least 24h",
	},
	{
		rule: "AS22", reason: "0 is no limit", accept: `{maxInstanceLifetime: 0s}`, refuse: `{maxInstanceLifetime: 1s}`,
		says: "maxInstanceLifetime must be at least 24h",
	},
	{
		rule: "SL75", reason: "a level of AWS's",
		accept: `{deletionProtection: prevent-all-deletion}`, refuse: `{deletionProtection: prevent-deletion}`,
		says: `supported values: "none", "prevent-force-deletion", "prevent-all-deletion"`,
	},
	{
		rule: "AS20", reason: "a strategy of AWS's",
		accept: `{availabilityZoneDistribution: balanced-only}`, refuse: `{availabilityZoneDistribution: balanced}`,
		says: `supported values: "balanced-best-effort", "balanced-only", "reservations-then-balanced"`,
	},
	{
		rule: "AS20", reason: "reservations come first where there are any",
		accept: `{availabilityZoneDistribution: reservations-then-balanced, capacityReservation: {preference: capacity-reservations-first, ids: [cr-0123456789abcdef0]}}`,
		refuse: `{availabilityZoneDistribution: reservations-then-balanced, capacityReservation: {preference: capacity-reservations-first}}`,
		says:   "reservations-then-balanced requires Capacity Reservations",
	},
	{
		rule: "SL9", reason: "nothing is validated without a zonal shift",
		accept: `{availabilityZoneImpairmentPolicy: {zonalShiftEnabled: true, impairedZoneHealthCheckBehavior: IgnoreUnhealthy, skipZonalShiftValidation: true}}`,
		refuse: `{availabilityZoneImpairmentPolicy: {zonalShiftEnabled: false, skipZonalShiftValidation: true}}`,
		says:   "skipZonalShiftValidation has no effect without a zonal shift",
	},
	{
		rule: "SL6", reason: "any other role is no service-linked one of Auto Scaling's",
		accept: `{serviceLinkedRoleARN: "arn:aws:iam::123456789012:role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling_keys"}`,
		refuse: `{serviceLinkedRoleARN: "arn:aws:iam::123456789012:role/admin"}`, says: "a service-linked role of Auto Scaling",
	},
	{
		rule: "SL79", reason: "an action of AWS's", accept: `{instanceLifecyclePolicy: {retentionTriggers: {terminateHookAbandon: retain}}}`,
		refuse: `{instanceLifecyclePolicy: {retentionTriggers: {terminateHookAbandon: keep}}}`, says: `supported values: "retain", "terminate"`,
	},
	{
		rule: "SL76", reason: "a unit of AWS's", accept: `{desiredCapacityType: units}`, refuse: `{desiredCapacityType: gpu}`,
		says: `supported values: "units", "vcpu", "memory-mib"`,
	},
	{
		rule: "SL76", reason: "a group of given types counts instances",
		accept: `{desiredCapacityType: vcpu, mixedInstancesPolicy: {overrides: [{instanceRequirements: {vCPUCount: {min: 2}, memoryMiB: {min: 0}}}]}}`,
		refuse: `{desiredCapacityType: vcpu, mixedInstancesPolicy: {overrides: [{instanceType: m5.large}]}}`, says: "Auto Scaling counts vCPUs or memory only if it chooses the instance types",
	},
	{
		rule: "SL76", reason: "weights are a unit of their own",
		refuse: `{desiredCapacityType: memory-mib, mixedInstancesPolicy: {overrides: [{instanceRequirements: {vCPUCount: {min: 2}, memoryMiB: {min: 0}}, weightedCapacity: 2}]}}`,
		accept: `{desiredCapacityType: units, mixedInstancesPolicy: {overrides: [{instanceRequirements: {vCPUCount: {min: 2}, memoryMiB: {min: 0}}, weightedCapacity: 2}]}}`,
		says:   "Auto Scaling counts vCPUs or memory only if it chooses the instance types",
	},
	{
		rule: "SL77", reason: "segments find reservations in resource groups", accept: segmented(`[capacity-block, on-demand]`, "", reservedGroup),
		refuse: segmented(`[capacity-block, on-demand]`, "", `capacityReservation: {preference: capacity-reservations-first}`), says: "distributionSegments selects Capacity Reservations from resource groups",
	},
	{
		rule: "SL77", reason: "AWS drops segments for shares of On-Demand", accept: segmented(`[on-demand]`, "onDemandPercentageAboveBaseCapacity: 100", reservedGroup),
		refuse: segmented(`[on-demand]`, "onDemandPercentageAboveBaseCapacity: 50", reservedGroup), says: "distributionSegments determines the source of all capacity and does not include Spot",
	},
	{
		rule: "SL77", reason: "the types are AWS's", accept: segmented(`[on-demand-capacity-reservation]`, "", reservedGroup),
		refuse: segmented(`[spot]`, "", reservedGroup), says: `supported values: "on-demand-capacity-reservation"`,
	},
	{
		rule: "SL77", reason: "a type has one place", accept: segmented(`[interruptible-capacity-reservation]`, "", reservedGroup),
		refuse: segmented(`[on-demand, on-demand]`, "", reservedGroup), says: "each capacity type must be listed only once, at its most preferred position",
	},
	{
		rule: "SL77", reason: "a segment lists something", accept: segmented(`[on-demand]`, "", reservedGroup), refuse: segmented(`[]`, "", reservedGroup),
		says: "should have at least 1 items",
	},
	{
		rule: "SL77", reason: "AWS takes one segment", accept: segmented(`[on-demand]`, "", reservedGroup),
		refuse: segmented(`[on-demand]}, {targetCapacityTypes: [capacity-block]`, "", reservedGroup), says: "must have at most 1 item",
	},
	{
		rule: "SL78", reason: "AWS takes 50 sources", accept: sources(loadBalancers(50)...), refuse: sources(loadBalancers(51)...),
		says: "must have at most 50 items",
	},
	{
		rule: "SL78", reason: "the ARN fits the type", accept: sources(latticeSource(1)),
		refuse: sources(`{type: elbv2, identifier: "arn:aws:vpc-lattice:us-east-1:123456789012:targetgroup/tg-0123456789abcdef0"}`), says: "type elbv2 requires the ARN of a target group (arn:aws:elasticloadbalancing:<region>:<account>:targetgroup/<name>/<id>)",
	},
	{
		rule: "SL78", reason: "a target group of a load balancer is none of VPC Lattice's",
		accept: sources(`{type: elbv2, identifier: "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/nodes/0123456789abcdef"}`),
		refuse: sources(`{type: vpc-lattice, identifier: "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/nodes/0123456789abcdef"}`),
		says:   "type vpc-lattice requires the ARN of a VPC Lattice target group (arn:aws:vpc-lattice:<region>:<account>:targetgroup/tg-<id>)",
	},
	{
		rule: "SL78", reason: "Classic Load Balancers have names", accept: sources(`{type: elb, identifier: nodes}`),
		refuse: sources(`{type: elb, identifier: "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/nodes"}`), says: "type elb requires the name of a Classic Load Balancer",
	},
	{
		rule: "SL78", reason: "AWS takes five of VPC Lattice", accept: sources(latticeSource(1), latticeSource(2), latticeSource(3), latticeSource(4), latticeSource(5)),
		refuse: sources(latticeSource(1), latticeSource(2), latticeSource(3), latticeSource(4), latticeSource(5), latticeSource(6)), says: "at most 5 VPC Lattice target groups",
	},
	{
		rule: "SL78", reason: "who lists a target group twice would detach it with one of the two",
		accept: `{trafficSources: [{type: elb, identifier: nodes}], targetGroupARNs: ["arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/nodes/0123456789abcdef"]}`,
		refuse: `{trafficSources: [{type: elbv2, identifier: "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/nodes/0123456789abcdef"}],
			targetGroupARNs: ["arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/nodes/0123456789abcdef"]}`,
		says: "trafficSources and targetGroupARNs must not have the same target group",
	},
	{
		rule: "AS21", reason: "at most 100 apart",
		accept: `{instanceMaintenancePolicy: {minHealthyPercentage: 100, maxHealthyPercentage: 200}}`,
		refuse: `{instanceMaintenancePolicy: {minHealthyPercentage: 90, maxHealthyPercentage: 200}}`, says: "maxHealthyPercentage must not exceed minHealthyPercentage by more than 100",
	},
	{
		rule: "AS21", reason: "no negative share", accept: `{instanceMaintenancePolicy: {minHealthyPercentage: 0, maxHealthyPercentage: 100}}`,
		refuse: `{instanceMaintenancePolicy: {minHealthyPercentage: -1, maxHealthyPercentage: 100}}`, says: "should be greater than or equal to 0",
	},
	{
		rule: "AS21", reason: "both or none", accept: `{instanceMaintenancePolicy: {minHealthyPercentage: 0, maxHealthyPercentage: 100}}`,
		refuse: `{instanceMaintenancePolicy: {minHealthyPercentage: 90}}`, says: "maxHealthyPercentage: Required value",
	},
	{
		rule: "CR1", reason: "one place names the reservation",
		accept: `{awsLaunchTemplate: {capacityReservationId: cr-0123456789abcdef0}, capacityReservation: {preference: default}}`,
		refuse: `{awsLaunchTemplate: {capacityReservationId: cr-0123456789abcdef0}, capacityReservation: {preference: none}}`,
		says:   "capacityReservation of the group overrides awsLaunchTemplate.capacityReservationId",
	},
	{
		rule: "CR2", reason: "reservations that are named are to be used",
		accept: `{capacityReservation: {preference: capacity-reservations-first, ids: [cr-0123456789abcdef0]}}`,
		refuse: `{capacityReservation: {preference: none, ids: [cr-0123456789abcdef0]}}`,
		says:   "set preference to capacity-reservations-only or capacity-reservations-first",
	},
	{
		rule: "CR3", reason: "Spot cannot use reservations",
		accept: `{awsLaunchTemplate: {marketType: Spot}, capacityReservation: {preference: none}}`,
		refuse: `{awsLaunchTemplate: {marketType: Spot}, capacityReservation: {preference: capacity-reservations-first}}`,
		says:   "set preference to none or default",
	},
	{
		rule: "SL6", reason: "reservations have ids", accept: `{capacityReservation: {preference: capacity-reservations-only}}`,
		refuse: `{capacityReservation: {preference: capacity-reservations-only, ids: [my-reservation]}}`,
		says:   "must be IDs of Capacity Reservations (cr-...)",
	},
	{
		rule: "SL6", reason: "resource groups have ARNs",
		accept: `{capacityReservation: {preference: capacity-reservations-only, resourceGroupARNs:
			["arn:aws:resource-groups:us-east-1:123456789012:group/cr"]}}`,
		refuse: `{capacityReservation: {preference: capacity-reservations-only, resourceGroupARNs: [cr]}}`,
		says:   "ARNs of resource groups",
	},
	{
		rule: "SL6", reason: "a load balancer's ARN is a common mistake",
		accept: `{targetGroupARNs: ["arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/nodes/0123456789abcdef"]}`,
		refuse: `{targetGroupARNs: ["arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/nodes/0123456789abcdef"]}`,
		says:   "must be ARNs of target groups (arn:aws:elasticloadbalancing:<region>:<account>:targetgroup/<name>/<id>), not of load balancers",
	},
	{
		rule: "SL5", reason: "Auto Scaling knows its policies",
		accept: `{terminationPolicies: ["arn:aws:lambda:us-east-1:123456789012:function:choose:1", OldestLaunchTemplate, Default]}`,
		refuse: `{terminationPolicies: [Oldest]}`, says: "a termination policy must be Default, AllocationStrategy, OldestLaunchTemplate, OldestLaunchConfiguration, ClosestToNextInstanceHour, NewestInstance, OldestInstance, or the ARN of a Lambda function",
	},
	{
		rule: "SL5", reason: "the default policy leaves nothing to decide", accept: `{terminationPolicies: [Default]}`,
		refuse: `{terminationPolicies: [Default, NewestInstance]}`, says: "Default always selects an instance, so policies after it have no effect",
	},
	{
		rule: "SL5", reason: "a function is asked first", accept: `{terminationPolicies: ["arn:aws:lambda:us-east-1:123456789012:function:choose"]}`,
		refuse: `{terminationPolicies: [NewestInstance, "arn:aws:lambda:us-east-1:123456789012:function:choose"]}`,
		says:   "Auto Scaling supports one Lambda function in terminationPolicies, which must be the first item",
	},
	{
		rule: "SL9", reason: "AWS has no default for impaired zones",
		accept: `{availabilityZoneImpairmentPolicy: {zonalShiftEnabled: true, impairedZoneHealthCheckBehavior: IgnoreUnhealthy}}`,
		refuse: `{availabilityZoneImpairmentPolicy: {zonalShiftEnabled: true}}`, says: "zonalShiftEnabled requires impairedZoneHealthCheckBehavior",
	},
	{
		rule: "SL9", reason: "nor does it need one without a shift", accept: `{availabilityZoneImpairmentPolicy: {zonalShiftEnabled: false}}`,
		refuse: `{availabilityZoneImpairmentPolicy: {zonalShiftEnabled: false, impairedZoneHealthCheckBehavior: IgnoreUnhealthy}}`,
		says:   "impairedZoneHealthCheckBehavior has no effect without a zonal shift",
	},
	{
		rule: "WP1", reason: "a warm pool knows no weights",
		accept: `{warmPool: {}, mixedInstancesPolicy: {overrides: [{instanceType: m5.large}]}}`,
		refuse: `{warmPool: {}, mixedInstancesPolicy: {overrides: [{instanceType: m5.large, weightedCapacity: 1}]}}`,
		says:   "a group with a warm pool does not support weights",
	},
	{
		rule: "WP1", reason: "a warm pool knows no requirements", accept: `{warmPool: {}}`,
		refuse: `{warmPool: {}, mixedInstancesPolicy: {overrides: [{instanceRequirements: {vCPUCount: {min: 2}, memoryMiB: {min: 0}}}]}}`,
		says:   "a group with a warm pool does not support instanceRequirements",
	},
	{
		rule: "WP1", reason: "a warm pool knows no Spot",
		accept: `{warmPool: {}, mixedInstancesPolicy: {instancesDistribution: {}}}`,
		refuse: `{warmPool: {}, mixedInstancesPolicy: {instancesDistribution: {onDemandPercentageAboveBaseCapacity: 99}}}`,
		says:   "launches only On-Demand Instances",
	},
	{
		rule: "WP1", reason: "nor by the launch template", accept: `{warmPool: {}, awsLaunchTemplate: {marketType: OnDemand}}`,
		refuse: `{warmPool: {}, awsLaunchTemplate: {marketType: Spot}}`, says: "a group with a warm pool launches neither Spot Instances nor instances in Capacity Blocks",
	},
	{
		rule: "WP1", reason: "nor Capacity Blocks", accept: `{awsLaunchTemplate: {marketType: CapacityBlock, capacityReservationId: cr-0123456789abcdef0}}`,
		refuse: `{warmPool: {}, awsLaunchTemplate: {marketType: CapacityBlock, capacityReservationId: cr-0123456789abcdef0}}`,
		says:   "a group with a warm pool launches neither Spot Instances nor instances in Capacity Blocks",
	},
	{
		rule: "WP2", reason: "no field of awsLaunchTemplate lets instances hibernate", accept: `{awsLaunchTemplate: null, launchConfigTemplateRef: {name: hibernating}, warmPool: {state: Hibernated}}`,
		refuse: `{warmPool: {state: Hibernated}}`, says: "set state to Stopped or Running",
	},
	{
		rule: "WP3", reason: "no negative size", accept: `{warmPool: {minSize: 0}}`, refuse: `{warmPool: {minSize: -1}}`,
		says: "greater than or equal to 0",
	},
	{
		rule: "WP3", reason: "without a size the group's is taken: AWS's -1 is not needed", accept: `{warmPool: {maxGroupPreparedCapacity: 0}}`,
		refuse: `{warmPool: {maxGroupPreparedCapacity: -1}}`, says: "greater than or equal to 0",
	},
	{
		rule: "SL7", reason: "Ignition reads S3, not SSM", accept: `{bootstrapStorage: S3, ignition: {}, awsLaunchTemplate: {iamInstanceProfile: nodes}}`,
		refuse: `{bootstrapStorage: SSM, ignition: {}, awsLaunchTemplate: {iamInstanceProfile: nodes}}`, says: "set bootstrapStorage to S3 or UserData",
	},
	{
		rule: "SL7", reason: "one place for the data, in place",
		accept: `{bootstrapStorage: UserData, ignition: {storageType: UnencryptedUserData}}`,
		refuse: `{bootstrapStorage: UserData, ignition: {}}`, says: "set ignition.storageType to UnencryptedUserData",
	},
	{
		rule: "SL7", reason: "one place for the data, in S3", accept: `{bootstrapStorage: S3, ignition: {storageType: ClusterObjectStore}, awsLaunchTemplate: {iamInstanceProfile: nodes}}`,
		refuse: `{bootstrapStorage: S3, ignition: {storageType: UnencryptedUserData}, awsLaunchTemplate: {iamInstanceProfile: nodes}}`,
		says:   "set ignition.storageType to ClusterObjectStore",
	},
	{
		rule: "SL7", reason: "instances need permission to read a parameter", accept: `{bootstrapStorage: SSM, awsLaunchTemplate: {iamInstanceProfile: nodes}}`,
		refuse: `{bootstrapStorage: SSM}`, says: "set awsLaunchTemplate.iamInstanceProfile",
	},
}

// ignitionCases hold for spec.ignition of an AWSMachinePool and for spec.bootstrap.ignition of an
// AWSLaunchConfig.
var ignitionCases = []ruleCase{
	{
		rule: "SL8", reason: "proxies come with 3.1", accept: `{version: "3.1", proxy: {httpProxy: "http://proxy:3128"}}`,
		refuse: `{version: "3.0", proxy: {}}`, says: "Ignition supports proxies from version 3.1",
	},
	{
		rule: "SL8", reason: "the default version is below; certificates it knows", accept: `{tls: {}}`, refuse: `{proxy: {}}`,
		says: "Ignition supports proxies from version 3.1",
	},
	{
		rule: "SL8", reason: "a proxy has a URL", accept: `{version: "3.4", proxy: {httpProxy: "", httpsProxy: ""}}`,
		refuse: `{version: "3.4", proxy: {httpProxy: "proxy:3128"}}`, says: "httpProxy must be the URL of a proxy",
	},
	{
		rule: "SL8", reason: "for https too", accept: `{version: "3.4", proxy: {httpsProxy: "https://user@proxy.example.com"}}`,
		refuse: `{version: "3.4", proxy: {httpsProxy: "ftp://proxy"}}`, says: "httpsProxy must be the URL of a proxy",
	},
	{
		rule: "SL8", reason: "hosts, domains, addresses, ranges",
		accept: `{version: "3.4", proxy: {noProxy: ["*", .example.com, "example.com:8080", 10.0.0.1, 10.0.0.0/8, "fd00::/8", "[::1]:80"]}}`,
		refuse: `{version: "3.4", proxy: {noProxy: ["http://example.com"]}}`, says: "noProxy must have domain names (.example.com for subdomains only), IP addresses, CIDR ranges such as 10.0.0.0/8, each with an optional port, or *",
	},
	{
		rule: "SL8", reason: "certificates are fetched by what Ignition speaks",
		accept: `{version: "3.4", tls: {certificateAuthorities: ["https://ca/pem", "s3://bucket/pem", "data:;base64,AAAA"]}}`,
		refuse: `{version: "3.4", tls: {certificateAuthorities: ["file:///etc/ca.pem"]}}`, says: "certificateAuthorities must be URLs that begin with https://, http://, tftp://, s3://, arn:, gs://, or data:",
	},
	{
		rule: "SL8", reason: "data in base64", accept: `{version: "3.4", tls: {certificateAuthorities: []}}`,
		refuse: `{version: "3.4", tls: {certificateAuthorities: ["data:,AAAA"]}}`, says: "a data URL in certificateAuthorities must be base64-encoded",
	},
}
