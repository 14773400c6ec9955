import type { OwnerReference } from '../../../../core/objects.ts'
import type { Json } from '../cluster-objects.ts'

export type Texts = Readonly<Record<string, string>>
export type Owner = Pick<OwnerReference, 'apiVersion' | 'kind' | 'name' | 'uid'>

/** An object of a file, checked, with the metadata that every object of an API server has. */
export interface Named extends Json {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly labels?: Texts
    readonly annotations?: Texts
    readonly creationTimestamp?: string
    readonly deletionTimestamp?: string
    readonly ownerReferences?: readonly (Owner & { readonly controller?: boolean })[]
  }
}

export function keyOf({ kind, metadata: { namespace = '', name } }: Pick<Named, 'kind' | 'metadata'>): string {
  return `${kind}/${namespace}/${name}`
}

/** What an object that is made for another has in common with it. */
export function placed({
  metadata: { namespace, creationTimestamp },
}: Named): Pick<Named['metadata'], 'namespace' | 'creationTimestamp'> {
  return { ...(namespace && { namespace }), ...(creationTimestamp && { creationTimestamp }) }
}

/** A claim as a controller makes it for a pod, in the namespace of `source`. */
export function claimOf(source: Named, name: string, spec: object = {}): Named {
  const uid = `PersistentVolumeClaim/${source.metadata.namespace}/${name}`
  const metadata = { ...placed(source), name, uid }
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec, status: { phase: 'Pending' } }
}
