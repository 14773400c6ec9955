import { isTrue } from '../../../core/conditions.ts'
import type { Cause } from '../../../core/disruption/verdicts/cause.ts'
import { holdOf } from '../../../core/node-claim/hold.ts'
import { hasDoNotDisrupt, podName } from '../../../core/pods/pod-rules.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { nodeReport } from '../../../starter/answers/node-report.ts'
import { type NodePicture, readNode } from '../../../starter/picture/node-picture.ts'
import { metaOf } from '../../fast/kubernetes/api/objects.ts'
import type { Scene } from '../scene.ts'

/** How far what is said of a node may be behind: the cluster is evaluated each five minutes where nothing changes, and half a minute later it is said. */
const mostBehindMs = 7 * 60_000

/** Holds what `joiner why node` says at a time of what keeps a node against the objects that there are then. */
export class NodeAccounts {
  readonly #scene: Scene
  /** Since when something has been said of a node that is not so, by the name of its NodeClaim. */
  readonly #untrue = new Map<string, Map<Cause['kind'], number>>()
  #looks = 0

  constructor(scene: Scene) {
    this.#scene = scene
  }

  /** Something is wrong that an account may not have caught up with. */
  forget(): void {
    this.#untrue.clear()
  }

  /** Looks at one node, in turn, and at those of which something was said that was not so. Returns what has not been so for too long. */
  async look(): Promise<readonly string[]> {
    const names = this.#scene.fast.cluster.server.objects.of('nodeclaims').map((claim) => metaOf(claim).name)
    for (const name of this.#untrue.keys()) if (!names.includes(name)) this.#untrue.delete(name)
    this.#looks += 1
    const next = names[this.#looks % names.length]
    const all = new Set([...this.#untrue.keys(), ...(next === undefined ? [] : [next])])
    return (await Promise.all([...all].map((name) => this.#lookAt(name)))).flat()
  }

  async #lookAt(name: string): Promise<readonly string[]> {
    const { fast, nowMs } = this.#scene
    const picture = await readNode(name, { client: fast.cluster.client, namespace: 'joiner', now: nowMs })
    const { evaluation, warning } = picture === undefined ? {} : nodeReport(picture)
    // The account itself says that it is old.
    const moves = warning === undefined ? (evaluation?.moves ?? []) : []
    for (const { outcome } of moves) this.#scene.count(`accounts of nodes: ${outcome}`)
    const before = this.#untrue.get(name)
    const untrue = moves.filter(({ cause }) => picture !== undefined && !isSo(cause, picture))
    const since = new Map(untrue.map(({ cause: { kind } }) => [kind, before?.get(kind) ?? nowMs]))
    if (since.size === 0) this.#untrue.delete(name)
    else this.#untrue.set(name, since)
    return untrue
      .filter(({ cause: { kind } }) => nowMs - (since.get(kind) ?? nowMs) > mostBehindMs)
      .map(({ message }) => `node ${name} is said to stay as ${message}, which has not been so for minutes`)
  }
}

/** Whether a cause can be seen in the objects themselves, where it can. */
function isSo(cause: Cause, { node, claim, pool, pods, now }: NodePicture): boolean {
  if (claim === undefined) return true
  const { conditions } = claim.status
  const { deletionTimestamp, annotations: own } = claim.metadata
  switch (cause.kind) {
    case 'held':
      return holdOf(claim, now) !== undefined
    case 'do-not-disrupt':
      return [own, node?.metadata.annotations ?? {}].some((one) => one[annotations.doNotDisrupt] === 'true')
    case 'pod-do-not-disrupt':
      return pods.some((pod) => podName(pod) === cause.pod && hasDoNotDisrupt(pod, now))
    case 'no-node':
      return node === undefined
    case 'no-node-pool':
      return pool === undefined
    case 'leaving':
      return (
        [deletionTimestamp, node?.metadata.deletionTimestamp].some((time) => time !== undefined) ||
        annotations.disruptionCommand in own ||
        annotations.interrupted in own
      )
    case 'not-initialized':
      return !isTrue(conditions, 'Initialized')
    case 'not-drifted':
      return !isTrue(conditions, 'Drifted')
    case 'rebooting':
      return isTrue(conditions, 'Rebooting')
    default:
      return true
  }
}
