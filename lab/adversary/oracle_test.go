package adversary

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// owner names the party that a resource was created for, or that a call is for.
type owner string

const (
	// noParty marks a call that the oracle cannot attribute, and resources of the account itself.
	noParty owner = ""
	// capa is the third cluster, which Cluster API Provider AWS runs.
	capa owner = "capa"
)

// oracle judges the calls of a manager. It attributes each resource to a party when the resource is
// created, and reports every later call for another party that reads its user data, changes, tags,
// or deletes it, or launches instances with it.
type oracle struct {
	cloud  *awssim.Simulator
	region string
	// tagsOf returns the tags of an Auto Scaling group.
	tagsOf func(account, name string) map[string]string
	// parties are the tenants by namespace, and roles the tenants by the name of the IAM role that
	// only they may use.
	parties, roles map[string]owner
	// private reports that neither tenant may use the manager's own credentials.
	private bool

	// turn is held during a call of the manager, so that the simulated AWS knows which reconcile
	// the call belongs to.
	turn sync.Mutex

	mu sync.Mutex
	// namespace of the reconcile that the present call belongs to.
	namespace string
	resources map[resource]owner
	// templates are the ids of launch templates by name.
	templates map[resource]string
	calls     map[string]int
	// recent are the latest calls, the newest last.
	recent     []string
	violations []violation
}

// violation is a call that crossed the border between two parties.
type violation struct {
	at   time.Time
	call string
	why  string
}

func (v violation) String() string {
	return fmt.Sprintf("%s %s: %s", v.at.Format(time.TimeOnly), v.call, v.why)
}

// recentCalls is the number of calls that are printed with a failure.
const recentCalls = 25

func newOracle(cloud *awssim.Simulator, tagsOf func(account, name string) map[string]string) *oracle {
	return &oracle{
		cloud: cloud, region: cloud.World().Regions[0].Name, tagsOf: tagsOf, parties: map[string]owner{}, roles: map[string]owner{}, resources: map[resource]owner{}, templates: map[resource]string{}, calls: map[string]int{},
	}
}

// watch has the simulated AWS report every call to the oracle, before the call is answered.
func (o *oracle) watch() error {
	_, err := o.cloud.AddFault(awssim.Fault{ID: "oracle", Place: awssim.AfterEffect, Callback: o.judge})
	return err
}

// judge attributes the resources that a call created, and records a violation if the caller was not
// entitled to the call.
func (o *oracle) judge(c *awssim.FaultContext) {
	if strings.Contains(c.Principal, testerKey) {
		return
	}
	caller, wrong := o.caller(c)
	call := newCall(c)
	wrong = append(wrong, o.forged(call, caller)...)
	for _, touched := range call.touches() {
		if holder, known := o.find(touched); known && o.foreign(holder, caller) {
			wrong = append(wrong, fmt.Sprintf("%s %s, which was created for %s", call.verb(), touched, holder))
		}
	}
	if created, is := call.creates(); is && c.Err == nil {
		if holder, known := o.registered(created); known && created.unique() && o.foreign(holder, caller) {
			wrong = append(wrong, fmt.Sprintf("AWS returned %s, which was created for %s", created, holder))
		}
		if len(wrong) == 0 {
			o.register(created, caller, call)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls[c.Action]++
	text := fmt.Sprintf("%s (for %q, as %s) %s", c.Action, caller, short(c.Principal), call.summary())
	o.recent = append(o.recent, text)
	o.recent = o.recent[max(0, len(o.recent)-recentCalls):]
	for _, why := range wrong {
		o.violations = append(o.violations, violation{at: time.Now(), call: text, why: why})
	}
}

// foreign reports whether a resource is out of a caller's bounds. An unattributed call, such as a
// sweep over a whole account, may read what tenants own, but never what belongs to the third
// cluster.
func (*oracle) foreign(holder, caller owner) bool {
	if caller == noParty {
		return holder == capa
	}
	return holder != noParty && holder != caller
}

// caller returns the party that a call is for: by its role, and by the namespace of the reconcile
// that it belongs to. The two must agree.
func (o *oracle) caller(c *awssim.FaultContext) (owner, []string) {
	o.mu.Lock()
	byNamespace := o.parties[o.namespace]
	o.mu.Unlock()
	byRole := noParty
	for role, party := range o.roles {
		if strings.Contains(c.Principal, role) {
			byRole = party
		}
	}
	var wrong []string
	switch {
	case byRole != noParty && byNamespace != noParty && byRole != byNamespace:
		wrong = append(wrong, fmt.Sprintf("it was made in a reconcile for %s with the credentials of %s", byNamespace, byRole))
	case byRole == noParty && o.private && c.Service != "sts":
		wrong = append(wrong, "it was made with the manager's own credentials, which neither tenant may use")
	}
	if byRole != noParty {
		return byRole, wrong
	}
	return byNamespace, wrong
}

// forged returns the owner tags in a call that name another namespace than the caller's.
func (o *oracle) forged(c *call, caller owner) (wrong []string) {
	if caller == noParty || !c.writes() {
		return nil
	}
	for _, tag := range c.tags {
		if tag.key != infrav1.TagLaunchConfig && tag.key != infrav1.TagMachinePool && tag.key != infrav1.TagManagedMachinePool {
			continue
		}
		namespace, _, _ := strings.Cut(tag.value, "/")
		if tag.value != "" && o.parties[namespace] != caller {
			wrong = append(wrong, fmt.Sprintf("it sets the owner tag %s=%s", tag.key, tag.value))
		}
	}
	return wrong
}

// register attributes a resource to a party. A name may be used again after its first bearer was
// deleted; an id may not.
func (o *oracle) register(r resource, party owner, c *call) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.resources[r]; known && r.unique() {
		return
	}
	o.resources[r] = party
	if r.kind == kindTemplate {
		o.templates[resource{r.account, kindTemplateName, c.templateName()}] = r.name
	}
}

// find returns the party that a resource was created for.
func (o *oracle) find(r resource) (owner, bool) {
	switch r.kind {
	case kindInstance:
		return o.ofInstance(r)
	case kindGroup:
		if party, known := o.registered(r); known {
			return party, true
		}
		return o.ofManagedGroup(r)
	case kindTemplateName:
		o.mu.Lock()
		id := o.templates[r]
		o.mu.Unlock()
		return o.registered(resource{r.account, kindTemplate, id})
	}
	return o.registered(r)
}

func (o *oracle) registered(r resource) (owner, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	party, known := o.resources[r]
	return party, known
}

// ofInstance attributes an instance by the launch template that it was launched from, and one of a
// managed node group by its group.
func (o *oracle) ofInstance(r resource) (owner, bool) {
	instance, exists := o.cloud.Region(r.account, o.region).Instance(r.name)
	if !exists {
		return noParty, false
	}
	tags := map[string]string{}
	for _, tag := range instance.Tags {
		tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	if party, known := o.registered(resource{r.account, kindTemplate, tags["aws:ec2launchtemplate:id"]}); known {
		return party, true
	}
	return o.find(resource{r.account, kindGroup, tags["aws:autoscaling:groupName"]})
}

// ofManagedGroup attributes an Auto Scaling group that EKS created by the node group that its tags name.
func (o *oracle) ofManagedGroup(r resource) (owner, bool) {
	if !strings.HasPrefix(r.name, "eks-") {
		return noParty, false
	}
	tags := o.tagsOf(r.account, r.name)
	return o.registered(resource{r.account, kindNodegroup, tags["eks:cluster-name"] + "/" + tags["eks:nodegroup-name"]})
}

// transport has the manager's calls go one after the other, each with the namespace of the
// reconcile that it belongs to.
func (o *oracle) transport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		o.turn.Lock()
		defer o.turn.Unlock()
		o.belongsTo(namespaceOf(request.Context()))
		defer o.belongsTo("")
		return next.RoundTrip(request)
	})
}

func (o *oracle) belongsTo(namespace string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.namespace = namespace
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// found returns the violations so far, and forgets them.
func (o *oracle) found() []violation {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := o.violations
	o.violations = nil
	return found
}

// lately returns the latest calls.
func (o *oracle) lately() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return "\t" + strings.Join(o.recent, "\n\t")
}

// counted returns how often each action was called.
func (o *oracle) counted() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var texts []string
	for _, action := range slices.Sorted(maps.Keys(o.calls)) {
		texts = append(texts, fmt.Sprintf("%s %d", action, o.calls[action]))
	}
	return strings.Join(texts, ", ")
}

// short returns the distinctive part of a principal's ARN.
func short(principal string) string {
	parts := strings.Split(principal, ":")
	return parts[len(parts)-1]
}
