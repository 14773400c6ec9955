package main

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// store answers reads from memory the way the informer cache behind upstream's client does: by index where upstream
// has one, with deep copies unless the caller waives them. (The fake client of controller-runtime would be slower by
// JSON and by the lack of indexes, to upstream's disadvantage.) It serves no writes; those of a status it accepts and
// forgets.
type store struct {
	client.Client
	kinds map[string]*kindStore
	// pendingReads counts the reads of pods without a node: upstream makes one for each simulation.
	pendingReads int
}

type forgetful struct{ client.SubResourceWriter }

func (forgetful) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return nil
}

func (s *store) Status() client.SubResourceWriter { return forgetful{} }

type kindStore struct {
	byName      map[types.NamespacedName]client.Object
	all         []client.Object
	byNamespace map[string][]client.Object
	byNodeName  map[string][]client.Object
}

// newStore lists objects in the order in which it is given them.
func newStore(objects []client.Object) (*store, error) {
	made := &store{kinds: map[string]*kindStore{}}
	for _, object := range objects {
		gvk, err := apiutil.GVKForObject(object, scheme.Scheme)
		if err != nil {
			return nil, err
		}
		kind := made.kind(gvk.Kind)
		key := client.ObjectKeyFromObject(object)
		if _, twice := kind.byName[key]; twice {
			return nil, fmt.Errorf("%s %s is there twice", gvk.Kind, key)
		}
		kind.byName[key] = object
		kind.all = append(kind.all, object)
		kind.byNamespace[key.Namespace] = append(kind.byNamespace[key.Namespace], object)
		if pod, is := object.(*corev1.Pod); is {
			kind.byNodeName[pod.Spec.NodeName] = append(kind.byNodeName[pod.Spec.NodeName], object)
		}
	}
	return made, nil
}

func (s *store) kind(name string) *kindStore {
	if s.kinds[name] == nil {
		s.kinds[name] = &kindStore{
			byName:      map[types.NamespacedName]client.Object{},
			byNamespace: map[string][]client.Object{},
			byNodeName:  map[string][]client.Object{},
		}
	}
	return s.kinds[name]
}

func (s *store) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(into, scheme.Scheme)
	if err != nil {
		return err
	}
	// Upstream asks for volumes with the namespace of the pod; an API server does not look at it.
	if !namespaced[gvk.Kind] {
		key.Namespace = ""
	}
	found, there := s.kind(gvk.Kind).byName[key]
	if !there {
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		return errors.NewNotFound(plural.GroupResource(), key.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found.DeepCopyObject()).Elem())
	return nil
}

func (s *store) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(into, scheme.Scheme)
	if err != nil {
		return err
	}
	options := (&client.ListOptions{}).ApplyOptions(opts)
	candidates, err := s.kind(gvk.Kind[:len(gvk.Kind)-len("List")]).candidates(options)
	if err != nil {
		return err
	}
	if _, ofPods := into.(*corev1.PodList); ofPods && options.FieldSelector != nil && options.FieldSelector.String() == "spec.nodeName=" {
		s.pendingReads++
	}
	shared := options.UnsafeDisableDeepCopy != nil && *options.UnsafeDisableDeepCopy
	var found []runtime.Object
	for _, object := range candidates {
		if options.Namespace != "" && object.GetNamespace() != options.Namespace {
			continue
		}
		if options.LabelSelector != nil && !options.LabelSelector.Matches(labels.Set(object.GetLabels())) {
			continue
		}
		if shared {
			found = append(found, object)
		} else {
			found = append(found, object.DeepCopyObject())
		}
	}
	return meta.SetList(into, found)
}

func (k *kindStore) candidates(options *client.ListOptions) ([]client.Object, error) {
	if options.FieldSelector != nil && !options.FieldSelector.Empty() {
		requirements := options.FieldSelector.Requirements()
		if len(requirements) != 1 || requirements[0].Field != "spec.nodeName" {
			return nil, fmt.Errorf("no index for the field selector %s", options.FieldSelector)
		}
		return k.byNodeName[requirements[0].Value], nil
	}
	if options.Namespace != "" {
		return k.byNamespace[options.Namespace], nil
	}
	return k.all, nil
}
