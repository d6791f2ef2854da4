// Package apiserver is a Kubernetes API server in memory, for simulations. It follows the rules
// that decide whether a controller is correct:
//
//   - One counter numbers all writes. An update or patch that names another resource version than
//     the stored one is a conflict, and an update of a custom resource must name one.
//   - A generation grows with each change of a custom resource outside its metadata and status, and
//     with its deletion.
//   - A kind with a status subresource changes its status through that alone, and nothing else through it.
//   - An object with finalizers is marked as deleted and stays until the last finalizer is removed.
//     No finalizer can be added meanwhile.
//   - Custom resources are defaulted, pruned, and validated by their definitions, CEL transition
//     rules included.
//   - A write that changes nothing is no write: it has no resource version and no event.
//   - Objects whose owners are all gone are garbage. Server.Garbage lists them, and Server.Collect
//     deletes one, so that the caller decides when that happens.
//   - Each watcher has a queue of its own. The caller takes events from it one at a time, so that a
//     cache can be as stale as a test needs.
//
// The server starts no goroutine and reads no clock but the one it is given. UIDs, generated names,
// and resource versions follow from its seed and the order of writes.
//
// It leaves out admission and conversion webhooks, namespaces that must exist or are being
// terminated, managed fields and server-side apply, foreground deletion, dry runs, pagination, and
// authorization.
package apiserver
