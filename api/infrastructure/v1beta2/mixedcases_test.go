package v1beta2_test

import (
	"fmt"
	"slices"
	"strings"
)

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
