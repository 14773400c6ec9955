import { decodeNode, decodeNodeClaim, decodeNodePool } from '../../../activities/kubernetes/cache/decode.ts'
import { decodePod } from '../../../activities/kubernetes/cache/decode-pod.ts'
import type { Json } from '../../../activities/kubernetes/client/answers.ts'
import type { NodeClaim, NodePool } from '../../../core/objects.ts'
import { formatResources } from '../../../core/resources.ts'
import { countPool, missingClaims, surplusClaims } from '../../../core/static-capacity/pool-count.ts'
import { staticClaim } from '../../../core/static-capacity/static-claim.ts'
import { sortSpecs } from '../specs.ts'
import { featureLabels, type ObjectInput, withDefaults } from './objects.ts'

interface StaticInput {
  readonly now: string
  readonly nodePool: string
  readonly objects: readonly ObjectInput[]
  readonly markedForDeletion?: readonly string[]
  readonly pendingDisruption?: readonly string[]
  readonly reserved?: number
  readonly sequence?: boolean
  readonly claim?: boolean
  readonly wellKnownLabels?: readonly string[]
}

/** Answers a case of static capacity: what one evaluation creates, and what one removes. */
export function evaluateStatic(input: StaticInput) {
  const all = (kind: string): readonly Json[] =>
    input.objects.filter((object) => object.kind === kind).map((object) => withDefaults(object, input.now))
  const pool = all('NodePool')
    .map(decodeNodePool)
    .find(({ metadata }) => metadata.name === input.nodePool) as NodePool
  const nodes = all('Node').map(decodeNode)
  const pods = all('Pod').map(decodePod)
  const count = countPool(pool, all('NodeClaim').map(decodeNodeClaim), {
    markedForDeletion: new Set(input.markedForDeletion),
    pendingDisruption: new Set(input.pendingDisruption),
  })
  const podsOf = ({ status }: NodeClaim) => {
    const node = nodes.find(({ providerId }) => providerId === status.providerId)
    return node === undefined ? [] : pods.filter(({ nodeName }) => nodeName === node.metadata.name)
  }
  const { group, kind } = pool.template.spec.nodeClassRef
  const isOurs = group === 'karpenter.test.sh' && kind === 'TestNodeClass'
  const created = isOurs ? missingClaims(pool, count, input.reserved) : 0
  const removed = (from: NodePool) =>
    isOurs
      ? surplusClaims(from, count, { now: Date.parse(input.now), podsOf })
          .map(({ metadata }) => metadata.name)
          .sort()
      : []
  return {
    counts: {
      active: count.active.length,
      deleting: count.deleting.length,
      pendingDisruption: count.pendingDisruption.length,
    },
    provision: {
      created,
      failed: false,
      ...(input.claim === true ? { claim: shownClaim(pool, featureLabels(input)) } : {}),
    },
    deprovision: { deleted: removed(pool), failed: false },
    ...(input.sequence === true
      ? { sequence: count.active.map((_, index) => removed({ ...pool, replicas: count.active.length - index - 1 })) }
      : {}),
  }
}

function shownClaim(pool: NodePool, wellKnown: ReadonlySet<string>) {
  const { labels, requests, requirements } = staticClaim(pool, wellKnown)
  const { taints, startupTaints } = pool.template.spec
  return {
    generateName: `${pool.metadata.name}-`,
    labels,
    requests: formatResources(requests),
    requirements: sortSpecs(requirements).map((spec) => ({ ...spec, values: [...(spec.values ?? [])].sort() })),
    taints: taints.length,
    startupTaints: startupTaints.length,
  }
}
