package awssim

import (
	"encoding/json"
	"fmt"
	"time"
)

// duration is a time.Duration that JSON writes as Go does: "1h30m".
type duration time.Duration

func (d duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

func (d *duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("%s is not a duration such as \"90s\"", data)
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("parsing a duration: %w", err)
	}
	*d = duration(parsed)
	return nil
}

type behaviorJSON struct {
	InstanceTimes struct {
		Pending      duration `json:"pending"`
		Boot         duration `json:"boot"`
		ShuttingDown duration `json:"shuttingDown"`
	} `json:"instanceTimes"`
	ClusterTimes struct {
		Creating duration `json:"creating"`
		Updating duration `json:"updating"`
		Deleting duration `json:"deleting"`
		Addon    duration `json:"addon"`
	} `json:"clusterTimes"`
	ReadLag    duration        `json:"readLag"`
	Throttling bool            `json:"throttling"`
	Forget     bool            `json:"forgetTokens"`
	Capacity   []capacityJSON  `json:"capacity"`
	SpotPrices []spotPriceJSON `json:"spotPrices"`

	Nodes       []nodeRuleJSON `json:"nodes"`
	NodesReport bool           `json:"nodesReport"`
}

// behaviorChange holds the changes of a behavior: a member that is nil stays.
type behaviorChange struct {
	InstanceTimes struct {
		Pending      *duration `json:"pending"`
		Boot         *duration `json:"boot"`
		ShuttingDown *duration `json:"shuttingDown"`
	} `json:"instanceTimes"`
	ClusterTimes struct {
		Creating *duration `json:"creating"`
		Updating *duration `json:"updating"`
		Deleting *duration `json:"deleting"`
		Addon    *duration `json:"addon"`
	} `json:"clusterTimes"`
	ReadLag    *duration        `json:"readLag"`
	Throttling *bool            `json:"throttling"`
	Forget     *bool            `json:"forgetTokens"`
	Capacity   *[]capacityJSON  `json:"capacity"`
	SpotPrices *[]spotPriceJSON `json:"spotPrices"`

	Nodes       *[]nodeRuleJSON `json:"nodes"`
	NodesReport *bool           `json:"nodesReport"`
}

func (c *behaviorChange) apply(to *behaviorJSON) {
	replace(&to.InstanceTimes.Pending, c.InstanceTimes.Pending)
	replace(&to.InstanceTimes.Boot, c.InstanceTimes.Boot)
	replace(&to.InstanceTimes.ShuttingDown, c.InstanceTimes.ShuttingDown)
	replace(&to.ClusterTimes.Creating, c.ClusterTimes.Creating)
	replace(&to.ClusterTimes.Updating, c.ClusterTimes.Updating)
	replace(&to.ClusterTimes.Deleting, c.ClusterTimes.Deleting)
	replace(&to.ClusterTimes.Addon, c.ClusterTimes.Addon)
	replace(&to.ReadLag, c.ReadLag)
	replace(&to.Throttling, c.Throttling)
	replace(&to.Forget, c.Forget)
	replace(&to.Capacity, c.Capacity)
	replace(&to.SpotPrices, c.SpotPrices)
	replace(&to.Nodes, c.Nodes)
	replace(&to.NodesReport, c.NodesReport)
}

func replace[T any](member, with *T) {
	if with != nil {
		*member = *with
	}
}

type nodeRuleJSON struct {
	Cluster      string   `json:"cluster,omitempty"`
	Nodegroup    string   `json:"nodegroup,omitempty"`
	ImageID      string   `json:"imageID,omitempty"`
	UserData     string   `json:"userData,omitempty"`
	NeverReady   bool     `json:"neverReady,omitempty"`
	DrainTime    duration `json:"drainTime,omitempty"`
	NeverDrained bool     `json:"neverDrained,omitempty"`
}

func (j nodeRuleJSON) rule() NodeRule {
	return NodeRule{
		Cluster: j.Cluster, Nodegroup: j.Nodegroup, ImageID: j.ImageID, UserData: j.UserData,
		NeverReady: j.NeverReady, DrainTime: time.Duration(j.DrainTime), NeverDrained: j.NeverDrained,
	}
}

func nodeRuleToJSON(r NodeRule) nodeRuleJSON {
	return nodeRuleJSON{
		Cluster: r.Cluster, Nodegroup: r.Nodegroup, ImageID: r.ImageID, UserData: r.UserData,
		NeverReady: r.NeverReady, DrainTime: duration(r.DrainTime), NeverDrained: r.NeverDrained,
	}
}

type capacityJSON struct {
	InstanceType string `json:"instanceType,omitempty"`
	Zone         string `json:"zone,omitempty"`
	Market       string `json:"market,omitempty"`
	Available    int    `json:"available"`
}

type spotPriceJSON struct {
	InstanceType string  `json:"instanceType,omitempty"`
	Zone         string  `json:"zone,omitempty"`
	USD          float64 `json:"usd"`
}

func behaviorToJSON(b Behavior) behaviorJSON {
	j := behaviorJSON{ReadLag: duration(b.ReadLag), Throttling: b.Throttling, Forget: b.ForgetTokens, Capacity: []capacityJSON{}}
	j.InstanceTimes.Pending = duration(b.InstanceTimes.Pending)
	j.InstanceTimes.Boot = duration(b.InstanceTimes.Boot)
	j.InstanceTimes.ShuttingDown = duration(b.InstanceTimes.ShuttingDown)
	clusters := b.ClusterTimes
	j.ClusterTimes.Creating, j.ClusterTimes.Updating = duration(clusters.Creating), duration(clusters.Updating)
	j.ClusterTimes.Deleting, j.ClusterTimes.Addon = duration(clusters.Deleting), duration(clusters.Addon)
	for _, rule := range b.Capacity {
		j.Capacity = append(j.Capacity, capacityJSON(rule))
	}
	j.SpotPrices = []spotPriceJSON{}
	for _, rule := range b.SpotPrices {
		j.SpotPrices = append(j.SpotPrices, spotPriceJSON(rule))
	}
	j.Nodes, j.NodesReport = []nodeRuleJSON{}, b.NodesReport
	for _, rule := range b.Nodes {
		j.Nodes = append(j.Nodes, nodeRuleToJSON(rule))
	}
	return j
}

func (j behaviorJSON) behavior() Behavior {
	b := Behavior{
		InstanceTimes: InstanceTimes{
			Pending:      time.Duration(j.InstanceTimes.Pending),
			Boot:         time.Duration(j.InstanceTimes.Boot),
			ShuttingDown: time.Duration(j.InstanceTimes.ShuttingDown),
		},
		ClusterTimes: ClusterTimes{
			Creating: time.Duration(j.ClusterTimes.Creating), Updating: time.Duration(j.ClusterTimes.Updating),
			Deleting: time.Duration(j.ClusterTimes.Deleting), Addon: time.Duration(j.ClusterTimes.Addon),
		},
		ReadLag: time.Duration(j.ReadLag), Throttling: j.Throttling, ForgetTokens: j.Forget,
	}
	for _, rule := range j.Capacity {
		b.Capacity = append(b.Capacity, CapacityRule(rule))
	}
	for _, rule := range j.SpotPrices {
		b.SpotPrices = append(b.SpotPrices, SpotPriceRule(rule))
	}
	b.NodesReport = j.NodesReport
	for _, rule := range j.Nodes {
		b.Nodes = append(b.Nodes, rule.rule())
	}
	return b
}

type faultJSON struct {
	ID        string   `json:"id,omitempty"`
	Service   string   `json:"service,omitempty"`
	Action    string   `json:"action,omitempty"`
	Nth       int      `json:"nth,omitempty"`
	Count     int      `json:"count,omitempty"`
	Chance    float64  `json:"chance,omitempty"`
	Principal string   `json:"principal,omitempty"`
	Place     Place    `json:"place,omitempty"`
	Code      string   `json:"code,omitempty"`
	Message   string   `json:"message,omitempty"`
	Status    int      `json:"status,omitempty"`
	Delay     duration `json:"delay,omitempty"`
	Drop      bool     `json:"drop,omitempty"`
}

func faultsToJSON(faults []Fault) []faultJSON {
	list := make([]faultJSON, len(faults))
	for i, f := range faults {
		list[i] = faultJSON{
			ID: f.ID, Service: f.Service, Action: f.Action, Nth: f.Nth, Count: f.Count, Chance: f.Chance,
			Principal: f.Principal, Place: f.Place, Code: f.Code, Message: f.Message,
			Status: f.Status, Delay: duration(f.Delay), Drop: f.Drop,
		}
	}
	return list
}

func (j faultJSON) fault() Fault {
	return Fault{
		ID: j.ID, Service: j.Service, Action: j.Action, Nth: j.Nth, Count: j.Count, Chance: j.Chance,
		Principal: j.Principal, Place: j.Place, Code: j.Code, Message: j.Message,
		Status: j.Status, Delay: time.Duration(j.Delay), Drop: j.Drop,
	}
}
