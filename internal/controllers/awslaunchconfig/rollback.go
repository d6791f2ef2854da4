package awslaunchconfig

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// goBack puts an earlier version's config in the place of the spec's, for as long as the spec asks for the one that failed. The bootstrap data is that of
// today: an old join token would be dead. Where the version is gone, or the bootstrap data is what failed, the spec's config stays wanted.
func (r *Reconciler) goBack(ctx context.Context, p *pass) reconciling.Outcome {
	rollback, asked := p.config.Spec.Rollback, p.input.Fingerprints.Config
	p.config.Status.RolledBackFrom = ""
	if pinned := p.config.Spec.PinnedVersion; pinned != nil {
		return r.pin(ctx, p, *pinned)
	}
	if rollback == nil || rollback.From != asked {
		return reconciling.Continue()
	}
	p.config.Status.RolledBackFrom = asked
	if _, exists := versionOf(p.seen, rollback.Version); p.seen.Template == nil || !exists {
		return reconciling.Continue()
	}
	return r.launch(ctx, p, rollback.Version)
}

// data reads a version's data, once: it never changes, and a token rotation in a rollback needs it each time.
func (r *Reconciler) data(ctx context.Context, p *pass, number int64) (launchtemplate.Data, error) {
	if known, remembered := r.memory.data.Get(p.key()); remembered && known.Number() == number && known.TemplateID() == p.seen.Template.ID {
		return known, nil
	}
	data, err := p.cloud.Templates.Data(ctx, p.seen.Template.ID, number)
	if err != nil {
		return launchtemplate.Data{}, err
	}
	r.memory.data.Put(p.key(), data)
	return data, nil
}

// keepGood counts the versions as used that a rollback goes to, or may go to. Once the last instance is replaced nothing in AWS uses them.
func (r *Reconciler) keepGood(ctx context.Context, p *pass, inUse map[int64]bool) error {
	keepSteered(p, inUse)
	if history := p.config.Status.History; len(history) > 0 {
		if number, exists := newestOf(p.seen, history[0].ConfigFingerprint); exists {
			inUse[number] = true // the next launch is compared with it
		}
	}
	if rollback := p.config.Spec.Rollback; rollback != nil {
		inUse[rollback.Version] = true
	}
	reference := metav1.GetControllerOf(p.config)
	if reference == nil || reference.Kind != "AWSMachinePool" {
		return nil
	}
	pool := &infrav1.AWSMachinePool{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: p.config.Namespace, Name: reference.Name}, pool)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading AWSMachinePool %q: %w", reference.Name, err)
	}
	if preferences := pool.Spec.RefreshPreferences; preferences != nil && preferences.Rollback && pool.Status.LastGood != nil {
		inUse[pool.Status.LastGood.Version] = true
	}
	return nil
}

// longestReason bounds a version's reason in status (API: maxLength 256), in characters.
const longestReason = 256

// whatDiffers says how the wanted config differs from the one that was wanted before, which is the default version's. It is told on a best effort:
// no version waits for it.
func (r *Reconciler) whatDiffers(ctx context.Context, p *pass) string {
	data, err := p.cloud.Templates.Data(ctx, p.seen.Template.ID, p.seen.Template.DefaultVersion)
	if err != nil {
		return configurationChanged
	}
	return inWords(launchtemplate.Changes(data, p.input))
}

// inWords are differences as a version's reason.
func inWords(differences []string) string {
	if len(differences) == 0 {
		return configurationChanged
	}
	return bounded(strings.Join(differences, ", "))
}

// bounded cuts a reason to what status takes.
func bounded(text string) string {
	if runes := []rune(text); len(runes) > longestReason {
		text = string(runes[:longestReason-1]) + "…"
	}
	return text
}
