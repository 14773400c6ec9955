import { decodeNodeClass, decodeNodeOverlay } from '../../../activities/kubernetes/cache/decode.ts'
import { isKnownKind } from '../../../api/shapes/objects.ts'
import { evaluate } from '../../../core/disruption/evaluate.ts'
import { neverFirst } from '../../../core/disruption/methods/context.ts'
import { schedulingSnapshot } from '../../../core/scheduling/cluster.ts'
import { pathText } from '../../../core/values/field-error.ts'
import { isObject } from '../../../core/values/json.ts'
import { printableStart } from '../../../core/values/printable.ts'
import { InputError } from '../../document/reported-error.ts'
import { few } from '../../document/words.ts'
import type { Catalog } from '../../files/catalog.ts'
import { clusterObjects, type Json, namespaceOf, withMetadata, withoutNulls } from '../../files/cluster-objects.ts'
import { type PolicyName, policies, readyDecision } from '../../files/ready-decision.ts'
import { checkManifest, type Manifest, placeOf, subjectOf } from '../../files/source.ts'
import type { Overrides, Scenario } from '../../files/taking-part.ts'
import { type TakingPart, takingPart } from '../../files/taking-part.ts'
import { type DisruptionResultJson, disruptionResult } from './disruption.ts'

const mostKindsShown = 50
const mostErrors = 10
const longestMessage = 1000

/** Objects of a cluster, checked, with what a reader should know about them. */
export interface ClusterManifests {
  readonly objects: readonly Json[]
  readonly remarks: readonly string[]
}

/**
 * Checks manifests and brings Karpenter's to the newest version; of an object that stands there twice the last one counts. `handWritten`: those of
 * Karpenter that no API server has taken yet are judged as one would. Errors: InputError.
 */
export async function checkedManifests(manifests: readonly Manifest[], handWritten = false): Promise<ClusterManifests> {
  const unknown = new Map<string, number>()
  const objects = new Map<string, Json>()
  const problems: string[] = []
  let doubles = 0
  for (const manifest of manifests) {
    const { kind, apiVersion } = manifest.json
    if (typeof kind !== 'string' || !isKnownKind(kind, apiVersion)) {
      unknown.set(textOf(kind), (unknown.get(textOf(kind)) ?? 0) + 1)
      continue
    }
    const json = withoutNulls(await newest(manifest)) as Json
    const problem = checkManifest(manifest, json)
    if (problem !== undefined) problems.push(problem)
    else if (handWritten) problems.push(...(await refusals(manifest)))
    const metadata = isObject(json['metadata']) ? json['metadata'] : {}
    const key = `${kind}/${namespaceOf(kind, metadata) ?? ''}/${textOf(metadata['name'])}`
    if (objects.has(key)) doubles += 1
    objects.set(key, json)
  }
  if (problems.length > 0) throw new InputError(...problems)
  return { objects: [...objects.values()], remarks: [...unknownRemarks(unknown), ...doubleRemarks(doubles)] }
}

/** What the API server would refuse of an object of Karpenter; it has taken what has a uid. */
async function refusals({ json, document, path }: Manifest): Promise<readonly string[]> {
  const { apiVersion, metadata } = json
  if (!/^karpenter(\.azure\.com|\.sh)\//.test(textOf(apiVersion)) || (isObject(metadata) && metadata['uid'])) return []
  const { validateObject } = await import('../validate/validate-object.ts')
  const result = validateObject(json)
  const errors = result.kind === 'checked' ? result.errors : []
  return errors.slice(0, mostErrors).map((error) => {
    const field = error.path.length === 0 ? '' : `${pathText(error.path)}: `
    const place = placeOf(document, [...path, ...error.path])
    return `${place}: ${subjectOf(json)}: ${field}${printableStart(error.message, longestMessage)}`
  })
}

export function unknownRemarks(unknown: ReadonlyMap<string, number>): readonly string[] {
  if (unknown.size === 0) return []
  const counts = [...unknown].sort(([a], [b]) => (a < b ? -1 : 1)).map(([kind, count]) => `${kind} ${count}`)
  return [`objects of kinds that say nothing about placement were left aside: ${few(counts, mostKindsShown)}`]
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function doubleRemarks(doubles: number): readonly string[] {
  return doubles === 0 ? [] : [`objects that stand there more than once: ${doubles}; the last one of each counts`]
}

async function newest({ json, document, path }: Manifest): Promise<Json> {
  if (!/^karpenter(\.azure\.com|\.sh)\/v1(beta1|alpha2)$/.test(textOf(json['apiVersion']))) return json
  const { toNewest } = await import('../../../api/conversion/convert.ts')
  const conversion = toNewest(json)
  if (conversion === undefined) return json
  if (conversion.kind === 'converted') return conversion.object
  const subject = `${textOf(json['kind'])} of ${textOf(json['apiVersion'])}`
  throw new InputError(
    `${placeOf(document, path)}: ${subject} cannot be converted: ${conversion.path} ${conversion.message}`,
  )
}

export interface ManifestSettings {
  readonly catalog: Catalog
  readonly overrides: Overrides
  /** When the pass is: RFC 3339. */
  readonly now: string
}

/** Gathers what the scheduler looks at. */
export function readManifests(
  manifests: ClusterManifests,
  settings: ManifestSettings,
): Scenario & Pick<TakingPart, 'remarks'> {
  const { cluster, nodePools, instanceTypes, options, remarks } = gather(manifests, settings)
  const { overrides, now } = settings
  const snapshot = schedulingSnapshot(
    { ...cluster, nodePools, instanceTypes },
    { now: Date.parse(now), wellKnownLabels: options.wellKnownLabels, defaultSpread: overrides.defaultSpread ?? [] },
  )
  return { snapshot, options, remarks }
}

/** What Joiner, or Karpenter, would disrupt of the cluster. */
export function decideManifests(
  manifests: ClusterManifests,
  { policy, ...settings }: ManifestSettings & { readonly policy: PolicyName },
): DisruptionResultJson {
  const { cluster, nodePools, instanceTypes, options } = gather(manifests, settings)
  const { world, settings: evaluation } = readyDecision({
    cluster,
    instanceTypes: new Map(nodePools.map(({ metadata: { name } }) => [name, instanceTypes.get(name) ?? []])),
    now: Date.parse(settings.now),
    scheduling: options,
    policy: policies[policy],
    spotToSpot: settings.overrides.spotToSpot ?? false,
    terminateFirst: settings.overrides.terminateFirst ?? neverFirst,
    nominated: new Set(),
    deletionCosts: true,
    isOpen: (pool) => nodePools.includes(pool),
  })
  return disruptionResult(evaluate(world(), evaluation), undefined)
}

function gather({ objects }: ClusterManifests, { catalog, overrides, now }: ManifestSettings): TakingPart {
  const whole = objects.map((object) => withMetadata(object, now))
  const nodeClasses = whole.filter(({ kind }) => kind === 'AKSNodeClass').map(decodeNodeClass)
  const cluster = clusterObjects(whole)
  const nodeOverlays = whole.filter(({ kind }) => kind === 'NodeOverlay').map(decodeNodeOverlay)
  const part = takingPart({ cluster, nodeClasses, nodeOverlays }, { catalog, overrides })
  const undecided = cluster.pods.filter(({ nodeName, conditions }) => !nodeName && conditions.length === 0).length
  return { ...part, remarks: [...part.remarks, ...undecidedPods(undecided)] }
}

function undecidedPods(count: number): readonly string[] {
  if (count === 0) return []
  return [
    `pods that take no part, as their status does not say that the scheduler gave up on them: ${count}; --complete takes them as pending`,
  ]
}
