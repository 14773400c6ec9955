import type { Pod } from '../../core/objects.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import type { PlannedNodeClaim } from '../../core/scheduling/snapshot.ts'
import type { ClusterCache } from '../kubernetes/cache/cluster-cache.ts'
import type { Parts } from '../kubernetes/parts.ts'
import { podFingerprint } from '../scheduler-thread/pod-fingerprint.ts'
import { BackOff } from './back-off.ts'

const longestMs = 10 * 60_000
/** Time without a refusal after which an entry belongs to pods that are gone. */
const keptMs = 2 * longestMs

interface Refused {
  readonly atMs: number
  readonly nodePool: string
  /** The state of the NodePool and its class when the claim was refused. */
  readonly state: string
  readonly message: string
}

type Providers = Pick<Parts, 'cache'>

interface RefusedAt {
  readonly message: string
  readonly now: number
}

/**
 * Pods whose planned NodeClaim was refused. They share no new NodeClaim with other pods any more, so that a claim shows which pods are at fault.
 * Pods that shared the refused one are planned again at once. Pods that did not share it wait, from 10 s to 10 minutes. A change of the pods'
 * spec, of the NodePool or of its class ends this. Times are epoch ms. Kept in memory: after a restart the first refusal starts again.
 */
export class RefusedClaims {
  /** By the fingerprint of the pods. */
  readonly #refused = new Map<string, Refused>()
  readonly #backOff = new BackOff(longestMs)

  /** Records that the API server refuses a claim, and its message. */
  refuse(providers: Providers, { nodePool, pods }: PlannedNodeClaim, { message, now }: RefusedAt): void {
    this.#forgetOld(now)
    const fingerprints = new Set(pods.map(podFingerprint))
    for (const fingerprint of fingerprints) {
      // A refusal under an earlier state of the NodePool is not in a row with this one.
      if (!this.#isRefused(providers, fingerprint)) this.#backOff.succeeded(fingerprint)
      if (fingerprints.size === 1) this.#backOff.failed(fingerprint, now)
      this.#refused.set(fingerprint, { atMs: now, nodePool, state: poolState(providers.cache, nodePool), message })
    }
  }

  /** Records that a claim was created: its pods are like any others. */
  accept({ pods }: PlannedNodeClaim): void {
    if (this.#refused.size === 0) return
    for (const fingerprint of new Set(pods.map(podFingerprint))) {
      this.#refused.delete(fingerprint)
      this.#backOff.succeeded(fingerprint)
    }
  }

  isWaiting(providers: Providers, pod: Pod, now: number): boolean {
    if (this.#refused.size === 0) return false
    const fingerprint = podFingerprint(pod)
    return this.#backOff.isResting(fingerprint, now) && this.#isRefused(providers, fingerprint)
  }

  /** Returns why the claim of a pod that has to wait was refused. */
  refusalOf(pod: Pod): { readonly nodePool: string; readonly message: string } | undefined {
    return this.#refused.get(podFingerprint(pod))
  }

  /** Returns groups of pods that must not share new NodeClaims with other pods, by the pods' names. */
  apart(providers: Providers, pods: readonly Pod[]): ReadonlyMap<string, string> {
    if (this.#refused.size === 0) return new Map()
    const groups = pods.map((pod) => [podName(pod), podFingerprint(pod)] as const)
    return new Map(groups.filter(([, fingerprint]) => this.#isRefused(providers, fingerprint)))
  }

  #isRefused(providers: Providers, fingerprint: string): boolean {
    const refused = this.#refused.get(fingerprint)
    return refused !== undefined && refused.state === poolState(providers.cache, refused.nodePool)
  }

  #forgetOld(now: number): void {
    for (const [fingerprint, { atMs }] of this.#refused) if (now - atMs > keptMs) this.#refused.delete(fingerprint)
  }
}

/** Returns the state of a NodePool and its class that NodeClaims are made from. */
export function poolState(cache: ClusterCache, name: string): string {
  const nodePool = cache.nodePools.get(name)
  const nodeClass = nodePool && cache.nodeClasses.get(nodePool.template.spec.nodeClassRef.name)
  return [nodePool, nodeClass].map((one) => `${one?.metadata.uid} ${one?.metadata.generation}`).join(' ')
}
