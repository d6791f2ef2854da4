package launchconfig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/ownership"
	"github.com/slipway-project/slipway/internal/reconcile"
)

// observeNeed makes an observation that costs calls.
func (k *kind) observeNeed(ctx context.Context, pass pass, need reconcile.Need) error {
	seen := pass.Seen
	switch need {
	case needBootstrap:
		return k.observeBootstrap(ctx, pass)
	case needLookups:
		seen.Lookups = k.lookUp(ctx, pass)
	case needImage:
		seen.Image = findImage(ctx, pass)
	case needCluster:
		found, err := pass.Memory.cloud.Discovery.EKSCluster(ctx, seen.Access.Facts.KubernetesName)
		seen.EKSCluster = &answer[discovery.EKSCluster]{Value: found, Err: err}
	case needVersions:
		if readVersions(ctx, pass); seen.Template.VersionsErr == nil {
			pass.Memory.versionsRead = k.Clock.Now()
			seen.VersionsRead = pass.Memory.versionsRead
		}
	case needUse:
		return k.observeUse(ctx, pass)
	case needTemplate:
		found, err := templatesOf(ctx, pass, true)
		seen.Template.Looked, seen.Template.Err = true, err
		seen.Template.Template, seen.Template.Taken = choose(pass.Object, found)
	case needNamed:
		named, err := pass.Memory.cloud.Templates.One(ctx, pass.Object.Status.LaunchTemplateID, "")
		seen.Template.Named = &answer[*launchtemplate.Template]{Value: named, Err: err}
	case needFollowed:
		k.observeFollowed(ctx, pass)
	default:
		return k.observeVersion(ctx, pass, need)
	}
	return nil
}

// observeVersion reads the data of a version, or looks up what it names.
func (k *kind) observeVersion(ctx context.Context, pass pass, need reconcile.Need) error {
	text, isData := strings.CutPrefix(string(need), dataNeed)
	if !isData {
		text, _ = strings.CutPrefix(string(need), factsNeed)
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("unknown need %q", need)
	}
	data, err := readData(ctx, pass, number)
	if version, known := pass.Seen.Template.Version(number); known && aws.IsNotFound(err) && k.Clock.Since(version.Created) > usersVisibleAfter {
		// It was deleted, and the versions were read before EC2 showed that: the next pass reads them again.
		pass.Memory.seen = launchtemplate.Observation{}
	}
	if isData {
		pass.Seen.Data = with(pass.Seen.Data, number, answer[launchtemplate.Data]{Value: data, Err: err})
		return nil
	}
	var facts inspection.Facts
	var contents launchtemplate.Contents
	if err == nil {
		contents, err = data.Contents()
	}
	if err == nil {
		facts, err = inspection.NewReader(pass.Memory.cloud.Discovery).Facts(ctx, contents)
	}
	pass.Seen.Facts = with(pass.Seen.Facts, number, answer[inspection.Facts]{Value: facts, Err: err})
	return nil
}

// with returns a map with another entry: what was decided from the map stays as it was.
func with[V any](entries map[int64]V, key int64, value V) map[int64]V {
	all := maps.Clone(entries)
	if all == nil {
		all = map[int64]V{}
	}
	all[key] = value
	return all
}

// readData reads the data of a version, once: it never changes, and a token rotation in a rollback
// needs it each time.
func readData(ctx context.Context, pass pass, number int64) (launchtemplate.Data, error) {
	id, memory := pass.Seen.Template.Template.ID, pass.Memory
	if known, remembered := memory.data[number]; remembered && known.TemplateID() == id {
		return known, nil
	}
	if pass.Object.Spec.Existing != nil {
		return memory.cloud.Discovery.TemplateVersion(ctx, id, number)
	}
	data, err := memory.cloud.Templates.Data(ctx, id, number)
	if err == nil {
		// Most of them are never asked for again.
		memory.data = map[int64]launchtemplate.Data{number: data}
	}
	return data, err
}

// lookUp finds what the spec names, up to the first failure.
func (k *kind) lookUp(ctx context.Context, pass pass) *lookups {
	spec, facts, found := &pass.Object.Spec, pass.Seen.Access.Facts, &lookups{}
	if found.ProfileErr = k.Clouds.AllowsInstanceProfile(ctx, facts.Identity, spec.IamInstanceProfile); found.ProfileErr != nil {
		return found
	}
	discover := pass.Memory.cloud.Discovery
	if found.Groups = answerOf(discover.SecurityGroupIDs(ctx, facts.VPCID, spec.AdditionalSecurityGroups)); found.Groups.Err != nil {
		return found
	}
	for i := range spec.NetworkInterfaces {
		network := &spec.NetworkInterfaces[i]
		one := foundInterface{Groups: answerOf(discover.SecurityGroupIDs(ctx, facts.VPCID, network.Groups))}
		if one.Groups.Err == nil && network.Subnet != nil {
			one.Subnets = answerOf(discover.SubnetIDs(ctx, discovery.SubnetQuery{VPCID: facts.VPCID, Refs: []infrav1.AWSResourceReference{*network.Subnet}}))
		}
		found.Interfaces = append(found.Interfaces, one)
		if one.Groups.Err != nil || one.Subnets.Err != nil || network.Subnet != nil && len(one.Subnets.Value) != 1 {
			return found
		}
	}
	if spec.InstanceType != "" {
		found.Type = answerOf(discover.InstanceType(ctx, spec.InstanceType))
	}
	return found
}

// findImage finds the image, if what comes before was found: an image is for an architecture.
func findImage(ctx context.Context, pass pass) *foundImage {
	config, discover, found := pass.Object, pass.Memory.cloud.Discovery, pass.Seen.Lookups
	if found.ProfileErr != nil || found.Groups.Err != nil || found.Type.Err != nil || len(found.Interfaces) < len(config.Spec.NetworkInterfaces) {
		return nil
	}
	search := searchFor(&config.Spec, pass.Seen.Access.Facts, found.Type.Value.Architecture())
	image := &foundImage{Key: search.key}
	if search.none {
		image.RootDeviceName = search.device
		return image
	}
	if search.named != "" {
		image.Image, image.Err = discover.ImageByID(ctx, search.named)
		image.Err = namedImageMissing(image.Err, search.named)
		return image
	}
	if keepImage(ctx, pass, search, image) {
		return image
	}
	if search.parameter != "" {
		image.Image, image.Err = discover.ImageByID(ctx, search.parameter)
	} else {
		image.Image, image.Err = discover.Image(ctx, search.query)
	}
	return image
}

// keepImage finds the image that was looked up for the same before, or that runs in a template that
// is taken over. It reports false if there is none that can be kept.
func keepImage(ctx context.Context, pass pass, search imageSearch, image *foundImage) bool {
	seen, discover := &pass.Seen.Template, pass.Memory.cloud.Discovery
	id, known := keptInStatus(&pass.Object.Status, search.key)
	if !known {
		if seen.Recorded {
			if readVersions(ctx, pass); seen.VersionsErr != nil {
				image.Err = seen.VersionsErr
				return true
			}
		}
		id, known = seen.ImageFor(search.key)
	}
	if !known {
		id = runningImage(seen.Observation)
	}
	if id == "" {
		return false
	}
	image.Image, image.Err = discover.ImageByID(ctx, id)
	var missing *discovery.NotFoundError
	switch {
	case errors.As(image.Err, &missing) && known:
		// without its image the pool could not launch another instance: this one look-up does roll nodes
		image.Gone = id
		return false
	case errors.As(image.Err, &missing):
		return false
	}
	return image.Err != nil || known || discovery.Suits(search.query, image.Image)
}

// answerOf returns an answer.
func answerOf[T any](value T, err error) answer[T] { return answer[T]{Value: value, Err: err} }

// observeUse asks AWS who uses the versions of the template, after it has read these anew. While
// the config is being deleted, only the consumers of its template matter.
func (k *kind) observeUse(ctx context.Context, pass pass) error {
	config, seen, cloud := pass.Object, pass.Seen, pass.Memory.cloud
	found := &use{}
	seen.Use = found
	deleting := config.DeletionTimestamp != nil
	var known []int64
	if !deleting {
		if readVersions(ctx, pass); seen.Template.VersionsErr != nil {
			found.Err, seen.Template.VersionsErr = seen.Template.VersionsErr, nil
			return nil
		}
		for _, version := range seen.Template.Versions {
			known = append(known, version.Number)
		}
	}
	id := seen.Template.Template.ID
	if found.InUse, found.Err = cloud.Groups.VersionsInUse(ctx, owner(config), id); found.Err != nil {
		return nil
	}
	if found.Err = k.nodegroupVersions(ctx, pass, id, known, found.InUse); found.Err != nil || deleting {
		return nil
	}
	running, err := cloud.Templates.VersionsRunning(ctx, id)
	if err != nil {
		found.Err = err
		return nil
	}
	maps.Copy(found.InUse, running)
	pass.Memory.lastAsked = k.Clock.Now()
	found.LastGood, err = k.lastGood(ctx, config)
	return err
}

// lastGood returns the version that the config's pool may roll back to, 0 for none.
func (k *kind) lastGood(ctx context.Context, config *infrav1.AWSLaunchConfig) (int64, error) {
	reference := metav1.GetControllerOf(config)
	if reference == nil || reference.Kind != kindSelfManaged {
		return 0, nil
	}
	pool := &infrav1.AWSMachinePool{}
	err := k.Client.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: reference.Name}, pool)
	if client.IgnoreNotFound(err) != nil {
		return 0, fmt.Errorf("reading AWSMachinePool %q: %w", reference.Name, err)
	}
	if preferences := pool.Spec.RefreshPreferences; preferences != nil && preferences.Rollback && pool.Status.LastGood != nil {
		return pool.Status.LastGood.Version, nil
	}
	return 0, nil
}

// nodegroupVersions adds the versions of a template that node groups were made from. EKS launches
// from a copy, and is not well without the original (AWS: API_Issue,
// SourceEc2LaunchTemplateNotFound), so it is EKS that has to be asked. While EKS is doing something
// with a node group it may yet go back: every version that is known counts as used then.
func (k *kind) nodegroupVersions(ctx context.Context, pass pass, templateID string, known []int64, inUse map[int64]bool) error {
	pools, err := k.consumingPools(ctx, pass.Object)
	if err != nil {
		return err
	}
	for _, pool := range pools {
		cluster := pool.Annotations[ownership.EKSClusterAnnotation]
		if cluster == "" {
			continue // nothing was ever made for it
		}
		for _, name := range ownership.NodegroupNames(pool, pass.Object.Spec.ClusterName) {
			group, err := pass.Memory.cloud.Nodegroups.Describe(ctx, cluster, name)
			if err != nil {
				return err
			}
			if group == nil || group.LaunchTemplateID != templateID {
				continue
			}
			inUse[group.Version] = true
			for _, version := range known {
				inUse[version] = inUse[version] || group.Busy()
			}
			if _, _, replaced := ownership.ReplacedNodegroups(pool); !replaced {
				break // a pool has two node groups only while one replaces the other
			}
		}
	}
	return nil
}

// consumingPools returns the AWSManagedMachinePools that launch from the config: the pools that
// refer to it, and its owner if the owner refers to no other config.
func (k *kind) consumingPools(ctx context.Context, config *infrav1.AWSLaunchConfig) ([]*infrav1.AWSManagedMachinePool, error) {
	pools := &infrav1.AWSManagedMachinePoolList{}
	if err := k.Client.List(ctx, pools, client.InNamespace(config.Namespace), client.MatchingFields{byConfig: config.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the managed pools of launch config %q: %w", config.Name, err)
	}
	var consuming []*infrav1.AWSManagedMachinePool
	for i := range pools.Items {
		if pools.Items[i].Spec.LaunchConfigRef != nil {
			consuming = append(consuming, &pools.Items[i])
		}
	}
	owner, err := owningPool(ctx, k.Client, config)
	if err != nil {
		return nil, err
	}
	if pool, is := owner.(*infrav1.AWSManagedMachinePool); is && pool.Spec.LaunchConfigRef == nil && metav1.IsControlledBy(config, pool) {
		consuming = append(consuming, pool)
	}
	return consuming, nil
}

// observeExisting observes the launch template that a config follows, which Slipway does not own,
// and its versions.
func (k *kind) observeExisting(ctx context.Context, pass pass) {
	config, cloud := pass.Object, pass.Memory.cloud
	existing, status := config.Spec.Existing, &config.Status
	found := &followed{Name: existing.Name}
	pass.Seen.Followed = found
	if found.Name == "" && status.LaunchTemplateID == existing.ID {
		found.Name = status.LaunchTemplateName // the sweeps look by name
	}
	name := found.Name
	if name == "" {
		template, err := cloud.Discovery.LaunchTemplate(ctx, existing.ID, "")
		if err != nil {
			found.Err = err
			return
		}
		name = template.Name
		found.Name = name
	}
	seen, err := cloud.SeenTemplates.Get(ctx, client.ObjectKeyFromObject(config), []string{name}, false)
	if err != nil {
		found.Err = err
		return
	}
	template, exists := seen[name]
	if !exists || existing.ID != "" && template.ID != existing.ID {
		pass.Memory.forgetTemplate()
		return
	}
	found.Template, pass.Seen.Template.Template = &template, &template
	if template.OtherOwner(config.Namespace) != "" {
		pass.Memory.forgetTemplate() // its versions are not ours to read
		return
	}
	observeVersions(ctx, pass)
}

// observeFollowed reads the version that the spec names. A version never changes, and is read once.
// One that nothing can launch from is read in each pass, because what it names may be mended, and
// one whose image is gone is read again: the owner can deregister the image, which no event
// reports.
func (k *kind) observeFollowed(ctx context.Context, pass pass) {
	seen, memory, found := pass.Seen, pass.Memory, pass.Seen.Followed
	number, err := followedNumber(Input{Object: pass.Object, Seen: *seen})
	if err != nil {
		found.Version = &answer[inspection.Version]{Err: err}
		return
	}
	version, err := inspectVersion(ctx, pass, number)
	if err == nil {
		memory.inspected = version
		found.ProfileErr = k.Clouds.AllowsInstanceProfile(ctx, seen.Access.Facts.Identity, version.InstanceProfile)
	}
	found.Version = &answer[inspection.Version]{Value: version, Err: err}
	if _, exists := seen.Template.Version(number); !exists {
		memory.forgetTemplate()
	}
}

func inspectVersion(ctx context.Context, pass pass, number int64) (inspection.Version, error) {
	template, known := pass.Seen.Template.Template, pass.Memory.inspected
	_, lack := inspection.UnusableByAll(known.Gaps)
	if known.Template.ID == template.ID && known.Number == number && lack == "" {
		gone, err := imageGone(ctx, pass, known.ImageID)
		if err != nil || !gone {
			return known, err
		}
	}
	return inspection.NewReader(pass.Memory.cloud.Discovery).ReadVersion(ctx, *template, number)
}

// imageGone reports whether an image does not exist any longer. No image is never gone.
func imageGone(ctx context.Context, pass pass, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	_, err := pass.Memory.cloud.Discovery.ImageByID(ctx, id)
	var missing *discovery.NotFoundError
	if errors.As(err, &missing) {
		return true, nil
	}
	return false, err
}
