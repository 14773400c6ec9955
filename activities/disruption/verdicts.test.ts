import { beforeEach, describe, expect, it, vi } from 'vitest'
import { parseEvaluations } from '../../api/disruption-move.ts'
import type { NoteFaults } from '../../api/kept/document.ts'
import type { Evaluation } from '../../core/disruption/evaluate.ts'
import { verdictMapName, verdictShard } from '../../core/disruption/verdicts/verdict.ts'
import { sampleClaim, sampleNode, samplePool, sampleTime } from '../../test/samples/sample-objects.ts'
import type { Json } from '../kubernetes/client/answers.ts'
import { ApiError } from '../kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../kubernetes/client/client.ts'
import { FenceLostError } from '../provisioning/fence.ts'
import { VerdictRecorder } from './verdicts.ts'

/** The API server, limited to ConfigMaps. */
class Maps {
  readonly data = new Map<string, Record<string, string>>()
  readonly writes: string[] = []
  isDown = false
  /** Entries that somebody writes after each write. */
  stuck: Readonly<Record<string, string>> = {}
  readonly client = {
    get: (path: string) => Promise.resolve().then(() => ({ data: this.#of(path) })),
    mergePatch: (path: string, body: Json) => Promise.resolve().then(() => this.#patch(path, body)),
    create: (_: string, body: Json) => Promise.resolve().then(() => this.#create(body)),
  } as unknown as KubernetesClient

  #of(path: string): Record<string, string> {
    if (this.isDown) throw new Error('the API server is down')
    const found = this.data.get(path.split('/').at(-1) ?? '')
    if (found === undefined) throw new ApiError(404, 'NotFound', path)
    return found
  }

  #patch(path: string, { data }: Json): Json {
    const found = this.#of(path)
    this.writes.push(path.split('/').at(-1) ?? '')
    for (const [key, value] of Object.entries(data as Record<string, string | null>))
      if (value === null) delete found[key]
      else found[key] = value
    Object.assign(found, this.stuck)
    return { data: { ...found } }
  }

  #create({ metadata, data }: Json): Json {
    const { name } = metadata as { name: string }
    this.writes.push(name)
    this.data.set(name, { ...(data as Record<string, string>) })
    return { data }
  }
}

const claim = 'a-claim'
const mapName = verdictMapName(verdictShard(claim))
let maps: Maps
let now: number
let warnings: number
const note = vi.fn<NoteFaults>()

beforeEach(() => {
  maps = new Maps()
  now = sampleTime
  warnings = 0
})

/** Of the process that leads. */
const fence = { checkIfStale: async () => {} }

/** One evaluation in which a pod keeps the node. */
async function evaluates(
  recorder: VerdictRecorder,
  pod: string | undefined,
  names: readonly string[] = ['a'],
  by: { checkIfStale(): Promise<void> } = fence,
) {
  const blocked = names.map((name) => ({
    object: { kind: 'NodeClaim' as const, name: `${name}-claim`, nodeName: name },
    reason: 'DisruptionBlocked' as const,
    method: 'emptiness' as const,
    cause: pod === undefined ? ({ kind: 'do-not-disrupt' } as const) : ({ kind: 'pod-do-not-disrupt', pod } as const),
  }))
  const passes: Evaluation['passes'] = [
    { method: 'emptiness', eligible: 0, candidates: [], commands: 0, milliseconds: 0, budgets: new Map() },
  ]
  const log = { warn: () => (warnings += 1) } as never
  recorder.record(
    { client: maps.client, namespace: 'joiner', note, log, now: () => now, fence: by },
    { commands: [], blocked, notes: [], passes, asked: {} },
    {
      nodes: names.map((name) => ({ node: sampleNode(name), claim: sampleClaim(name) })),
      nodePools: new Map([['default', samplePool()]]),
      instanceTypes: new Map(),
      now,
    },
  )
  await recorder.settled()
}

const evaluations = (name: string) => parseEvaluations(maps.data.get(name) ?? {})
const stored = () => evaluations(mapName).verdicts.get(claim)

describe('what was found about a node', () => {
  it('is written over what cannot be read, which is named', async () => {
    maps.data.set(mapName, { [claim]: '{"nodePool":7}', gone: 'x' })
    await evaluates(new VerdictRecorder(), 'default/web')
    expect(note).toHaveBeenCalledWith(mapName, [
      { key: claim, why: expect.stringContaining('nodePool is 7') },
      { key: 'gone', why: expect.stringContaining('no JSON') },
    ])
    expect(stored()?.moves).toMatchObject([{ outcome: 'blocked', cause: { pod: 'default/web' } }])
    expect(maps.data.get(mapName)).not.toHaveProperty('gone')
  })

  it('by a new attempt is written, though the one before finds only then that it has lost its fence', async () => {
    const recorder = new VerdictRecorder()
    const [begun, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const checkIfStale = () => {
      begun.resolve()
      return answered.promise
    }
    const before = evaluates(recorder, 'default/old', ['a'], { checkIfStale })
    await begun.promise
    const after = evaluates(recorder, 'default/new')
    answered.reject(new FenceLostError('another attempt'))
    await Promise.all([before, after])
    expect(stored()?.moves).toMatchObject([{ cause: { pod: 'default/new' } }])
  })

  it('is written at once, and then only what is new, not more often than each half minute', async () => {
    const recorder = new VerdictRecorder()
    await evaluates(recorder, 'default/web')
    expect(stored()?.moves).toMatchObject([{ outcome: 'blocked', cause: { pod: 'default/web' } }])
    const first = maps.writes.length
    now += 10_000
    await evaluates(recorder, 'default/web')
    expect(maps.writes.length).toBe(first)
    now += 10_000
    await evaluates(recorder, 'default/other')
    expect(stored()?.moves[0]?.cause).toMatchObject({ pod: 'default/web' })
    now += 10_000
    await evaluates(recorder, 'default/other')
    expect(stored()).toMatchObject({
      since: new Date(sampleTime + 20_000).toISOString(),
      moves: [{ cause: { pod: 'default/other' } }],
    })
  })

  it('is written half a minute later, although no evaluation comes', async () => {
    vi.useFakeTimers()
    const recorder = new VerdictRecorder()
    await evaluates(recorder, 'default/web')
    now += 10_000
    await evaluates(recorder, 'default/other')
    now += 30_000
    await vi.advanceTimersByTimeAsync(30_000)
    await recorder.settled()
    vi.useRealTimers()
    expect(stored()?.moves[0]?.cause).toMatchObject({ pod: 'default/other' })
  })

  it('is not written again after a restart', async () => {
    await evaluates(new VerdictRecorder(), 'default/web')
    const before = maps.data.get(mapName)?.[claim]
    maps.writes.length = 0
    now += 20_000
    await evaluates(new VerdictRecorder(), 'default/web')
    expect(maps.writes.filter((name) => name !== verdictMapName(0))).toEqual([])
    expect(maps.data.get(mapName)?.[claim]).toBe(before)
  })

  it('goes with its NodeClaim', async () => {
    const recorder = new VerdictRecorder()
    await evaluates(recorder, 'default/web')
    now += 30_000
    await evaluates(recorder, 'default/web', [])
    expect(maps.data.get(mapName)).not.toHaveProperty(claim)
  })

  it('is written by a later evaluation when the API server did not answer', async () => {
    const recorder = new VerdictRecorder()
    maps.isDown = true
    await evaluates(recorder, 'default/web')
    expect([warnings, maps.data.size]).toEqual([1, 0])
    maps.isDown = false
    now += 10_000
    await evaluates(recorder, 'default/web')
    expect(stored()).toBeDefined()
  })

  it('does not stay as a restored etcd brought it back, once anything is written', async () => {
    // The first of the ConfigMaps, which has the time of the last evaluation too.
    const name = Array.from({ length: 100 }, (_, index) => `n${index}`).find(
      (each) => verdictShard(`${each}-claim`) === 0,
    )
    const first = verdictMapName(0)
    const recorder = new VerdictRecorder()
    const evaluatesFor = async (pod: string, seconds: number) => {
      for (let passed = 0; passed < seconds; passed += 20) {
        now += 20_000
        await evaluates(recorder, pod, [name ?? ''])
      }
    }
    await evaluatesFor('default/web', 20)
    const backup = { ...maps.data.get(first), gone: '{}' }
    await evaluatesFor('default/other', 60)
    maps.data.set(first, backup)
    maps.writes.length = 0
    await evaluatesFor('default/other', 60)
    expect(evaluations(first).verdicts.get(`${name}-claim`)?.moves[0]?.cause).toMatchObject({ pod: 'default/other' })
    expect(maps.data.get(first)).not.toHaveProperty('gone')
    expect(maps.writes).toEqual([first, first])
  })

  it('is written no more than twice at a time where somebody brings another back each time', async () => {
    const recorder = new VerdictRecorder()
    await evaluates(recorder, 'default/web')
    maps.stuck = { [claim]: maps.data.get(mapName)?.[claim] ?? '' }
    now += 29_000
    await evaluates(recorder, 'default/other')
    now += 1000
    maps.writes.length = 0
    await evaluates(recorder, 'default/other')
    now += 29_000
    await evaluates(recorder, 'default/other')
    expect(maps.writes.filter((name) => name === mapName)).toEqual([mapName, mapName])
  })

  it('is read again when another process may have written it', async () => {
    const recorder = new VerdictRecorder()
    await evaluates(recorder, 'default/web')
    now += 40_000
    await evaluates(new VerdictRecorder(), 'default/other')
    now += 40_000
    await evaluates(recorder, 'default/web')
    expect(stored()?.moves[0]?.cause).toMatchObject({ pod: 'default/web' })
  })
})

it('the last evaluation is written each minute', async () => {
  const recorder = new VerdictRecorder()
  const lastPass = () => evaluations(verdictMapName(0)).lastPass
  await evaluates(recorder, 'default/web')
  expect(lastPass()).toEqual({ atMs: sampleTime, commands: expect.any(Number) })
  for (let seconds = 0; seconds < 60; seconds += 10) {
    now += 10_000
    await evaluates(recorder, 'default/web')
  }
  expect(lastPass()?.atMs).toBe(sampleTime + 60_000)
})

it('after its clock was set back a process goes on to write what it finds', async () => {
  const recorder = new VerdictRecorder()
  now += 365 * 86_400_000
  await evaluates(recorder, 'default/web')
  now = sampleTime
  await evaluates(recorder, 'default/other')
  expect(stored()?.moves[0]?.cause).toMatchObject({ pod: 'default/other' })
  expect(evaluations(verdictMapName(0)).lastPass?.atMs).toBe(sampleTime)
})

it('verdicts on 5,000 nodes stay below the megabyte of a ConfigMap, each', async () => {
  const names = Array.from({ length: 5000 }, (_, index) => `aks-general-${index.toString(36).padStart(8, '0')}`)
  await evaluates(new VerdictRecorder(), `default/${'x'.repeat(253)}`, names)
  const sizes = [...maps.data.values()].map((data) => Object.values(data).reduce((sum, text) => sum + text.length, 0))
  expect(sizes).toHaveLength(16)
  expect(Math.max(...sizes)).toBeLessThan(1_000_000)
})
