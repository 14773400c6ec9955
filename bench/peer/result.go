package main

import (
	"regexp"
	"sort"

	corev1 "k8s.io/api/core/v1"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	requirements "sigs.k8s.io/karpenter/pkg/scheduling"
)

type result struct {
	NewNodeClaims []claim           `json:"newNodeClaims"`
	ExistingNodes []existingNode    `json:"existingNodes"`
	Errors        map[string]string `json:"errors"`
}

type claim struct {
	NodePool         string              `json:"nodePool"`
	InstanceTypes    []string            `json:"instanceTypes"`
	CheapestPrice    float64             `json:"cheapestPrice"`
	Requirements     []claimRequirement  `json:"requirements"`
	MinValuesRelaxed bool                `json:"minValuesRelaxed,omitempty"`
	Requests         corev1.ResourceList `json:"requests"`
	Pods             []string            `json:"pods"`
}

type claimRequirement struct {
	Key       string   `json:"key"`
	Operator  string   `json:"operator"`
	Values    []string `json:"values,omitempty"`
	MinValues *int     `json:"minValues,omitempty"`
}

type existingNode struct {
	Name string   `json:"name"`
	Pods []string `json:"pods"`
}

var hostname = regexp.MustCompile(`hostname-placeholder-\d+`)

func podName(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

func podNames(pods []*corev1.Pod) []string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, podName(pod))
	}
	sort.Strings(names)
	return names
}

func newResult(solved scheduling.Results, ignored map[string]string) result {
	made := result{NewNodeClaims: []claim{}, ExistingNodes: []existingNode{}, Errors: map[string]string{}}
	for _, opened := range solved.NewNodeClaims {
		made.NewNodeClaims = append(made.NewNodeClaims, newClaim(opened))
	}
	for _, node := range solved.ExistingNodes {
		if len(node.Pods) > 0 {
			made.ExistingNodes = append(made.ExistingNodes, existingNode{Name: node.Name(), Pods: podNames(node.Pods)})
		}
	}
	sort.Slice(made.ExistingNodes, func(i, j int) bool { return made.ExistingNodes[i].Name < made.ExistingNodes[j].Name })
	for pod, err := range solved.PodErrors {
		made.Errors[podName(pod)] = hostname.ReplaceAllString(err.Error(), "hostname-placeholder")
	}
	for pod, message := range ignored {
		made.Errors[pod] = message
	}
	return made
}

func newClaim(opened *scheduling.NodeClaim) claim {
	object := opened.ToNodeClaim()
	made := claim{
		NodePool:         opened.NodePoolName,
		CheapestPrice:    cheapest(opened.InstanceTypeOptions, opened.Requirements),
		MinValuesRelaxed: object.Annotations[v1.NodeClaimMinValuesRelaxedAnnotationKey] == "true",
		Requests:         object.Spec.Resources.Requests,
		Pods:             podNames(opened.Pods),
	}
	for _, one := range opened.InstanceTypeOptions {
		made.InstanceTypes = append(made.InstanceTypes, one.Name)
	}
	sort.Strings(made.InstanceTypes)
	made.Requirements = claimRequirements(object.Spec.Requirements, func(one v1.NodeSelectorRequirementWithMinValues) bool {
		return one.Key == corev1.LabelHostname || one.Key == corev1.LabelInstanceTypeStable && one.MinValues == nil
	})
	return made
}

func claimRequirements(all []v1.NodeSelectorRequirementWithMinValues, hidden func(v1.NodeSelectorRequirementWithMinValues) bool) []claimRequirement {
	shown := []claimRequirement{}
	for _, one := range all {
		if hidden(one) {
			continue
		}
		sort.Strings(one.Values)
		shown = append(shown, claimRequirement{
			Key: one.Key, Operator: string(one.Operator), Values: one.Values, MinValues: one.MinValues,
		})
	}
	sort.Slice(shown, func(i, j int) bool {
		a, b := shown[i], shown[j]
		return a.Key < b.Key || a.Key == b.Key && a.Operator < b.Operator
	})
	return shown
}

// cheapest is the lowest price that can be launched, and -1 if none can.
func cheapest(types cloudprovider.InstanceTypes, wanted requirements.Requirements) float64 {
	lowest := -1.0
	for _, one := range types {
		for _, offered := range one.Offerings {
			full := offered.CapacityType() == v1.CapacityTypeReserved && offered.ReservationCapacity == 0
			if !offered.Available || full || !wanted.IsCompatible(offered.Requirements, requirements.AllowUndefinedWellKnownLabels) {
				continue
			}
			if lowest < 0 || offered.Price < lowest {
				lowest = offered.Price
			}
		}
	}
	return lowest
}

func (r result) sumCheapestPrice() float64 {
	sum := 0.0
	for _, one := range r.NewNodeClaims {
		sum += one.CheapestPrice
	}
	return sum
}
