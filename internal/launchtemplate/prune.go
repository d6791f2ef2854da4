package launchtemplate

// duplicatesTolerated limits how many unused versions that differ only by their join token
// accumulate before they are pruned. A kubeadm token rotates every few minutes; pruning after each
// rotation would double its calls.
const duplicatesTolerated = 10

// PrunePlan says which versions to delete, newest first: unused ones whose config a newer version
// has too (they differ by a token), and unused ones beyond the newest keep distinct configs. A
// version that is wanted, default or in use is never among them.
func PrunePlan(versions []Version, keep int, wanted int64, inUse map[int64]bool) []int64 {
	var plan []int64
	configs := map[string]bool{}
	for _, version := range newestFirst(versions) {
		duplicate := configs[version.Fingerprints.Config]
		configs[version.Fingerprints.Config] = true
		spare := duplicate || len(configs) > keep
		if spare && version.Number != wanted && !version.Default && !inUse[version.Number] {
			plan = append(plan, version.Number)
		}
	}
	return plan
}

// PruneDue says whether it is worth asking who uses which version: a config too many exists, or
// enough token duplicates have gathered.
func PruneDue(versions []Version, keep int, wanted int64) bool {
	plan := PrunePlan(versions, keep, wanted, nil)
	configs := map[string]bool{}
	for _, version := range versions {
		configs[version.Fingerprints.Config] = true
	}
	return len(plan) > 0 && (len(configs) > keep || len(plan) > duplicatesTolerated)
}
