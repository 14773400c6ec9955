import { jsonIn } from './values/json.ts'
/** One installation of Joiner in a cluster. */
export interface Installation {
  /** Name of the Helm release. */
  readonly release: string
  readonly namespace: string
  /** UID of that Namespace: a namespace that was deleted and created again has another one. */
  readonly uid: string
}

/** Annotation of the CRD `nodepools.karpenter.sh` that names the one installation that works in the cluster. */
export const installationAnnotation = 'joiner.sh/installation'

/** Service of the conversion webhook, in the namespace of the installation. */
export const conversionService = 'joiner-conversion'

/** Owner of the CRDs. */
export type Ownership =
  | { readonly kind: 'ours' }
  /** No installation has claimed them, or the claimer is proven to be gone: only one namespace of a name exists at a time. */
  | { readonly kind: 'unclaimed' }
  /** Another installation's. `owner` is its annotation. */
  | { readonly kind: 'foreign'; readonly owner: string }

/** The annotation of an installation. */
export function installationText({ release, namespace, uid }: Installation): string {
  return JSON.stringify({ release, namespace, uid })
}

/** Returns the owner of the CRDs by the annotation. An unreadable one is foreign. */
export function ownershipOf(annotation: string | undefined, own: Installation): Ownership {
  if (annotation === undefined || annotation === '') return { kind: 'unclaimed' }
  const owner = jsonIn<Installation>(annotation)
  if (owner?.release !== own.release || owner.namespace !== own.namespace) return { kind: 'foreign', owner: annotation }
  return owner.uid === own.uid ? { kind: 'ours' } : { kind: 'unclaimed' }
}

/** Returns a description of an installation, from its annotation. */
export function describeInstallation(annotation: string): string {
  const owner = jsonIn<Installation>(annotation)
  // Quoted as JSON, so that foreign text cannot move the cursor of a terminal.
  if (owner?.release === undefined || owner.namespace === undefined) return JSON.stringify(annotation.slice(0, 200))
  return `release ${JSON.stringify(owner.release)} in namespace ${JSON.stringify(owner.namespace)}`
}
