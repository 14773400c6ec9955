package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	claimconditions "sigs.k8s.io/karpenter/pkg/controllers/nodeclaim/disruption"
	"sigs.k8s.io/karpenter/pkg/state/cost"
)

// disruptionTimes of one round. Candidates is finding who is eligible, with the totals of their NodePools; compute is the method up to its
// commands, without the validation that follows it.
type disruptionTimes struct {
	CandidatesMs float64 `json:"candidatesMs"`
	ComputeMs    float64 `json:"computeMs"`
	ValidateMs   float64 `json:"validateMs"`
	Candidates   int     `json:"candidates"`
	// Simulations of the method, without those of the validation.
	Simulations int     `json:"simulations"`
	TimedOut    bool    `json:"timedOut"`
	Commands    int     `json:"commands"`
	Savings     float64 `json:"savings"`
	PeakRSSMiB  float64 `json:"peakRSSMiB"`
}

type disruptionRound struct {
	result disruptionResult
	times  disruptionTimes
}

// runningClock starts at the scenario's time; upstream's limits on the time of a pass are read from it.
type runningClock struct {
	clock.RealClock
	start time.Time
	began time.Time
}

func (c runningClock) Now() time.Time                  { return c.start.Add(time.Since(c.began)) }
func (c runningClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func standingOrRunning(now time.Time, runs bool) clock.Clock {
	if runs {
		return runningClock{start: now, began: time.Now()}
	}
	return testclock.NewFakeClock(now)
}

// prepare observes the objects and brings about what the options say of the time before the decision.
func (w *world) prepare(wanted scenarioOptions, objects []client.Object) (map[string]claimCondition, error) {
	w.cloud.made = map[string][]*cloudprovider.InstanceType{}
	var conditions map[string]claimCondition
	if wanted.ReconcileConditions {
		var err error
		if conditions, err = w.reconcileConditions(); err != nil {
			return nil, err
		}
	}
	if err := w.observe(objects); err != nil {
		return nil, err
	}
	providerIDs := map[string]string{}
	for node := range w.cluster.Nodes() {
		providerIDs[node.Name()] = node.ProviderID()
	}
	for _, name := range wanted.Nominated {
		w.cluster.NominateNodeForPod(w.ctx, providerIDs[name])
	}
	for _, name := range wanted.MarkedForDeletion {
		w.cluster.MarkForDeletion(providerIDs[name])
	}
	return conditions, nil
}

// reconcileConditions has upstream's controller compute the conditions Drifted and Consolidatable of each NodeClaim.
func (w *world) reconcileConditions() (map[string]claimCondition, error) {
	controller := claimconditions.NewController(w.clock, w.api, w.cloud)
	conditions := map[string]claimCondition{}
	for _, object := range w.api.kind("NodeClaim").all {
		claim := object.(*v1.NodeClaim)
		if _, err := controller.Reconcile(w.ctx, claim); err != nil {
			return nil, fmt.Errorf("conditions of NodeClaim %s: %w", claim.Name, err)
		}
		conditions[claim.Name] = conditionsOf(claim)
	}
	return conditions, nil
}

// atOnce validates without upstream's delay and takes the time.
type atOnce struct {
	disruption.Validator
	api         *store
	took        time.Duration
	simulations int
}

func (v *atOnce) Validate(ctx context.Context, command disruption.Command, _ time.Duration) (disruption.Command, error) {
	began, readBefore := time.Now(), v.api.pendingReads
	defer func() {
		v.took += time.Since(began)
		v.simulations += v.api.pendingReads - readBefore
	}()
	return v.Validator.Validate(ctx, command, 0)
}

func (w *world) method(name string, queue *disruption.Queue, validator *atOnce) (disruption.Method, error) {
	common := disruption.MakeConsolidation(w.clock, w.cluster, w.api, w.provisioner, w.cloud, w.recorder, queue)
	switch name {
	case "emptiness":
		validator.Validator = disruption.NewEmptinessValidator(common)
		return disruption.NewEmptiness(common, disruption.WithValidator(validator)), nil
	case "drift":
		return disruption.NewDrift(w.api, w.cluster, w.provisioner, w.recorder, w.clock), nil
	case "static-drift":
		return disruption.NewStaticDrift(w.cluster, w.provisioner, w.cloud), nil
	case "multi-node":
		validator.Validator = disruption.NewMultiConsolidationValidator(common)
		return disruption.NewMultiNodeConsolidation(common, disruption.WithValidator(validator)), nil
	case "single-node":
		validator.Validator = disruption.NewSingleConsolidationValidator(common)
		return disruption.NewSingleNodeConsolidation(common, disruption.WithValidator(validator)), nil
	default:
		return nil, fmt.Errorf("method %q: there are emptiness, drift, static-drift, multi-node and single-node", name)
	}
}

func (w *world) clusterCost() *cost.ClusterCost {
	known := cost.NewClusterCost(w.ctx, w.cloud, w.api)
	for _, object := range w.api.kind("NodeClaim").all {
		// What it cannot price it leaves out, and says so by a metric.
		_ = known.UpdateNodeClaim(w.ctx, object.(*v1.NodeClaim))
	}
	return known
}

// disrupt has one method decide once, with the steps of upstream's controller.
func (w *world) disrupt(name string) (*disruptionRound, error) {
	queue := disruption.NewQueue(w.api, w.recorder, w.cluster, w.clock, w.provisioner)
	validator := &atOnce{api: w.api}
	method, err := w.method(name, queue, validator)
	if err != nil {
		return nil, err
	}
	costs := w.clusterCost()
	began, readBefore := time.Now(), w.api.pendingReads
	candidates, totals, err := disruption.GetCandidatesWithTotals(w.ctx, w.cluster, w.api, w.recorder, w.clock, w.cloud,
		method.ShouldDisrupt, method.Class(), queue, costs)
	if err != nil {
		return nil, err
	}
	found := time.Now()
	names := candidateNames(candidates)
	var commands []disruption.Command
	if len(candidates) > 0 {
		if setter, is := method.(disruption.NodePoolTotalsSetter); is {
			setter.SetNodePoolTotals(totals)
		}
		budgets, err := disruption.BuildDisruptionBudgetMapping(w.ctx, w.cluster, w.clock, w.api, w.cloud, w.recorder, method.Reason())
		if err != nil {
			return nil, err
		}
		if commands, err = method.ComputeCommands(w.ctx, budgets, candidates...); err != nil {
			return nil, err
		}
	}
	computing := time.Since(found) - validator.took
	answer := newDisruptionResult(commands, names, method.Reason())
	return &disruptionRound{result: answer, times: disruptionTimes{
		CandidatesMs: milliseconds(found.Sub(began)),
		ComputeMs:    milliseconds(computing),
		ValidateMs:   milliseconds(validator.took),
		Candidates:   len(candidates),
		Simulations:  w.api.pendingReads - readBefore - validator.simulations,
		TimedOut:     computing >= limitOf(name),
		Commands:     len(answer.Commands),
		Savings:      savings(commands),
		PeakRSSMiB:   peakRSSMiB(),
	}}, nil
}

func limitOf(method string) time.Duration {
	switch method {
	case "multi-node":
		return disruption.MultiNodeConsolidationTimeoutDuration
	case "single-node":
		return disruption.SingleNodeConsolidationTimeoutDuration
	default:
		return time.Duration(1<<63 - 1)
	}
}
