package preflight

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/version"
)

// check is one check. Checks of the cluster depend on its API server, the others on AWS.
type check struct {
	name    string
	cluster bool
	// first is true for the check that reports a cluster or account that cannot be reached.
	first  bool
	decide func(Observed) Finding
}

// checks are all checks, in the order in which they are shown.
var checks = []check{
	{name: KubernetesVersion, cluster: true, first: true, decide: decideKubernetesVersion},
	{name: ClusterAPI, cluster: true, decide: decideClusterAPI},
	{name: CAPAControllers, cluster: true, decide: decideCAPAControllers},
	{name: CAPAWebhooks, cluster: true, decide: decideCAPAWebhooks},
	{name: SlipwayCRDs, cluster: true, decide: decideSlipwayCRDs},
	{name: WebhookCertificate, cluster: true, decide: decideWebhookCertificate},
	{name: AWSCredentials, first: true, decide: decideCredentials},
	{name: IAMPermissions, decide: decidePermissions},
	{name: AutoScalingQuota, decide: decideQuota},
}

// Names returns the names of all checks.
func Names() []string {
	names := make([]string, len(checks))
	for i, check := range checks {
		names[i] = check.name
	}
	return names
}

// NeedsCluster reports whether a check that is not skipped reads the management cluster.
func NeedsCluster(skip []string) bool { return needs(skip, true) }

// NeedsAccount reports whether a check that is not skipped calls AWS.
func NeedsAccount(skip []string) bool { return needs(skip, false) }

func needs(skip []string, cluster bool) bool {
	return slices.ContainsFunc(checks, func(check check) bool { return check.cluster == cluster && !slices.Contains(skip, check.name) })
}

// severity orders the results of checks.
var severity = []Result{Skipped, OK, Warning, Failed}

// Decide returns the findings of all checks but the skipped ones.
func Decide(observed Observed, skip []string) Report {
	report := Report{Result: OK, Findings: []Finding{}}
	for _, check := range checks {
		finding := check.finding(observed, skip)
		finding.Name = check.name
		if slices.Index(severity, finding.Result) > slices.Index(severity, report.Result) {
			report.Result = finding.Result
		}
		report.Findings = append(report.Findings, finding)
	}
	return report
}

func (c check) finding(observed Observed, skip []string) Finding {
	unreachable, server := observed.Account.Unreachable, "AWS did not accept the credentials"
	if observed.Account.NoCredentials {
		server = "there are no AWS credentials"
	}
	if c.cluster {
		unreachable = observed.Cluster.Unreachable
		server = "the API server " + unreachable.refusal()
	}
	switch {
	case slices.Contains(skip, c.name):
		return skipped("Skipped by --skip.")
	case unreachable != nil && !c.first:
		return skipped("Not checked because %s.", server)
	default:
		return c.decide(observed)
	}
}

func ok(format string, args ...any) Finding {
	return Finding{Result: OK, Message: fmt.Sprintf(format, args...)}
}

func skipped(format string, args ...any) Finding {
	return Finding{Result: Skipped, Message: fmt.Sprintf(format, args...)}
}

// unread returns the finding of a check that lacks an observation: a warning if the user who runs the
// check lacks a permission, because the cluster may be fine. The text of the reason comes from a server.
func unread(what string, why *Unread) Finding {
	finding := Finding{
		Result: Failed, Message: fmt.Sprintf("%s could not be read: %.1000s", what, why.Text),
		Nodes: "It is not known whether Slipway can run. Nodes are not affected by this check.", Remedy: "Correct the error, and run the check again.",
	}
	if why.Denied {
		finding.Result = Warning
		finding.Remedy = "Run the check as a user who may read them, or skip it with --skip."
	}
	return finding
}

// list joins names, and shortens a long list.
func list(names []string) string {
	const most = 20
	if len(names) > most {
		return fmt.Sprintf("%s, and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// refusal describes what an API server did that cannot be reached.
func (u *Unread) refusal() string {
	if u != nil && apierrors.IsUnauthorized(u.Err) {
		return "did not accept the credentials"
	}
	return "did not answer"
}

func decideKubernetesVersion(o Observed) Finding {
	if why := o.Cluster.VersionUnread; why != nil {
		return unread("The version of the API server", why)
	}
	if why := o.Cluster.Unreachable; why != nil {
		return Finding{
			Result: Failed, Message: fmt.Sprintf("The API server of the management cluster %s: %s", why.refusal(), why.Text),
			Nodes:  "Slipway cannot be installed or checked. Existing nodes keep running.",
			Remedy: "Correct the kubeconfig, its context, or your access to the API server, with --kubeconfig and --context.",
		}
	}
	found, err := version.ParseGeneric(o.Cluster.Version)
	if err != nil {
		return Finding{
			Result: Warning, Message: fmt.Sprintf("The API server reports the version %.80q, which is not a version of Kubernetes.", o.Cluster.Version),
			Nodes: "It is not known whether Slipway can run there.", Remedy: "Compare the cluster's version with the compatibility page.",
		}
	}
	supported := fmt.Sprintf("Slipway supports Kubernetes %s to %s in management clusters.", MinimumKubernetes, TestedKubernetes)
	switch minor := version.MajorMinor(found.Major(), found.Minor()); {
	case minor.LessThan(version.MustParseGeneric(MinimumKubernetes)):
		return Finding{
			Result: Failed, Message: fmt.Sprintf("The management cluster runs Kubernetes %s. %s", found, supported),
			Nodes:  "The chart refuses to install, and Slipway was not tested on this version. Existing nodes keep running.",
			Remedy: fmt.Sprintf("Upgrade the management cluster to Kubernetes %s or later.", MinimumKubernetes),
		}
	case version.MustParseGeneric(TestedKubernetes).LessThan(minor):
		return Finding{
			Result: Warning, Message: fmt.Sprintf("The management cluster runs Kubernetes %s. %s", found, supported),
			Nodes:  "Slipway was not tested on this version. Existing nodes keep running.",
			Remedy: "Check whether a newer release of Slipway supports this version.",
		}
	}
	return ok("The management cluster runs Kubernetes %s.", found)
}
