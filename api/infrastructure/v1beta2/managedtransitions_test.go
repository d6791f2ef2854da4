package v1beta2_test

// managedTransitionCases hold what of a node group EKS can not change, with the way out in the message, and what may change.
var managedTransitionCases = managedTransitions(
	transitionCase{
		rule: "EK20", reason: "EKS gives no launch template to a group that has none",
		from: `{}`, to: `{awsLaunchTemplate: {}}`, says: "put awsLaunchTemplate back as it was, or make a new pool",
	},
	transitionCase{
		rule: "EK20", reason: "nor does it take one away", from: `{awsLaunchTemplate: {}}`, to: `{awsLaunchTemplate: null}`,
		says: "put awsLaunchTemplate back as it was, or make a new pool",
	},
	transitionCase{
		rule: "EK20", reason: "the id of the template is fixed", from: `{launchConfigRef: {name: a}}`, to: `{launchConfigRef: {name: b}}`,
		says: "put launchConfigRef back, or make a new pool",
	},
	transitionCase{
		rule: "EK20", reason: "what is in the template changes", from: `{awsLaunchTemplate: {instanceType: m5.large}}`,
		to: `{awsLaunchTemplate: {instanceType: m6i.large, rootVolume: {size: 50}}}`,
	},
	transitionCase{
		rule: "EK21", reason: "no image of one's own for a group with EKS's",
		from: `{awsLaunchTemplate: {}}`, to: `{awsLaunchTemplate: {ami: {id: ami-0123456789abcdef0}}}`, says: "make a new pool",
	},
	transitionCase{
		rule: "EK21", reason: "nor the other way", from: `{amiType: CUSTOM, awsLaunchTemplate: {}}`, to: `{amiType: AL2_x86_64, awsLaunchTemplate: {}}`,
		says: "an image of your own and one that EKS chooses",
	},
	transitionCase{
		rule: "EK21", reason: "another image of one's own, by another way", from: `{awsLaunchTemplate: {ami: {id: ami-0123456789abcdef0}}}`,
		to: `{awsLaunchTemplate: {ami: {id: null, eksLookupType: AmazonLinux2023}}}`,
	},
	transitionCase{
		rule: "EK22", reason: "saying what the default left open", from: `{awsLaunchTemplate: {ami: {id: ami-0123456789abcdef0}}}`,
		to: `{amiType: CUSTOM, awsLaunchTemplate: {ami: {id: ami-0123456789abcdef0}}}`,
	},
	transitionCase{
		rule: "EK22", reason: "EKS keeps the family", from: `{amiType: AL2_x86_64}`, to: `{amiType: AL2023_x86_64_STANDARD}`,
		says: "put amiType back, or make a new pool",
	},
	transitionCase{
		rule: "EK22", reason: "the release of the family changes", from: `{amiVersion: 1.33.0-1}`, to: `{amiVersion: 1.33.0-2}`,
	},
	transitionCase{rule: "EK22", reason: "subnets", from: `{subnetIDs: [a]}`, to: `{subnetIDs: [a, b]}`, says: "put subnetIDs back"},
	transitionCase{rule: "EK22", reason: "zones", from: `{}`, to: `{availabilityZones: [a]}`, says: "put availabilityZones back"},
	transitionCase{
		rule: "EK22", reason: "kinds of subnets", from: `{availabilityZoneSubnetType: public}`, to: `{availabilityZoneSubnetType: null}`,
		says: "put availabilityZoneSubnetType back",
	},
	transitionCase{rule: "EK22", reason: "disk", from: `{diskSize: 20}`, to: `{diskSize: 30}`, says: "put diskSize back, or make a new pool"},
	transitionCase{
		rule: "EK22", reason: "type, which CAPA takes and never applies", from: `{instanceType: a}`, to: `{instanceType: b}`,
		says: "put instanceType back, or make a new pool",
	},
	transitionCase{rule: "EK22", reason: "types", from: `{instanceTypes: [a, b]}`, to: `{instanceTypes: [b, a]}`, says: "put instanceTypes back"},
	transitionCase{rule: "EK22", reason: "how they are bought", from: `{}`, to: `{capacityType: spot}`, says: "put capacityType back"},
	transitionCase{
		rule: "EK22", reason: "remote access", from: `{remoteAccess: {public: true}}`, to: `{remoteAccess: {public: null}}`, says: "put remoteAccess back",
	},
	transitionCase{rule: "EK22", reason: "remote access at all", from: `{}`, to: `{remoteAccess: {}}`, says: "put remoteAccess back"},
	transitionCase{rule: "EK22", reason: "the path of a role", from: `{}`, to: `{rolePath: /a/}`, says: "IAM can not move a role"},
	transitionCase{
		rule: "EK22", reason: "the name of the group", from: `{eksNodegroupName: a}`, to: `{eksNodegroupName: b}`, says: "EKS can not rename a node group",
	},
	transitionCase{
		rule: "EK22", reason: "a name of its own is not taken away", from: `{eksNodegroupName: a}`, to: `{}`, says: "EKS can not rename a node group",
	},
	transitionCase{
		rule: "EK22", reason: "the name that CAPA's webhook wrote may go", from: `{eksNodegroupName: default_pool}`, to: `{}`,
	},
	transitionCase{rule: "EK22", reason: "no group yet", from: `{}`, to: `{eksNodegroupName: b}`},
	transitionCase{
		rule: "EK22", reason: "the name that it has may be written down", status: `{nodegroup: {name: default_pool}}`,
		from: `{}`, to: `{eksNodegroupName: default_pool}`,
	},
	transitionCase{
		rule: "EK22", reason: "another may not", status: `{nodegroup: {name: default_pool}}`, from: `{}`, to: `{eksNodegroupName: other}`,
		says: "EKS can not rename a node group",
	},
	transitionCase{rule: "EK22", reason: "the role", from: `{roleName: a}`, to: `{roleName: b}`, says: "EKS can not change the role"},
	transitionCase{rule: "EK22", reason: "no role yet", from: `{}`, to: `{roleName: b}`},
	transitionCase{
		rule: "EK22", reason: "the role that it has may be written down", status: `{nodeRole: {name: b}}`, from: `{}`, to: `{roleName: b}`,
	},
	transitionCase{
		rule: "EK22", reason: "another role may not", status: `{nodeRole: {name: a}}`, from: `{}`, to: `{roleName: b}`, says: "EKS can not change the role",
	},
	transitionCase{
		rule: "EK22", reason: "all else may change", from: `{labels: {a: b}, scaling: {minSize: 1, maxSize: 2}, updateConfig: {maxUnavailable: 1}}`,
		to: `{labels: {a: c}, taints: [{key: a, value: b, effect: no-schedule}], scaling: {minSize: 0, maxSize: 9},
			updateConfig: {maxUnavailable: null, maxUnavailablePercentage: 5, force: true}, nodeRepairConfig: {enabled: true}, warmPool: {},
			additionalTags: {a: b}, rolePermissionsBoundary: "arn:aws:iam::aws:policy/x", roleAdditionalPolicies: ["arn:aws:iam::aws:policy/y"]}`,
	},
	transitionCase{
		rule: "LT2", reason: "EC2 can not rename", from: `{awsLaunchTemplate: {name: first}}`, to: `{awsLaunchTemplate: {name: second}}`,
		says: "can not rename",
	},
)

func managedTransitions(cases ...transitionCase) []transitionCase {
	for i := range cases {
		cases[i].kind = "AWSManagedMachinePool"
	}
	return cases
}
