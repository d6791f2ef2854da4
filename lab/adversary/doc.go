// Package adversary holds what separates tenants: two users who may do anything in their own
// namespace try to reach what was created for the other, and what Cluster API Provider AWS created
// for a third cluster. An oracle judges every call to the simulated AWS.
package adversary
