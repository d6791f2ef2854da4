package eks

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// accessEntry gives an IAM principal access to a cluster. Describe actions show it, but nothing
// here enforces it: no cluster has an API server.
type accessEntry struct {
	cluster           *cluster
	principal, arn    string
	created, modified time.Time
	kind, username    string
	groups            []string
	tags              map[string]string
	policies          map[string]types.AssociatedAccessPolicy // by ARN
	// ofNodes is true if EKS created the entry for a managed node group.
	ofNodes bool
}

const (
	typeStandard  = "STANDARD"
	typeNodes     = "EC2_LINUX"
	adminPolicy   = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
	maxKubeGroups = 100 // inference: AWS names no number
)

// entryTypes maps the types of entries (SDK CreateAccessEntryInput.Type) to the Kubernetes groups
// of their nodes (UG creating-access-entries).
var entryTypes = map[string][]string{
	typeStandard: nil, typeNodes: {"system:nodes"}, "EC2_WINDOWS": {"eks:kube-proxy-windows", "system:nodes"}, "EC2": nil, "FARGATE_LINUX": {"system:bootstrappers", "system:nodes", "system:node-proxier"},
	"HYBRID_LINUX": {"system:nodes"}, "HYPERPOD_LINUX": {"system:nodes"},
}

var (
	principalARN = regexp.MustCompile(`^arn:aws:iam::(\d{12}):(role|user)/(?:.*/)?([^/]+)$`)
	policyARN    = regexp.MustCompile(`^arn:aws:eks::aws:cluster-access-policy/(?:[A-Za-z]+/)?[A-Za-z]+Policy$`)
)

func (e *accessEntry) key() string { return e.cluster.Name + " " + e.principal }

func (e *accessEntry) view() *types.AccessEntry {
	return &types.AccessEntry{
		AccessEntryArn: ptr(e.arn), ClusterName: ptr(e.cluster.Name), PrincipalArn: ptr(e.principal), CreatedAt: ptr(e.created), ModifiedAt: ptr(e.modified),
		Type: ptr(e.kind), Username: ptr(e.username), KubernetesGroups: append([]string{}, e.groups...), Tags: merged(e.tags),
	}
}

// shownEntry is an access entry with its policies, as Describe actions return it.
type shownEntry struct {
	*types.AccessEntry
	policies []types.AssociatedAccessPolicy
}

// accessEntries holds the access entries of the clusters, and what Describe actions show of them.
type accessEntries struct {
	region   *sim.Region
	kernel   *sim.Kernel
	clusters *clusters
	groups   *groups

	views *sim.Table[shownEntry]
}

// publish updates what Describe actions show of an access entry.
func (es *accessEntries) publish(e *accessEntry) {
	shown := shownEntry{AccessEntry: e.view(), policies: []types.AssociatedAccessPolicy{}}
	for _, arn := range sortedKeys(e.policies) {
		shown.policies = append(shown.policies, e.policies[arn])
	}
	es.views.Put(e.key(), shown)
}

// cluster returns a cluster, and an error if its authentication mode does not allow access entries.
// The wording is from issues of aws/containers-roadmap and eksctl.
func (es *accessEntries) cluster(name *string) (*cluster, error) {
	k, err := es.clusters.find(name)
	if err != nil {
		return nil, err
	}
	if k.access.AuthenticationMode == types.AuthenticationModeConfigMap {
		return nil, badRequest("The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this operation.")
	}
	return k, nil
}

// find returns the access entry of a principal.
func (es *accessEntries) find(cluster, principal *string) (*accessEntry, error) {
	k, err := es.cluster(cluster)
	if err != nil {
		return nil, err
	}
	e := k.entries[val(principal)]
	if e == nil {
		return nil, entryNotFound()
	}
	return e, nil
}

func entryNotFound() error { // the wording is from terraform-provider-aws and eksctl issues
	return sim.Errorf(codeNotFound, "The specified principalArn could not be found. You can view your available access entries with 'list-access-entries'.").WithStatus(404)
}

// add adds an entry to a cluster.
func (es *accessEntries) add(k *cluster, principal, kind string) *accessEntry {
	m := principalARN.FindStringSubmatch(principal)
	e := &accessEntry{
		cluster: k, principal: principal, kind: kind, created: es.kernel.Now(), modified: es.kernel.Now(), groups: entryTypes[kind], policies: map[string]types.AssociatedAccessPolicy{},
		arn: arnOf(es.region, "access-entry/"+k.Name+"/"+m[2]+"/"+m[1]+"/"+m[3]+"/"+es.kernel.NewUUID()),
	}
	switch { // UG creating-access-entries
	case kind != typeStandard:
		e.username = "system:node:{{EC2PrivateDNSName}}"
	case m[2] == "role":
		e.username = "arn:aws:sts::" + m[1] + ":assumed-role/" + m[3] + "/{{SessionName}}"
	default:
		e.username = principal
	}
	k.entries[principal] = e
	es.publish(e)
	return e
}

// admitCreator adds an entry that makes the creator of a cluster its administrator (SDK
// CreateAccessConfigRequest.BootstrapClusterCreatorAdminPermissions). A session gets the entry of its
// role, without the role's path, which the session's ARN does not contain.
func (es *accessEntries) admitCreator(k *cluster, caller string) {
	if before, session, found := strings.Cut(caller, ":assumed-role/"); found {
		name, _, _ := strings.Cut(session, "/")
		caller = strings.Replace(before, ":sts:", ":iam:", 1) + ":role/" + name
	}
	if !principalARN.MatchString(caller) {
		return // the account's root user needs no entry
	}
	e := es.add(k, caller, typeStandard)
	e.associate(adminPolicy, &types.AccessScope{Type: types.AccessScopeTypeCluster}, es.kernel.Now())
	es.publish(e)
}

// admitNodes adds an entry for the nodes of a managed node group to its cluster (UG
// creating-access-entries: EKS creates the entry of a managed node group's role itself).
func (es *accessEntries) admitNodes(k *cluster, role string) {
	if k.access.AuthenticationMode != types.AuthenticationModeConfigMap && k.entries[role] == nil && principalARN.MatchString(role) {
		es.add(k, role, typeNodes).ofNodes = true
	}
}

// removeNodes deletes the entry of a node role when no managed node group has the role, if EKS
// created the entry (inference: AWS's guide does not mention its removal).
func (es *accessEntries) removeNodes(k *cluster, role string) {
	e := k.entries[role]
	if e == nil || !e.ofNodes {
		return
	}
	for _, g := range es.groups.byKey {
		if g.cluster == k && g.nodeRole == role {
			return
		}
	}
	delete(k.entries, role)
	es.views.Delete(e.key())
}

func (e *accessEntry) associate(policy string, scope *types.AccessScope, now time.Time) types.AssociatedAccessPolicy {
	associated := types.AssociatedAccessPolicy{PolicyArn: ptr(policy), AccessScope: scope, AssociatedAt: ptr(now), ModifiedAt: ptr(now)}
	if had, ok := e.policies[policy]; ok {
		associated.AssociatedAt = had.AssociatedAt
	}
	e.policies = maps.Clone(e.policies)
	e.policies[policy] = associated
	return associated
}

func (e *accessEntry) set(groups []string, username *string) {
	if groups != nil {
		e.groups = slices.Clone(groups)
	}
	if username != nil {
		e.username = *username
	}
}

// visible returns an access entry as Describe actions show it.
func (es *accessEntries) visible(cluster, principal *string) (shownEntry, error) {
	if _, err := es.cluster(cluster); err != nil {
		return shownEntry{}, err
	}
	entry, ok := es.views.Visible(val(cluster) + " " + val(principal))
	if !ok {
		return shownEntry{}, entryNotFound()
	}
	return entry, nil
}
