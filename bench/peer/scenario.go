package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

type scenario struct {
	Now time.Time `json:"now"`
	// Method is the disruption method that is to decide; a scenario of scheduling has none.
	Method                  string              `json:"method"`
	Options                 scenarioOptions     `json:"options"`
	WellKnownLabels         []string            `json:"wellKnownLabels"`
	ReservationIDLabel      string              `json:"reservationIDLabel"`
	InstanceTypes           []instanceType      `json:"instanceTypes"`
	InstanceTypesByNodePool map[string][]string `json:"instanceTypesByNodePool"`
	Objects                 []json.RawMessage   `json:"objects"`
}

type scenarioOptions struct {
	PreferencePolicy  string          `json:"preferencePolicy"`
	MinValuesPolicy   string          `json:"minValuesPolicy"`
	FeatureGates      map[string]bool `json:"featureGates"`
	IgnoreDRARequests *bool           `json:"ignoreDRARequests"`

	SpotToSpotConsolidation bool     `json:"spotToSpotConsolidation"`
	ReconcileConditions     bool     `json:"reconcileConditions"`
	Nominated               []string `json:"nominated"`
	MarkedForDeletion       []string `json:"markedForDeletion"`
}

// load reads a scenario from a file, or from the standard input if path is empty.
func load(path string) (*scenario, error) {
	in := io.Reader(os.Stdin)
	if path != "" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	buffered := bufio.NewReader(in)
	if magic, _ := buffered.Peek(2); string(magic) == "\x1f\x8b" {
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, err
		}
		in = unzipped
	} else {
		in = buffered
	}
	read := &scenario{ReservationIDLabel: "karpenter.test.sh/reservation-id"}
	if err := json.NewDecoder(in).Decode(read); err != nil {
		return nil, fmt.Errorf("%s is no scenario: %w", path, err)
	}
	return read, nil
}

var kinds = map[string]func() client.Object{
	"NodePool":              func() client.Object { return &v1.NodePool{} },
	"NodeClaim":             func() client.Object { return &v1.NodeClaim{} },
	"Node":                  func() client.Object { return &corev1.Node{} },
	"Pod":                   func() client.Object { return &corev1.Pod{} },
	"Namespace":             func() client.Object { return &corev1.Namespace{} },
	"PersistentVolumeClaim": func() client.Object { return &corev1.PersistentVolumeClaim{} },
	"PersistentVolume":      func() client.Object { return &corev1.PersistentVolume{} },
	"Service":               func() client.Object { return &corev1.Service{} },
	"DaemonSet":             func() client.Object { return &appsv1.DaemonSet{} },
	"ReplicaSet":            func() client.Object { return &appsv1.ReplicaSet{} },
	"StorageClass":          func() client.Object { return &storagev1.StorageClass{} },
	"CSINode":               func() client.Object { return &storagev1.CSINode{} },
	"PodDisruptionBudget":   func() client.Object { return &policyv1.PodDisruptionBudget{} },
}

var namespaced = map[string]bool{
	"Pod": true, "PersistentVolumeClaim": true, "Service": true, "DaemonSet": true, "ReplicaSet": true, "PodDisruptionBudget": true,
}

// parse reads the objects and completes them by the rules of the format.
func (s *scenario) parse() ([]client.Object, error) {
	objects := make([]client.Object, 0, len(s.Objects))
	namespaces := map[string]bool{"default": false}
	for _, raw := range s.Objects {
		var head metav1.TypeMeta
		if err := json.Unmarshal(raw, &head); err != nil {
			return nil, err
		}
		fresh, known := kinds[head.Kind]
		if !known {
			return nil, fmt.Errorf("object of unknown kind %q", head.Kind)
		}
		object := fresh()
		if err := json.Unmarshal(raw, object); err != nil {
			return nil, fmt.Errorf("%s: %w", head.Kind, err)
		}
		s.complete(object, head.Kind)
		if head.Kind == "Namespace" {
			namespaces[object.GetName()] = true
		} else if namespace := object.GetNamespace(); namespace != "" && !namespaces[namespace] {
			namespaces[namespace] = false
		}
		objects = append(objects, object)
	}
	for name, listed := range namespaces {
		if !listed {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
			s.complete(namespace, "Namespace")
			objects = append(objects, namespace)
		}
	}
	return objects, nil
}

func (s *scenario) complete(object client.Object, kind string) {
	if namespaced[kind] && object.GetNamespace() == "" {
		object.SetNamespace("default")
	}
	if object.GetUID() == "" {
		object.SetUID(types.UID(strings.Join([]string{kind, object.GetNamespace(), object.GetName()}, "/")))
	}
	if created := object.GetCreationTimestamp(); created.IsZero() {
		object.SetCreationTimestamp(metav1.NewTime(s.Now))
	}
	// Objects of a disruption scenario have the status that they are to have.
	asGiven := s.Method != ""
	switch typed := object.(type) {
	case *corev1.Namespace:
		if typed.Labels == nil {
			typed.Labels = map[string]string{}
		}
		typed.Labels[corev1.LabelMetadataName] = typed.Name
	case *corev1.Pod:
		if !asGiven {
			completePod(typed)
		}
	case *v1.NodePool:
		if !asGiven && len(typed.Status.Conditions) == 0 {
			typed.SetConditions([]v1Condition{{Type: "Ready", Status: metav1.ConditionTrue, ObservedGeneration: typed.Generation}})
		}
	}
}

func completePod(pod *corev1.Pod) {
	bound := pod.Spec.NodeName != ""
	if pod.Status.Phase == "" {
		pod.Status.Phase = corev1.PodPending
		if bound {
			pod.Status.Phase = corev1.PodRunning
		}
	}
	if bound {
		return
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	})
}
