package pool

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/bootstrapstorage"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// LaunchConfig is the AWSLaunchConfig of a pool, as it was observed.
type LaunchConfig struct {
	// Object is nil if there is none.
	Object *infrav1.AWSLaunchConfig
	// Recent is true if this process created the object and the cache does not show it yet.
	Recent bool
	// Source is the AWSLaunchConfigTemplate that the pool refers to.
	Source ReferredTemplate
	// Template is the launch template of that ID that status names, nil if AWS has none.
	// TemplateErr is why that is not known.
	TemplateID  string
	Template    *launchtemplate.Template
	TemplateErr error
	// CacheCheck is about Object.
	CacheCheck
}

// NeedConfigCheck is the observation of whether the cache shows the present launch config.
const NeedConfigCheck reconcile.Need = "whether the cache shows the present launch config"

// Check compares the launch config of the cache with the API server's. The cache of a process that
// has just started may be behind what the process before it acted on. The API server is asked after
// the cache, so a version that differs is a later one, and its order (apimachinery's resourceversion)
// says no more.
func (c *LaunchConfig) Check(ctx context.Context, live client.Reader) error {
	now, err := liveConfig(ctx, live, c.Object)
	if err != nil {
		return err
	}
	c.Checked, c.Behind = true, now == nil || now.UID != c.Object.UID || now.ResourceVersion != c.Object.ResourceVersion
	return nil
}

// Current reports whether the cache shows the present launch config, and has that found out if it is
// not known. To replace nodes for an earlier one would replace them twice.
func (c *LaunchConfig) Current(plan *reconcile.Plan) bool { return c.current(plan, NeedConfigCheck) }

// liveConfig reads the launch config that has the name of an object past the cache, nil if there is
// none.
func liveConfig(ctx context.Context, live client.Reader, object client.Object) (*infrav1.AWSLaunchConfig, error) {
	config := &infrav1.AWSLaunchConfig{}
	err := live.Get(ctx, client.ObjectKeyFromObject(object), config)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading AWSLaunchConfig %q: %w", object.GetName(), err)
	}
	return config, nil
}

// NeedTemplate is the observation of whose the launch template is that a launch config names.
const NeedTemplate reconcile.Need = "whose the launch template is"

const (
	// ConfigEnding is the delay before a pool checks again whether a launch config that has its
	// name is gone.
	ConfigEnding = 10 * time.Second
	// CacheBehind is the time within which the cache is expected to show what this process wrote.
	CacheBehind = 5 * time.Second
)

// CreatedConfig is the launch config that a process created last for a pool, until the cache shows
// it: to create it again would be refused after most of the work of a write.
type CreatedConfig struct {
	config *infrav1.AWSLaunchConfig
	at     time.Time
}

// Create creates the launch config of a pool, and returns it as the API server stored it.
func (c *CreatedConfig) Create(ctx context.Context, kube client.Client, owner client.Object, wanted *infrav1.AWSLaunchConfig, now time.Time) (*infrav1.AWSLaunchConfig, error) {
	config := wanted.DeepCopy()
	if err := controllerutil.SetControllerReference(owner, config, kube.Scheme()); err != nil {
		return nil, fmt.Errorf("owning the launch config: %w", err)
	}
	if err := kube.Create(ctx, config); err != nil {
		return nil, err
	}
	c.config, c.at = config.DeepCopy(), now
	return config, nil
}

// Read reads the launch config of a pool: the one that it refers to by a name, or its namesake if the
// reference is nil; and the template that it is created from, nil if it is from none.
func (c *CreatedConfig) Read(ctx context.Context, reader client.Reader, object client.Object, reference *infrav1.LaunchConfigReference,
	template *infrav1.LaunchConfigTemplateReference, now time.Time,
) (LaunchConfig, error) {
	var seen LaunchConfig
	name := object.GetName()
	if reference != nil {
		name = reference.Name
	}
	config := &infrav1.AWSLaunchConfig{}
	switch err := reader.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: name}, config); {
	case err == nil:
		seen.Object, c.config = config, nil
	case !apierrors.IsNotFound(err):
		return seen, fmt.Errorf("reading AWSLaunchConfig %q: %w", name, err)
	case reference == nil && c.config != nil && metav1.IsControlledBy(c.config, object) && now.Sub(c.at) < CacheBehind:
		seen.Object, seen.Recent = c.config.DeepCopy(), true
	}
	if template == nil {
		return seen, nil
	}
	var err error
	seen.Source, err = ReadTemplate(ctx, reader, object.GetNamespace(), *template)
	return seen, err
}

// ReadTemplate reads the launch template that the launch config's status names.
func (c *LaunchConfig) ReadTemplate(ctx context.Context, cloud *clouds.Cloud) {
	status := c.Object.Status
	c.TemplateID, c.Template, c.TemplateErr = status.LaunchTemplateID, nil, nil
	if template, known := cloud.SeenTemplates.Peek(status.LaunchTemplateName); known && template.ID == status.LaunchTemplateID {
		c.Template = &template
		return
	}
	c.Template, c.TemplateErr = cloud.Templates.One(ctx, status.LaunchTemplateID, "")
}

// foreign returns why no pool may launch from the template that was read, "" if pools may.
func (c LaunchConfig) foreign() string {
	if c.Template == nil {
		return "" // it was deleted, or is not visible yet: AWS refuses to launch from it
	}
	return ForeignTemplate(c.Object, *c.Template)
}

// Proven reports whether it is proven that the pool may launch from the template that the launch
// config's status names. Present is the template that the pool's group launches from already, ""
// for none, which is not proven again.
func (c LaunchConfig) Proven(present string) bool {
	named := c.Object.Status.LaunchTemplateID
	return named == present || c.TemplateID == named && c.TemplateErr == nil && c.foreign() == ""
}

// Prove checks that the pool may launch from the template that its launch config's status names,
// before its group is first pointed at it, and shows why it may not. Status is no proof: a user who
// may write it could name the template of another cluster, with that cluster's user data. It reports
// whether the decision goes on.
func (c LaunchConfig) Prove(object reconciling.Conditioned, plan *reconcile.Plan, present string) bool {
	if !Launchable(c.Object) || c.Proven(present) {
		return true
	}
	switch {
	case c.TemplateErr != nil:
		ShowFailure(object, plan, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchTemplateReconcileFailedReason, c.TemplateErr)
		return false
	case c.TemplateID != c.Object.Status.LaunchTemplateID:
		plan.Need(NeedTemplate)
	default:
		reconciling.False(object, infrav1.LaunchTemplateReadyCondition, infrav1.OwnerTagMissingReason, c.foreign())
		plan.LookAgain(CacheBehind)
	}
	return true
}

// ShowForeign shows that a launch config that is not the pool's has its name.
func (c LaunchConfig) ShowForeign(object reconciling.Conditioned, plan *reconcile.Plan) {
	if c.Object.DeletionTimestamp == nil {
		reconciling.False(object, infrav1.LaunchTemplateReadyCondition, infrav1.LaunchConfigNotOwnedReason,
			fmt.Sprintf("AWSLaunchConfig %q exists and does not belong to this pool, so no launch template is "+
				"created. Rename one of them", c.Object.Name))
		return
	}
	reconciling.Unknown(object, infrav1.LaunchTemplateReadyCondition, infrav1.WaitingForLaunchConfigReason,
		fmt.Sprintf("AWSLaunchConfig %q, which does not belong to this pool, is being deleted. The pool creates "+
			"its own once it is gone. Nodes keep the version that they run", c.Object.Name))
	plan.LookAgain(ConfigEnding)
}

// ShowUnfit shows why the pool cannot launch from the launch config that it refers to by a name, if
// it cannot: there is none, or it has a problem. It reports whether it can.
func (c LaunchConfig) ShowUnfit(object reconciling.Conditioned, name, problem string) bool {
	switch {
	case c.Object == nil:
		reconciling.False(object, infrav1.LaunchTemplateReadyCondition, infrav1.WaitingForLaunchConfigReason,
			fmt.Sprintf("AWSLaunchConfig %q, which spec.launchConfigRef names, does not exist. Running nodes "+
				"are kept. Create it, or correct the name", name))
		return false
	case problem != "":
		reconciling.False(object, infrav1.LaunchTemplateReadyCondition, infrav1.InvalidSpecReason, fmt.Sprintf("this pool cannot use AWSLaunchConfig "+
			"%q: %s", name, problem))
		return false
	}
	return true
}

// Leftovers holds what a deleted or released pool may leave of its launch config.
type Leftovers struct {
	// ConfigRead is true if the launch config was read past the cache; Config is nil if the pool has none.
	ConfigRead bool
	Config     *infrav1.AWSLaunchConfig
	// TemplatesRead is true if AWS was asked for launch templates of the pool, which no launch
	// config deletes.
	TemplatesRead bool
	Templates     []launchtemplate.Template
	TemplatesErr  error
}

// ShowDeletion shows in the Deleting condition, for a reason, that the launch config is being deleted,
// and what that waits for.
func (l Leftovers) ShowDeletion(object reconciling.Conditioned, reason string) {
	message := fmt.Sprintf("AWSLaunchConfig %s and its launch template are being deleted", l.Config.Name)
	if condition := meta.FindStatusCondition(l.Config.Status.Conditions, infrav1.DeletingCondition); condition != nil && condition.Message != "" {
		message += ": " + condition.Message
	}
	reconciling.True(object, infrav1.DeletingCondition, reason, message)
}

// ReadConfig reads a pool's own launch config past the cache, which may not know yet of one that was
// just created.
func (l *Leftovers) ReadConfig(ctx context.Context, live client.Reader, object client.Object) error {
	config, err := liveConfig(ctx, live, object)
	if err != nil {
		return err
	}
	l.ConfigRead = true
	if config != nil && metav1.IsControlledBy(config, object) {
		l.Config = config
	}
	return nil
}

// FindTemplates finds the launch templates of an owner, a pool whose launch config is gone. Where
// another object has the name, it has the template. Namesake is an empty object of the other kind of
// pool, whose launch config would have the same name.
func (l *Leftovers) FindTemplates(ctx context.Context, live client.Reader, cloud *clouds.Cloud, object, namesake client.Object, owner string) error {
	for _, other := range []client.Object{&infrav1.AWSLaunchConfig{}, namesake} {
		err := live.Get(ctx, client.ObjectKeyFromObject(object), other)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading %T %q: %w", other, object.GetName(), err)
		}
		if err == nil {
			l.TemplatesRead = true
			return nil
		}
	}
	l.Templates, l.TemplatesErr = cloud.Templates.OwnedBy(ctx, owner)
	l.TemplatesRead = l.TemplatesErr == nil
	return ctx.Err()
}

// DeleteTemplate deletes a launch template with the owner's bootstrap data wherever versions of the
// template have it that some is kept.
func DeleteTemplate(ctx context.Context, cloud *clouds.Cloud, owner string, template launchtemplate.Template) error {
	versions, err := cloud.Templates.Versions(ctx, template.ID)
	if err != nil {
		return err
	}
	swept := map[bootstrapstorage.Place]bool{}
	for _, version := range versions {
		location, kept := bootstrapstorage.ParseLocation(version.Fingerprints.Data)
		if !kept || swept[location.Place] {
			continue
		}
		swept[location.Place] = true
		if _, err := cloud.Storage.Sweep(ctx, location.Place, owner, nil, nil); err != nil {
			return err
		}
	}
	if err := cloud.Templates.Delete(ctx, owner, template); err != nil {
		return err
	}
	cloud.SeenTemplates.Invalidate(template.Name)
	return nil
}
