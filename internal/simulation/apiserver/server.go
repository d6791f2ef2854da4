package apiserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
)

// Object is an object as the server stores it.
type Object = unstructured.Unstructured

// Server stores objects. Its methods may be called from any goroutine. An object that it has stored
// is never changed again, but replaced: a reader gets the stored one, and must not change it.
type Server struct {
	kinds  *Kinds
	clock  clock.PassiveClock
	random *rand.Rand

	mu       sync.Mutex
	objects  map[key]*Object
	version  uint64
	watches  []*Watch
	onChange func(Change)
	// written holds all writes, the oldest first: one for each version. A server that lags begins
	// watches at an older one.
	written []written

	// garbage is what Garbage listed when the server was at garbageAt.
	garbage   []*Object
	garbageAt uint64

	decodings decodings
}

// Change is one write.
type Change struct {
	// Before is nil for an object that was created, and After for one that was removed.
	Before, After *Object
}

// written is a write as watches see it.
type written struct {
	at key
	Change
	// seen is the object in the event: After, or how the removed object was last.
	seen *Object
}

// key names an object. Versions of a kind share their objects.
type key struct {
	kind schema.GroupKind
	types.NamespacedName
}

// New returns an empty server. The seed decides UIDs and generated names.
func New(kinds *Kinds, clk clock.PassiveClock, seed uint64) *Server {
	return &Server{kinds: kinds, clock: clk, random: rand.New(rand.NewPCG(seed, 0)), objects: map[key]*Object{}} //nolint:gosec // names of a simulation are no secrets
}

// OnChange has every later write reported to f, which must not call the server.
func (s *Server) OnChange(f func(Change)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onChange = f
}

// subresource is the part of an object that a request writes.
type subresource string

const (
	whole  subresource = ""
	status subresource = "status"
)

// preconditions must hold for an object that is deleted.
type preconditions struct {
	uid     *types.UID
	version *string
}

// Version returns how many writes there were.
func (s *Server) Version() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

func (s *Server) get(gvk schema.GroupVersionKind, name types.NamespacedName) (*Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, err := s.find(gvk, name)
	if err != nil {
		return nil, err
	}
	return served(stored, gvk), nil
}

// list returns the objects of a kind by namespace and name, and the version of the list.
func (s *Server) list(gvk schema.GroupVersionKind, namespace string) ([]*Object, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.snapshot(gvk, namespace), s.currentVersion()
}

// snapshot does the same as list, without the lock.
func (s *Server) snapshot(gvk schema.GroupVersionKind, namespace string) []*Object {
	var found []*Object
	for at, stored := range s.objects {
		if at.kind == gvk.GroupKind() && (namespace == "" || at.Namespace == namespace) {
			found = append(found, served(stored, gvk))
		}
	}
	slices.SortFunc(found, byName)
	return found
}

func byName(a, b *Object) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}

// served returns a stored object at the version that is asked for. It must not be changed.
func served(stored *Object, gvk schema.GroupVersionKind) *Object {
	if stored.GroupVersionKind() == gvk {
		return stored
	}
	answer := &Object{Object: maps.Clone(stored.Object)}
	answer.SetGroupVersionKind(gvk)
	return answer
}

// create stores an object.
func (s *Server) create(ctx context.Context, object *Object) (*Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	created, err := s.admitted(ctx, object)
	if err != nil {
		return nil, err
	}
	s.put(keyOf(created), nil, created)
	return served(created, object.GroupVersionKind()), nil
}

// tryCreate is a dry run of create: it stores nothing.
func (s *Server) tryCreate(ctx context.Context, object *Object) (*Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.admitted(ctx, object)
}

// admitted returns an object as it is stored when it is created. The server is locked.
func (s *Server) admitted(ctx context.Context, object *Object) (*Object, error) {
	gvk := object.GroupVersionKind()
	rules, err := s.kinds.rulesOf(gvk)
	if err != nil {
		return nil, err
	}
	if object.GetResourceVersion() != "" {
		return nil, apierrors.NewInternalError(errors.New("resourceVersion should not be set on objects to be created"))
	}
	created := object.DeepCopy()
	if created.GetName() == "" {
		if created.GetGenerateName() == "" {
			return nil, invalid(gvk, "", field.Required(field.NewPath("metadata", "name"), "name or generateName is required"))
		}
		created.SetName(created.GetGenerateName() + s.suffix())
	}
	if s.objects[keyOf(created)] != nil {
		return nil, apierrors.NewAlreadyExists(resourceOf(gvk), created.GetName())
	}
	if created.Object, err = rules.admitCreate(ctx, created); err != nil {
		return nil, err
	}
	created.SetUID(s.newUID())
	created.SetCreationTimestamp(metav1.NewTime(s.clock.Now()).Rfc3339Copy())
	unstructured.RemoveNestedField(created.Object, "metadata", "deletionTimestamp")
	unstructured.RemoveNestedField(created.Object, "metadata", "deletionGracePeriodSeconds")
	unstructured.RemoveNestedField(created.Object, "metadata", "generation")
	unstructured.RemoveNestedField(created.Object, "metadata", "managedFields")
	if rules.custom {
		created.SetGeneration(1)
	}
	return created, nil
}

// update replaces an object, or its status. The change is computed from the stored object under the
// server's lock, as a patch is. It must leave the stored object as it is, and what it returns may
// share parts with it.
func (s *Server) update(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName, part subresource, change func(stored *Object) (*Object, error)) (*Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rules, err := s.kinds.rulesOf(gvk)
	if err != nil {
		return nil, err
	}
	stored, err := s.find(gvk, name)
	if err != nil {
		return nil, err
	}
	if part == status && !rules.status {
		return nil, apierrors.NewGenericServerResponse(404, "update", resourceOf(gvk), name.Name, "the kind has no status subresource", 0, true)
	}
	current := served(stored, gvk)
	wanted, err := change(current)
	if err != nil {
		return nil, err
	}
	if err := preserved(gvk, current, wanted); err != nil {
		return nil, err
	}
	next, err := rules.admitUpdate(ctx, part, current, wanted)
	if err != nil {
		return nil, err
	}
	s.carry(rules, current, next)
	if equality.Semantic.DeepEqual(current.Object, next.Object) {
		return current, nil
	}
	if next.GetDeletionTimestamp() != nil && len(next.GetFinalizers()) == 0 {
		s.remove(keyOf(next), stored, next)
		return next, nil
	}
	s.put(keyOf(next), stored, next)
	return served(next, gvk), nil
}

// carry keeps what only the server writes.
func (s *Server) carry(rules rules, current, next *Object) {
	next.SetUID(current.GetUID())
	next.SetResourceVersion(current.GetResourceVersion())
	unstructured.RemoveNestedField(next.Object, "metadata", "managedFields")
	for _, name := range []string{"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"} {
		value, found, _ := unstructured.NestedFieldNoCopy(current.Object, "metadata", name)
		if found {
			_ = unstructured.SetNestedField(next.Object, value, "metadata", name) // metadata is an object
		} else {
			unstructured.RemoveNestedField(next.Object, "metadata", name)
		}
	}
	if rules.custom && !equality.Semantic.DeepEqual(contents(rules, current), contents(rules, next)) {
		next.SetGeneration(current.GetGeneration() + 1)
	}
}

// contents returns the part of an object whose changes a generation counts.
func contents(rules rules, object *Object) map[string]any {
	counted := map[string]any{}
	for name, value := range object.Object {
		if name != "metadata" && (name != "status" || !rules.status) {
			counted[name] = value
		}
	}
	return counted
}

// preserved refuses a change that names another object or another version than the stored one.
func preserved(gvk schema.GroupVersionKind, current, wanted *Object) error {
	resource, name := resourceOf(gvk), current.GetName()
	switch version := wanted.GetResourceVersion(); {
	case version == "":
	case version != current.GetResourceVersion():
		return apierrors.NewConflict(resource, name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if uid := wanted.GetUID(); uid != "" && uid != current.GetUID() {
		return apierrors.NewConflict(resource, name, fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, current.GetUID())) //nolint:staticcheck // the server's own message
	}
	if wanted.GetName() != name || wanted.GetNamespace() != current.GetNamespace() {
		return apierrors.NewBadRequest("the name and the namespace of the object are not those of the request")
	}
	if current.GetDeletionTimestamp() != nil {
		for _, finalizer := range wanted.GetFinalizers() {
			if !slices.Contains(current.GetFinalizers(), finalizer) {
				return invalid(gvk, name, field.Forbidden(field.NewPath("metadata", "finalizers"),
					fmt.Sprintf("no new finalizers can be added if the object is being deleted, found new finalizers %q", finalizer)))
			}
		}
	}
	return nil
}

func (s *Server) delete(gvk schema.GroupVersionKind, name types.NamespacedName, only preconditions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deleteLocked(gvk, name, only)
}

func (s *Server) deleteLocked(gvk schema.GroupVersionKind, name types.NamespacedName, only preconditions) error {
	stored, err := s.find(gvk, name)
	if err != nil {
		return err
	}
	if only.uid != nil && *only.uid != stored.GetUID() || only.version != nil && *only.version != stored.GetResourceVersion() {
		return apierrors.NewConflict(resourceOf(gvk), name.Name, errors.New("the preconditions of the deletion do not hold"))
	}
	if len(stored.GetFinalizers()) == 0 {
		s.remove(keyOf(stored), stored, stored.DeepCopy())
		return nil
	}
	if stored.GetDeletionTimestamp() != nil {
		return nil
	}
	marked := stored.DeepCopy()
	now := metav1.NewTime(s.clock.Now()).Rfc3339Copy()
	var atOnce int64
	marked.SetDeletionTimestamp(&now)
	marked.SetDeletionGracePeriodSeconds(&atOnce)
	if marked.GetGeneration() > 0 {
		marked.SetGeneration(marked.GetGeneration() + 1)
	}
	s.put(keyOf(marked), stored, marked)
	return nil
}

// put stores an object at a new version. The server is locked.
func (s *Server) put(at key, before, after *Object) {
	s.version++
	after.SetResourceVersion(s.currentVersion())
	s.objects[at] = after
	s.tell(written{at, Change{Before: before, After: after}, after})
}

// remove removes an object; last is how watchers see it go. The server is locked.
func (s *Server) remove(at key, before, last *Object) {
	s.version++
	last.SetResourceVersion(s.currentVersion())
	delete(s.objects, at)
	s.tell(written{at, Change{Before: before}, last})
}

func (s *Server) tell(write written) {
	s.written = append(s.written, write)
	for _, watch := range s.watches {
		watch.add(write)
	}
	if s.onChange != nil {
		s.onChange(write.Change)
	}
}

func (s *Server) currentVersion() string { return strconv.FormatUint(s.version, 10) }

func (s *Server) find(gvk schema.GroupVersionKind, name types.NamespacedName) (*Object, error) {
	if stored := s.objects[key{gvk.GroupKind(), name}]; stored != nil {
		return stored, nil
	}
	return nil, apierrors.NewNotFound(resourceOf(gvk), name.Name)
}

// suffix returns five characters for a generated name.
func (s *Server) suffix() string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	var made strings.Builder
	for range 5 {
		made.WriteByte(letters[s.random.IntN(len(letters))])
	}
	return made.String()
}

func (s *Server) newUID() types.UID {
	high, low := s.random.Uint64(), s.random.Uint64()
	return types.UID(fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", high>>32, high>>16&0xffff, high&0xfff, low>>48&0xfff, low&0xffffffffffff))
}

func keyOf(object *Object) key {
	return key{object.GroupVersionKind().GroupKind(), types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}}
}

// admitCreate returns the object as it is stored.
func (r rules) admitCreate(ctx context.Context, object *Object) (map[string]any, error) {
	if r.schema == nil {
		created := runtime.DeepCopyJSON(object.Object)
		if r.status {
			delete(created, "status")
		}
		return created, nil
	}
	created, err := r.schema.Create(ctx, r.schema.Prune(object.Object))
	if err != nil {
		return nil, refused(object, err)
	}
	return created, nil
}

// admitUpdate returns the stored object with the part that is written.
func (r rules) admitUpdate(ctx context.Context, part subresource, current, wanted *Object) (*Object, error) {
	if r.custom && part == whole && wanted.GetResourceVersion() == "" {
		return nil, invalid(current.GroupVersionKind(), current.GetName(),
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"))
	}
	var next map[string]any
	var err error
	switch {
	case part == status:
		next, err = r.updateStatus(ctx, current, wanted)
	case r.schema == nil:
		next = withStatusOf(r, current, maps.Clone(wanted.Object))
	default:
		next, err = r.updateWhole(ctx, current, wanted)
	}
	if err != nil {
		return nil, refused(current, err)
	}
	if metadata, is := next["metadata"].(map[string]any); is {
		next["metadata"] = maps.Clone(metadata) // the server writes into it
	}
	return &Object{Object: next}, nil
}

// updateStatus returns current with the status of wanted. A status that stays as it is needs no
// validation: it was validated when it was written.
func (r rules) updateStatus(ctx context.Context, current, wanted *Object) (map[string]any, error) {
	next, written := maps.Clone(current.Object), wanted.Object
	if r.schema != nil {
		written = map[string]any{"apiVersion": written["apiVersion"], "kind": written["kind"], "metadata": written["metadata"], "status": written["status"]}
		written = r.statusSchema.NormalizeChange(current.Object, written)
	}
	delete(next, "status")
	if value, set := written["status"]; set {
		next["status"] = value
	}
	if r.schema == nil || equality.Semantic.DeepEqual(current.Object["status"], next["status"]) {
		return next, nil
	}
	return next, r.statusSchema.ValidateChange(ctx, current.Object, next, "status")
}

// updateWhole returns wanted with the status of current. A change of metadata alone is not
// validated: the rest was validated when it was written, and unchanged values are not held against
// an update.
func (r rules) updateWhole(ctx context.Context, current, wanted *Object) (map[string]any, error) {
	next := withStatusOf(r, current, r.schema.NormalizeChange(current.Object, wanted.Object))
	if equality.Semantic.DeepEqual(contents(r, current), contents(r, &Object{Object: next})) {
		return next, nil
	}
	return next, r.schema.ValidateChange(ctx, current.Object, next, "spec")
}

// withStatusOf gives an object the status of current, if that is written through the subresource alone.
func withStatusOf(r rules, current *Object, next map[string]any) map[string]any {
	if !r.status {
		return next
	}
	delete(next, "status")
	if value, set := current.Object["status"]; set {
		next["status"] = value
	}
	return next
}

// refused returns the answer to an object that its definition does not allow.
func refused(object *Object, err error) error {
	var all field.ErrorList
	var several utilerrors.Aggregate
	if errors.As(err, &several) {
		for _, one := range several.Errors() {
			if invalid := (*field.Error)(nil); errors.As(one, &invalid) {
				all = append(all, invalid)
			}
		}
	}
	if len(all) == 0 {
		return apierrors.NewBadRequest(err.Error())
	}
	return invalid(object.GroupVersionKind(), object.GetName(), all...)
}

func invalid(gvk schema.GroupVersionKind, name string, errs ...*field.Error) error {
	return apierrors.NewInvalid(gvk.GroupKind(), name, errs)
}
