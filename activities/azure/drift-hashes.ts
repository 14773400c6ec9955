import { isTrue } from '../../core/conditions.ts'
import { annotations } from '../../core/labels.ts'
import { nodeClassHash, nodeClassHashVersion } from '../../core/node-class-hash.ts'
import type { NodeClass } from '../../core/objects.ts'
import { isNotFound } from '../kubernetes/client.ts'
import { updateClaim } from '../kubernetes/object-writes.ts'
import { resourcePath } from '../kubernetes/resources.ts'
import type { AzureDeps } from './dependencies.ts'

/**
 * The drift hash of a node class and its version. When the version is another one, hashes cannot be compared: then the claims are brought up
 * to date first, but for those that have drifted already (reference/azure-provider.md 1.4).
 */
export async function stampNodeClassHash(deps: AzureDeps, nodeClass: NodeClass): Promise<void> {
  await stamp(
    deps,
    nodeClass,
    (spec) => ({
      [annotations.nodeClassHash]: nodeClassHash(spec),
      [annotations.nodeClassHashVersion]: nodeClassHashVersion,
    }),
    async (wanted) => {
      const before = nodeClass.metadata.annotations[annotations.nodeClassHashVersion]
      if (before === undefined || before === nodeClassHashVersion) return
      await Promise.all(
        [...deps.cache.nodeClaims.values()]
          .filter(({ spec }) => spec.nodeClassRef.name === nodeClass.metadata.name)
          .map(({ metadata }) => rehashClaim(deps, metadata, wanted)),
      )
    },
  )
}

function rehashClaim(
  deps: AzureDeps,
  ref: { readonly name: string; readonly uid: string },
  wanted: Readonly<Record<string, string>>,
): Promise<unknown> {
  return updateClaim(deps, ref, ({ metadata, status }) => {
    if (metadata.annotations[annotations.nodeClassHashVersion] === nodeClassHashVersion) return undefined
    const stamped = isTrue(status.conditions, 'Drifted')
      ? { [annotations.nodeClassHashVersion]: nodeClassHashVersion }
      : wanted
    return { metadata: { annotations: stamped } }
  })
}

/** Writes annotations that follow from an object's live spec; `before` runs when they differ, ahead of the write. */
async function stamp(
  deps: AzureDeps,
  { kind, metadata: { name, annotations: own } }: NodeClass,
  wantedFor: (spec: Readonly<Record<string, unknown>>) => Readonly<Record<string, string>>,
  before: (wanted: Readonly<Record<string, string>>) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const path = resourcePath('aksnodeclasses', name)
  const json = await deps.client.get(path).catch((error: unknown) => {
    if (isNotFound(error)) return undefined
    throw error
  })
  if (json === undefined) return
  const wanted = wantedFor((json['spec'] ?? {}) as Readonly<Record<string, unknown>>)
  if (Object.entries(wanted).every(([key, value]) => own[key] === value)) return
  await before(wanted)
  deps.cache.upsert(kind, await deps.client.mergePatch(path, { metadata: { annotations: wanted } }))
}
