package wire

import (
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// Request is an AWS request whose service, action and caller have been found.
type Request struct {
	Service     string
	Action      string
	Region      string
	AccessKeyID string
	// Anonymous is true for a request without a signature, of an action that needs none.
	Anonymous bool

	service *service // nil if the service is unknown
	json    bool     // how an error for an unknown service is written
	form    url.Values
	body    []byte
	rest    *restRequest // nil for all services but S3

	addressed *addressed // only for services that speak JSON over REST, else nil
}

// Parse finds out what a request asks for. Signatures are not verified: the simulator has no
// secrets to verify them with. On an error the returned request is still good for WriteError.
func Parse(r *http.Request, body []byte) (*Request, error) {
	if signed := (&Request{}); signed.findScope(r) == nil {
		if signed.Service == s3Service {
			return parseREST(r, body, signed)
		}
		if s := services[signed.Service]; s != nil && s.protocol == restJSON1 {
			return parseRESTJSON(r, body, signed)
		}
	}
	target := r.Header.Get("X-Amz-Target")
	req := &Request{body: body, json: target != "" || strings.Contains(r.Header.Get("Content-Type"), "json")}
	if !req.json {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return req, sim.Errorf("MalformedQueryString", "The query string contains a syntax error: %s", err)
		}
		req.form = form
		for key, values := range r.URL.Query() {
			req.form[key] = append(req.form[key], values...)
		}
		req.Action = req.form.Get("Action")
	} else {
		_, req.Action, _ = strings.Cut(target, ".")
	}
	if service, open := unsigned[req.Action]; open && !req.json && !isSigned(r) {
		req.Service, req.Anonymous = service, true
	} else if err := req.findScope(r); err != nil {
		return req, err
	}
	req.service = services[req.Service]
	if req.service == nil {
		return req, unknownService(req.Service)
	}
	return req, req.check(target)
}

// unsigned are the actions that need no signature, with their services (AWS: API_AssumeRoleWithWebIdentity:
// "calling AssumeRoleWithWebIdentity does not require the use of AWS security credentials").
var unsigned = map[string]string{"AssumeRoleWithWebIdentity": "sts"}

func isSigned(r *http.Request) bool {
	return r.Header.Get("Authorization") != "" || r.URL.Query().Has("X-Amz-Credential")
}

// check refuses what does not fit the service that the request was signed for.
func (req *Request) check(target string) error {
	s := req.service
	if s.speaksJSON() {
		prefix, _, _ := strings.Cut(target, ".")
		if prefix != s.target || !s.actions[req.Action] {
			return s.unknownAction(target)
		}
		return nil
	}
	if req.json {
		return sim.Errorf("InvalidRequest", "The service %s does not speak JSON.", req.Service)
	}
	if req.Action == "" {
		return sim.Errorf("MissingAction", "The request must contain the parameter Action")
	}
	if v := req.form.Get("Version"); v != s.model.version {
		return sim.Errorf("NoSuchVersion", "The requested version (%s) of service %s does not exist", v, req.Service)
	}
	if !s.actions[req.Action] {
		return s.unknownAction(req.Action)
	}
	return nil
}

// findScope reads the access key and the credential scope of a Signature Version 4 request, from its
// Authorization header or, if it was presigned, from its query: key/date/region/service/aws4_request.
func (req *Request) findScope(r *http.Request) error {
	credential := r.URL.Query().Get("X-Amz-Credential")
	if credential == "" {
		header := r.Header.Get("Authorization")
		if header == "" {
			return sim.Errorf("MissingAuthenticationToken", "Missing Authentication Token").WithStatus(http.StatusForbidden)
		}
		_, after, _ := strings.Cut(header, "Credential=")
		credential, _, _ = strings.Cut(after, ",")
	}
	parts := strings.Split(strings.TrimSpace(credential), "/")
	if len(parts) != 5 || parts[4] != "aws4_request" {
		return sim.Errorf("IncompleteSignature", "%q is not a valid key/date/region/service/aws4_request credential",
			credential).WithStatus(http.StatusForbidden)
	}
	req.AccessKeyID, req.Region, req.Service = parts[0], parts[2], parts[3]
	return nil
}

// UnknownAction returns the error for an action that the tables have and no handler serves.
func (req *Request) UnknownAction() error {
	if req.rest != nil {
		return notImplemented("The action %s is not simulated.", req.Action)
	}
	return req.service.unknownAction(req.Action)
}

// Decode returns a pointer to a new value of the input type t, filled from the request. Parameters
// that the type does not have, and values of another kind than it has, are errors.
func (req *Request) Decode(t reflect.Type) (any, error) {
	if req.rest != nil {
		return req.decodeREST()
	}
	v := reflect.New(t)
	if req.addressed != nil {
		return v.Interface(), req.decodeRESTJSON(v.Elem())
	}
	if req.service.speaksJSON() {
		return v.Interface(), req.decodeJSON(v.Elem())
	}
	return v.Interface(), req.decodeQuery(v.Elem())
}

// ClientToken returns the client token of an input, or "".
func ClientToken(input any) string {
	v := reflect.Indirect(reflect.ValueOf(input))
	f := v.FieldByName("ClientToken")
	if !f.IsValid() {
		f = v.FieldByName("ClientRequestToken")
	}
	if !f.IsValid() || f.Kind() != reflect.Pointer || f.IsNil() {
		return ""
	}
	return f.Elem().String()
}

// accountInARN finds the account in the ARN of a role.
var accountInARN = regexp.MustCompile(`^arn:aws[a-z-]*:iam::(\d{12}):`)

// AccountOfRole returns the account of the role that an input names, or "". It is the account that an
// anonymous request is served in.
func AccountOfRole(input any) string {
	f := reflect.Indirect(reflect.ValueOf(input)).FieldByName("RoleArn")
	if !f.IsValid() || f.Kind() != reflect.Pointer || f.IsNil() {
		return ""
	}
	if found := accountInARN.FindStringSubmatch(f.Elem().String()); found != nil {
		return found[1]
	}
	return ""
}
