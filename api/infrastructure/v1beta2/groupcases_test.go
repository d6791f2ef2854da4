package v1beta2_test

import (
	"fmt"
	"slices"
	"strings"
)

// machinePoolCases hold for spec of an AWSMachinePool.
var machinePoolCases = slices.Concat(poolCases, sharingCases, mixedCases, refreshCases, hookCases, groupCases)

// mixedCases are about mixedInstancesPolicy.
var mixedCases = []ruleCase{
	{
		rule: "AS11", reason: "40 types in a group", accept: overrides(40), refuse: overrides(41),
		says: "must have at most 40 items",
	},
	{
		rule: "AS11", reason: "4 sets of requirements in a group",
		accept: mixed(repeated(4, `{instanceRequirements: {vCPUCount: {min: 2}, memoryMiB: {min: 0}}}`)),
		refuse: mixed(repeated(5, `{instanceRequirements: {vCPUCount: {min: 2}, memoryMiB: {min: 0}}}`)),
		says:   "at most 4 overrides with instanceRequirements",
	},
	{
		rule: "AS11", reason: "20 launch templates in a group, with the pool's own; one may be named again and again",
		accept: mixed(append(ownTemplates(19, "m"), ownTemplates(19, "c")...)), refuse: mixed(ownTemplates(20, "m")),
		says: "a group supports at most 20 launch templates, including the pool's own",
	},
	{
		rule: "AS12", reason: "an override has a type or requirements, not both",
		accept: mixed([]string{`{instanceRequirements: {vCPUCount: {min: 2, max: 2}, memoryMiB: {min: 1, max: 2}}}`}),
		refuse: mixed([]string{`{instanceType: m5.large, instanceRequirements: {vCPUCount: {min: 2}, memoryMiB: {min: 1}}}`}),
		says:   "exactly one of instanceType and instanceRequirements must be set in an override",
	},
	{
		rule: "AS12", reason: "and has one of them",
		accept: mixed([]string{`{instanceType: m5.large, weightedCapacity: 2}`}), refuse: mixed([]string{`{weightedCapacity: 2}`}),
		says: "exactly one of instanceType and instanceRequirements must be set in an override",
	},
	{
		rule: "AS12", reason: "all overrides have types, or all have requirements",
		accept: mixed([]string{`{instanceType: m5.large}`, `{instanceType: m6i.large}`}),
		refuse: mixed([]string{`{instanceType: m5.large}`, `{instanceRequirements: {vCPUCount: {min: 2}, memoryMiB: {min: 1}}}`}),
		says:   "overrides must use either instanceType or instanceRequirements, the same for all overrides",
	},
	{
		rule: "SL19", reason: "Auto Scaling takes a type once",
		accept: mixed([]string{`{instanceType: m5.large}`, `{instanceType: m5.xlarge}`}),
		refuse: mixed([]string{`{instanceType: m5.large}`, `{instanceType: m5.large, imageID: ami-0123456789abcdef0}`}), says: "every item of overrides must have a unique instanceType",
	},
	{
		rule: "AS13", reason: "weights for all or none",
		accept: mixed([]string{`{instanceType: m5.large, weightedCapacity: 1}`, `{instanceType: m5.xlarge, weightedCapacity: 999}`}),
		refuse: mixed([]string{`{instanceType: m5.large, weightedCapacity: 1}`, `{instanceType: m5.xlarge}`}),
		says:   "weightedCapacity must be set for all overrides or for none",
	},
	{
		rule: "AS13", reason: "weights end at 999",
		accept: mixed([]string{`{instanceType: m5.large, weightedCapacity: 999}`}),
		refuse: mixed([]string{`{instanceType: m5.large, weightedCapacity: 1000}`}), says: "less than or equal to 999",
	},
	{
		rule: "AS14", reason: "requirements have no order for On-Demand, and prioritized is CAPA's default",
		accept: requirements(`{onDemandAllocationStrategy: lowest-price}`), refuse: requirements(`{}`),
		says: "set onDemandAllocationStrategy to lowest-price",
	},
	{
		rule: "AS14", reason: "nor for Spot",
		accept: requirements(`{onDemandAllocationStrategy: lowest-price, spotAllocationStrategy: price-capacity-optimized}`),
		refuse: requirements(`{onDemandAllocationStrategy: lowest-price, spotAllocationStrategy: capacity-optimized-prioritized}`),
		says:   "set spotAllocationStrategy to price-capacity-optimized",
	},
	{
		rule: "AS15", reason: "pools are lowest-price's",
		accept: distribution(`{spotInstancePools: 20, spotAllocationStrategy: lowest-price}`),
		refuse: distribution(`{spotInstancePools: 2, spotAllocationStrategy: capacity-optimized}`),
		says:   "spotInstancePools is only valid for spotAllocationStrategy lowest-price",
	},
	{
		rule: "AS15", reason: "20 pools at most", accept: distribution(`{spotInstancePools: 1}`),
		refuse: distribution(`{spotInstancePools: 21}`), says: "less than or equal to 20",
	},
	{
		rule: "AS16", reason: "a percentage", accept: distribution(`{onDemandPercentageAboveBaseCapacity: 100}`),
		refuse: distribution(`{onDemandPercentageAboveBaseCapacity: 101}`), says: "less than or equal to 100",
	},
	{
		rule: "AS16", reason: "no negative base", accept: distribution(`{onDemandBaseCapacity: 0}`),
		refuse: distribution(`{onDemandBaseCapacity: -1}`), says: "greater than or equal to 0",
	},
	{
		rule: "AS16", reason: "EC2 refuses 0.001 and below", accept: distribution(`{spotMaxPrice: "0.0011"}`),
		refuse: distribution(`{spotMaxPrice: "0.001"}`), says: "spotMaxPrice must be a decimal number greater than 0.001 (USD per hour), such as 0.05; omit it to use the On-Demand price",
	},
	{
		rule: "AS16", reason: "a price is a number", accept: distribution(`{spotMaxPrice: ""}`),
		refuse: distribution(`{spotMaxPrice: 5 cents}`), says: "spotMaxPrice must be a decimal number greater than 0.001 (USD per hour), such as 0.05; omit it to use the On-Demand price",
	},
	{
		rule: "IM1", reason: "the image of an override is an ID: AWS does not resolve a parameter there",
		accept: mixed([]string{`{instanceType: m5.large, imageID: ami-0123456789abcdef0}`, `{instanceType: c5.large, imageID: ""}`}),
		refuse: mixed([]string{`{instanceType: m5.large, imageID: "resolve:ssm:/golden/image"}`}), says: "only valid in awsLaunchTemplate.ami",
	},
	{
		rule: "LT4", reason: "a launch template is named by id",
		accept: mixed([]string{`{instanceType: m5.large, launchTemplate: {id: lt-0123456789abcdef0, version: 1}}`}),
		refuse: mixed([]string{`{instanceType: m5.large, launchTemplate: {id: my-template, version: 1}}`}), says: "must be the ID of a launch template (lt-...)",
	},
	{
		rule: "LT6", reason: "and by a number: versions begin at 1",
		accept: mixed([]string{`{instanceType: m5.large, launchTemplate: {id: lt-0123456789abcdef0, version: 1}}`}),
		refuse: mixed([]string{`{instanceType: m5.large, launchTemplate: {id: lt-0123456789abcdef0, version: 0}}`}), says: "greater than or equal to 1",
	},
	{
		rule: "IT2", reason: "the least is not above the most", accept: having(`{vCPUCount: {min: 2, max: 2}}`),
		refuse: having(`{vCPUCount: {min: 3, max: 2}}`), says: "min must be less than or equal to max",
	},
	{
		rule: "IT2", reason: "AWS wants a lower bound of memory, if only 0", accept: having(`{memoryMiB: {min: 0}}`),
		refuse: having(`{memoryMiB: {min: null}}`), says: "min: Required value",
	},
	{
		rule: "IT2", reason: "ranges without a required end too", accept: having(`{networkInterfaceCount: {max: 2}}`),
		refuse: having(`{networkInterfaceCount: {min: 3, max: 2}}`), says: "min must be less than or equal to max",
	},
	{
		rule: "IT2", reason: "decimal ranges too, as numbers and as strings",
		accept: having(`{memoryGiBPerVCPU: {min: "0.5", max: 10}, totalLocalStorageGB: {min: 9, max: "10"}}`),
		refuse: having(`{memoryGiBPerVCPU: {min: 10, max: "9.5"}}`), says: "min must be less than or equal to max",
	},
	{
		rule: "IT2", reason: "no negative bandwidth", accept: having(`{networkBandwidthGbps: {min: 0}}`),
		refuse: having(`{networkBandwidthGbps: {min: -1}}`), says: "must not be negative",
	},
	{
		rule: "IT3", reason: "a list of what is taken leaves nothing to exclude",
		accept: having(`{allowedInstanceTypes: ["m5.*", "*3*", m6i.large]}`),
		refuse: having(`{allowedInstanceTypes: ["m5.*"], excludedInstanceTypes: [m5.metal]}`), says: "allowedInstanceTypes and excludedInstanceTypes are mutually exclusive",
	},
	{
		rule: "IT3", reason: "types have letters, digits, dots and dashes", accept: having(`{allowedInstanceTypes: [u-6tb1.metal]}`),
		refuse: having(`{allowedInstanceTypes: [m5_large]}`), says: "allowedInstanceTypes must be instance types, or patterns with *, such as m5.* or *3*",
	},
	{
		rule: "IT3", reason: "those that are excluded too", accept: having(`{excludedInstanceTypes: ["*.metal"]}`),
		refuse: having(`{excludedInstanceTypes: ["m5 large"]}`), says: "excludedInstanceTypes must be instance types, or patterns with *, such as m5.* or *3*",
	},
	{
		rule: "IT4", reason: "one bound of the Spot price",
		accept: having(`{spotMaxPricePercentageOverLowestPrice: 100}`),
		refuse: having(`{spotMaxPricePercentageOverLowestPrice: 100, maxSpotPriceAsPercentageOfOptimalOnDemandPrice: 50}`),
		says:   "spotMaxPricePercentageOverLowestPrice and maxSpotPriceAsPercentageOfOptimalOnDemandPrice are mutually exclusive",
	},
	{
		rule: "IT5", reason: "AWS compares with one family",
		accept: having(`{baselinePerformanceFactors: {cpu: {references: [{instanceFamily: c6i}]}}}`),
		refuse: having(`{baselinePerformanceFactors: {cpu: {references: [{instanceFamily: c6i}, {instanceFamily: m5}]}}}`), says: "must have at most 1 item",
	},
	{
		rule: "IT5", reason: "a family is no type", accept: having(`{baselinePerformanceFactors: {cpu: {references: [{instanceFamily: mac2-m2}]}}}`),
		refuse: having(`{baselinePerformanceFactors: {cpu: {references: [{instanceFamily: c6i.large}]}}}`), says: "instanceFamily must be the part of an instance type before the period, such as c6i for c6i.large",
	},
}

func overrides(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("{instanceType: m%d.large}", i))
	}
	return mixed(all)
}

func mixed(overrides []string) string {
	return "{mixedInstancesPolicy: {overrides: [" + strings.Join(overrides, ", ") + "]}}"
}

func repeated(n int, override string) []string {
	return slices.Repeat([]string{override}, n)
}

// ownTemplates returns overrides of a family of instance types, with n launch templates.
func ownTemplates(n int, family string) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("{instanceType: %s%d.large, launchTemplate: {id: lt-%017x, version: 1}}", family, i, i))
	}
	return all
}

func distribution(of string) string {
	return "{mixedInstancesPolicy: {instancesDistribution: " + of + "}}"
}

func requirements(distribution string) string {
	return fmt.Sprintf(`{mixedInstancesPolicy: {instancesDistribution: %s,
		overrides: [{instanceRequirements: {vCPUCount: {min: 2}, memoryMiB: {min: 4096}}}]}}`, distribution)
}

// having returns requirements with those given in place of sound ones.
func having(given string) string {
	complete := map[string]string{"vCPUCount": "{min: 2}", "memoryMiB": "{min: 4096}"}
	fields := []string{strings.TrimSuffix(strings.TrimPrefix(given, "{"), "}")}
	for _, name := range []string{"vCPUCount", "memoryMiB"} {
		if !strings.HasPrefix(fields[0], name+":") {
			fields = append(fields, name+": "+complete[name])
		}
	}
	return mixed([]string{"{instanceRequirements: {" + strings.Join(fields, ", ") + "}}"})
}

// refreshCases are about refreshPreferences.
var refreshCases = []ruleCase{
	{
		rule: "RF1", reason: "AWS wants both", accept: `{refreshPreferences: {minHealthyPercentage: 90}}`,
		refuse: `{refreshPreferences: {maxHealthyPercentage: 110}}`, says: "maxHealthyPercentage requires minHealthyPercentage",
	},
	{
		rule: "RF1", reason: "at most 100 apart",
		accept: `{refreshPreferences: {minHealthyPercentage: 100, maxHealthyPercentage: 200}}`,
		refuse: `{refreshPreferences: {minHealthyPercentage: 99, maxHealthyPercentage: 200}}`,
		says:   "maxHealthyPercentage must not exceed minHealthyPercentage by more than 100",
	},
	{
		rule: "RF1", reason: "ranges", accept: `{refreshPreferences: {minHealthyPercentage: 0, maxHealthyPercentage: 100}}`,
		refuse: `{refreshPreferences: {minHealthyPercentage: 101}}`, says: "less than or equal to 100",
	},
	{
		rule: "RF1", reason: "AWS doubles a group at most", accept: `{refreshPreferences: {minHealthyPercentage: 100, maxHealthyPercentage: 200}}`,
		refuse: `{refreshPreferences: {minHealthyPercentage: 100, maxHealthyPercentage: 201}}`, says: "should be less than or equal to 200",
	},
	{
		rule: "RF2", reason: "checkpoints ascend", accept: `{refreshPreferences: {checkpointPercentages: [1, 50, 100]}}`,
		refuse: `{refreshPreferences: {checkpointPercentages: [50, 20, 100]}}`, says: "checkpointPercentages must be unique and in ascending order, such as 20, 50, 100",
	},
	{
		rule: "RF2", reason: "and are given once", accept: `{refreshPreferences: {checkpointPercentages: []}}`,
		refuse: `{refreshPreferences: {checkpointPercentages: [50, 50, 100]}}`, says: "checkpointPercentages must be unique and in ascending order, such as 20, 50, 100",
	},
	{
		rule: "RF2", reason: "and are percentages", accept: `{refreshPreferences: {checkpointPercentages: [100]}}`,
		refuse: `{refreshPreferences: {checkpointPercentages: [0, 101]}}`, says: "less than or equal to 100",
	},
	{
		rule: "RF3", reason: "no wait without checkpoints",
		accept: `{refreshPreferences: {checkpointPercentages: [50, 100], checkpointDelay: 48h}}`,
		refuse: `{refreshPreferences: {checkpointPercentages: [], checkpointDelay: 1h}}`, says: "checkpointDelay has no effect without checkpoints",
	},
	{
		rule: "RF3", reason: "48 hours at most", accept: `{refreshPreferences: {checkpointPercentages: [100], checkpointDelay: 0s}}`,
		refuse: `{refreshPreferences: {checkpointPercentages: [100], checkpointDelay: 48h1s}}`, says: "checkpointDelay must be between 0s and 48h, in whole seconds, such as 30m",
	},
	{
		rule: "SL4", reason: "AWS takes whole seconds", accept: `{refreshPreferences: {bakeTime: 10m30s}}`,
		refuse: `{refreshPreferences: {bakeTime: 1500ms}}`, says: "bakeTime must be between 0s and 48h, in whole seconds, such as 10m",
	},
	{
		rule: "RF4", reason: "AWS fails a refresh that skips where it cannot compare",
		accept: `{refreshPreferences: {skipMatching: false, rollback: true}, mixedInstancesPolicy: {overrides:
			[{instanceRequirements: {vCPUCount: {min: 2}, memoryMiB: {min: 0}}}]}}`,
		refuse: `{refreshPreferences: {skipMatching: true}, mixedInstancesPolicy: {overrides:
			[{instanceRequirements: {vCPUCount: {min: 2}, memoryMiB: {min: 0}}}]}}`,
		says: "AWS cannot skip matching instances if overrides have instanceRequirements, and fails the refresh",
	},
	{
		rule: "RF7", reason: "10 alarms", accept: alarms(10), refuse: alarms(11), says: "must have at most 10 items",
	},
	{
		rule: "RF8", reason: "there are two strategies", accept: `{refreshPreferences: {strategy: Rolling}}`, refuse: `{refreshPreferences: {strategy: Sideways}}`,
		says: "strategy must be Rolling or ReplaceRootVolume",
	},
	{
		rule: "RF8", reason: "root volumes need an image for every override", accept: rootVolumes(`imageID: ami-0123456789abcdef0`, ``), refuse: rootVolumes(`weightedCapacity: 1`, ``),
		says: "ReplaceRootVolume requires that every item of mixedInstancesPolicy.overrides has an imageID and an instanceType that is not bare metal",
	},
	{
		rule: "RF8", reason: "and no load balancer", accept: rootVolumes(`imageID: ami-0123456789abcdef0`, `, targetGroupARNs: []`),
		refuse: rootVolumes(`imageID: ami-0123456789abcdef0`, `, targetGroupARNs: ["arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/0123456789abcdef"]`),
		says:   "without a warm pool and without load balancers",
	},
}

// rootVolumes returns a pool that prefers new root volumes, with members of its override and of the pool.
func rootVolumes(override, member string) string {
	return "{refreshPreferences: {strategy: ReplaceRootVolume}, mixedInstancesPolicy: {overrides: [{instanceType: m5.large, " + override + "}]}" + member + "}"
}

func alarms(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("alarm-%d", i))
	}
	return "{refreshPreferences: {alarms: [" + strings.Join(all, ", ") + "]}}"
}

// hookCases are about lifecycleHooks and nodeDrain.
var hookCases = []ruleCase{
	{
		rule: "HK1", reason: "Auto Scaling's alphabet for names", accept: hook(`name: team/a_b-1`), refuse: hook(`name: "a b"`),
		says: "a lifecycle hook name must contain only letters, digits, and - _ /",
	},
	{
		rule: "HK1", reason: "the controller has hooks of its own", accept: hook(`name: my-slipway-hook`),
		refuse: hook(`name: slipway-drain`), says: "choose another name",
	},
	{
		rule: "HK1", reason: "50 hooks in a group, with the controller's", accept: hooks(49), refuse: hooks(50),
		says: "must have at most 49 items",
	},
	{
		rule: "HK2", reason: "heartbeats begin at 30 seconds", accept: hook(`name: a, heartbeatTimeout: 30s`),
		refuse: hook(`name: a, heartbeatTimeout: 29s`), says: "heartbeatTimeout must be between 30s and 2h, in whole seconds; a program that holds instances longer must send heartbeats",
	},
	{
		rule: "HK2", reason: "and end at two hours", accept: hook(`name: a, heartbeatTimeout: 2h0m0s`),
		refuse: hook(`name: a, heartbeatTimeout: 2h1s`), says: "heartbeatTimeout must be between 30s and 2h, in whole seconds; a program that holds instances longer must send heartbeats",
	},
	{
		rule: "HK3", reason: "a target needs a role",
		accept: hook(`name: a, notificationTargetARN: "arn:aws:sqs:us-east-1:123456789012:q.fifo", roleARN: "arn:aws:iam::123456789012:role/x/y"`),
		refuse: hook(`name: a, notificationTargetARN: "arn:aws:sqs:us-east-1:123456789012:q"`), says: "notificationTargetARN requires roleARN",
	},
	{
		rule: "HK3", reason: "a role needs a target", accept: hook(`name: a, roleARN: "", notificationTargetARN: ""`),
		refuse: hook(`name: a, roleARN: "arn:aws:iam::123456789012:role/x"`), says: "roleARN has no effect without notificationTargetARN",
	},
	{
		rule: "HK3", reason: "a target is a queue or a topic",
		accept: hook(`name: a, notificationTargetARN: "arn:aws-cn:sns:cn-north-1:123456789012:t", roleARN: "arn:aws-cn:iam::123456789012:role/x"`),
		refuse: hook(`name: a, notificationTargetARN: "arn:aws:lambda:us-east-1:123456789012:function:f", roleARN: "arn:aws:iam::123456789012:role/x"`),
		says:   "SQS queue or an SNS topic",
	},
	{
		rule: "HK3", reason: "a role is a role",
		accept: hook(`name: a, notificationTargetARN: "arn:aws:sns:us-east-1:123456789012:t", roleARN: "arn:aws:iam::123456789012:role/x"`),
		refuse: hook(`name: a, notificationTargetARN: "arn:aws:sns:us-east-1:123456789012:t", roleARN: "arn:aws:iam::123456789012:user/x"`),
		says:   "ARN of an IAM role",
	},
	{
		rule: "HK3", reason: "AWS's pattern for metadata", accept: hook(`name: a, notificationMetadata: "{\"a\":\t1}\n"`),
		refuse: hook(`name: a, notificationMetadata: "größe"`), says: "printable ASCII characters",
	},
	{
		rule: "HK3", reason: "AWS's limit for metadata", accept: hook(`name: a, notificationMetadata: "` + strings.Repeat("a", 4000) + `"`),
		refuse: hook(`name: a, notificationMetadata: "` + strings.Repeat("a", 4001) + `"`), says: "may not be more than 4000 bytes",
	},
	{
		rule: "SL4", reason: "Auto Scaling holds an instance for 48 hours", accept: `{nodeDrain: {timeout: 48h}}`,
		refuse: `{nodeDrain: {timeout: 49h}}`, says: "timeout must be between 1m and 48h, in whole seconds, such as 15m",
	},
	{
		rule: "SL4", reason: "a node that gets no time is not drained", accept: `{nodeDrain: {disable: true}}`,
		refuse: `{nodeDrain: {timeout: 0s}}`, says: "timeout must be between 1m and 48h, in whole seconds, such as 15m",
	},
}

func hook(of string) string {
	return `{lifecycleHooks: [{lifecycleTransition: "autoscaling:EC2_INSTANCE_TERMINATING", ` + of + `}]}`
}

func hooks(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{name: hook-%d, lifecycleTransition: "autoscaling:EC2_INSTANCE_LAUNCHING"}`, i))
	}
	return "{lifecycleHooks: [" + strings.Join(all, ", ") + "]}"
}

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
