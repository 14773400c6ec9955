package main

import (
	"cmp"
	"slices"
	"sort"

	corev1 "k8s.io/api/core/v1"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/events"
)

type disruptionResult struct {
	Commands   []command                 `json:"commands"`
	Blocked    []blocked                 `json:"blocked"`
	Candidates []string                  `json:"candidates"`
	Conditions map[string]claimCondition `json:"conditions,omitempty"`
}

type command struct {
	Reason       string        `json:"reason"`
	Decision     string        `json:"decision"`
	Candidates   []string      `json:"candidates"`
	Replacements []replacement `json:"replacements"`
}

type replacement struct {
	NodePool      string             `json:"nodePool"`
	InstanceTypes []string           `json:"instanceTypes"`
	CheapestPrice *float64           `json:"cheapestPrice"`
	Requirements  []claimRequirement `json:"requirements"`
}

type blocked struct {
	Node     string `json:"node,omitempty"`
	NodePool string `json:"nodePool,omitempty"`
	Event    string `json:"event"`
	Reason   string `json:"reason"`
}

type claimCondition struct {
	Drifted        *string `json:"drifted"`
	Consolidatable bool    `json:"consolidatable"`
}

// observed collects the events that a result tells.
type observed struct {
	seen map[blocked]bool
}

func (o *observed) Publish(published ...events.Event) {
	for _, one := range published {
		made := blocked{Event: one.Reason, Reason: one.Message}
		switch typed := one.InvolvedObject.(type) {
		case *corev1.Node:
			if one.Reason != events.DisruptionBlocked && one.Reason != events.Unconsolidatable {
				continue
			}
			made.Node = typed.Name
		case *v1.NodePool:
			if one.Reason != events.DisruptionBlocked {
				continue
			}
			made.NodePool = typed.Name
		default:
			continue
		}
		if o.seen == nil {
			o.seen = map[blocked]bool{}
		}
		o.seen[made] = true
	}
}

func (o *observed) list() []blocked {
	all := make([]blocked, 0, len(o.seen))
	for one := range o.seen {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b blocked) int {
		return cmp.Or(cmp.Compare(a.NodePool, b.NodePool), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}

func candidateNames(candidates []*disruption.Candidate) []string {
	names := make([]string, 0, len(candidates))
	for _, one := range candidates {
		names = append(names, one.Name())
	}
	sort.Strings(names)
	return names
}

func newDisruptionResult(commands []disruption.Command, candidates []string, reason v1.DisruptionReason) disruptionResult {
	made := disruptionResult{Commands: []command{}, Candidates: candidates}
	for _, one := range commands {
		if one.Decision() == disruption.NoOpDecision {
			continue
		}
		replacements := []replacement{}
		for _, opened := range one.Replacements {
			replacements = append(replacements, newReplacement(opened))
		}
		made.Commands = append(made.Commands, command{
			Reason:       string(reason),
			Decision:     string(one.Decision()),
			Candidates:   candidateNames(one.Candidates),
			Replacements: replacements,
		})
	}
	return made
}

func newReplacement(opened *disruption.Replacement) replacement {
	made := replacement{NodePool: opened.NodePoolName, InstanceTypes: []string{}}
	for _, one := range opened.InstanceTypeOptions {
		made.InstanceTypes = append(made.InstanceTypes, one.Name)
	}
	sort.Strings(made.InstanceTypes)
	if price := cheapest(opened.InstanceTypeOptions, opened.Requirements); price >= 0 {
		made.CheapestPrice = &price
	}
	made.Requirements = claimRequirements(opened.Requirements.NodeSelectorRequirements(), func(one v1.NodeSelectorRequirementWithMinValues) bool {
		return one.Key == corev1.LabelHostname || one.Key == v1.NodeRegisteredLabelKey || one.Key == v1.NodeInitializedLabelKey
	})
	return made
}

// savings of the commands in USD an hour: what the candidates cost, less the cheapest that each replacement can be launched at.
func savings(commands []disruption.Command) float64 {
	sum := 0.0
	for _, one := range commands {
		sum += one.SourceCost()
		for _, opened := range one.Replacements {
			sum -= max(0, cheapest(opened.InstanceTypeOptions, opened.Requirements))
		}
	}
	return sum
}

func conditionsOf(claim *v1.NodeClaim) claimCondition {
	var made claimCondition
	for _, one := range claim.Status.Conditions {
		switch {
		case one.Type == v1.ConditionTypeDrifted && one.IsTrue():
			made.Drifted = &one.Reason
		case one.Type == v1.ConditionTypeConsolidatable:
			made.Consolidatable = one.IsTrue()
		}
	}
	return made
}
