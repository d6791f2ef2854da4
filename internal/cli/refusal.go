package cli

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// noKindError reports a kind that the management cluster does not serve.
type noKindError struct {
	kind schema.GroupVersionKind
	err  error
}

// Error implements error.
func (e *noKindError) Error() string {
	switch {
	case e.kind.Version == "":
		return "it has no apiVersion"
	case e.kind.GroupVersion() == infrav1.GroupVersion:
		return fmt.Sprintf("this cluster has no CustomResourceDefinition of %s: install Slipway, or choose the management cluster with --context", e.kind.Kind)
	}
	return fmt.Sprintf("the management cluster has no kind %s of apiVersion %s: correct the apiVersion, or install the CustomResourceDefinition of the kind", e.kind.Kind, e.kind.GroupVersion())
}

// Unwrap returns the error of the client.
func (e *noKindError) Unwrap() error { return e.err }

// refusalError reports that the API server refuses an edit, without what its answer repeats of the object.
type refusalError struct {
	text string
	err  error
}

// Error implements error.
func (e *refusalError) Error() string { return e.text }

// Unwrap returns the answer of the API server.
func (e *refusalError) Unwrap() error { return e.err }

// unknownFields precedes the fields that do not exist in an answer of the API server.
const unknownFields = "strict decoding error: "

// refusal returns an error of a write of an object of a kind in a form that a user can read. The API server
// repeats an object in its answer if the object has a field that does not exist.
func refusal(kind string, err error) error {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return err
	}
	status := answer.Status()
	if _, fields, found := strings.Cut(status.Message, unknownFields); found {
		text := fmt.Sprintf("%s. Correct the name: %q lists the fields", strings.TrimSpace(fields), "kubectl explain "+strings.ToLower(kind)+".spec")
		return &refusalError{text: text, err: err}
	}
	details := status.Details
	switch {
	case details == nil:
		return err
	case status.Code == http.StatusNotFound && details.Kind == "namespaces":
		return &refusalError{text: fmt.Sprintf("namespace %s does not exist", details.Name), err: err}
	case status.Code != http.StatusUnprocessableEntity || len(details.Causes) == 0:
		return err
	}
	var causes []string
	for _, cause := range details.Causes {
		if cause.Field == "<nil>" && len(details.Causes) > 1 {
			continue // rules that were not checked because of the other causes
		}
		message := cause.Message
		if value, is := strings.CutPrefix(message, "Invalid value: "); is {
			message = withoutValue(value)
		}
		if path, is := strings.CutPrefix(message, cause.Field+" in body "); is {
			message = path
		}
		causes = append(causes, cause.Field+": "+message)
	}
	return &refusalError{text: strings.Join(causes, "; "), err: err}
}

// withoutValue returns a message without the quoted value that it begins with.
func withoutValue(message string) string {
	quoted, err := strconv.QuotedPrefix(message)
	if err != nil {
		return message
	}
	if rest, is := strings.CutPrefix(message[len(quoted):], ": "); is {
		return rest
	}
	return message
}
