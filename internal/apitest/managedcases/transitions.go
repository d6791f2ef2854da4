package managedcases

// Transition is a change of the spec of Base from one patch to another, with a status in between.
// Says is the refusal; empty if the change is allowed.
type Transition struct{ Rule, Reason, Status, From, To, Says string }

// Transitions hold what of a node group EKS cannot change, with the way out in the message, and
// what may change.
var Transitions = []Transition{
	{
		Rule: "EK20", Reason: "EKS gives no launch template to a group that has none",
		From: `{}`, To: `{awsLaunchTemplate: {}}`, Says: "EKS can neither add a launch template to a node group nor remove it",
	},
	{
		Rule: "EK20", Reason: "nor does it take one away", From: `{awsLaunchTemplate: {}}`, To: `{awsLaunchTemplate: null}`,
		Says: "EKS can neither add a launch template to a node group nor remove it",
	},
	{
		Rule: "EK20", Reason: "the launch template stays, whatever says what is in it",
		From: `{awsLaunchTemplate: {instanceType: m5.large}}`, To: `{launchConfigTemplateRef: {name: a}}`,
	},
	{
		Rule: "EK20", Reason: "a template gives a launch template too",
		From: `{}`, To: `{launchConfigTemplateRef: {name: a}}`, Says: "EKS can neither add a launch template to a node group nor remove it",
	},
	{
		Rule: "EK20", Reason: "the id of the template is fixed", From: `{launchConfigRef: {name: a}}`, To: `{launchConfigRef: {name: b}}`,
		Says: "EKS cannot change a node group to another launch template",
	},
	{
		Rule: "EK20", Reason: "what is in the template changes", From: `{awsLaunchTemplate: {instanceType: m5.large}}`,
		To: `{awsLaunchTemplate: {instanceType: m6i.large, rootVolume: {size: 50}}}`,
	},
	{
		Rule: "EK21", Reason: "no image of one's own for a group with EKS's",
		From: `{awsLaunchTemplate: {}}`, To: `{awsLaunchTemplate: {ami: {id: ami-0123456789abcdef0}}}`, Says: "EKS cannot switch a node group between your own image and an image that EKS chooses",
	},
	{
		Rule: "EK21", Reason: "nor the other way", From: `{amiType: CUSTOM, awsLaunchTemplate: {}}`, To: `{amiType: AL2_x86_64, awsLaunchTemplate: {}}`,
		Says: "EKS cannot switch a node group between your own image and an image that EKS chooses",
	},
	{
		Rule: "EK21", Reason: "another image of one's own, by another way", From: `{awsLaunchTemplate: {ami: {id: ami-0123456789abcdef0}}}`,
		To: `{awsLaunchTemplate: {ami: {id: null, eksLookupType: AmazonLinux2023}}}`,
	},
	{
		Rule: "EK22", Reason: "saying what the default left open", From: `{awsLaunchTemplate: {ami: {id: ami-0123456789abcdef0}}}`,
		To: `{amiType: CUSTOM, awsLaunchTemplate: {ami: {id: ami-0123456789abcdef0}}}`,
	},
	{
		Rule: "EK22", Reason: "EKS keeps the family", From: `{amiType: AL2_x86_64}`, To: `{amiType: AL2023_x86_64_STANDARD}`,
		Says: "EKS cannot change the amiType of a node group",
	},
	{
		Rule: "EK22", Reason: "the release of the family changes", From: `{amiVersion: 1.33.0-1}`, To: `{amiVersion: 1.33.0-2}`,
	},
	{Rule: "EK22", Reason: "subnets", From: `{subnetIDs: [a]}`, To: `{subnetIDs: [a, b]}`, Says: "EKS cannot change the subnetIDs of a node group"},
	{Rule: "EK22", Reason: "zones", From: `{}`, To: `{availabilityZones: [a]}`, Says: "EKS cannot change the availabilityZones of a node group"},
	{
		Rule: "EK22", Reason: "kinds of subnets", From: `{availabilityZoneSubnetType: public}`, To: `{availabilityZoneSubnetType: null}`,
		Says: "EKS cannot change the availabilityZoneSubnetType of a node group",
	},
	{Rule: "EK22", Reason: "disk", From: `{diskSize: 20}`, To: `{diskSize: 30}`, Says: "EKS cannot change the diskSize of a node group"},
	{
		Rule: "EK22", Reason: "type, which CAPA takes and never applies", From: `{instanceType: a}`, To: `{instanceType: b}`,
		Says: "EKS cannot change the instanceType of a node group",
	},
	{Rule: "EK22", Reason: "types", From: `{instanceTypes: [a, b]}`, To: `{instanceTypes: [b, a]}`, Says: "EKS cannot change the instanceTypes of a node group"},
	{Rule: "EK22", Reason: "how they are bought", From: `{}`, To: `{capacityType: spot}`, Says: "EKS cannot change the capacityType of a node group"},
	{
		Rule: "EK22", Reason: "remote access", From: `{remoteAccess: {public: true}}`, To: `{remoteAccess: {public: null}}`, Says: "EKS cannot change the remoteAccess of a node group",
	},
	{Rule: "EK22", Reason: "remote access at all", From: `{}`, To: `{remoteAccess: {}}`, Says: "EKS cannot change the remoteAccess of a node group"},
	{Rule: "EK22", Reason: "the path of a role", From: `{}`, To: `{rolePath: /a/}`, Says: "IAM cannot change the path of a role"},
	{
		Rule: "EK22", Reason: "the name of the group", From: `{eksNodegroupName: a}`, To: `{eksNodegroupName: b}`, Says: "EKS cannot rename a node group",
	},
	{
		Rule: "EK22", Reason: "a name of its own is not taken away", From: `{eksNodegroupName: a}`, To: `{}`, Says: "EKS cannot rename a node group",
	},
	{
		Rule: "EK22", Reason: "the name that CAPA's webhook wrote may go", From: `{eksNodegroupName: default_pool}`, To: `{}`,
	},
	{
		Rule: "EK22", Reason: "the hashed name that CAPA's webhook wrote may go", From: `{eksNodegroupName: capa_fzu5lemasu8b6vfyfi2qv2sgu5t}`, To: `{}`,
	},
	{
		Rule: "EK22", Reason: "no default has an underscore in its namespace", From: `{eksNodegroupName: my_own_pool}`, To: `{}`,
		Says: "EKS cannot rename a node group",
	},
	{
		Rule: "EK22", Reason: "nor one that only begins as a hashed name does", From: `{eksNodegroupName: capa_nodes}`, To: `{}`,
		Says: "EKS cannot rename a node group",
	},
	{Rule: "EK22", Reason: "no group yet", From: `{}`, To: `{eksNodegroupName: b}`},
	{
		Rule: "EK22", Reason: "the name that it has may be written down", Status: `{nodegroup: {name: default_pool}}`,
		From: `{}`, To: `{eksNodegroupName: default_pool}`,
	},
	{
		Rule: "EK22", Reason: "another may not", Status: `{nodegroup: {name: default_pool}}`, From: `{}`, To: `{eksNodegroupName: other}`,
		Says: "EKS cannot rename a node group",
	},
	{Rule: "EK22", Reason: "the role", From: `{roleName: a}`, To: `{roleName: b}`, Says: "EKS cannot change the role"},
	{Rule: "EK22", Reason: "no role yet", From: `{}`, To: `{roleName: b}`},
	{
		Rule: "EK22", Reason: "the role that it has may be written down", Status: `{nodeRole: {name: b}}`, From: `{}`, To: `{roleName: b}`,
	},
	{
		Rule: "EK22", Reason: "another role may not", Status: `{nodeRole: {name: a}}`, From: `{}`, To: `{roleName: b}`, Says: "EKS cannot change the role",
	},
	{
		Rule: "EK22", Reason: "all else may change", From: `{labels: {a: b}, scaling: {minSize: 1, maxSize: 2}, updateConfig: {maxUnavailable: 1}}`,
		To: `{labels: {a: c}, taints: [{key: a, value: b, effect: no-schedule}], scaling: {minSize: 0, maxSize: 9},
			updateConfig: {maxUnavailable: null, maxUnavailablePercentage: 5, force: true}, nodeRepairConfig: {enabled: true}, warmPool: {},
			additionalTags: {a: b}, rolePermissionsBoundary: "arn:aws:iam::aws:policy/x", roleAdditionalPolicies: ["arn:aws:iam::aws:policy/y"]}`,
	},
	{
		Rule: "LT2", Reason: "EC2 cannot rename", From: `{awsLaunchTemplate: {name: first}}`, To: `{awsLaunchTemplate: {name: second}}`,
		Says: "cannot rename",
	},
}
