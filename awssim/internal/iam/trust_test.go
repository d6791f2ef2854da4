package iam

import (
	"testing"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/simclock"
	"github.com/slipway-project/slipway/awssim/world"
)

func TestTrusts(t *testing.T) {
	t.Parallel()
	const user, session = "arn:aws:iam::111111111111:user/u", "arn:aws:sts::111111111111:assumed-role/r/s"
	policy := func(statements string) string { return `{"Version":"2012-10-17","Statement":` + statements + `}` }
	rows := []struct {
		reason, policy, caller, externalID string
		want                               bool
	}{
		{"all principals", policy(`{"Effect":"Allow","Principal":"*","Action":"sts:AssumeRole"}`), user, "", true},
		{"one of a list", policy(`[{"Effect":"Allow","Principal":{"AWS":["999999999999","111111111111"]},"Action":["sts:TagSession","sts:AssumeRole"]}]`), user, "", true},
		{"another action", policy(`{"Effect":"Allow","Principal":"*","Action":"sts:AssumeRoleWithSAML"}`), user, "", false},
		{"any action of STS", policy(`{"Effect":"Allow","Principal":"*","Action":"sts:*"}`), user, "", true},
		{"the role behind a session", policy(`{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111111111111:role/r"},"Action":"sts:AssumeRole"}`), session, "", true},
		{"another role's session", policy(`{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111111111111:role/q"},"Action":"sts:AssumeRole"}`), session, "", false},
		{
			"a denial wins, wherever it stands",
			policy(`[{"Effect":"Allow","Principal":"*","Action":"sts:AssumeRole"},{"Effect":"Deny","Principal":{"AWS":"111111111111"},"Action":"*"}]`), user, "", false,
		},
		{
			"one of two external ids", policy(`{"Effect":"Allow","Principal":"*","Action":"sts:AssumeRole","Condition":{"StringEquals":{"sts:ExternalId":["a","b"]}}}`),
			user, "b", true,
		},
		{
			"a condition that is not known", policy(`{"Effect":"Allow","Principal":"*","Action":"sts:AssumeRole","Condition":{"Bool":{"aws:MultiFactorAuthPresent":"true"}}}`),
			user, "", false,
		},
	}
	for _, row := range rows {
		if _, err := parsePolicy(row.policy); err != nil {
			t.Errorf("%s: %v", row.reason, err)
		}
		if got := (Role{TrustPolicy: row.policy}).Trusts(row.caller, "111111111111", row.externalID); got != row.want {
			t.Errorf("%s: trusted %v, want %v", row.reason, got, row.want)
		}
	}
}

func TestParsePolicyRefuses(t *testing.T) {
	t.Parallel()
	for reason, document := range map[string]string{
		"no statement":              `{"Version":"2012-10-17"}`,
		"a statement without a who": `{"Statement":{"Effect":"Allow","Action":"sts:AssumeRole"}}`,
		"an unknown effect":         `{"Statement":{"Effect":"Maybe","Principal":"*","Action":"sts:AssumeRole"}}`,
		"a principal that is none":  `{"Statement":{"Effect":"Allow","Principal":"me","Action":"sts:AssumeRole"}}`,
	} {
		if _, err := parsePolicy(document); err == nil {
			t.Errorf("%s: accepted", reason)
		}
	}
}

func TestFindInstanceProfile(t *testing.T) {
	t.Parallel()
	clock := simclock.New(world.Born, 0)
	defer clock.Close()
	w := &world.World{InstanceProfiles: []world.InstanceProfile{{Name: "p", Path: "/a/"}}}
	k, err := sim.New(clock, w, sim.NewRegistry(), sim.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for reference, want := range map[string]bool{
		"p": true, "q": false,
		"arn:aws:iam::111111111111:instance-profile/a/p": true,
		"arn:aws:iam::111111111111:instance-profile/p":   false, // it is in a path
		"arn:aws:iam::222222222222:instance-profile/a/p": false, // it is another account's
	} {
		k.Locked(func() {
			if p, ok := FindInstanceProfile(k.Account("111111111111"), reference); ok != want || ok && p.Name != "p" {
				t.Errorf("%s: found %+v, %v, want %v", reference, p, ok, want)
			}
		})
	}
}
