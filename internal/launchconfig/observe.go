package launchconfig

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/inspection"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// memory holds what this process remembers of one config, in order to save calls.
type memory struct {
	// cloud is where AWS is reached in this pass; nil if it cannot be.
	cloud *clouds.Cloud
	seen  launchtemplate.Observation
	// lastAsked is when AWS was last asked who uses the versions of the template.
	lastAsked time.Time
	// versionsRead is when all versions of the template were last read because they were needed.
	versionsRead time.Time
	// data are versions of the template, which never change, by number.
	data map[int64]launchtemplate.Data
	// stored is the bootstrap data outside of the template.
	stored storedItem
	// inspected is the version that the config follows of a launch template that Slipway does not
	// own.
	inspected inspection.Version
}

// forgetTemplate drops what was seen of the template and its versions: the next pass looks.
func (m *memory) forgetTemplate() {
	m.seen, m.lastAsked, m.versionsRead = launchtemplate.Observation{}, time.Time{}, time.Time{}
	m.data, m.inspected = nil, inspection.Version{}
}

type pass = reconcile.Pass[*infrav1.AWSLaunchConfig, Observed, memory]

// Observe implements reconcile.Kind.
func (k *kind) Observe(ctx context.Context, pass pass, needs ...reconcile.Need) error {
	if len(needs) == 0 {
		return k.observe(ctx, pass)
	}
	for _, need := range needs {
		if err := k.observeNeed(ctx, pass, need); err != nil {
			return err
		}
	}
	return nil
}

// observe sees what every pass is about: whether AWS can be reached, the pools, and the template as
// the sweeps know it.
func (k *kind) observe(ctx context.Context, pass pass) error {
	config, seen := pass.Object, pass.Seen
	k.observeProgress(config)
	cluster, err := pool.GetCluster(ctx, k.Client, config.Namespace, config.Spec.ClusterName)
	if err == nil {
		seen.Usages, err = usagesOf(ctx, k.Client, config)
	}
	if err == nil {
		seen.Owner, err = k.ownerOf(ctx, config)
	}
	if err != nil {
		return err
	}
	registry := pool.Registry{Registry: k.Clouds, Reader: k.Client, Services: clouds.TemplateServices}
	if config.DeletionTimestamp != nil {
		pass.Memory.cloud, seen.Access, err = registry.ReachForDeletion(ctx, config, cluster, "")
	} else {
		pass.Memory.cloud, seen.Access, err = registry.Reach(ctx, config, cluster, config.Spec.ClusterName)
	}
	if err != nil {
		return err
	}
	seen.Interval, seen.Stored = k.Clouds.TemplateInterval(), k.lastStored(pass)
	seen.LastAsked, seen.VersionsRead = pass.Memory.lastAsked, pass.Memory.versionsRead
	switch {
	case pass.Memory.cloud == nil:
		k.Clouds.ForgetTemplate(client.ObjectKeyFromObject(config)) // the sweeps would go on looking
	case config.DeletionTimestamp != nil:
	case config.Spec.Existing != nil:
		k.observeExisting(ctx, pass)
	default:
		k.observeTemplate(ctx, pass)
	}
	return nil
}

// observeProgress starts and stops the clock of an edit.
func (k *kind) observeProgress(config *infrav1.AWSLaunchConfig) {
	if config.DeletionTimestamp != nil {
		return
	}
	k.Report.Progress.Seen(config, config.Status.ObservedGeneration, k.Clock.Now())
	if config.Status.ObservedGeneration == config.Generation && isReadyFor(config, config.Generation) {
		k.Report.Progress.Versioned(config, false, k.Clock.Now())
	}
}

// lastStored returns the bootstrap data as this process saw it last, or as an earlier process
// recorded it. A manager that starts with a thousand existing pools need not describe a thousand
// parameters at once, because AWS only allows three descriptions per second. It describes them over
// the day.
func (k *kind) lastStored(pass pass) storedItem {
	if !pass.Memory.stored.Seen.IsZero() {
		return pass.Memory.stored
	}
	recorded, known := recordedItem(pass.Object)
	if known {
		passed := time.Duration((1 - reconciling.ShareOf(client.ObjectKeyFromObject(pass.Object))) * float64(storedLookAgain))
		recorded.Seen = k.Clock.Now().Add(-passed)
		pass.Memory.stored = recorded
	}
	return recorded
}

// observeTemplate sees the template and its versions. The template is known from the sweeps;
// versions are read again only when the template is not as this process left it, or as status says
// that another left it.
func (k *kind) observeTemplate(ctx context.Context, pass pass) {
	config, seen := pass.Object, &pass.Seen.Template
	found, err := templatesOf(ctx, pass, false)
	template, taken := choose(config, found)
	if err == nil && template == nil && len(taken) > 0 && config.Annotations[infrav1.AdoptTemplateAnnotation] == "" {
		// A name may be free again, and no event reports that.
		found, err = templatesOf(ctx, pass, true)
		template, taken = choose(config, found)
	}
	if err == nil && template == nil {
		if template, err = k.prover().adoptable(ctx, pass, found); template != nil {
			seen.Adopt = template.ID
		}
	}
	seen.Looked, seen.Taken, seen.swept = true, taken, template
	if err != nil {
		seen.Err = err
		return
	}
	if seen.Template = template; template == nil {
		observeNamed(ctx, pass)
	} else if isBehind(*template, &config.Status) {
		// The next pass reads the template again, so that this stale answer is not mistaken for a
		// change made outside Slipway.
		pass.Memory.cloud.SeenTemplates.Invalidate(template.Name)
	}
	if seen.Template != nil {
		observeVersions(ctx, pass)
	}
}

// isBehind reports whether a template was read as it was before the latest version that status
// lists was created. Slipway never deletes the latest version.
func isBehind(template launchtemplate.Template, status *infrav1.AWSLaunchConfigStatus) bool {
	return template.ID == status.LaunchTemplateID && len(status.Versions) > 0 && template.LatestVersion < status.Versions[0].Number
}

// observeNamed sees the template that status names, if no other with the owner tag was found.
func observeNamed(ctx context.Context, pass pass) {
	known := pass.Object.Status.LaunchTemplateID
	if known == "" {
		return
	}
	named, err := pass.Memory.cloud.Templates.One(ctx, known, "")
	if named != nil && named.OwnedBy(owner(pass.Object)) {
		pass.Seen.Template.Template = named
		return
	}
	pass.Seen.Template.Named = &answer[*launchtemplate.Template]{Value: named, Err: err}
	if named != nil {
		pass.Memory.forgetTemplate()
	}
}

// templatesOf returns the templates with names that the config's may have, by name.
func templatesOf(ctx context.Context, pass pass, fresh bool) (map[string]launchtemplate.Template, error) {
	return pass.Memory.cloud.SeenTemplates.Get(ctx, client.ObjectKeyFromObject(pass.Object), TemplateNames(pass.Object), fresh)
}

// observeVersions reads the versions of a template that is not as this process left it, or as
// status says that another left it.
func observeVersions(ctx context.Context, pass pass) {
	seen := &pass.Seen.Template
	if remembered := pass.Memory.seen; remembered.IsOf(*seen.Template) {
		seen.Versions = remembered.Versions
		return
	}
	if versions := recordedVersions(&pass.Object.Status, *seen.Template); len(versions) > 0 && pass.Object.Spec.Existing == nil {
		seen.Versions, seen.Recorded = versions, true
		return
	}
	readVersions(ctx, pass)
}

// readVersions asks AWS for the versions of the template.
func readVersions(ctx context.Context, pass pass) {
	seen := &pass.Seen.Template
	launched := launchedNumber(&pass.Object.Status, *seen.Template)
	versions, data, err := pass.Memory.cloud.Templates.VersionsWith(ctx, seen.Template.ID, launched)
	if err != nil {
		seen.VersionsErr = err
		return
	}
	if data != nil && pass.Object.Spec.Existing == nil {
		// The reason of the next version is what differs from it.
		pass.Memory.data = map[int64]launchtemplate.Data{launched: *data}
	}
	seen.Versions, seen.Recorded, seen.VersionsErr = versions, false, nil
	if seen.Deleted == nil {
		seen.Deleted = deletedVersions(&pass.Object.Status, seen.Observation)
	}
	// A list that lacks versions, or has another default version than the template, is not remembered: EC2
	// may not show yet what was created or changed.
	if len(versions) > 0 && len(seen.Deleted) == 0 && !isBehind(*seen.Template, &pass.Object.Status) && sameDefault(versions, *seen.Template) {
		pass.Memory.seen = seen.Settled()
	}
}

// sameDefault reports whether a list of versions has the default version that the template has.
func sameDefault(versions []launchtemplate.Version, template launchtemplate.Template) bool {
	return !slices.ContainsFunc(versions, func(version launchtemplate.Version) bool {
		return version.Default != (version.Number == template.DefaultVersion)
	})
}

// observeBootstrap reads the Secret that the spec names, past the cache, and has it watched.
func (k *kind) observeBootstrap(ctx context.Context, pass pass) error {
	config, self := pass.Object, client.ObjectKeyFromObject(pass.Object)
	pass.Seen.Bootstrap = &seenBootstrap{}
	if config.Spec.Bootstrap == nil {
		k.Watches.Forget(self)
		return nil
	}
	key := types.NamespacedName{Namespace: config.Namespace, Name: config.Spec.Bootstrap.DataSecretName}
	k.Watches.Watch(self, key)
	secret := &corev1.Secret{}
	if err := k.Live.Get(ctx, key, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("reading Secret %q: %w", key.Name, err)
	}
	k.Watches.Read(self, secret.ResourceVersion)
	pass.Seen.Bootstrap = &seenBootstrap{Exists: true, Value: secret.Data[secretValue], Format: string(secret.Data[secretFormat])}
	return nil
}
