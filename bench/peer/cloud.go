package main

import (
	"context"
	"errors"
	"slices"

	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
)

type v1Condition = status.Condition

type requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

type overhead struct {
	KubeReserved      corev1.ResourceList `json:"kubeReserved"`
	SystemReserved    corev1.ResourceList `json:"systemReserved"`
	EvictionThreshold corev1.ResourceList `json:"evictionThreshold"`
}

type offering struct {
	Requirements        []requirement       `json:"requirements"`
	Price               float64             `json:"price"`
	Available           bool                `json:"available"`
	ReservationCapacity int                 `json:"reservationCapacity"`
	CapacityOverride    corev1.ResourceList `json:"capacityOverride"`
	OverheadOverride    *overhead           `json:"overheadOverride"`
}

type instanceType struct {
	Name         string              `json:"name"`
	Requirements []requirement       `json:"requirements"`
	Offerings    []offering          `json:"offerings"`
	Capacity     corev1.ResourceList `json:"capacity"`
	Overhead     overhead            `json:"overhead"`
}

func (o overhead) upstream() *cloudprovider.InstanceTypeOverhead {
	return &cloudprovider.InstanceTypeOverhead{
		KubeReserved: o.KubeReserved, SystemReserved: o.SystemReserved, EvictionThreshold: o.EvictionThreshold,
	}
}

func requirementsOf(list []requirement) scheduling.Requirements {
	all := scheduling.NewRequirements()
	for _, one := range list {
		all.Add(scheduling.NewRequirement(one.Key, corev1.NodeSelectorOperator(one.Operator), one.Values...))
	}
	return all
}

func (t instanceType) upstream() *cloudprovider.InstanceType {
	offerings := cloudprovider.Offerings{}
	for _, one := range t.Offerings {
		made := &cloudprovider.Offering{
			Requirements:        requirementsOf(one.Requirements),
			Price:               one.Price,
			Available:           one.Available,
			ReservationCapacity: one.ReservationCapacity,
			CapacityOverride:    one.CapacityOverride,
		}
		if one.OverheadOverride != nil {
			made.OverheadOverride = one.OverheadOverride.upstream()
		}
		offerings = append(offerings, made)
	}
	return &cloudprovider.InstanceType{
		Name:         t.Name,
		Requirements: requirementsOf(t.Requirements),
		Offerings:    offerings,
		Capacity:     t.Capacity,
		Overhead:     t.Overhead.upstream(),
	}
}

// cloud offers the scenario's instance types and nothing else. Every call makes new ones, as upstream keeps results in them,
// unless made is there: then a NodePool's types are made once, as a provider's cache has them.
type cloud struct {
	types       []instanceType
	byNodePool  map[string][]string
	nodeClasses []status.Object
	made        map[string][]*cloudprovider.InstanceType
}

func (c *cloud) GetInstanceTypes(_ context.Context, nodePool *v1.NodePool) ([]*cloudprovider.InstanceType, error) {
	if c.made == nil {
		return c.make(nodePool), nil
	}
	if c.made[nodePool.Name] == nil {
		c.made[nodePool.Name] = c.make(nodePool)
	}
	return slices.Clone(c.made[nodePool.Name]), nil
}

func (c *cloud) make(nodePool *v1.NodePool) []*cloudprovider.InstanceType {
	names, limited := c.byNodePool[nodePool.Name]
	allowed := map[string]bool{}
	for _, name := range names {
		allowed[name] = true
	}
	var offered []*cloudprovider.InstanceType
	for _, one := range c.types {
		if !limited || allowed[one.Name] {
			offered = append(offered, one.upstream())
		}
	}
	return offered
}

func (c *cloud) GetSupportedNodeClasses() []status.Object     { return c.nodeClasses }
func (c *cloud) Name() string                                 { return "scenario" }
func (c *cloud) RepairPolicies() []cloudprovider.RepairPolicy { return nil }

var errNotServed = errors.New("the scenario's cloud only lists instance types and knows of no drift")

func (c *cloud) Create(context.Context, *v1.NodeClaim) (*v1.NodeClaim, error) {
	return nil, errNotServed
}
func (c *cloud) Delete(context.Context, *v1.NodeClaim) error        { return errNotServed }
func (c *cloud) Get(context.Context, string) (*v1.NodeClaim, error) { return nil, errNotServed }
func (c *cloud) List(context.Context) ([]*v1.NodeClaim, error)      { return nil, errNotServed }
func (c *cloud) IsDrifted(context.Context, *v1.NodeClaim) (cloudprovider.DriftReason, error) {
	return "", nil
}

// nodeClass stands for the kind of a node class; all that upstream asks of it here is which kind it is.
type nodeClass struct {
	unstructured.Unstructured
}

func newNodeClass(kind schema.GroupKind) *nodeClass {
	made := &nodeClass{}
	made.SetGroupVersionKind(kind.WithVersion("v1"))
	return made
}

func (n *nodeClass) GetConditions() []status.Condition { return nil }
func (n *nodeClass) SetConditions([]status.Condition)  {}
func (n *nodeClass) StatusConditions(...status.ForOption) status.ConditionSet {
	return status.NewReadyConditions().For(n)
}
