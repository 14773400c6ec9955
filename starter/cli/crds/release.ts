import { inParallel } from '../../../activities/concurrency.ts'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import { isConflict, isNotFound } from '../../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import type { Operation } from '../../../activities/kubernetes/client/json-patch.ts'
import { resourcePath } from '../../../activities/kubernetes/client/resources.ts'
import { installationAnnotation } from '../../../core/installation.ts'
import { isConvertedByJoiner, oldVersion, releasedSpec } from './wanted-spec.ts'

/** The CRDs with old versions, and the resource whose objects each defines. */
export const converted = { 'nodepools.karpenter.sh': 'nodepools', 'nodeclaims.karpenter.sh': 'nodeclaims' } as const
export type Converted = keyof typeof converted
export const convertedNames = Object.keys(converted) as readonly Converted[]

/** How often a write is tried again that came between two of others. */
const attempts = 5
const writesAtOnce = 8

/** A CRD, as far as these commands look into it. */
export interface Crd {
  readonly metadata: {
    readonly name: string
    readonly resourceVersion: string
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly status?: {
    readonly storedVersions?: readonly string[]
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

const crdPath = (name: string) => resourcePath('customresourcedefinitions', name)

/** Returns a CRD; undefined when it is not installed. Errors: the API server's. */
export async function readCrd(client: Pick<KubernetesClient, 'get'>, name: string): Promise<Json | undefined> {
  try {
    return await client.get(crdPath(name))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** Returns whether objects of a CRD may be stored in the old version, which Joiner converts. */
export function holdsOld(crd: Json): boolean {
  return (crd as unknown as Crd).status?.storedVersions?.includes(oldVersion) === true && isConvertedByJoiner(crd)
}

/**
 * Stores what is stored in the old version in the new one, while somebody still converts it: afterwards nobody could read it. A write that changes nothing
 * is enough, since the API server writes an object whose stored version is old. Returns the number of objects. Errors: the API server's.
 */
export async function storeAsNew(client: KubernetesClient, name: Converted, crd: Json): Promise<number> {
  const resource = converted[name]
  const { items } = await client.list(resourcePath(resource))
  await inParallel(
    items as unknown as readonly { readonly metadata: { readonly name: string; readonly uid: string } }[],
    writesAtOnce,
    async ({ metadata }) => {
      await client
        .mergePatch(resourcePath(resource, metadata.name), { metadata: { uid: metadata.uid } })
        .catch((error: unknown) => {
          // It went meanwhile, or another of its name came, which is stored as new.
          if (!isNotFound(error) && !isConflict(error)) throw error
        })
    },
  )
  const { storedVersions = [] } = (crd as unknown as Crd).status ?? {}
  await client.patchStatus(crdPath(name), {
    status: { storedVersions: storedVersions.filter((each) => each !== oldVersion) },
  })
  return items.length
}

/** What takes Joiner's webhook and marker out of a CRD; nothing where neither is in it. */
export function releaseOf(crd: Json): readonly Operation[] {
  const isMarked = (crd as unknown as Crd).metadata.annotations?.[installationAnnotation] !== undefined
  const path = `/metadata/annotations/${installationAnnotation.replaceAll('/', '~1')}`
  return [
    ...(isConvertedByJoiner(crd) ? ([{ op: 'replace', path: '/spec', value: releasedSpec(crd) }] as const) : []),
    ...(isMarked ? ([{ op: 'remove', path }] as const) : []),
  ]
}

/** Changes a CRD as it was read, and again if somebody wrote it meanwhile. Returns whether anything changed. Errors: the API server's. */
export async function patched(
  client: KubernetesClient,
  name: string,
  change: (crd: Json) => readonly Operation[],
): Promise<boolean> {
  for (let attempt = 1; ; attempt += 1) {
    const crd = await client.get(crdPath(name))
    const { resourceVersion } = (crd as unknown as Crd).metadata
    const asRead: Operation = { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion }
    try {
      const after = await client.jsonPatch(crdPath(name), [asRead, ...change(crd)])
      return (after as unknown as Crd).metadata.resourceVersion !== resourceVersion
    } catch (error) {
      if (!isConflict(error) || attempt === attempts) throw error
    }
  }
}
