import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { parseWaiting } from '../../../api/waiting-pods.ts'
import type { Pod } from '../../../core/objects.ts'
import type { Explanation } from '../../../core/scheduling/explain/explanation.ts'
import { sampleClaim, samplePod } from '../../../test/samples/sample-objects.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { ApiError } from '../../kubernetes/client/api-error.ts'
import { FenceLostError } from '../fence.ts'
import { Nominations } from '../nominations.ts'
import { Findings, type FindingsDeps } from './findings.ts'

const unschedulable = {
  type: 'PodScheduled',
  status: 'False',
  reason: 'Unschedulable',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
} as const

const waiting = (name: string, cpu = 1) => samplePod(name, { requests: { cpu }, conditions: [unschedulable] })

const tooBig: Explanation = {
  cause: 'too-big',
  nodePool: 'default',
  finding: 'NodePool "default": needs 2 more cpu',
  funnel: ['NodePool default: 3 types'],
  remedies: ['lower it'],
  missing: [],
  wantedPools: [],
}

/** A planner's surroundings with these pods pending. */
function planner() {
  const entries = new Map<string, string>()
  const written: string[][] = []
  const asked: string[][] = []
  const pods: Pod[] = []
  const claims = new Map<string, unknown>()
  let exists = false
  const nominations = new Nominations(10_000)
  const client = {
    get: async (path: string) => {
      if (!exists) throw new ApiError(404, 'NotFound', path)
      return { data: Object.fromEntries(entries) }
    },
    mergePatch: async (path: string, { data }: Json) => {
      if (!exists) throw new ApiError(404, 'NotFound', path)
      const changed = data as Record<string, string | null>
      for (const [key, value] of Object.entries(changed)) {
        if (value === null) entries.delete(key)
        else entries.set(key, value)
      }
      written.push(Object.keys(changed).sort())
      return { data: Object.fromEntries(entries) }
    },
    create: async (_: string, body: Json) => {
      exists = true
      return client.mergePatch('', body)
    },
  }
  const none = { by: () => [], get: () => undefined, values: () => [].values(), size: 0 }
  const held = new Set<string>()
  const deps = {
    client,
    namespace: 'joiner',
    now: () => Date.now(),
    log: { warn: (fields: unknown) => expect.fail(JSON.stringify(fields)) },
    cache: {
      onChange: () => () => {},
      pods: { by: (index: string) => (index === 'byProvisionable' ? pods : []) },
      nodes: { ...none, get: (name: string) => (name === 'by-hand' ? {} : undefined) },
      nodeClaims: { ...none, get: (name: string) => claims.get(name) },
      nodePools: none,
      nodeClasses: none,
      podDisruptionBudgets: none,
    },
    nominations,
    refusedClaims: {
      isWaiting: (_: unknown, pod: Pod) => held.has(pod.metadata.name),
      refusalOf: () => ({ nodePool: 'default', message: 'denied by policy' }),
    },
    nodeRefusals: { isWaiting: () => false, reasonOf: () => ({}) },
    heavyPods: { isWaiting: () => false },
    quarantine: { holds: () => false },
    solver: {
      explain: async (names: readonly string[]) => {
        asked.push([...names])
        return new Map(names.map((name) => [name, tooBig]))
      },
    },
  } as unknown as FindingsDeps
  return {
    deps,
    entries,
    pods,
    claims,
    held,
    nominations,
    written,
    asked,
    stored: async () => parseWaiting(Object.fromEntries(entries)).waiting,
  }
}

const fence = { checkIfStale: async () => {} }

const plan = (left: readonly Pod[], placed: readonly Pod[] = []) =>
  ({
    newNodeClaims: [],
    existing: [{ node: 'n', pods: placed }],
    unschedulable: left.map((pod) => ({ pod, cause: { kind: 'no-instance-types' } })),
    stopped: false,
  }) as never

describe('why pods wait', () => {
  let registry: Registry
  let findings: Findings
  beforeEach(() => {
    vi.useFakeTimers({ now: Date.parse('2026-01-01T01:00:00Z') })
    registry = new Registry()
    findings = new Findings(Date.now, registry)
  })
  afterEach(() => vi.useRealTimers())
  const passes = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms)
    await findings.settled()
  }
  /** A planner that has said why these pods wait. */
  const plannerThatSaid = async (...waits: readonly Pod[]) => {
    const made = planner()
    made.pods.push(...waits)
    findings.begin(made.deps, fence)
    findings.passed(made.deps, made.pods, plan(made.pods))
    await passes(3000)
    return made
  }

  it('is written once it has settled, and only when it changes; the time once a minute', async () => {
    const { deps, pods, written, stored } = planner()
    pods.push(waiting('a'), waiting('b'))
    findings.begin(deps, fence)
    findings.passed(deps, pods, plan(pods))
    await passes(1000)
    expect(written).toEqual([])
    await passes(2000)
    expect((await stored()).counts).toEqual([{ state: 'unschedulable', cause: 'too-big', count: 2 }])
    expect([...(await stored()).classes.values()]).toMatchObject([{ count: 2, finding: tooBig.finding }])
    findings.passed(deps, pods, plan(pods))
    await passes(30_000)
    expect(written).toHaveLength(1)
    await passes(120_000)
    expect(written.slice(1)).toEqual([['Summary'], ['Summary']])
    pods.length = 0
    findings.passed(deps, pods, plan([]))
    await passes(10_000)
    expect((await stored()).classes.size).toBe(0)
    expect((await stored()).counts).toEqual([])
    const last = written.length
    await passes(600_000)
    expect(written).toHaveLength(last)
  })

  it('is written after the clock was set back', async () => {
    const { deps, pods, stored } = planner()
    const rightMs = Date.now()
    vi.setSystemTime(rightMs + 600_000)
    pods.push(waiting('a'))
    findings.begin(deps, fence)
    findings.passed(deps, pods, plan(pods))
    await passes(3000)
    vi.setSystemTime(rightMs)
    pods.length = 0
    findings.passed(deps, pods, plan([]))
    await passes(10_000)
    expect((await stored()).counts).toEqual([])
  })

  it('is not written by a process that stood still until another had taken over', async () => {
    const { deps, entries, pods, written } = planner()
    let isLost = false
    const lost = async () => {
      if (isLost) throw new FenceLostError('another planning attempt')
    }
    pods.push(waiting('a'))
    findings.begin(deps, { checkIfStale: lost })
    findings.passed(deps, pods, plan(pods))
    await passes(3000)
    isLost = true
    const before = written.length
    // The other has seen it run.
    entries.clear()
    await passes(120_000)
    await findings.paused(deps, { reason: 'audit', sinceMs: 0 })
    expect(written).toHaveLength(before)
  })

  it('does not bring back with a restored etcd what it had removed', async () => {
    const { deps, entries, pods, stored } = await plannerThatSaid(waiting('a'))
    const backup = new Map(entries)
    pods.splice(0, 1, waiting('b', 2))
    findings.passed(deps, pods, plan(pods))
    await passes(10_000)
    for (const [key, text] of backup) entries.set(key, text)
    pods.length = 0
    findings.passed(deps, pods, plan([]))
    await passes(10_000)
    expect([...(await stored()).classes.keys()]).toEqual([])
  })

  it('writes no more than twice at a time what somebody brings back each time', async () => {
    const { deps, entries, pods, written } = await plannerThatSaid(waiting('a'))
    entries.delete = () => false
    pods.length = 0
    const before = written.length
    findings.passed(deps, pods, plan([]))
    await passes(10_000)
    expect(written.length - before).toBe(2)
  })

  it('is written again soon where the API server refused it, also where nothing waits any more', async () => {
    const { deps, pods, stored } = await plannerThatSaid(waiting('a'))
    Object.assign(deps, { log: { warn: () => {} } })
    vi.spyOn(deps.client, 'mergePatch').mockRejectedValueOnce(new ApiError(409, 'Conflict', 'joiner-waiting-pods'))
    pods.length = 0
    findings.passed(deps, pods, plan([]))
    await passes(20_000)
    expect((await stored()).classes.size).toBe(0)
  })

  it('is tried again at growing distances where every write is refused, as without the right', async () => {
    const { deps, pods } = await plannerThatSaid(waiting('a'))
    let refused = 0
    Object.assign(deps, { log: { warn: () => {} } })
    vi.spyOn(deps.client, 'mergePatch').mockImplementation(async () => {
      refused += 1
      throw new ApiError(403, 'Forbidden', 'joiner-waiting-pods')
    })
    pods.length = 0
    findings.passed(deps, pods, plan([]))
    await passes(600_000)
    expect(refused).toBeGreaterThan(9)
    expect(refused).toBeLessThan(16)
  })

  it('asks the scheduler once for pods that are alike', async () => {
    const { deps, pods, asked } = await plannerThatSaid(waiting('a'), waiting('b'), waiting('c', 2))
    expect(asked).toEqual([['default/a', 'default/c']])
    findings.passed(deps, pods, plan(pods))
    await passes(100)
    expect(asked).toHaveLength(1)
  })

  it('is asked for again after the clock was set back, also where that had failed', async () => {
    const { deps, pods, asked } = planner()
    const rightMs = Date.now()
    const { solver } = deps
    const failing = { explain: () => Promise.reject(new Error('the thread has ended')) }
    const ahead = { ...deps, solver: failing, log: { warn: () => {} } } as unknown as FindingsDeps
    vi.setSystemTime(rightMs + 31 * 86_400_000)
    pods.push(waiting('a'))
    findings.begin(deps, fence)
    findings.passed(ahead, pods, plan(pods))
    await passes(3000)
    vi.setSystemTime(rightMs)
    findings.passed({ ...deps, solver }, pods, plan(pods))
    await passes(3000)
    expect(asked).toEqual([['default/a']])
    vi.setSystemTime(rightMs - 31 * 86_400_000)
    findings.passed(deps, pods, plan(pods))
    await passes(3000)
    expect(asked).toHaveLength(2)
  })

  it('goes from unschedulable to planned, by the state of the NodeClaim', async () => {
    const { deps, pods, claims, nominations, stored } = await plannerThatSaid(waiting('a'))
    claims.set('claim-1', sampleClaim('n1', { status: { conditions: [] } }))
    nominations.nominate((pods[0] as Pod).metadata.uid, 'claim-1', Date.now())
    findings.passed(deps, pods, plan([], pods))
    await passes(6000)
    expect([...(await stored()).classes.values()]).toMatchObject([
      { state: 'planned', plannedOn: ['claim-1'], finding: 'NodeClaim n1-claim waits for its VM' },
    ])
    expect(await registry.metrics()).toContain('joiner_pending_pods{state="planned",cause=""} 1')
  })

  it('goes from planned to unschedulable when others took the room: the last pass counts', async () => {
    const { deps, pods, claims, nominations, stored } = planner()
    pods.push(waiting('a'), waiting('b'))
    findings.begin(deps, fence)
    claims.set('claim-1', sampleClaim('n1'))
    nominations.nominate((pods[0] as Pod).metadata.uid, 'claim-1', Date.now())
    findings.passed(deps, pods, plan(pods))
    await passes(6000)
    expect([...(await stored()).classes.values()]).toMatchObject([{ state: 'unschedulable', count: 2 }])
    expect((await stored()).counts).toEqual([{ state: 'unschedulable', cause: 'too-big', count: 2 }])
  })

  it('says what kube-scheduler says of pods that it does not bind to a node with room', async () => {
    const { deps, pods, nominations, stored } = planner()
    pods.push({ ...waiting('a'), unschedulable: { atMs: 0, message: 'a plugin says no' } })
    findings.begin(deps, fence)
    nominations.nominate((pods[0] as Pod).metadata.uid, 'by-hand', Date.now())
    const found = async () => [...(await stored()).classes.values()].map(({ finding }) => finding)
    await passes(3000)
    expect(await found()).toEqual(['they fit on node by-hand; kube-scheduler binds them to it'])
    await passes(70_000)
    expect(await found()).toEqual([
      'they fit on node by-hand, and kube-scheduler has not bound them to it since 2026-01-01T01:00:00Z; it says: a plugin says no',
    ])
  })

  it('names refusals, limits and pauses, and ends with its round', async () => {
    const { deps, pods, held, stored } = planner()
    const [refused, over, fresh] = [waiting('refused', 1), waiting('over', 2), waiting('fresh', 3)] as const
    pods.push(refused, over, fresh)
    held.add('refused')
    const end = findings.begin(deps, fence)
    findings.passed(deps, pods, plan([]))
    findings.overLimit('small', [over], 'NodePool small: spec.limits: too much')
    await findings.paused(deps, { reason: 'audit', sinceMs: 0 })
    expect(new Map([...(await stored()).classes.values()].map(({ cause, finding }) => [cause, finding]))).toEqual(
      new Map([
        ['limits', 'NodePool small: spec.limits: too much'],
        ['paused', 'provisioning is paused until resumed: audit'],
        ['refused', 'the API server refused the NodeClaim of NodePool "default" for them: denied by policy'],
      ]),
    )
    end()
    await passes(60_000)
    expect(await registry.metrics()).toContain('joiner_pending_pods{state="held",cause="paused"} 1')
    await passes(120_000)
    expect(await registry.metrics()).not.toContain('paused')
  })
})
