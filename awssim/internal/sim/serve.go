package sim

import (
	"errors"
	"fmt"
	"time"
)

// Request is one decoded request on its way to its handler.
type Request struct {
	RequestID string
	Service   string
	Action    string
	Account   string
	Region    string
	Principal string
	AccessKey string
	Input     any // pointer to the SDK's input type
	// Began is when the request arrived; now if it is zero. Resumed is true for one that has
	// waited: see NotYetError.
	Began   time.Time
	Resumed bool
	// Faults are the ones that strike the call. A fault whose place is InUpdate strikes the update.
	Faults []Fault
	// Record is written into the call log if the request succeeds, in the same moment; nil for nothing.
	Record *CallRecord
}

// Do serves a request: what is due happens first, then the bucket is asked, then the handler runs,
// all in one piece. The error is a *Error, a *NotYetError, or nil.
func (k *Kernel) Do(req Request) (any, error) {
	h := k.registry.Handler(req.Service, req.Action)
	if h == nil {
		return nil, Errorf("InvalidAction", "The action %s is not valid for this web service.", req.Action)
	}
	var out any
	var err error
	k.Locked(func() {
		k.on(req.Account, func() { out, err = k.serve(h, req) })
		if err == nil && req.Record != nil {
			k.Log.Record(*req.Record)
		}
	})
	var wait *NotYetError
	switch {
	case errors.As(err, &wait):
		return nil, wait
	case err != nil:
		return nil, AsError(err)
	}
	return out, nil
}

func (k *Kernel) serve(h *Handler, req Request) (any, error) {
	account := k.Account(req.Account)
	region, err := account.Region(k.home(req))
	if err != nil {
		return nil, err
	}
	if k.behavior.Throttling && !req.Resumed {
		if err := k.buckets.takeTokens(req, k.now); err != nil {
			return nil, err
		}
	}
	call := &Call{
		Kernel: k, Account: account, Region: region,
		Principal: req.Principal, AccessKey: req.AccessKey, RequestID: req.RequestID,
		Service: req.Service, Action: req.Action, Now: k.now, Began: req.Began, faults: req.Faults,
	}
	if call.Began.IsZero() {
		call.Began = k.now
	}
	if !req.Resumed {
		if err := k.authorize(h, call, req.Input); err != nil {
			return nil, err
		}
	}
	return h.invoke(call, req.Input)
}

// Invoke lets one service call another in the account of their user, as principal: the other's
// handler runs, with its rules, but there is no line in the call log, neither faults nor throttling
// strike, and the service may do everything. The error is the one that the handler returns. Only
// for code under the lock.
func (k *Kernel) Invoke(r *Region, principal, service, action string, input any) (any, error) {
	h := k.registry.Handler(service, action)
	if h == nil {
		return nil, Errorf("InvalidAction", "The action %s is not valid for this web service.", action)
	}
	return h.invoke(&Call{
		Kernel: k, Account: r.Account, Region: r, Principal: principal, RequestID: k.NewUUID(), Service: service, Action: action,
		Now: k.now, Began: k.now,
	}, input)
}

// home returns the region that serves a request. IAM and STS are global: their requests are signed for
// us-east-1 wherever they come from, also in a world that lacks that region.
func (k *Kernel) home(req Request) string {
	global := req.Service == "iam" || req.Service == "sts"
	if global && k.world.Region(req.Region) == nil && len(k.world.Regions) > 0 {
		return k.world.Regions[0].Name
	}
	return req.Region
}

// InRegion runs f under the lock, on behalf of the account. The error says that the world has no such region.
func (k *Kernel) InRegion(accountID, regionName string, f func(*Region)) error {
	var err error
	k.Locked(func() {
		var region *Region
		if region, err = k.Account(accountID).Region(regionName); err == nil {
			k.on(accountID, func() { f(region) })
		}
	})
	return err
}

// State returns everything that an account holds in a region, by service; see Registry.State.
func (k *Kernel) State(accountID, regionName string) (map[string]any, error) {
	var state map[string]any
	if err := k.InRegion(accountID, regionName, func(r *Region) { state = k.registry.Dump(r) }); err != nil {
		return nil, fmt.Errorf("dumping the state of account %s in %s: %w", accountID, regionName, err)
	}
	return state, nil
}

// Caller returns the account and the ARN of the principal that an access key id stands for.
// Temporary credentials that have expired answer ExpiredToken, unknown ones InvalidClientTokenId.
// Long-term keys need not be registered: any is good, see AccountOfKey.
func (k *Kernel) Caller(accessKeyID string) (account, principal string, err error) {
	k.Locked(func() {
		s, ok := k.Callers.session(accessKeyID)
		switch {
		case ok && !k.now.Before(s.Expires):
			err = Errorf("ExpiredToken", "The security token included in the request is expired")
		case ok:
			account, principal = s.Account, s.Principal
		case len(accessKeyID) > 4 && accessKeyID[:4] == "ASIA":
			err = Errorf("InvalidClientTokenId", "The security token included in the request is invalid").WithStatus(403)
		default:
			account = AccountOfKey(accessKeyID)
			principal = "arn:aws:iam::" + account + ":user/" + accessKeyID
		}
	})
	return account, principal, err
}
