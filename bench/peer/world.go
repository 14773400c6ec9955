package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/awslabs/operatorpkg/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/options"
)

// world is what upstream's controllers have around them: an API, a cloud, the state of the cluster, and a clock.
type world struct {
	ctx         context.Context
	api         *store
	cloud       *cloud
	cluster     *state.Cluster
	clock       clock.Clock
	provisioner *provisioning.Provisioner
	recorder    events.Recorder
}

type silent struct{}

func (silent) Publish(...events.Event) {}

// newWorld makes a world whose cluster state knows nothing yet of the objects, which it returns.
func newWorld(ctx context.Context, s *scenario, clk clock.Clock, recorder events.Recorder) (*world, []client.Object, error) {
	v1.WellKnownLabels.Insert(s.WellKnownLabels...)
	v1.WellKnownLabels.Insert(s.ReservationIDLabel)
	cloudprovider.ReservationIDLabel = s.ReservationIDLabel
	cloudprovider.ReservedCapacityLabels.Insert(s.ReservationIDLabel)
	objects, err := s.parse()
	if err != nil {
		return nil, nil, err
	}
	if s.Method != "" {
		slices.SortStableFunc(objects, byName)
	}
	api, err := newStore(objects)
	if err != nil {
		return nil, nil, err
	}
	w := &world{
		ctx:      options.ToContext(ctx, s.Options.upstream()),
		api:      api,
		cloud:    &cloud{types: s.InstanceTypes, byNodePool: s.InstanceTypesByNodePool},
		clock:    clk,
		recorder: recorder,
	}
	w.cloud.nodeClasses = nodeClasses(s.Method, objects)
	w.cluster = state.NewCluster(w.clock, api, w.cloud)
	w.provisioner = provisioning.NewProvisioner(api, w.recorder, w.cloud, w.cluster, w.clock, nil, nil)
	return w, objects, nil
}

// byName is the order in which an API server lists. Which of several reasons is told follows from it.
func byName(a, b client.Object) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}

// nodeClasses are the kinds of node classes that the cloud supports: one in a disruption scenario, else all that are referred to.
func nodeClasses(method string, objects []client.Object) []status.Object {
	if method != "" {
		return []status.Object{newNodeClass(schema.GroupKind{Group: "karpenter.test.sh", Kind: "TestNodeClass"})}
	}
	var classes []status.Object
	seen := map[schema.GroupKind]bool{}
	for _, object := range objects {
		var kind schema.GroupKind
		switch typed := object.(type) {
		case *v1.NodePool:
			kind = typed.Spec.Template.Spec.NodeClassRef.GroupKind()
		case *v1.NodeClaim:
			kind = typed.Spec.NodeClassRef.GroupKind()
		default:
			continue
		}
		if !seen[kind] {
			seen[kind] = true
			classes = append(classes, newNodeClass(kind))
		}
	}
	return classes
}

func (o scenarioOptions) upstream() *options.Options {
	gates := options.DefaultFeatureGates()
	if on, set := o.FeatureGates["ReservedCapacity"]; set {
		gates.ReservedCapacity = on
	}
	if on, set := o.FeatureGates["StaticCapacity"]; set {
		gates.StaticCapacity = on
	}
	gates.SpotToSpotConsolidation = o.SpotToSpotConsolidation
	made := &options.Options{
		CPURequests:       1000,
		PreferencePolicy:  options.PreferencePolicyRespect,
		MinValuesPolicy:   options.MinValuesPolicyStrict,
		IgnoreDRARequests: o.IgnoreDRARequests == nil || *o.IgnoreDRARequests,
		FeatureGates:      gates,
	}
	if o.PreferencePolicy != "" {
		made.PreferencePolicy = options.PreferencePolicy(o.PreferencePolicy)
	}
	if o.MinValuesPolicy != "" {
		made.MinValuesPolicy = options.MinValuesPolicy(o.MinValuesPolicy)
	}
	return made
}

// observe tells the cluster state of every object, in the order that upstream's informers need to know all of it.
func (w *world) observe(objects []client.Object) error {
	for _, object := range objects {
		if claim, is := object.(*v1.NodeClaim); is {
			w.cluster.UpdateNodeClaim(claim.DeepCopy())
		}
	}
	for _, object := range objects {
		if node, is := object.(*corev1.Node); is {
			if err := w.cluster.UpdateNode(w.ctx, node.DeepCopy()); err != nil {
				return err
			}
		}
	}
	for _, object := range objects {
		switch typed := object.(type) {
		case *corev1.Pod:
			// A pod of a node that is gone is nobody's load.
			if err := w.cluster.UpdatePod(w.ctx, typed); err != nil && !errors.IsNotFound(err) {
				return err
			}
		case *appsv1.DaemonSet:
			if err := w.cluster.UpdateDaemonSet(w.ctx, typed); err != nil {
				return err
			}
		}
	}
	return nil
}
