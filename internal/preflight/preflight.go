// Package preflight checks what docs/how-to/installation.md requires before the manager runs: the
// management cluster, Cluster API, Cluster API Provider AWS (CAPA), Slipway's own definitions and
// webhook, and the AWS account. Observe reads the cluster and the account. Decide is a pure function
// from what was observed to findings. The package changes nothing.
package preflight

import (
	"time"

	"github.com/slipway-project/slipway/internal/permissions/simulator"
)

// Result is the outcome of a check.
type Result string

// The results of checks, from good to bad, and of a check that was not done.
const (
	OK      Result = "ok"
	Warning Result = "warning"
	Failed  Result = "failed"
	Skipped Result = "skipped"
)

// The names of the checks.
const (
	KubernetesVersion  = "kubernetes-version"
	ClusterAPI         = "cluster-api"
	CAPAControllers    = "capa-controllers"
	CAPAWebhooks       = "capa-webhooks"
	SlipwayCRDs        = "slipway-crds"
	WebhookCertificate = "webhook-certificate"
	AWSCredentials     = "aws-credentials"
	IAMPermissions     = "iam-permissions"
	AutoScalingQuota   = "auto-scaling-quota"
)

// Finding is the outcome of one check.
type Finding struct {
	// Name is the name of the check.
	Name   string `json:"name"`
	Result Result `json:"result"`
	// Message describes what was found.
	Message string `json:"message"`
	// Nodes describes what a problem means for nodes, and Remedy what to do. Both are empty without a
	// problem.
	Nodes  string `json:"nodes,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}

// Report holds the findings of all checks, and the worst result among them.
type Report struct {
	Result   Result    `json:"result"`
	Findings []Finding `json:"findings"`
}

// Failures returns the number of failed checks.
func (r Report) Failures() int {
	count := 0
	for _, finding := range r.Findings {
		if finding.Result == Failed {
			count++
		}
	}
	return count
}

// Observed holds everything that findings are decided from.
type Observed struct {
	Now time.Time
	// Namespace is the namespace of the manager.
	Namespace string
	Cluster   Cluster
	Account   Account
}

// Unread describes why something could not be read.
type Unread struct {
	// Denied is true if the user lacks a permission.
	Denied bool
	Text   string
	// Err is the error of the API server, nil for parts of an account.
	Err error
}

// Cluster holds what was read from the management cluster. A part that could not be read has its
// reason next to it.
type Cluster struct {
	// Unreachable is set if the API server did not answer. Then nothing else is.
	Unreachable *Unread
	// Version is the version that the API server reports, such as v1.36.3.
	Version       string
	VersionUnread *Unread
	// Definitions are the custom resource definitions that exist, by name.
	Definitions       map[string]Definition
	DefinitionsUnread *Unread
	// CAPA and ClusterAPI are the Deployments of these providers, and Manager is Slipway's in the
	// namespace, nil if there is none.
	CAPA, ClusterAPI  []Deployment
	Manager           *Deployment
	DeploymentsUnread *Unread
	// Elsewhere are the Deployments of Slipway in other namespaces, as NAMESPACE/NAME.
	Elsewhere []string
	// CAPAHooks are the webhooks of CAPA for kinds of pools, as CONFIGURATION/WEBHOOK.
	CAPAHooks []string
	// Hooks are the webhooks of Slipway.
	Hooks       []Hook
	HooksUnread *Unread
	// Certificates are the serving certificates of the managers in the namespace, one for each Secret.
	Certificates []Certificate
}

// Definition holds what matters of a custom resource definition.
type Definition struct {
	Served  []string
	Storage string
	// Fields are the fields of spec in the stored version.
	Fields []string
	// Lacking are the fields that this program has and the definition lacks, of Slipway's definitions.
	Lacking []string
}

// Deployment holds what matters of a Deployment.
type Deployment struct {
	Namespace, Name string
	Replicas        int32
	// Args are the commands and arguments of its containers.
	Args []string
	// Secrets are the names of Secrets by the directory where they are mounted.
	Secrets map[string]string
}

// Hook holds what matters of a webhook.
type Hook struct {
	Configuration, Name string
	// Namespace is the namespace of the Service that is called, empty for a URL.
	Namespace string
	// Host is the name that the API server verifies the certificate for.
	Host string
	// Ignored is true if requests succeed while the webhook cannot be called.
	Ignored  bool
	CABundle []byte
}

// Certificate holds the public part of the Secret with a serving certificate.
type Certificate struct {
	// Secret is NAMESPACE/NAME.
	Secret  string
	Missing bool
	PEM     []byte
	Unread  *Unread
}

// Account holds what was read from AWS.
type Account struct {
	Region string
	// Caller is the ARN that the credentials belong to.
	Caller string
	// Unreachable is set if AWS did not accept the credentials, or if there are none. Then nothing else is.
	Unreachable   *Unread
	NoCredentials bool
	Permissions   Permissions
	Quota         Quota
}

// Permissions holds what IAM simulated.
type Permissions struct {
	// Principal is the ARN of the user or role whose policies were simulated, empty if there is none.
	Principal string
	// Command is the command that prints the policies.
	Command string
	// Requests is the number of simulated requests, and Denied are the denied ones.
	Requests int
	Denied   []simulator.Denial
	// Missing is true if the principal does not exist.
	Missing bool
	// Foreign is the account of the principal if the credentials belong to another one, which IAM does not
	// let simulate.
	Foreign string
	Unread  *Unread
}

// Quota holds the number of Auto Scaling groups of a region, and how many there may be.
type Quota struct {
	Groups, MaxGroups int32
	Unread            *Unread
}
