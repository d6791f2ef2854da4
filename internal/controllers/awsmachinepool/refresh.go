package awsmachinepool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/autoscalinggroup"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// poll is what AWS said of a group's refreshes, and when.
type poll struct {
	at      time.Time
	history []autoscalinggroup.Refresh
}

// observeRefresh shows how far the refresh is that is under way, whatever is wrong with what is asked for now, and takes off the shield of one that has ended.
func (r *Reconciler) observeRefresh(ctx context.Context, p *pass) reconciling.Outcome {
	if p.group == nil || p.adopting || p.group.Deleting || !refreshing(p.pool) && !shielding(p.pool) {
		return reconciling.Continue()
	}
	history, err := r.history(ctx, p)
	if err != nil {
		return outcome.Of(p.pool, infrav1.RolledOutCondition, infrav1.RefreshStartFailedReason, err).AndGoOn()
	}
	p.refreshes = history
	r.reportRefresh(ctx, p, history)
	if latest(history).Active() {
		p.moving = true
		return r.pollAgain(p)
	}
	if shielding(p.pool) {
		if err := r.unshield(ctx, p); err != nil {
			return outcome.Of(p.pool, infrav1.RolledOutCondition, infrav1.RefreshStartFailedReason, err).AndGoOn()
		}
	}
	return reconciling.Continue()
}

// history are the group's refreshes, newest first: as they were read in this pass, else as they were seen a moment ago if one is under way, else as AWS says. Refreshes have no batched
// describe, so the more are under way, the seldomer each is looked at, however often its pool is woken.
func (r *Reconciler) history(ctx context.Context, p *pass) ([]autoscalinggroup.Refresh, error) {
	if p.refreshes != nil {
		return p.refreshes, nil
	}
	if seen, _ := r.polls.Get(p.key()); latest(seen.history).Active() && r.Clock.Since(seen.at) < p.cloud.RefreshPace.Join(p.key()) {
		return seen.history, nil
	}
	return r.poll(ctx, p)
}

// poll asks AWS.
func (r *Reconciler) poll(ctx context.Context, p *pass) ([]autoscalinggroup.Refresh, error) {
	at := r.Clock.Now()
	history, err := p.cloud.Groups.Refreshes(ctx, p.group.Name)
	if err != nil {
		return nil, err
	}
	r.forgetPoll(p)
	if latest(history).Active() {
		p.cloud.RefreshPace.Join(p.key())
		r.polls.Put(p.key(), poll{at: at, history: history})
	}
	return history, nil
}

// forgetPoll has AWS asked when refreshes are next of interest.
func (r *Reconciler) forgetPoll(p *pass) {
	r.polls.Forget(p.key())
	p.cloud.RefreshPace.Leave(p.key())
}

// lookClosely sees refreshes and group as AWS has them now.
func (r *Reconciler) lookClosely(ctx context.Context, p *pass) ([]autoscalinggroup.Refresh, error) {
	history, err := r.poll(ctx, p)
	if err != nil {
		return nil, err
	}
	return history, r.see(ctx, p, true)
}

// pollAgain comes back when the refresh under way may be looked at again.
func (r *Reconciler) pollAgain(p *pass) reconciling.Outcome {
	wait := p.cloud.RefreshPace.Join(p.key())
	if seen, _ := r.polls.Get(p.key()); seen.history != nil {
		wait -= r.Clock.Since(seen.at)
	}
	return reconciling.ContinueAndComeBack(wait, "the refresh goes on")
}

func latest(history []autoscalinggroup.Refresh) *autoscalinggroup.Refresh {
	if len(history) == 0 {
		return nil
	}
	return &history[0]
}

// recorded is the newest refresh as status has it: enough to tell whether AWS has to be asked.
func recorded(pool *infrav1.AWSMachinePool) []autoscalinggroup.Refresh {
	record := pool.Status.Rollout
	if record == nil || record.RefreshID == "" {
		return nil
	}
	return []autoscalinggroup.Refresh{{ID: record.RefreshID, Status: record.Status, Strategy: record.Strategy}}
}

// refreshing is true if a refresh was under way when the pool was last looked at.
func refreshing(pool *infrav1.AWSMachinePool) bool { return latest(recorded(pool)).Active() }

// rolloutStatus is the pool's, which is made if there is none.
func rolloutStatus(pool *infrav1.AWSMachinePool) *infrav1.RolloutStatus {
	if pool.Status.Rollout == nil {
		pool.Status.Rollout = &infrav1.RolloutStatus{}
	}
	return pool.Status.Rollout
}

// reportRefresh shows the newest refresh in status, and its end as an event.
func (r *Reconciler) reportRefresh(ctx context.Context, p *pass, history []autoscalinggroup.Refresh) {
	newest := latest(history)
	if newest == nil {
		return
	}
	status := rolloutStatus(p.pool)
	adopt(p.pool, history)
	r.noteEnd(status, newest)
	same, before := status.RefreshID == newest.ID, status.Status
	status.RefreshID, status.Status, status.Reason = newest.ID, newest.Status, common.Shortened(newest.Reason)
	status.Strategy = newest.Strategy
	status.PercentageComplete, status.StartTime = ptr.To(newest.Percentage), ptr.To(metav1.NewTime(newest.Started))
	if newest.Active() || !same || before == newest.Status {
		return
	}
	// Status may not have been written, or not be seen yet.
	end := newest.ID + " " + newest.Status
	if told, _ := r.told.Get(p.key()); told == end {
		return
	}
	r.told.Put(p.key(), end)
	if newest.Succeeded() {
		what := "instances"
		if newest.InPlace() {
			what = "root volumes"
		}
		r.Report.Done(ctx, p.pool, "InstanceRefreshSucceeded", "Instance refresh %s replaced all %s", newest.ID, what)
		return
	}
	r.Report.Warn(ctx, p.pool, "InstanceRefreshEnded", "Instance refresh %s ended as %s%s", newest.ID, newest.Status, said(newest))
}

// noteEnd records when a refresh was first seen to have ended.
func (r *Reconciler) noteEnd(status *infrav1.RolloutStatus, newest *autoscalinggroup.Refresh) {
	known := status.RefreshID == newest.ID && status.EndSeenTime != nil
	switch {
	case newest.Active():
		status.EndSeenTime = nil
	case !known:
		status.EndSeenTime = ptr.To(metav1.NewTime(r.Clock.Now()))
	}
}

// Annotations of a pool. Unlike status they outlive a move to another management cluster.
const (
	// refreshAnnotation announces a refresh before it is started: what it is for, with which launch template, and after which refresh.
	refreshAnnotation = infrav1.TagSlipwayPrefix + "refresh"
	// shieldAnnotation names the instances that Slipway protects from scale-in while a refresh runs. They were not protected before.
	shieldAnnotation = infrav1.TagSlipwayPrefix + "shielded"
)

// noRefresh stands in an announcement for the id of a refresh, where the group had none before.
const noRefresh = "-"

// announceRefresh writes down that a refresh is about to be started and which instances are to be spared by it, before anything is done: a crash or a
// lost status then leaves nothing that nobody knows of. It fails if somebody edited the pool meanwhile.
func (r *Reconciler) announceRefresh(ctx context.Context, p *pass, history []autoscalinggroup.Refresh, shield []autoscalinggroup.Instance) error {
	var spared []string
	for _, instance := range shield {
		if !instance.Protected {
			spared = append(spared, instance.ID)
		}
	}
	after := noRefresh
	if newest := latest(history); newest != nil {
		after = newest.ID
	}
	value := strings.Join([]string{p.wanted.Key(), p.wanted.TemplateID, after}, " ")
	return r.annotate(ctx, p, func(annotations map[string]string) {
		annotations[refreshAnnotation] = value
		delete(annotations, shieldAnnotation)
		if len(spared) > 0 {
			annotations[shieldAnnotation] = strings.Join(spared, ",")
		}
	})
}

// withdraw takes an announcement back.
func (r *Reconciler) withdraw(ctx context.Context, p *pass) error {
	return r.annotate(ctx, p, func(annotations map[string]string) { delete(annotations, refreshAnnotation) })
}

func (r *Reconciler) annotate(ctx context.Context, p *pass, change func(map[string]string)) error {
	err := reconciling.Patch(ctx, r.Client, p.pool, func(pool *infrav1.AWSMachinePool) {
		if pool.Annotations == nil {
			pool.Annotations = map[string]string{}
		}
		change(pool.Annotations)
	})
	if err != nil {
		return fmt.Errorf("announcing a refresh: %w", err)
	}
	return nil
}

// adopt recognizes a refresh as ours by its announcement, where status does not know it: it was lost, or could not be written. It is the one that AWS
// lists next after the refresh that was the newest when ours was announced.
func adopt(pool *infrav1.AWSMachinePool, history []autoscalinggroup.Refresh) {
	announced := strings.Fields(pool.Annotations[refreshAnnotation])
	if len(announced) != 3 {
		return
	}
	purpose, template, after := announced[0], announced[1], strings.TrimPrefix(announced[2], noRefresh)
	started, status := autoscalinggroup.NextAfter(history, after), pool.Status.Rollout
	if started == nil || status.StartedID == started.ID {
		return
	}
	status.StartedID, status.StartedFor, status.StartedTemplateID = started.ID, purpose, template
}

// shielding is true while instances are protected by Slipway.
func shielding(pool *infrav1.AWSMachinePool) bool { return pool.Annotations[shieldAnnotation] != "" }

func shielded(pool *infrav1.AWSMachinePool) []string {
	if !shielding(pool) {
		return nil
	}
	return strings.Split(pool.Annotations[shieldAnnotation], ",")
}

// withoutShield are the group's instances as their user has them protected.
func withoutShield(p *pass) []autoscalinggroup.Instance {
	ours := shielded(p.pool)
	instances := slices.Clone(p.group.Instances)
	for i := range instances {
		if slices.Contains(ours, instances[i].ID) {
			instances[i].Protected = false
		}
	}
	return instances
}

// protectable is true for an instance whose protection AWS lets be set (AWS: API_SetInstanceProtection).
func protectable(instance autoscalinggroup.Instance) bool {
	return instance.InService() || instance.LifecycleState == "Standby"
}

// unshieldable is an instance that is to be spared and can not be yet, "" if there is none.
func unshieldable(shield []autoscalinggroup.Instance) string {
	for _, instance := range shield {
		if !instance.Protected && !protectable(instance) {
			return instance.ID
		}
	}
	return ""
}

// shieldAndStart protects what runs the wanted config already, and starts the refresh.
func (r *Reconciler) shieldAndStart(ctx context.Context, p *pass, rollout autoscalinggroup.Rollout, decision autoscalinggroup.Decision) (string, error) {
	if spared := shielded(p.pool); len(spared) > 0 {
		p.cloud.SeenGroups.Invalidate(p.group.Name)
		if err := p.cloud.Groups.Protect(ctx, p.group.Name, spared, true); err != nil {
			return "", err
		}
	}
	replacing := autoscalinggroup.Replacing{Preferences: preferencesFor(p), SkipMatching: rollout.SkipsMatching(), Shielded: len(decision.Shield) > 0}
	if p.inPlace {
		replacing.RootVolumes = &p.launches
	}
	return p.cloud.Groups.StartRefresh(ctx, p.group.Name, replacing)
}

// unshield gives up the protection that Slipway set, and no other.
func (r *Reconciler) unshield(ctx context.Context, p *pass) error {
	if err := r.see(ctx, p, true); err != nil || p.group == nil {
		return err
	}
	ours := shielded(p.pool)
	var protected []string
	for _, instance := range p.group.Instances {
		if instance.Protected && protectable(instance) && slices.Contains(ours, instance.ID) {
			protected = append(protected, instance.ID)
		}
	}
	if len(protected) > 0 {
		p.cloud.SeenGroups.Invalidate(p.group.Name)
		if err := p.cloud.Groups.Protect(ctx, p.group.Name, protected, false); err != nil {
			return err
		}
		p.group.Instances = slices.Clone(p.group.Instances) // what was seen is shared
		for i := range p.group.Instances {
			if slices.Contains(protected, p.group.Instances[i].ID) {
				p.group.Instances[i].Protected = false
			}
		}
	}
	return r.annotate(ctx, p, func(annotations map[string]string) { delete(annotations, shieldAnnotation) })
}

// preferencesFor are the user's. A refresh that goes back watches no alarms: they may go off because of what it is to replace, and AWS starts none
// while one does (AWS: instance-refresh-rollback).
func preferencesFor(p *pass) *infrav1.RefreshPreferences {
	preferences := p.pool.Spec.RefreshPreferences.DeepCopy()
	if preferences != nil && rolledBack(p.config) {
		preferences.Alarms = nil
	}
	return preferences
}
