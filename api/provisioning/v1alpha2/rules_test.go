package v1alpha2_test

// ruleCase is one rule with a neighbor on either side of it: what it must let through, and what it
// must refuse with a message that says what to do. Both are merge patches for an object that is
// accepted as it is.
type ruleCase struct {
	rule   string
	reason string
	accept string
	refuse string
	says   string
	// onUpdate is for rules that compare with what was before.
	onUpdate bool
}

var ruleCases = []ruleCase{
	{
		rule: "PV1", reason: "a version is of a template",
		accept: `spec: {labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: "3"}}`,
		refuse: `spec: {labels: {node.k8s.aws/launch-template-version: "3"}}`, says: "add node.k8s.aws/launch-template-name",
	},
	{
		rule: "PV1", reason: "in the old spelling too",
		accept: `spec: {labels: {kubernetes.amazonaws.com/launchTemplateId: lt-0123456789abcdef0, kubernetes.amazonaws.com/launchTemplateVersion: "3"}}`,
		refuse: `spec: {labels: {kubernetes.amazonaws.com/launchTemplateVersion: "3"}}`, says: "add node.k8s.aws/launch-template-name",
	},
	{
		rule: "PV1", reason: "a reference has a version of its own",
		accept: `spec: {launchTemplateRef: {name: "team/web", version: "3"}}`,
		refuse: `spec: {launchTemplateRef: {name: "team/web"}, labels: {node.k8s.aws/launch-template-version: "3"}}`, says: "or remove the version",
	},
	{
		rule: "PV2", reason: "S4: the template has an architecture",
		accept: `spec: {architecture: arm64, labels: {node.k8s.aws/capacity-type: spot}}`,
		refuse: `spec: {architecture: arm64, labels: {node.k8s.aws/launch-template-name: web}}`, says: "remove architecture, or the label",
	},
	{
		rule: "PV2", reason: "named by its id too",
		accept: `spec: {labels: {kubernetes.amazonaws.com/launchTemplateId: lt-01234567}}`,
		refuse: `spec: {architecture: x86_64, labels: {kubernetes.amazonaws.com/launchTemplateId: lt-01234567}}`, says: "remove architecture, or the label",
	},
	{
		rule: "PV2", reason: "and by reference",
		accept: `spec: {launchConfigRef: {namespace: default, name: web}}`,
		refuse: `spec: {architecture: amd64, launchConfigRef: {namespace: default, name: web}}`, says: "remove architecture, or the reference",
	},
	{
		rule: "PV3", reason: "nodes carry the name",
		accept: `spec: {labels: {node.k8s.aws/launch-template-name: a-b_c.D9}}`,
		refuse: `spec: {labels: {node.k8s.aws/launch-template-name: "team/web"}}`, says: "node.k8s.aws/launch-template-name must be a valid label value of at most 63 letters, digits, and - _ . For other names, use spec.launchTemplateRef",
	},
	{
		rule: "PV3", reason: "63 characters at most",
		accept: `spec: {labels: {node.k8s.aws/launch-template-name: a23456789b123456789c123456789d123456789e123456789f123456789g123}}`,
		refuse: `spec: {labels: {node.k8s.aws/launch-template-name: a23456789b123456789c123456789d123456789e123456789f123456789g1234}}`,
		says:   "63",
	},
	{
		rule: "PV4", reason: "EC2's names are no shorter", accept: `spec: {labels: {node.k8s.aws/launch-template-name: web}}`,
		refuse: `spec: {labels: {node.k8s.aws/launch-template-name: we}}`, says: "at least 3 characters",
	},
	{
		rule: "PV5", reason: "the names that no label can have are referred to", accept: `spec: {launchTemplateRef: {name: "team/web(old)", id: null}}`,
		refuse: `spec: {launchTemplateRef: {name: "team*web"}}`, says: "a launch template name must have 3 to 128 characters",
	},
	{
		rule: "PV6", reason: "the document's $LATEST", accept: `spec: {labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: $LATEST}}`,
		refuse: `spec: {labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: $Latest}}`, says: "write latest for $Latest",
	},
	{
		rule: "PV6", reason: "the vocabulary", accept: `spec: {labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: default}}`,
		refuse: `spec: {labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: newest}}`, says: "a version must be a number, latest, or default (write latest for $Latest, default for $Default)",
	},
	{
		rule: "PV6", reason: "in a reference", accept: `spec: {launchTemplateRef: {id: lt-01234567, version: latest}}`,
		refuse: `spec: {launchTemplateRef: {id: lt-01234567, version: $Default}}`, says: "default for $Default",
	},
	{
		rule: "PV7", reason: "no zeros before a number", accept: `spec: {labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: "10"}}`,
		refuse: `spec: {labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: "01"}}`, says: "a version number must be positive, without leading zeros, and have at most 18 digits",
	},
	{
		rule: "PV7", reason: "a number has an end", accept: `spec: {launchTemplateRef: {id: lt-01234567, version: "999999999999999999"}}`,
		refuse: `spec: {launchTemplateRef: {id: lt-01234567, version: "9999999999999999999"}}`, says: "at most 18 digits",
	},
	{
		rule: "PV8", reason: "two ways to buy", accept: `spec: {labels: {node.k8s.aws/capacity-type: on-demand}}`,
		refuse: `spec: {labels: {node.k8s.aws/capacity-type: reserved}}`, says: "spot or on-demand",
	},
	{
		rule: "PV8", reason: "in the old spelling too", accept: `spec: {labels: {kubernetes.amazonaws.com/capacityType: spot}}`,
		refuse: `spec: {labels: {kubernetes.amazonaws.com/capacityType: Spot}}`, says: "spot or on-demand",
	},
	{
		rule: "PV9", reason: "old and new say the same",
		accept: `spec: {labels: {node.k8s.aws/capacity-type: spot, kubernetes.amazonaws.com/capacityType: spot}}`,
		refuse: `spec: {labels: {node.k8s.aws/capacity-type: spot, kubernetes.amazonaws.com/capacityType: on-demand}}`, says: "kubernetes.amazonaws.com/capacityType is deprecated and conflicts with node.k8s.aws/capacity-type",
	},
	{
		rule: "PV9", reason: "versions too",
		accept: `spec: {labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: "3", kubernetes.amazonaws.com/launchTemplateVersion: "3"}}`,
		refuse: `spec: {labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: "3", kubernetes.amazonaws.com/launchTemplateVersion: "4"}}`,
		says:   "kubernetes.amazonaws.com/launchTemplateVersion is deprecated and conflicts with node.k8s.aws/launch-template-version",
	},
	{
		rule: "PV10", reason: "one template", accept: `spec: {labels: {node.k8s.aws/launch-template-name: web}}`,
		refuse: `spec: {labels: {node.k8s.aws/launch-template-name: web, kubernetes.amazonaws.com/launchTemplateId: lt-01234567}}`, says: "remove kubernetes.amazonaws.com/launchTemplateId",
	},
	{
		rule: "PV20", reason: "a node's name is its own", accept: `spec: {labels: {example.com/hostname: a}}`,
		refuse: `spec: {labels: {kubernetes.io/hostname: a}}`, says: "remove the label",
	},
	{
		rule: "PV20", reason: "the label of the provisioner's name is put by it", accept: `spec: {labels: {example.com/name: a}}`,
		refuse: `spec: {labels: {provisioning.karpenter.sh/name: other}}`, says: "remove the label",
	},
	{
		rule: "PV20", reason: "Karpenter's labels would have it take the nodes for its own", accept: `spec: {labels: {mykarpenter.sh/nodepool: a}}`,
		refuse: `spec: {labels: {karpenter.sh/nodepool: a}}`, says: "remove the label",
	},
	{
		rule: "PV20", reason: "whose a node is", accept: `spec: {labels: {example.com/one: owned}}`,
		refuse: `spec: {labels: {kubernetes.io/cluster/one: owned}}`, says: "cluster",
	},
	{
		rule: "SP1", reason: "a template by one way", accept: `spec: {launchTemplateRef: {id: lt-01234567}}`,
		refuse: `spec: {launchTemplateRef: {id: lt-01234567}, labels: {node.k8s.aws/launch-template-name: web}}`, says: "only one launch template may be specified",
	},
	{
		rule: "SP1", reason: "by one reference", accept: `spec: {launchConfigRef: {namespace: default, name: web}}`,
		refuse: `spec: {launchTemplateRef: {id: lt-01234567}, launchConfigRef: {namespace: default, name: web}}`, says: "only one launch template may be specified",
	},
	{
		rule: "SP1", reason: "by id or by name", accept: `spec: {launchTemplateRef: {name: web}}`,
		refuse: `spec: {launchTemplateRef: {name: web, id: lt-01234567}}`, says: "exactly one of id and name must be set",
	},
	{
		rule: "SP1", reason: "a reference to nothing", accept: `spec: {launchTemplateRef: {id: lt-01234567}}`,
		refuse: `spec: {launchTemplateRef: {version: "1"}}`, says: "exactly one of id and name must be set",
	},
	{rule: "SP2", reason: "zones have names", accept: `spec: {zones: [us-gov-west-1a]}`, refuse: `spec: {zones: [us_east]}`, says: "names of zones"},
	{rule: "SP2", reason: "types have names", accept: `spec: {instanceTypes: [c7i-flex.large]}`, refuse: `spec: {instanceTypes: [large]}`, says: "names of instance types"},
	{
		rule: "SP3", reason: "both, or neither", accept: `spec: {cluster: {endpoint: "https://a.example.com:6443", caBundle: YQ==}}`,
		refuse: `spec: {cluster: {endpoint: "https://a.example.com:6443"}}`, says: "endpoint and caBundle must be set together, because a node needs both to join",
	},
	{
		rule: "SP3", reason: "an endpoint is reached by https", accept: `spec: {cluster: {endpoint: "https://10.0.0.1:6443", caBundle: YQ==}}`,
		refuse: `spec: {cluster: {endpoint: "a.example.com", caBundle: YQ==}}`, says: "must be an endpoint such as https://example.com:6443",
	},
	{
		rule: "SP3", reason: "base64, as in a kubeconfig", accept: `spec: {cluster: {endpoint: "https://10.0.0.1", caBundle: YWE=}}`,
		refuse: `spec: {cluster: {endpoint: "https://10.0.0.1", caBundle: "-----BEGIN CERTIFICATE-----"}}`, says: "must be PEM certificates, base64-encoded in one line",
	},
	{rule: "SP4", reason: "labels have keys", accept: `spec: {labels: {example.com/a_b: c}}`, refuse: `spec: {labels: {"a b": c}}`, says: "a key must be a name of at most 63 letters, digits, and - _ . optionally with a domain and / before it"},
	{rule: "SP4", reason: "labels have values", accept: `spec: {labels: {a: ""}}`, refuse: `spec: {labels: {a: "b c"}}`, says: "a value must have at most 63 letters, digits, and - _ . and must begin and end with a letter or digit"},
	{
		rule: "SP4", reason: "taints have keys", accept: `spec: {taints: [{key: example.com/a, effect: NoExecute}]}`,
		refuse: `spec: {taints: [{key: "a/b/c", effect: NoExecute}]}`, says: "a key must be a name of at most 63 letters, digits, and - _ . optionally with a domain and / before it",
	},
	{
		rule: "SP4", reason: "taints have values", accept: `spec: {taints: [{key: a, value: b, effect: PreferNoSchedule}]}`,
		refuse: `spec: {taints: [{key: a, value: "-b", effect: PreferNoSchedule}]}`, says: "a value must have at most 63 letters, digits, and - _ . and must begin and end with a letter or digit",
	},
	{
		rule: "SP5", reason: "unknown labels of ours would do nothing", accept: `spec: {labels: {k8s.aws/launch-template: web}}`,
		refuse: `spec: {labels: {node.k8s.aws/launch-template: web}}`, says: "the only supported labels of node.k8s.aws/ are launch-template-name, launch-template-version, and capacity-type",
	},
	{
		rule: "SP5", reason: "nor would unknown old ones", accept: `spec: {labels: {amazonaws.com/amiFamily: a}}`,
		refuse: `spec: {labels: {kubernetes.amazonaws.com/amiFamily: a}}`, says: "use node.k8s.aws/",
	},
	{
		rule: "SP5", reason: "an id is no name", accept: `spec: {labels: {kubernetes.amazonaws.com/launchTemplateId: lt-01234567}}`,
		refuse: `spec: {labels: {kubernetes.amazonaws.com/launchTemplateId: web}}`, says: "kubernetes.amazonaws.com/launchTemplateId must be an ID (lt-...)",
	},
	{
		rule: "SP5", reason: "in a reference either", accept: `spec: {launchTemplateRef: {id: lt-0123456789abcdef0}}`,
		refuse: `spec: {launchTemplateRef: {id: web}}`, says: "must be the ID of a launch template (lt-...)",
	},
	{
		rule: "SP6", reason: "S5: one field for the architecture", accept: `spec: {architecture: arm64}`,
		refuse: `spec: {labels: {kubernetes.io/arch: arm64}}`, says: "use spec.architecture instead of the label kubernetes.io/arch",
	},
	{
		rule: "SP6", reason: "one field for zones", accept: `spec: {zones: [us-east-1a]}`,
		refuse: `spec: {labels: {topology.kubernetes.io/zone: us-east-1a}}`, says: "use spec.zones or spec.instanceTypes instead of the label",
	},
	{
		rule: "SP6", reason: "the region is that of the cluster", accept: `spec: {labels: {region: a}}`,
		refuse: `spec: {labels: {topology.kubernetes.io/region: us-east-1}}`, says: "remove the label",
	},
	{
		rule: "SP7", reason: "a taint once", accept: `spec: {taints: [{key: a, effect: NoExecute}, {key: a, effect: NoSchedule}]}`,
		refuse: `spec: {taints: [{key: a, effect: NoExecute}, {key: a, value: b, effect: NoExecute}]}`, says: "every taint must have a unique combination of key and effect",
	},
	{
		rule: "SP7", reason: "a startup taint once", accept: `spec: {startupTaints: [{key: a, effect: NoExecute}, {key: a, effect: NoSchedule}]}`,
		refuse: `spec: {startupTaints: [{key: a, effect: NoExecute}, {key: a, value: b, effect: NoExecute}]}`, says: "every taint must have a unique combination of key and effect",
	},
	{
		rule: "SP7", reason: "no agent removes a taint that stays", accept: `spec: {taints: [{key: a, effect: NoExecute}], startupTaints: [{key: a, effect: NoSchedule}]}`,
		refuse: `spec: {taints: [{key: a, effect: NoExecute}], startupTaints: [{key: a, value: b, effect: NoExecute}]}`, says: "a taint must not be in both taints and startupTaints",
	},
	{rule: "SP8", reason: "limits are amounts", accept: `spec: {limits: {cpu: 0, memory: 10Gi, nodes: 0}}`, refuse: `spec: {limits: {cpu: -1}}`, says: "cpu must not be negative"},
	{rule: "SP8", reason: "of memory too", accept: `spec: {limits: {cpu: 1500m}}`, refuse: `spec: {limits: {memory: "-1Gi"}}`, says: "memory must not be negative"},
	{
		rule: "SP9", reason: "nodes carry the provisioner's name", accept: `metadata: {name: a23456789b123456789c123456789d123456789e123456789f123456789g123}`,
		refuse: `metadata: {name: a23456789b123456789c123456789d123456789e123456789f123456789g1234}`, says: "at most 63 characters",
	},
	{
		rule: "SP10", reason: "a number of nodes", accept: `spec: {drift: {maxReplacing: 1}}`,
		refuse: `spec: {drift: {maxReplacing: 0}}`, says: "at least 1",
	},
	{
		rule: "SP10", reason: "or a percentage", accept: `spec: {drift: {maxReplacing: "100%"}}`,
		refuse: `spec: {drift: {maxReplacing: "101%"}}`, says: "a percentage such as 10%",
	},
	{
		rule: "SP10", reason: "a number is no text", accept: `spec: {drift: {maxReplacing: "1%"}}`,
		refuse: `spec: {drift: {maxReplacing: "1"}}`, says: "a percentage such as 10%",
	},
	{
		rule: "SP11", reason: "one cluster for life", accept: `spec: {cluster: {name: one, endpoint: "https://a.example.com", caBundle: YQ==}}`,
		refuse: `spec: {cluster: {name: two}}`, says: "cluster.name is immutable, because nodes and default launch templates have the cluster's name", onUpdate: true,
	},
	{
		rule: "SP12", reason: "something is allowed", accept: `spec: {allowedLaunchTemplates: {prefixes: [team-]}}`,
		refuse: `spec: {allowedLaunchTemplates: {instanceProfiles: [nodes]}}`, says: "at least one of names, prefixes, and tags must be set, or pods can use no launch template",
	},
	{
		rule: "SP12", reason: "tags are tags", accept: `spec: {allowedLaunchTemplates: {tags: {team: ""}}}`,
		refuse: `spec: {allowedLaunchTemplates: {tags: {"": web}}}`, says: "a key of 1 to 128 characters",
	},
	{
		rule: "PV19", reason: "a provisioner has one launch template", accept: `spec: {requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [m5, c7i-flex]}]}`,
		refuse: `spec: {requirements: [{key: node.k8s.aws/launch-template-name, operator: In, values: [web, other]}]}`, says: "Unsupported value",
	},
	{
		rule: "SP6", reason: "what the instance is has requirements", accept: `spec: {labels: {example.com/instance-family: m5}}`,
		refuse: `spec: {labels: {karpenter.k8s.aws/instance-family: m5}}`, says: "labels of karpenter.k8s.aws/ describe the instance",
	},
	{
		rule: "SP20", reason: "In takes values", accept: `spec: {requirements: [{key: karpenter.k8s.aws/instance-size, operator: NotIn, values: [nano]}]}`,
		refuse: `spec: {requirements: [{key: karpenter.k8s.aws/instance-size, operator: In}]}`, says: "values must not be empty for the operators In and NotIn",
	},
	{
		rule: "SP20", reason: "Exists takes none", accept: `spec: {requirements: [{key: karpenter.k8s.aws/instance-local-nvme, operator: Exists}]}`,
		refuse: `spec: {requirements: [{key: karpenter.k8s.aws/instance-local-nvme, operator: DoesNotExist, values: ["100"]}]}`, says: "values must be empty for the operators Exists and DoesNotExist",
	},
	{
		rule: "SP20", reason: "Gt takes a number", accept: `spec: {requirements: [{key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ["0"]}]}`,
		refuse: `spec: {requirements: [{key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: [many]}]}`, says: "values must be a single non-negative integer for the operators Gt and Lt",
	},
	{
		rule: "SP20", reason: "one number", accept: `spec: {requirements: [{key: karpenter.k8s.aws/instance-memory, operator: Lt, values: ["131073"]}]}`,
		refuse: `spec: {requirements: [{key: karpenter.k8s.aws/instance-memory, operator: Lt, values: ["1", "2"]}]}`, says: "values must be a single non-negative integer for the operators Gt and Lt",
	},
	{
		rule: "SP20", reason: "numbers are compared, names are not", accept: `spec: {requirements: [{key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}]}`,
		refuse: `spec: {requirements: [{key: karpenter.k8s.aws/instance-family, operator: Gt, values: ["4"]}]}`, says: "use In or NotIn",
	},
	{
		rule: "SP21", reason: "capacity types", accept: `spec: {requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}]}`,
		refuse: `spec: {requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [reserved]}]}`, says: "spot or on-demand",
	},
	{
		rule: "SP21", reason: "architectures as nodes have them", accept: `spec: {requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}]}`,
		refuse: `spec: {requirements: [{key: kubernetes.io/arch, operator: In, values: [x86_64]}]}`, says: "amd64 or arm64",
	},
	{
		rule: "SP21", reason: "nodes run Linux", accept: `spec: {requirements: [{key: kubernetes.io/os, operator: In, values: [linux]}]}`,
		refuse: `spec: {requirements: [{key: kubernetes.io/os, operator: In, values: [windows]}]}`, says: "all nodes run Linux",
	},
	{
		rule: "SP22", reason: "what the type says is not declared", accept: `spec: {extraResources: {hugepages-2Mi: 1Gi, vpc.amazonaws.com/efa: 1, smarter-devices/fuse: "20"}}`,
		refuse: `spec: {extraResources: {memory: 1Gi}}`, says: "must be huge pages of a size, such as hugepages-2Mi, or a resource with a domain, such as vpc.amazonaws.com/efa",
	},
	{
		rule: "SP22", reason: "devices have names of their own", accept: `spec: {extraResources: {example.com/fpga: 2}}`,
		refuse: `spec: {extraResources: {node.kubernetes.io/fpga: 2}}`, says: "resources of kubernetes.io/ are not device resources",
	},
	{
		rule: "SP22", reason: "less than one device is none", accept: `spec: {extraResources: {example.com/fpga: 1}}`,
		refuse: `spec: {extraResources: {example.com/fpga: 500m}}`, says: "an amount must be at least 1",
	},
	{
		rule: "SP22", reason: "none of something is not declared", accept: `spec: {extraResources: {example.com/fpga: "1"}}`,
		refuse: `spec: {extraResources: {example.com/fpga: 0}}`, says: "an amount must be at least 1",
	},
	{
		rule: "SP30", reason: "a budget of no nodes forbids", accept: `spec: {disruption: {budgets: [{nodes: 0}]}}`,
		refuse: `spec: {disruption: {budgets: [{nodes: -1}]}}`, says: "a number such as 2",
	},
	{
		rule: "SP30", reason: "a number may be text, as in Karpenter", accept: `spec: {disruption: {budgets: [{nodes: "0"}, {nodes: 100%}]}}`,
		refuse: `spec: {disruption: {budgets: [{nodes: 101%}]}}`, says: "a percentage such as 10%",
	},
	{
		rule: "SP30", reason: "a window has a length", accept: `spec: {disruption: {budgets: [{nodes: 0, schedule: "0 9 * * mon-fri", duration: 8h, reasons: [Expired, Drifted]}]}}`,
		refuse: `spec: {disruption: {budgets: [{nodes: 0, schedule: "@daily"}]}}`, says: "set schedule and duration together",
	},
	{
		rule: "SP30", reason: "and a beginning", accept: `spec: {disruption: {budgets: [{nodes: 0, schedule: "@daily", duration: 30m}]}}`,
		refuse: `spec: {disruption: {budgets: [{nodes: 0, duration: 1h}]}}`, says: "set schedule and duration together",
	},
	{
		rule: "SP31", reason: "five fields", accept: `spec: {disruption: {budgets: [{nodes: 1, schedule: "*/15,7 0-6/2 ? JAN,12 *", duration: 5m}]}}`,
		refuse: `spec: {disruption: {budgets: [{nodes: 1, schedule: "0 9 * *", duration: 5m}]}}`, says: "a schedule must have five cron fields, such as 0 9 * * mon-fri, or be one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, and @annually",
	},
	{
		rule: "SP31", reason: "no intervals, which begin nowhere", accept: `spec: {disruption: {budgets: [{nodes: 1, schedule: "@weekly", duration: 5m}]}}`,
		refuse: `spec: {disruption: {budgets: [{nodes: 1, schedule: "@every 1h", duration: 5m}]}}`, says: "a schedule must have five cron fields, such as 0 9 * * mon-fri, or be one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, and @annually",
	},
	{
		rule: "SP31", reason: "all times are UTC", accept: `spec: {disruption: {budgets: [{nodes: 1, schedule: "59 23 31 12 6", duration: 5m}]}}`,
		refuse: `spec: {disruption: {budgets: [{nodes: 1, schedule: "TZ=Europe/Berlin 0 9 * * *", duration: 5m}]}}`, says: "a schedule must have five cron fields, such as 0 9 * * mon-fri, or be one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, and @annually",
	},
	{
		rule: "SP31", reason: "minutes", accept: `spec: {disruption: {budgets: [{nodes: 1, schedule: "00-59/10 * * * *", duration: 5m}]}}`,
		refuse: `spec: {disruption: {budgets: [{nodes: 1, schedule: "60 * * * *", duration: 5m}]}}`, says: "the minute: 0 to 59",
	},
	{
		rule: "SP31", reason: "hours", accept: `spec: {disruption: {budgets: [{nodes: 1, schedule: "0 23 * * *", duration: 5m}]}}`,
		refuse: `spec: {disruption: {budgets: [{nodes: 1, schedule: "0 24 * * *", duration: 5m}]}}`, says: "the hour: 0 to 23",
	},
	{
		rule: "SP31", reason: "days of the month", accept: `spec: {disruption: {budgets: [{nodes: 1, schedule: "0 0 01,31 * *", duration: 5m}]}}`,
		refuse: `spec: {disruption: {budgets: [{nodes: 1, schedule: "0 0 32 * *", duration: 5m}]}}`, says: "1 to 31",
	},
	{
		rule: "SP31", reason: "months", accept: `spec: {disruption: {budgets: [{nodes: 1, schedule: "0 0 1 feb-Apr *", duration: 5m}]}}`,
		refuse: `spec: {disruption: {budgets: [{nodes: 1, schedule: "0 0 1 13 *", duration: 5m}]}}`, says: "jan to dec",
	},
	{
		rule: "SP31", reason: "days of the week", accept: `spec: {disruption: {budgets: [{nodes: 1, schedule: "0 0 * * 0,sat", duration: 5m}]}}`,
		refuse: `spec: {disruption: {budgets: [{nodes: 1, schedule: "0 0 * * 7", duration: 5m}]}}`, says: "sun to sat",
	},
	{
		rule: "SP32", reason: "a window has a length", accept: `spec: {disruption: {budgets: [{nodes: 1, schedule: "@daily", duration: 1h30m0s}]}}`,
		refuse: `spec: {disruption: {budgets: [{nodes: 1, schedule: "@daily", duration: 0h}]}}`, says: "such as 8h or 1h30m",
	},
	{
		rule: "SP32", reason: "a drain has an end", accept: `spec: {terminationGracePeriod: 48h}`,
		refuse: `spec: {terminationGracePeriod: 2d}`, says: "such as 48h, 1h30m, or 300s",
	},
}
