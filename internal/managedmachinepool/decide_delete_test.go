package managedmachinepool

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
	"github.com/slipway-project/slipway/internal/nodegroup"
	"github.com/slipway-project/slipway/internal/noderole"
	"github.com/slipway-project/slipway/internal/pool"
)

// deleting has the pool be deleted.
func deleting(in *input) {
	in.Object.DeletionTimestamp = &metav1.Time{Time: noon}
	in.Seen.Access.Facts = nil
}

// emptied has the pool be deleted, and its node group be gone.
func emptied(in *input) {
	deleting(in)
	in.Seen.Group, in.Seen.Members, in.Seen.Strays = nil, nil, Strays{Read: true}
	condition(in, infrav1.DeletingCondition, metav1.ConditionTrue, infrav1.NodegroupDeletingReason, "")
	deletingSince(in, noon.Add(-time.Hour))
}

// deletingSince has the pool be one that is being deleted since a time.
func deletingSince(in *input, since time.Time) {
	meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.DeletingCondition).LastTransitionTime = metav1.NewTime(since)
}

// unconfigured has its launch config be gone, too.
func unconfigured(in *input) {
	emptied(in)
	in.Seen.Leftovers = Leftovers{Leftovers: pool.Leftovers{ConfigRead: true, TemplatesRead: true}}
}

// roles has it be known which roles the pool may have created.
func roles(change func(*Role)) edit {
	return func(in *input) {
		unconfigured(in)
		role := Role{Read: true, Name: "nodes", Role: &noderole.Role{Name: "nodes", ARN: roleARN, Tags: map[string]string{infrav1.TagManagedMachinePool: "team/blue/pool"}}}
		change(&role)
		in.Seen.Leftovers.RolesRead, in.Seen.Leftovers.Roles = true, []Role{role}
	}
}

func TestDecideDeletion(t *testing.T) {
	t.Parallel()
	condition := infrav1.DeletingCondition
	failing := func(since time.Time) edit {
		return func(in *input) {
			deleting(in)
			group(in, func(g *nodegroup.Nodegroup) { g.Status = nodegroup.StatusDeleteFailed })
			in.Object.Status.Deletion = &infrav1.NodegroupDeletionStatus{FailedSince: ptr.To(metav1.NewTime(since)), UnseenSince: ptr.To(metav1.NewTime(since))}
		}
	}
	const deleteIt = "delete node group team_pool, because pool is being deleted"
	stray := func(in *input) {
		emptied(in)
		in.Object.Status.NodeRole = nil
		in.Seen.Strays.Groups = []*nodegroup.Nodegroup{{Name: "golden", RoleARN: roleARN, Status: nodegroup.StatusActive}}
	}
	specify(t, []row{
		{reason: "nothing was created in AWS", given: func(in *input) { deleting(in); in.Seen.Access = pool.Access{NothingMade: true} }, then: "let the pool go"},
		{reason: "AWS cannot be reached", given: func(in *input) { deleting(in); in.Seen.Access.Err = errLater }, then: "nothing", fails: "no answer"},
		{reason: "its node group lacks the owner tag", given: func(in *input) {
			deleting(in)
			group(in, func(g *nodegroup.Nodegroup) { g.Tags = nil })
			in.Seen.GroupErr, in.Seen.Group = &ownerTagMissingError{group: in.Seen.Group, wanted: "team/blue/pool"}, nil
		}, then: "nothing", again: refusedAgain, shows: []string{condition + "=True/" + infrav1.OwnerTagMissingReason + ": or delete the node group in EKS"}},
		{reason: "EKS does not answer", given: func(in *input) { deleting(in); in.Seen.GroupErr = errLater }, then: "nothing", fails: "no answer"},
		{reason: "node groups of other owners have its names", given: func(in *input) { emptied(in); in.Seen.GroupErr = &namesTakenError{} }, then: "needs the launch config past the cache"},
		{reason: "CAPA created the node group", given: func(in *input) { deleting(in); in.Seen.Adopting = true }, then: "nothing", again: untaggedAgain,
			shows: []string{condition + "=True/" + infrav1.OwnerTagMissingReason + ": remove finalizer"}},
		{reason: "there is a node group", given: deleting, then: deleteIt},
		{reason: "EKS refuses", given: func(in *input) { deleting(in); did(in, deleteNodegroup{Group: "team_pool"}, errRefused) }, then: "nothing", again: refusedAgain,
			shows: []string{condition + "=False/" + infrav1.NodegroupDeleteFailedReason}},
		{reason: "EKS is updating it", given: func(in *input) {
			deleting(in)
			group(in, func(g *nodegroup.Nodegroup) { g.Status = nodegroup.StatusUpdating })
			did(in, deleteNodegroup{Group: "team_pool"}, errInUse)
		}, then: "nothing", again: lookBusy, shows: []string{condition + "=True/" + infrav1.NodegroupDeletingReason + ": after the update that is in progress"}},
		{reason: "it is being deleted", given: func(in *input) { deleting(in); did(in, deleteNodegroup{Group: "team_pool"}, nil) }, then: "nothing", again: lookBusy,
			shows: []string{condition + "=True/" + infrav1.NodegroupDeletingReason, infrav1.NodegroupReadyCondition + "=False/" + infrav1.NodegroupDeletingReason}},
		{reason: "EKS could not delete it just now", given: failing(noon), then: "nothing", again: lookBusy, shows: []string{condition + "=True/" + infrav1.NodegroupDeletingReason + ": EKS could not delete"}},
		{reason: "EKS could not delete it a while ago", given: failing(noon.Add(-endAgain)), then: deleteIt},
		{reason: "other names were not looked for", given: func(in *input) { emptied(in); in.Seen.Strays = Strays{} }, then: "needs node groups of other names"},
		{reason: "other names cannot be looked for", given: func(in *input) { emptied(in); in.Seen.Strays = Strays{Err: errLater} }, then: "nothing", fails: "no answer"},
		{reason: "its node group has another name", given: stray, then: "delete node group golden, because pool is being deleted"},
		{reason: "it has no cluster", given: func(in *input) { emptied(in); in.Seen.EKSCluster, in.Seen.Strays = "", Strays{} }, then: "needs the launch config past the cache"},
		{reason: "no node group was ever seen", given: func(in *input) { emptied(in); in.Object.Status.Conditions = nil }, then: "nothing", again: lookAgain,
			shows: []string{condition + "=True/" + infrav1.DeletingReason + ": Slipway checks again, because a new node group may not be visible yet"}},
		{reason: "EKS was asked to delete a node group that may not be visible yet", given: func(in *input) {
			emptied(in)
			deletingSince(in, noon.Add(-lookAgain))
		}, then: "nothing", again: lookAgain, shows: []string{condition + "=True/" + infrav1.DeletingReason + ": Slipway checks again, because a new node group may not be visible yet"}},
		{reason: "none was seen for a while", given: func(in *input) {
			emptied(in)
			in.Object.Status.Conditions = nil
			in.Object.Status.Deletion = &infrav1.NodegroupDeletionStatus{UnseenSince: ptr.To(metav1.NewTime(noon.Add(-lookAgain)))}
		}, then: "needs the launch config past the cache"},
	})
}

func TestDecideLeftovers(t *testing.T) {
	t.Parallel()
	deletion := infrav1.DeletingCondition
	config := func(change func(*infrav1.AWSLaunchConfig)) edit {
		return func(in *input) {
			emptied(in)
			left := in.Seen.LaunchConfig.Object.DeepCopy()
			change(left)
			in.Seen.Leftovers = Leftovers{Leftovers: pool.Leftovers{ConfigRead: true, Config: left}}
		}
	}
	templates := func(in *input) {
		unconfigured(in)
		in.Seen.Leftovers.Templates = []launchtemplate.Template{{ID: "lt-1", Name: "blue-pool"}}
	}
	heir := func(deleted bool) edit {
		return roles(func(role *Role) {
			role.Users.Heir = &infrav1.AWSManagedMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "heir"}}
			if deleted {
				role.Users.Heir.DeletionTimestamp = &metav1.Time{Time: noon}
			}
		})
	}
	own := roles(func(*Role) {})
	specify(t, []row{
		{reason: "its launch config is left", given: config(func(*infrav1.AWSLaunchConfig) {}), then: "delete AWSLaunchConfig pool, because pool is being deleted, and its node group is gone"},
		{reason: "its launch config is being deleted", given: config(func(config *infrav1.AWSLaunchConfig) {
			config.DeletionTimestamp = &metav1.Time{Time: noon}
			config.Status.Conditions = []metav1.Condition{{Type: deletion, Status: metav1.ConditionTrue, Message: "instances run"}}
		}), then: "nothing", shows: []string{deletion + "=True/" + infrav1.NodegroupDeletingReason + ": instances run"}},
		{reason: "templates were not looked for", given: func(in *input) { unconfigured(in); in.Seen.Leftovers.TemplatesRead = false }, then: "needs launch templates without a launch config"},
		{reason: "templates cannot be looked for", given: func(in *input) { unconfigured(in); in.Seen.Leftovers.TemplatesErr = errRefused }, then: "nothing", again: refusedAgain,
			shows: []string{deletion + "=False/" + infrav1.LaunchTemplateDeleteFailedReason}},
		{reason: "a template is left", given: templates, then: "delete launch template blue-pool (lt-1), because the launch config of launch template blue-pool is gone"},
		{reason: "it cannot be deleted", given: func(in *input) { templates(in); did(in, deleteTemplate{}, errRefused) }, then: "nothing", again: refusedAgain},
		{reason: "the launch config was another object's", given: func(in *input) {
			unconfigured(in)
			in.Object.Spec.AWSLaunchTemplate, in.Object.Spec.LaunchConfigRef = nil, &infrav1.LaunchConfigReference{Name: "shared"}
			in.Seen.Leftovers.TemplatesRead = false
		}, then: "needs roles that the pool may have created"},
		{reason: "its role is left", given: own, then: "delete IAM role nodes, because pool is being deleted, and its node group is gone"},
		{reason: "a role cannot be read", given: roles(func(role *Role) { role.Err = errLater }), then: "nothing", fails: "no answer"},
		{reason: "its role cannot be deleted", given: func(in *input) { own(in); did(in, deleteRole{}, errRefused) }, then: "nothing", again: refusedAgain,
			shows: []string{deletion + "=False/" + infrav1.NodeRoleDeleteFailedReason}},
		{reason: "its role lost the pool's tag", given: roles(func(role *Role) { role.Role.Tags = nil }), then: "let the pool go"},
		{reason: "its role is gone", given: roles(func(role *Role) { role.Role = nil }), then: "let the pool go"},
		{reason: "a pool of another namespace has the role", given: roles(func(role *Role) { role.Users.Foreign = true }), then: "let the pool go"},
		{reason: "another pool has the role", given: heir(false), then: "leave IAM role nodes to AWSManagedMachinePool team/heir, because pool is being deleted"},
		{reason: "another pool that is being deleted has the role", given: heir(true), then: "nothing", again: lookBusy, shows: []string{deletion + "=True/" + infrav1.NodegroupDeletingReason + ": nodes of AWSManagedMachinePool team/heir, which is also being deleted, use IAM role nodes"}},
	})
}

func TestDecideRelease(t *testing.T) {
	t.Parallel()
	condition := infrav1.ReleasedCondition
	releasing := func(in *input) {
		in.Object.Annotations[infrav1.ReleaseAnnotation] = "true"
		in.Object.Spec.AWSLaunchTemplate.AMI.ID = ptr.To("ami-1")
		group(in, func(g *nodegroup.Nodegroup) { g.AMIType = "CUSTOM" })
	}
	changed := func(change edit) edit {
		return func(in *input) {
			releasing(in)
			change(in)
		}
	}
	released := changed(func(in *input) {
		config := in.Seen.LaunchConfig.Object
		config.Annotations[infrav1.ReleaseAnnotation] = "true"
		config.Status.Conditions = append(config.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, ObservedGeneration: 1})
	})
	disowned := func(in *input) {
		released(in)
		in.Seen.Group = nil
	}
	config := func(change func(*infrav1.AWSLaunchConfig)) edit {
		return func(in *input) {
			disowned(in)
			left := in.Seen.LaunchConfig.Object.DeepCopy()
			change(left)
			in.Seen.Leftovers = Leftovers{Leftovers: pool.Leftovers{ConfigRead: true, Config: left}}
		}
	}
	waits := condition + "=False/" + infrav1.ReleasingReason
	specify(t, []row{
		{reason: "no MachinePool owns the pool", given: changed(func(in *input) { in.Seen.MachinePool = nil }), then: "nothing"},
		{reason: "EKS does not answer", given: changed(func(in *input) { in.Seen.GroupErr = errRefused }), then: "nothing", again: refusedAgain, shows: []string{waits}},
		{reason: "EKS updates the node group", given: changed(func(in *input) { group(in, func(g *nodegroup.Nodegroup) { g.Status = nodegroup.StatusUpdating }) }), then: "nothing", again: lookBusy,
			shows: []string{waits + ": Slipway releases it when the update is complete"}},
		{reason: "the node group has another name", given: changed(func(in *input) { group(in, func(g *nodegroup.Nodegroup) { g.Name = "golden" }) }), then: "nothing",
			shows: []string{condition + "=False/" + infrav1.NameTakenReason}},
		{reason: "the pool has no launch template", given: changed(untemplated), then: "take the owner tag from node group " +
			"team_pool, because the pool is being released to Cluster API Provider AWS, and its launch " +
			"template is in the expected format"},
		{reason: "the pool refers to a launch config", given: changed(func(in *input) {
			in.Object.Spec.AWSLaunchTemplate, in.Object.Spec.LaunchConfigRef = nil, &infrav1.LaunchConfigReference{Name: "shared"}
		}), then: "nothing", shows: []string{condition + "=False/" + infrav1.InvalidSpecReason + ": Create a new pool with awsLaunchTemplate, and migrate to it"}},
		{reason: "the template Cluster API Provider AWS does not support a node group whose launch template has no image, and EKS cannot change that", given: changed(func(in *input) { in.Object.Spec.AWSLaunchTemplate.AMI.ID = nil }), then: "nothing", shows: []string{condition + "=False/" + infrav1.InvalidSpecReason + ": Cluster API Provider AWS does not support a node group whose launch template has no image, and EKS cannot change that"}},
		{reason: "its launch config is gone", given: changed(func(in *input) { in.Seen.LaunchConfig.Object = nil }), then: "create AWSLaunchConfig pool, because the pool has no launch config"},
		{reason: "its launch config was created again", given: changed(func(in *input) { did(in, createLaunchConfig{Config: &infrav1.AWSLaunchConfig{}}, nil) }), then: "nothing", shows: []string{waits + ": was recreated"}},
		{reason: "its launch config is another object's", given: changed(func(in *input) { in.Seen.LaunchConfig.Object.OwnerReferences = nil }), then: "nothing",
			shows: []string{infrav1.LaunchTemplateReadyCondition + "=False/" + infrav1.LaunchConfigNotOwnedReason}},
		{reason: "its template has another name", given: changed(func(in *input) { group(in, func(g *nodegroup.Nodegroup) { g.LaunchTemplateName = "golden" }) }), then: "nothing",
			shows: []string{condition + "=False/" + infrav1.NameTakenReason + ": launch template blue-pool"}},
		{reason: "its launch config is not ready", given: changed(func(in *input) { in.Seen.LaunchConfig.Object.Generation = 2 }), then: "nothing", shows: []string{waits + ": not ready"}},
		{reason: "another version is wanted", given: changed(func(in *input) { versionsOf(in.Seen.LaunchConfig.Object, 2) }), then: "nothing", shows: []string{waits + ": the desired launch template version is 2, but the node group uses version 1"}},
		{reason: "all is as wanted", given: releasing, then: "release AWSLaunchConfig pool, because the pool is " +
			"being released to Cluster API Provider AWS"},
		{reason: "the launch config cannot be released", given: changed(func(in *input) { did(in, markReleased{}, errLater) }), then: "nothing", fails: "no answer"},
		{reason: "the launch config is not released yet", given: changed(func(in *input) { in.Seen.LaunchConfig.Object.Annotations[infrav1.ReleaseAnnotation] = "true" }), then: "nothing", shows: []string{waits}},
		{reason: "the launch config is released", given: released, then: "take the owner tag from node group " +
			"team_pool, because the pool is being released to Cluster API Provider AWS, and its launch " +
			"template is in the expected format"},
		{reason: "the owner tag cannot be taken", given: func(in *input) { released(in); did(in, disownNodegroup{}, errRefused) }, then: "nothing", again: refusedAgain, shows: []string{waits}},
		{reason: "the owner tag was taken", given: func(in *input) { released(in); did(in, disownNodegroup{}, nil) }, then: "needs the launch config past the cache"},
		{reason: "the launch config is left", given: config(func(*infrav1.AWSLaunchConfig) {}), then: "delete AWSLaunchConfig pool, because " +
			"the pool has been released to Cluster API Provider AWS"},
		{reason: "the launch config is being deleted", given: config(func(config *infrav1.AWSLaunchConfig) { config.DeletionTimestamp = &metav1.Time{Time: noon} }), then: "nothing", shows: []string{waits + ": is being deleted"}},
		{reason: "the launch config was never released", given: config(func(config *infrav1.AWSLaunchConfig) { config.Annotations = nil }), then: "nothing", fails: "has not been released"},
		{reason: "nothing is left", given: func(in *input) { disowned(in); in.Seen.Leftovers.ConfigRead = true }, then: "nothing", shows: []string{condition + "=True/" + infrav1.ReleasedReason}},
	})
}
