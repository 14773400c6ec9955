import type { ObjectMeta } from '../../../core/objects.ts'
import type { Json } from '../client/answers.ts'

/** Maps with keys of the user: labels, annotations, amounts. */
export type Text = Record<string, string>

type Listed = Pick<ObjectMeta, 'labels' | 'annotations' | 'finalizers' | 'ownerReferences'>
type MetaJson = Omit<ObjectMeta, keyof Listed> & Partial<Listed>

export function decodeMeta(json: Json): ObjectMeta {
  const meta = json['metadata'] as MetaJson
  return {
    name: meta.name,
    uid: meta.uid,
    resourceVersion: meta.resourceVersion,
    creationTimestamp: meta.creationTimestamp,
    labels: meta.labels ?? {},
    annotations: meta.annotations ?? {},
    finalizers: meta.finalizers ?? [],
    ownerReferences: meta.ownerReferences ?? [],
    ...(meta.namespace === undefined ? {} : { namespace: meta.namespace }),
    ...(meta.generation === undefined ? {} : { generation: meta.generation }),
    ...(meta.deletionTimestamp === undefined ? {} : { deletionTimestamp: meta.deletionTimestamp }),
    ...(meta.deletionGracePeriodSeconds === undefined
      ? {}
      : { deletionGracePeriodSeconds: meta.deletionGracePeriodSeconds }),
  }
}
