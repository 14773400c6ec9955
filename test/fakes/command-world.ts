import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { deleteCandidates } from '../../activities/kubernetes/commands/candidates.ts'
import type { CommandWork } from '../../activities/kubernetes/contract.ts'
import { asAttempt } from './attempt.ts'
import { FakeCluster } from './cluster.ts'
import { kubernetesDeps } from './deps.ts'
import { at, claimJson, condition, nodeJson, poolJson } from './objects.ts'

const commandId = 'multi-node-0123456789'

const stamp = { 'joiner.sh/disruption-command': commandId }

export const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }

const marked = [
  condition('Launched'),
  condition('Registered'),
  condition('DisruptionReason', 'True', 0, 'Underutilized'),
]

export const guarded = { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }

export const refTo = (name: string) => ({ name, uid: `uid-${name}`, nodeName: `aks-${name}`, nodePool: 'default' })

export const workOn = (names: readonly string[], change: Partial<CommandWork> = {}): CommandWork => ({
  commandId,
  method: 'multi-node',
  decision: 'replace',
  candidates: names.map(refTo),
  replacements: [],
  savings: 0.5,
  ...change,
})

/** A claim that a command has marked and stamped, with its Node. */
export function candidate(
  cluster: FakeCluster,
  name: string,
  change: { claim?: Json; node?: Json; annotations?: Json } = {},
) {
  cluster.put(
    'nodeclaims',
    claimJson(name, {
      metadata: { annotations: { ...stamp, ...change.annotations } },
      status: { conditions: marked },
      ...change.claim,
    }),
  )
  cluster.put('nodes', nodeJson(name, { spec: { taints: [disrupted] }, ...change.node }))
}

export function replacement(cluster: FakeCluster, name: string, isReady = true) {
  const conditions = [condition('Launched'), condition('Initialized', isReady ? 'True' : 'Unknown')]
  cluster.put(
    'nodeclaims',
    claimJson(name, { metadata: { annotations: { 'joiner.sh/replacement-for': commandId } }, status: { conditions } }),
  )
  cluster.put('nodes', nodeJson(name))
}

export function world(names: readonly string[] = ['a', 'b']) {
  const cluster = new FakeCluster()
  cluster.put('nodepools', poolJson())
  for (const name of names) candidate(cluster, name)
  const known = kubernetesDeps(cluster)
  const stop = new AbortController()
  return {
    cluster,
    ...known,
    /** Claims go at once, as if their lifecycles had ended them. */
    lifecyclesEnd: () =>
      cluster.intercept(({ verb, path }) => {
        if (verb === 'delete' && path.includes('/nodeclaims/'))
          queueMicrotask(
            () =>
              cluster.object('nodeclaims', path.split('/').at(-1) as string) &&
              cluster.remove('nodeclaims', path.split('/').at(-1) as string),
          )
      }),
    deletes: (work: CommandWork, attempt = 1) =>
      asAttempt(attempt, () => deleteCandidates(known.deps, work, stop.signal)),
    stop,
  }
}

/** Which claims are being deleted or gone; which are free of all marks. */
export function stateOf(cluster: FakeCluster, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.map((name) => {
      const claim = cluster.object('nodeclaims', name)
      if (claim === undefined) return [name, 'gone']
      if (claim.metadata.deletionTimestamp !== undefined) return [name, 'going']
      const node = cluster.object('nodes', `aks-${name}`)
      const traces = [
        ...('joiner.sh/disruption-command' in claim.metadata.annotations ? ['stamp'] : []),
        ...(claim.status.conditions.some(({ type }) => type === 'DisruptionReason') ? ['condition'] : []),
        ...((node?.spec.taints ?? []).length > 0 ? ['taint'] : []),
      ]
      return [name, traces.length === 0 ? 'free' : traces.join('+')]
    }),
  )
}

export const untouched = 'stamp+condition+taint'

export function pause(
  cluster: FakeCluster,
  key: string,
  text = JSON.stringify({ reason: 'upgrade', since: at(0) }),
): void {
  cluster.put('configmaps', { metadata: { name: 'joiner-pauses', namespace: 'joiner' }, data: { [key]: text } })
}
