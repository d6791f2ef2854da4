package v1beta2_test

import (
	"fmt"
	"strings"
)

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
