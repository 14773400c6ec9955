import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Standing, waitingCauses, waitingPods } from '../core/scheduling/explain/waiting-classes.ts'
import { samplePod, sampleTime } from '../test/samples/sample-objects.ts'
import { formatWaitingClass, formatWaitingSummary, parseWaiting, summaryKey } from './waiting-pods.ts'

const standing = (pod: string, change: Partial<Standing> = {}): Standing => ({
  pod: samplePod(pod),
  likeness: 'a',
  state: 'unschedulable',
  cause: 'too-big',
  finding: 'needs more',
  funnel: [],
  remedies: [],
  ...change,
})

describe('classes of waiting pods', () => {
  it('are of pods that are alike and wait in one state, those without a plan first', () => {
    const { classes, counts } = waitingPods([
      ...['p2', 'p1'].map((pod) => standing(pod)),
      ...['q1', 'q2', 'q3'].map((pod, at) =>
        standing(pod, { likeness: 'b', state: 'planned', cause: undefined as never, plannedOn: `claim-${at}` }),
      ),
      standing('r1', { likeness: 'b' }),
    ])
    expect([...classes].map(([key, { pods, count }]) => [key, pods, count])).toEqual([
      ['a.unschedulable', ['default/p1', 'default/p2'], 2],
      ['b.unschedulable', ['default/r1'], 1],
      ['b.planned', ['default/q1', 'default/q2', 'default/q3'], 3],
    ])
    expect(classes.get('b.planned')).toMatchObject({
      plannedOn: ['claim-0', 'claim-1', 'claim-2'],
      finding: 'needs more; others of them are planned on 2 more',
      sinceMs: sampleTime,
    })
    expect(counts).toEqual([
      { state: 'planned', count: 3 },
      { state: 'unschedulable', cause: 'too-big', count: 3 },
    ])
  })

  it('are bounded, and all pods are counted', () => {
    const many = Array.from({ length: 150 }, (_, at) => standing(`p${at}`, { likeness: `l${at}` }))
    const alike = Array.from({ length: 50 }, (_, at) => standing(`q${at}`, { likeness: 'most' }))
    const { classes, counts } = waitingPods([...many, ...alike])
    expect(classes.size).toBe(100)
    expect([...classes.keys()][0]).toBe('most.unschedulable')
    expect([...classes.values()][0]?.pods).toHaveLength(10)
    expect(counts).toEqual([{ state: 'unschedulable', cause: 'too-big', count: 200 }])
  })
})

describe('the ConfigMap', () => {
  it('gives back what was written', () => {
    const { classes, counts } = waitingPods([standing('p'), standing('q', { state: 'held', cause: 'paused' })])
    const data = Object.fromEntries([...classes].map(([key, one]) => [key, formatWaitingClass(one)]))
    const { waiting: read } = parseWaiting({ ...data, [summaryKey]: formatWaitingSummary(sampleTime, counts) })
    expect(read).toEqual({ atMs: sampleTime, counts, classes })
  })

  it('gives nothing where it is garbage, whatever that is', () => {
    const entry = fc.oneof(
      fc.string(),
      fc.json(),
      fc.record({ state: fc.string(), count: fc.anything(), pods: fc.anything() }).map((one) => JSON.stringify(one)),
    )
    fc.assert(
      fc.property(fc.dictionary(fc.oneof(fc.string(), fc.constant(summaryKey)), entry), (data) => {
        const { classes, counts, atMs } = parseWaiting(data).waiting
        for (const one of classes.values()) {
          expect(['planned', 'unschedulable', 'held']).toContain(one.state)
          if (one.cause !== undefined) expect(waitingCauses).toContain(one.cause)
        }
        if (atMs === undefined) expect(counts).toEqual([])
      }),
    )
    const good = formatWaitingClass([...waitingPods([standing('p')]).classes.values()][0] as never)
    const bad = [good.replace('too-big', 'too-bad'), good.replace('"count":1', '"count":-1'), good.slice(1)]
    expect(parseWaiting(Object.fromEntries(bad.map((text, at) => [`k${at}`, text]))).waiting.classes.size).toBe(0)
    expect(parseWaiting({ k: good }).waiting.classes.size).toBe(1)
  })
})
