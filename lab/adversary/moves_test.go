package adversary

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"

	"github.com/slipway-project/slipway/internal/identity"
	"github.com/slipway-project/slipway/internal/launchconfig"
	"github.com/slipway-project/slipway/internal/machinepool"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/lab/fleet"
)

// attacker plays a tenant's random moves, and keeps a list of them.
type attacker struct {
	*tenant
	random *rand.Rand
	// said describes the move at hand.
	said []string
}

// move is something that a tenant's user may do, as often as its weight says.
type move struct {
	name   string
	weight int
	do     func(a *attacker) error
}

// moves are the grammar. The first group creates objects, the second falsifies them, the third
// deletes them, and the last one is honest work.
var moves = []move{
	{"create a launch config", 8, (*attacker).createConfig},
	{"create a machine pool", 8, (*attacker).createPool},
	{"create a managed pool", 5, (*attacker).createManagedPool},
	{"create a machine", 3, (*attacker).createMachine},
	{"create a launch config template", 2, (*attacker).createTemplate},
	{"copy an object of the other tenant", 6, (*attacker).copyObject},

	{"annotate", 14, (*attacker).annotate},
	{"report a status", 8, (*attacker).lie},
	{"invent owners", 4, (*attacker).own},
	{"set finalizers", 4, (*attacker).finalize},
	{"edit a launch config", 6, (*attacker).editConfig},
	{"edit a machine pool", 8, (*attacker).editPool},
	{"edit a managed pool", 5, (*attacker).editManagedPool},
	{"edit a cluster", 5, (*attacker).editCluster},
	{"edit a Secret", 3, (*attacker).editSecret},

	{"delete", 12, (*attacker).delete},
	{"delete and create again", 4, (*attacker).recreate},

	{"honest work", 10, (*attacker).work},
}

// play plays one random move and returns its description.
func (a *attacker) play() string {
	total := 0
	for _, move := range moves {
		total += move.weight
	}
	chosen := a.random.IntN(total)
	for _, move := range moves {
		if chosen -= move.weight; chosen >= 0 {
			continue
		}
		a.said = nil
		err := move.do(a)
		text := fmt.Sprintf("%s %s: %s %s", a.clock.Now().Format(time.TimeOnly), a.party, move.name, strings.Join(a.said, ", "))
		if err != nil {
			text += " (refused: " + firstLine(err) + ")"
		}
		return text
	}
	return ""
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line[:min(len(line), 200)]
}

func (a *attacker) say(format string, arguments ...any) {
	a.said = append(a.said, fmt.Sprintf(format, arguments...))
}

// chance is true with a probability in percent.
func (a *attacker) chance(percent int) bool { return a.random.IntN(100) < percent }

func pick[T any](a *attacker, from []T) T {
	if len(from) == 0 {
		var zero T
		return zero
	}
	return from[a.random.IntN(len(from))]
}

// foreign returns the name of a resource of a kind that belongs to others: most often of one that
// certainly exists, and now and then junk.
func (a *attacker) foreign(kind string) string {
	if target := pick(a, []func() target{a.third, a.neighbor})(); a.chance(60) {
		switch kind {
		case kindTemplate:
			return target.template
		case kindTemplateName:
			return target.templateName
		case kindGroup:
			return target.group
		}
	}
	a.oracle.mu.Lock()
	var names []string
	for r, party := range a.oracle.resources {
		if r.kind == kind && party != a.party {
			names = append(names, r.name)
		}
	}
	if kind == kindTemplateName {
		for r, id := range a.oracle.templates {
			if a.oracle.resources[resource{r.account, kindTemplate, id}] != a.party {
				names = append(names, r.name)
			}
		}
	}
	a.oracle.mu.Unlock()
	slices.Sort(names)
	if len(names) == 0 || a.chance(5) {
		return "junk"
	}
	return pick(a, names)
}

// groupARN returns the ARN of a foreign group.
func (a *attacker) groupARN() string {
	arns := []string{a.victim.groupARN, "arn:aws:autoscaling:us-east-1:000000000000:autoScalingGroup:x:autoScalingGroupName/x"}
	for _, number := range a.other().numbers {
		pool := &infrav1.AWSMachinePool{}
		if err := a.Client.Get(a.Context(), a.other().honest.Key(number), pool); err == nil && pool.Spec.ProviderID != "" {
			arns = append(arns, pool.Spec.ProviderID)
		}
	}
	return pick(a, arns)
}

// instance returns the ID of a foreign instance.
func (a *attacker) instance() string {
	ids := slices.Clone(a.victim.instances)
	for _, instance := range a.Cloud.AWS.Region(a.other().account, a.Cloud.Region()).Instances() {
		ids = append(ids, *instance.InstanceId)
	}
	slices.Sort(ids)
	return pick(a, ids)
}

// name returns a name for a hostile object: one that others use, or one of few.
func (a *attacker) name() string {
	switch a.random.IntN(6) {
	case 0:
		return a.victim.group
	case 1:
		return fleet.Name(a.other().numbers[2])
	default:
		return fmt.Sprintf("h-%d", a.random.IntN(4))
	}
}

// hostileOf returns a hostile object of the kind, or nil.
func hostileOf[T client.Object](a *attacker, list client.ObjectList) (T, error) {
	var none T
	if err := a.user.List(a.Context(), list, client.InNamespace(a.namespace), client.HasLabels{hostile}); err != nil {
		return none, err
	}
	object, _ := pick(a, itemsOf(list)).(T)
	return object, nil
}

// any returns a hostile object of any kind that the product reconciles.
func (a *attacker) any() client.Object {
	objects, err := a.attacking()
	if err != nil {
		return nil
	}
	objects = slices.DeleteFunc(objects, func(object client.Object) bool {
		switch object.(type) {
		case *infrav1.AWSMachinePool, *infrav1.AWSManagedMachinePool, *infrav1.AWSLaunchConfig, *infrav1.AWSMachinePoolMachine:
			return false
		}
		return true
	})
	return pick(a, objects)
}

func describe(object client.Object) string {
	return fmt.Sprintf("%s %s", strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1beta2."), object.GetName())
}

// lies returns annotations that claim what belongs to others.
func (a *attacker) lies() map[string]string {
	lies := map[string]func() string{
		infrav1.AdoptAnnotation:         a.groupARN,
		infrav1.AdoptTemplateAnnotation: func() string { return a.foreign(kindTemplate) },
		infrav1.RollAdoptedAnnotation:   func() string { return "true" },
		infrav1.ReleaseAnnotation:       func() string { return pick(a, []string{"true", "", "false"}) },
		infrav1.LaunchConfigTemplateAnnotation: func() string {
			return a.other().namespace + "/nodes"
		},
		infrav1.ApprovedVersionAnnotation: func() string { return pick(a, []string{"1", "2", "99", "x"}) },
		infrav1.ApprovedByAnnotation:      func() string { return "system:masters" },
		infrav1.RolloutPausedAnnotation:   func() string { return pick(a, []string{"true", "", "x"}) },
		infrav1.RetryRolloutAnnotation:    func() string { return pick(a, []string{"1", "2", strings.Repeat("now", 100)}) },
		ownership.RegionAnnotation:        func() string { return pick(a, []string{a.Cloud.Region(), a.Cloud.Region(), "eu-west-1", "", "x/y"}) },
		ownership.ClusterAnnotation: func() string {
			return pick(a, []string{self, rogue, managed, third, "../" + self, self + "/" + fleet.Name(0), ""})
		},
		ownership.IdentityAnnotation:         a.identityName,
		ownership.AccountAnnotation:          func() string { return pick(a, []string{a.account, a.other().account, "", "000000000000"}) },
		ownership.EKSClusterAnnotation:       a.eksCluster,
		ownership.NodegroupsAnnotation:       func() string { return a.nodegroup() + pick(a, []string{"", "," + a.nodegroup()}) },
		ownership.AppliedAnnotation:          func() string { return pick(a, []string{"{}", "x", `{"a":"b"}`}) },
		ownership.LastAppliedTagsAnnotation:  func() string { return pick(a, []string{"{}", "x", `{"a":{"b":"c"}}`}) },
		launchconfig.PlacesAnnotation:        func() string { return pick(a, []string{"ssm", "s3/" + bucket, "ssm,s3/" + bucket, "s3/other", "x"}) },
		machinepool.DrainingAnnotation:       func() string { return fmt.Sprintf(`{%q:"2020-01-01T00:00:00Z"}`, a.instance()) },
		infrav1.TagSlipwayPrefix + "refresh": func() string { return "x 2020-01-01T00:00:00Z" },
		infrav1.TagSlipwayPrefix + "shielded": func() string {
			return a.instance()
		},
		identity.InstanceProfilesAnnotation:        func() string { return "*" },
		clusterv1.PausedAnnotation:                 func() string { return "" },
		clusterv1.TemplateClonedFromNameAnnotation: func() string { return "nodes" },
	}
	told := map[string]string{}
	keys := slices.Sorted(maps.Keys(lies))
	for range 1 + a.random.IntN(4) {
		key := pick(a, keys)
		told[key] = lies[key]()
	}
	return told
}

func (a *attacker) identityName() string {
	own, theirs := a.located("")[ownership.IdentityAnnotation], a.other().located("")[ownership.IdentityAnnotation]
	return pick(a, []string{own, own, theirs, "AWSClusterControllerIdentity/default", "AWSClusterControllerIdentity", "", "x/y"})
}

func (a *attacker) eksCluster() string {
	return pick(a, []string{a.victim.cluster, a.other().namespace + "_" + managed + "-control-plane", a.namespace + "_" + managed + "-control-plane", "junk"})
}

// nodegroup returns the name of a foreign node group.
func (a *attacker) nodegroup() string {
	_, name, _ := strings.Cut(a.foreign(kindNodegroup), "/")
	return name
}

// disguise gives a new object what the product itself would have left on one.
func (a *attacker) disguise(object client.Object) {
	if a.chance(40) {
		lies := a.lies()
		object.SetAnnotations(lies)
		a.say("annotated %v", lies)
	}
	if a.chance(25) {
		annotations := a.located(pick(a, []string{self, rogue, managed, third}))
		maps.Copy(annotations, object.GetAnnotations())
		object.SetAnnotations(annotations)
		withFinalizer(object)
		a.say("located %v", annotations)
	}
	if a.chance(10) {
		object.SetOwnerReferences(append(object.GetOwnerReferences(), a.owner()))
	}
}

// owner returns a reference to an object that does not exist, or that exists elsewhere.
func (a *attacker) owner() metav1.OwnerReference {
	reference := invented(pick(a, []string{"AWSMachinePool", "AWSManagedMachinePool", "AWSLaunchConfig"}), a.name())
	if pools := (&infrav1.AWSMachinePoolList{}); a.chance(50) && a.Client.List(a.Context(), pools, client.InNamespace(a.other().namespace)) == nil && len(pools.Items) > 0 {
		theirs := pick(a, pools.Items)
		reference.Kind, reference.Name, reference.UID = "AWSMachinePool", theirs.Name, theirs.UID
	}
	if a.chance(50) {
		reference.Controller = nil
	}
	a.say("owned by %s %s", reference.Kind, reference.Name)
	return reference
}

func (a *attacker) createConfig() error {
	config := a.config(a.name())
	config.Spec.ClusterName = pick(a, []string{rogue, rogue, rogue, managed, third})
	switch a.random.IntN(4) {
	case 0:
		config.Spec.LaunchTemplateName = a.foreign(kindTemplateName)
	case 1:
		config.Spec = infrav1.AWSLaunchConfigSpec{ClusterName: rogue, Existing: a.existing()}
	case 2:
		config.Spec.Bootstrap = &infrav1.LaunchConfigBootstrap{DataSecretName: pick(a, []string{config.Name, rogue + "-kubeconfig", "absent"}), Storage: pick(a,
			[]infrav1.BootstrapStorage{infrav1.BootstrapStorageSSM, infrav1.BootstrapStorageS3, ""})}
		config.Spec.IamInstanceProfile = "nodes.cluster-api-provider-aws.sigs.k8s.io"
	}
	a.disguise(config)
	a.say("%s named %q of cluster %s, existing %v", config.Name, config.Spec.LaunchTemplateName, config.Spec.ClusterName, config.Spec.Existing)
	return a.create(config)
}

func (a *attacker) existing() *infrav1.ExistingLaunchTemplate {
	if a.chance(50) {
		return &infrav1.ExistingLaunchTemplate{ID: a.foreign(kindTemplate)}
	}
	return &infrav1.ExistingLaunchTemplate{Name: a.foreign(kindTemplateName)}
}

func (a *attacker) createPool() error {
	pool, others := a.pool(a.name())
	a.bend(pool)
	a.disguise(pool)
	a.say("%s with providerID %q", pool.Name, pool.Spec.ProviderID)
	return a.create(pool, others...)
}

// bend has a pool refer to what belongs to others.
func (a *attacker) bend(pool *infrav1.AWSMachinePool) {
	switch a.random.IntN(7) {
	case 0, 1:
		pool.Spec.ProviderID = a.groupARN()
	case 2:
		if pool.Spec.AWSLaunchTemplate != nil {
			pool.Spec.AWSLaunchTemplate.Name = a.foreign(kindTemplateName)
		}
	case 3:
		pool.Spec.AWSLaunchTemplate, pool.Spec.LaunchConfigRef = nil, &infrav1.LaunchConfigReference{Name: a.name()}
	case 4:
		pool.Spec.AWSLaunchTemplate = nil
		pool.Spec.LaunchConfigTemplateRef = &infrav1.LaunchConfigTemplateReference{Name: "nodes", Namespace: pick(a, []string{"", a.other().namespace})}
	case 5:
		fleet.StoreIn(pick(a, []infrav1.BootstrapStorage{infrav1.BootstrapStorageSSM, infrav1.BootstrapStorageS3}), withTemplate(pool))
	case 6:
		pool.Spec.MachinePoolMachines = pick(a, []infrav1.MachinePoolMachines{"Enabled", "Disabled"})
	}
}

func withTemplate(pool *infrav1.AWSMachinePool) *infrav1.AWSMachinePool {
	if pool.Spec.AWSLaunchTemplate == nil {
		pool.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{InstanceType: "t3.large"}
		pool.Spec.LaunchConfigRef, pool.Spec.LaunchConfigTemplateRef = nil, nil
	}
	return pool
}

func (a *attacker) createManagedPool() error {
	pool, others := a.managedPool("m-" + a.name())
	a.bendManaged(pool)
	a.disguise(pool)
	a.say("%s with node group %q and role %q", pool.Name, pool.Spec.EKSNodegroupName, pool.Spec.RoleName)
	return a.create(pool, others...)
}

func (a *attacker) bendManaged(pool *infrav1.AWSManagedMachinePool) {
	switch a.random.IntN(5) {
	case 0, 1:
		pool.Spec.EKSNodegroupName = a.nodegroup()
	case 2:
		pool.Spec.RoleName = a.foreign(kindRole)
	case 3:
		if pool.Spec.AWSLaunchTemplate != nil {
			pool.Spec.AWSLaunchTemplate.Name = a.foreign(kindTemplateName)
		}
	case 4:
		pool.Spec.AWSLaunchTemplate, pool.Spec.LaunchConfigRef = nil, &infrav1.LaunchConfigReference{Name: a.name()}
	}
}

func (a *attacker) createMachine() error {
	id := a.instance()
	machine := &infrav1.AWSMachinePoolMachine{ObjectMeta: a.meta(a.name(), rogue), Spec: infrav1.AWSMachinePoolMachineSpec{InstanceID: id, ProviderID: "aws:///us-east-1a/" + id}}
	machine.Labels[clusterv1.MachinePoolNameLabel] = a.name()
	if pool, err := hostileOf[*infrav1.AWSMachinePool](a, &infrav1.AWSMachinePoolList{}); err == nil && pool != nil {
		machine.OwnerReferences = append(machine.OwnerReferences, owned(infrav1.GroupVersion.WithKind("AWSMachinePool"), pool))
		machine.Labels[clusterv1.MachinePoolNameLabel] = pool.Name
	}
	a.disguise(machine)
	a.say("%s for %s", machine.Name, id)
	return a.create(machine)
}

func (a *attacker) createTemplate() error {
	template := &infrav1.AWSLaunchConfigTemplate{ObjectMeta: a.meta("nodes", rogue)}
	template.Spec.Template.Spec.InstanceType = pick(a, []string{"t3.large", "m5.large"})
	if a.chance(50) {
		template.Spec.AllowedNamespaces = &infrav1.AllowedNamespaces{NamespaceList: []string{a.other().namespace}}
	}
	return a.create(template)
}

// copyObject creates what the other tenant has, with all that the product wrote there, in the
// attacker's namespace.
func (a *attacker) copyObject() error {
	var object, withStatus client.Object
	name := fleet.Name(a.other().numbers[2])
	if a.chance(50) {
		pool := &infrav1.AWSMachinePool{}
		if err := a.Client.Get(a.Context(), client.ObjectKey{Namespace: a.other().namespace, Name: name}, pool); err != nil {
			return err
		}
		object, withStatus = pool, pool.DeepCopy()
	} else {
		config := &infrav1.AWSLaunchConfig{}
		if err := a.Client.Get(a.Context(), client.ObjectKey{Namespace: a.other().namespace, Name: name}, config); err != nil {
			return err
		}
		object, withStatus = config, config.DeepCopy()
	}
	for _, copied := range []client.Object{object, withStatus} {
		copied.SetNamespace(a.namespace)
		copied.SetResourceVersion("")
		copied.SetUID("")
		copied.SetManagedFields(nil)
		copied.SetLabels(map[string]string{hostile: "true", clusterv1.ClusterNameLabel: self})
	}
	if a.chance(50) {
		object.SetOwnerReferences(nil)
	}
	a.say("%s", describe(object))
	if err := a.user.Create(a.Context(), object); err != nil {
		return err
	}
	withStatus.SetUID(object.GetUID())
	withStatus.SetResourceVersion(object.GetResourceVersion())
	return a.user.Status().Update(a.Context(), withStatus)
}

func (a *attacker) delete() error {
	object := a.any()
	if object == nil {
		return a.createPool()
	}
	a.say("%s", describe(object))
	return a.user.Delete(a.Context(), object)
}

func (a *attacker) recreate() error {
	object := a.any()
	if object == nil {
		return a.createPool()
	}
	a.say("%s", describe(object))
	before := object.DeepCopyObject().(client.Object)
	object.SetFinalizers(nil)
	if err := a.user.Patch(a.Context(), object, client.MergeFrom(before)); err != nil {
		return err
	}
	if err := a.user.Delete(a.Context(), object); err != nil {
		return err
	}
	before.SetResourceVersion("")
	before.SetUID("")
	before.SetDeletionTimestamp(nil)
	return a.user.Create(a.Context(), before)
}

// work edits a pool that the tenant means well with.
func (a *attacker) work() error {
	number := pick(a, a.numbers)
	switch a.random.IntN(4) {
	case 0:
		replicas := int32(1 + a.random.IntN(2))
		a.say("%s to %d replicas", fleet.Name(number), replicas)
		return a.honest.Scale(a.Context(), number, replicas)
	case 1:
		a.say("another type for %s", fleet.Name(number))
		return a.honest.Edit(a.Context(), number, func(pool *infrav1.AWSMachinePool) {
			pool.Spec.AWSLaunchTemplate.InstanceType = pick(a, []string{"t3.large", "m5.large", "m6i.large"})
		})
	case 2:
		a.say("other data for %s", fleet.Name(number))
		return a.honest.Rotate(a.Context(), number, fmt.Sprintf("#cloud-config\nruncmd:\n- echo %d\n", a.random.Uint32()))
	default:
		replicas := int32(1 + a.random.IntN(2))
		a.say("%s to %d replicas", fleet.Name(managedPool), replicas)
		return a.managed.Scale(a.Context(), managedPool, replicas)
	}
}
