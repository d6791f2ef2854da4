package simulation_test

import infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"

// steeringMutants are mistakes about roll-outs that the user controls.
var steeringMutants = []mutant{
	// An actual mistake of the past, by which a launch config with rollout Manual was written
	// endlessly.
	{"take a condition that is removed and set again for a changed one", "an object at rest is not written", []edit{
		{"internal/reconciling/conditions.go", "before != nil && before.Status == condition.Status {", "before != nil && before.Status == \"\" {"},
		{"internal/launchconfig/decide_steer.go", "		if manual {\n			reconciling.True(config", "		reconciling.Remove(config, infrav1.RolloutApprovedCondition)\n		if manual {\n			reconciling.True(config"},
	}},
	{"launch what waits for approval", "nothing is rolled out that was not approved", []edit{{
		"internal/launchconfig/decide_steer.go", "manual, paused := config.Spec.Rollout == infrav1.LaunchConfigRolloutManual,", "manual, paused := config.Spec.Rollout == infrav1.LaunchConfigRolloutManual && config.Status.Version == 0,",
	}}},
	{"take an approval for one of every version", "an approval is for one configuration", []edit{{
		"internal/launchconfig/decide_steer.go", "return exists && version.Fingerprints.Config == config", "return exists || version.Fingerprints.Config == config",
	}}},
	{"do not hear about approvals", "an approved version is rolled out", []edit{{
		"internal/pool/launchconfig.go", "	case config.HasVersion(approved):", "	case !config.HasVersion(approved):",
	}}},
	{"launch edits of a paused pool", "an edit of a paused pool waits", []edit{{
		"internal/pool/configrequest.go", "	annotations[infrav1.RolloutPausedAnnotation] = r.Pool.GetAnnotations()[infrav1.RolloutPausedAnnotation]\n", "	annotations[infrav1.RolloutPausedAnnotation] = \"\"\n",
	}}},
	{"start refreshes of a paused pool", "a paused pool starts no roll-out", []edit{{
		"internal/autoscalinggroup/rollout.go", "	case r.Paused || ", "	case false || ",
	}}},
	{"let the refresh of a paused pool go on", "the refresh of a paused pool is canceled", []edit{{
		"internal/autoscalinggroup/rollout.go", "	if r.Paused || r.Broken {\n		return true\n	}\n", "	if r.Broken {\n		return true\n	}\n",
	}}},
	{"do not resume", "what was paused goes on once it is resumed", []edit{{
		"internal/machinepool/decide_rollout.go", "func pausing(in input) bool { return infrav1.RolloutPaused(in.Object.Annotations) }",
		"func pausing(in input) bool { return infrav1.RolloutPaused(in.Object.Annotations) || in.Seen.LaunchConfig.Object != nil && disabledBefore(in) }\n\n" +
			"func disabledBefore(in input) bool {\n	shown := meta.FindStatusCondition(in.Object.Status.Conditions, infrav1.RolledOutCondition)\n	return shown != nil && shown.Reason == infrav1.RolloutPausedReason\n}",
	}}},
	{"retry without end", "a request to retry is acted on once", []edit{{
		"internal/machinepool/decide_retry.go", "		status.Retried = request\n", "		_ = request\n",
	}}},
	{"start a refresh that was stopped at once", "a roll-out that failed is tried again after a delay", []edit{{
		"internal/autoscalinggroup/rollout.go", "if left := backOff(decision.Attempts) - r.Now.Sub(r.EndSeen); left > 0 {", "if left := backOff(decision.Attempts) - r.Now.Sub(r.EndSeen); left > RetryAfter {",
	}}},
	{"show the refresh of a lost group", "status shows what AWS holds", []edit{{
		"internal/machinepool/decide_refresh.go", "	if present || record == nil && !announced {", "	if present || record != nil || !announced {",
	}}},
	{"launch the spec despite a pin", "a pin decides what is launched", []edit{{
		"internal/launchconfig/decide_steer.go", "		launch.input = earlier\n	case rollback", "		_ = earlier\n	case rollback",
	}}},
}

// steeringFlaws are mistakes about them at the edges of the process.
var steeringFlaws = []flawed{
	{"do not pass on approvals", "an approved version is rolled out", patched("AWSLaunchConfig", false, unannotated(infrav1.ApprovedVersionAnnotation))},
	{"do not pass on pauses", "an edit of a paused pool waits", patched("AWSLaunchConfig", false, unannotated(infrav1.RolloutPausedAnnotation))},
	{"do not cancel refreshes", "the refresh of a paused pool is canceled", form("CancelInstanceRefresh", with("AutoScalingGroupName", "another"))},
}

// managedSteeringMutants are mistakes about roll-outs of AWSManagedMachinePools that the user controls.
var managedSteeringMutants = []mutant{
	{"update the node group of a paused pool", "a paused pool starts no roll-out", []edit{{
		"internal/managedmachinepool/decide_settle.go", "exists(in) && (paused(in) || settleWait(in, key) > 0)", "exists(in) && settleWait(in, key) > 0",
	}}},
	{"do not resume updates", "what was paused goes on once it is resumed", []edit{{
		"internal/managedmachinepool/decide_settle.go", "func paused(in input) bool { return infrav1.RolloutPaused(in.Object.Annotations) }",
		"func paused(in input) bool {\n	_, is := in.Object.Annotations[infrav1.RolloutPausedAnnotation]\n	return is || in.Object.Status.Update != nil\n}",
	}}},
}
