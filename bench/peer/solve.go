package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/awslabs/operatorpkg/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	requirements "sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/utils/daemonset"
	nodeutils "sigs.k8s.io/karpenter/pkg/utils/node"
	nodepoolutils "sigs.k8s.io/karpenter/pkg/utils/nodepool"
)

// times of one round. Construct is the topology and the scheduler; Solve ends with finalised claims. Truncating to 600
// types and making the objects are in neither.
type times struct {
	Pods             int     `json:"pods"`
	ConstructMs      float64 `json:"constructMs"`
	SolveMs          float64 `json:"solveMs"`
	Nodes            int     `json:"nodes"`
	Errors           int     `json:"errors"`
	SumCheapestPrice float64 `json:"sumCheapestPrice"`
	PeakRSSMiB       float64 `json:"peakRSSMiB"`
}

type round struct {
	result result
	times  times
}

// inputs of a round, new in every round: upstream changes some of them and remembers things in others.
type inputs struct {
	pods          []*corev1.Pod
	topologyPods  []*corev1.Pod
	ignored       map[string]string
	nodes         state.StateNodes
	nodePools     []*v1.NodePool
	instanceTypes map[string][]*cloudprovider.InstanceType
	volumes       map[types.UID][]requirements.Requirements
	daemons       []*corev1.Pod
}

func (w *world) solve() (*round, error) {
	in, err := w.gather()
	if err != nil {
		return nil, err
	}
	if len(in.nodePools) == 0 {
		return withoutNodePools(in), nil
	}
	opts := []scheduling.Options{
		scheduling.DisableReservedCapacityFallback,
		scheduling.NumConcurrentReconciles(1),
		scheduling.MinValuesPolicy(options.FromContext(w.ctx).MinValuesPolicy),
	}
	if options.FromContext(w.ctx).PreferencePolicy == options.PreferencePolicyIgnore {
		opts = append(opts, scheduling.IgnorePreferences)
	}
	began := time.Now()
	topology, err := scheduling.NewTopology(w.ctx, w.api, w.cluster, in.nodes, in.nodePools, in.instanceTypes, in.topologyPods, opts...)
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	scheduler := scheduling.NewScheduler(w.ctx, w.api, in.nodePools, w.cluster, in.nodes, topology, in.instanceTypes,
		in.daemons, w.recorder, w.clock, in.volumes, nil, opts...)
	constructed := time.Now()
	solved, err := scheduler.Solve(w.ctx, in.pods)
	done := time.Now()
	if err != nil {
		return nil, err
	}
	answer := newResult(solved.TruncateInstanceTypes(w.ctx, scheduling.MaxInstanceTypes), in.ignored)
	return &round{result: answer, times: times{
		Pods:             len(in.pods),
		ConstructMs:      milliseconds(constructed.Sub(began)),
		SolveMs:          milliseconds(done.Sub(constructed)),
		Nodes:            len(answer.NewNodeClaims),
		Errors:           len(answer.Errors),
		SumCheapestPrice: answer.sumCheapestPrice(),
		PeakRSSMiB:       peakRSSMiB(),
	}}, nil
}

func withoutNodePools(in *inputs) *round {
	answer := newResult(scheduling.Results{}, in.ignored)
	for _, pod := range in.pods {
		answer.Errors[podName(pod)] = "no dynamic nodepools found"
	}
	return &round{result: answer, times: times{Pods: len(in.pods), Errors: len(answer.Errors), PeakRSSMiB: peakRSSMiB()}}
}

// gather reads what a pass of upstream's provisioner would schedule, onto what, and from what.
func (w *world) gather() (*inputs, error) {
	in := &inputs{ignored: map[string]string{}, instanceTypes: map[string][]*cloudprovider.InstanceType{}}
	nodes := w.cluster.DeepCopyNodes()
	in.nodes = nodes.Active()
	if err := w.gatherPods(in, nodes.Deleting()); err != nil {
		return nil, err
	}
	if err := w.gatherNodePools(in); err != nil {
		return nil, err
	}
	return in, w.gatherDaemons(in)
}

func (w *world) gatherPods(in *inputs, deleting state.StateNodes) error {
	pending, err := nodeutils.GetProvisionablePods(w.ctx, w.api)
	if err != nil {
		return err
	}
	for _, pod := range pending {
		if refusal := w.provisioner.Validate(w.ctx, pod); refusal != nil {
			in.ignored[podName(pod)] = "ignoring pod, " + refusal.Error()
		} else {
			in.pods = append(in.pods, pod)
		}
	}
	leaving, err := deleting.CurrentlyReschedulablePods(w.ctx, w.api, w.clock, w.recorder)
	if err != nil {
		return err
	}
	in.pods = append(in.pods, leaving...)
	volumeTopology := scheduling.NewVolumeTopology(w.api)
	in.volumes = map[types.UID][]requirements.Requirements{}
	for _, pod := range in.pods {
		alternatives, err := volumeTopology.GetRequirements(w.ctx, pod)
		if err != nil {
			// Upstream logs it, and leaves the pod out of the topology but not out of the pass.
			continue
		}
		in.topologyPods = append(in.topologyPods, pod)
		if len(alternatives) > 0 {
			in.volumes[pod.UID] = alternatives
		}
	}
	return nil
}

func (w *world) gatherNodePools(in *inputs) error {
	all, err := nodepoolutils.ListManaged(w.ctx, w.api, w.cloud)
	if err != nil {
		return err
	}
	for _, pool := range all {
		if nodepoolutils.IsStatic(pool) || !isReady(pool) || pool.DeletionTimestamp != nil {
			continue
		}
		in.nodePools = append(in.nodePools, pool)
		offered, err := w.cloud.GetInstanceTypes(w.ctx, pool)
		if err != nil {
			return err
		}
		if len(offered) > 0 {
			in.instanceTypes[pool.Name] = offered
		}
	}
	nodepoolutils.OrderByWeight(in.nodePools)
	return nil
}

// isReady reads the conditions as they are: upstream's own accessor adds those that are missing, as unknown.
func isReady(pool *v1.NodePool) bool {
	for _, condition := range pool.Status.Conditions {
		if condition.Type == status.ConditionReady {
			return condition.IsTrue()
		}
	}
	return false
}

// gatherDaemons makes one pod for each DaemonSet: its newest if it has any, with the node affinity of the template.
func (w *world) gatherDaemons(in *inputs) error {
	var sets appsv1.DaemonSetList
	if err := w.api.List(w.ctx, &sets); err != nil {
		return err
	}
	for i := range sets.Items {
		set := &sets.Items[i]
		pod := w.cluster.GetDaemonSetPod(set)
		if pod == nil {
			pod = daemonset.PodForDaemonSet(set)
		}
		wanted := set.Spec.Template.Spec.Affinity
		if wanted != nil && wanted.NodeAffinity != nil && wanted.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			if pod.Spec.Affinity == nil {
				pod.Spec.Affinity = &corev1.Affinity{}
			}
			if pod.Spec.Affinity.NodeAffinity == nil {
				pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
			}
			required := wanted.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
			pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = required
		}
		in.daemons = append(in.daemons, pod)
	}
	return nil
}

// peakRSSMiB is the most memory this process had so far, or 0 where the system does not say.
func peakRSSMiB() float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if kib, is := bytes.CutPrefix(line, []byte("VmHWM:")); is {
			value, _ := strconv.ParseFloat(string(bytes.Fields(kib)[0]), 64)
			return value / 1024
		}
	}
	return 0
}
