import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { arbitraryHistory } from '../../../test/fakes/arbitrary-history.ts'
import type { CommandFacts, History, Life, VmSpan } from '../life.ts'
import { type ReportFacts, reportOf } from './report.ts'
import { spreadOf, weightedSpread } from './spread.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute
const since = Date.UTC(2026, 10, 17)
const until = since + 24 * hour

function vm(fromMs: number, more: Partial<VmSpan> = {}): VmSpan {
  return { instanceType: 'D4', zone: 'westus2-1', capacityType: 'spot', pricePerHour: 0.5, fromMs, ...more }
}

function life(nodeClaim: string, createdMs: number, more: Partial<Life> = {}): Life {
  return {
    nodeClaim,
    uid: `uid-${nodeClaim}`,
    workflowId: nodeClaim,
    runId: 'run',
    isRunning: more.endedMs === undefined,
    nodePool: 'general',
    createdMs,
    vms: [vm(createdMs + 2 * second)],
    registeredMs: createdMs + 30 * second,
    readyMs: createdMs + 40 * second,
    came: { kind: 'pods', pods: 2 },
    refused: [],
    attempts: 1,
    labels: {},
    ...more,
  }
}

function command(id: string, more: Partial<CommandFacts> = {}): CommandFacts {
  return {
    id,
    method: 'single-node',
    reason: 'Underutilized',
    decision: 'replace',
    candidates: ['a'],
    replacements: ['b'],
    savings: 0.2,
    startedMs: since + hour,
    endedMs: since + 2 * hour,
    outcome: 'done',
    ...more,
  }
}

const report = (lives: readonly Life[], commands: readonly CommandFacts[] = [], more: Partial<History> = {}) =>
  reportOf({ lives, commands, sinceMs: since, untilMs: until, unreadable: 0, ...more })

/** A time without what is known only when a Node joined. */
const unready = { readyMs: undefined as never, registeredMs: undefined as never }

describe('nodes', () => {
  test('are counted by NodePool and by why they came and went', () => {
    const facts = report([
      life('old', since - hour, { endedMs: since + hour, went: { kind: 'expired', message: 'x' } }),
      life('older', since - hour, { nodePool: 'gpu' }),
      life('new', since + hour),
      life('short', since + hour, {
        endedMs: since + 2 * hour,
        vms: [vm(since + hour, { toMs: since + 2 * hour })],
        came: { kind: 'by-hand' },
        went: { kind: 'disruption', command: 'c', reason: 'Empty' },
      }),
      life('gone before', since - hour, { endedMs: since - minute, went: { kind: 'deleted' } }),
    ])
    expect(facts.nodes).toMatchObject({ atStart: 2, created: 2, ended: 2, atEnd: 2 })
    expect(
      facts.nodePools.map(({ nodePool, atStart, created, ended, atEnd }) => [nodePool, atStart, created, ended, atEnd]),
    ).toEqual([
      ['general', 1, 2, 2, 1],
      ['gpu', 1, 0, 0, 1],
    ])
    expect(facts.births).toEqual([
      { reason: 'by-hand', nodePool: 'general', nodes: 1 },
      { reason: 'pods', nodePool: 'general', nodes: 1 },
    ])
    expect(facts.deaths).toEqual([
      { reason: 'Empty', nodePool: 'general', nodes: 1 },
      { reason: 'expired', nodePool: 'general', nodes: 1 },
    ])
    // old: 1 h, older: 24 h, new: 23 h less 2 s, short: 1 h.
    expect(facts.nodes.nodeHours).toBeCloseTo(49 - 2 / 3600)
    expect(facts.nodes.usd).toBeCloseTo((49 - 2 / 3600) / 2)
  })
})

describe('launches', () => {
  test('have a latency by NodePool and size, in steps', () => {
    const facts = report([
      life('a', since),
      life('b', since, { readyMs: since + 60 * second, registeredMs: since + 55 * second }),
      life('c', since, {
        nodePool: 'gpu',
        vms: [
          vm(since + 500, { toMs: since + second, instanceType: 'D8' }),
          vm(since + 4 * second, { instanceType: 'D16' }),
        ],
      }),
      life('before', since - minute, { readyMs: since + hour }),
    ])
    expect(facts.latencies.rows.map(({ nodePool, instanceType, ready }) => [nodePool, instanceType, ready])).toEqual([
      ['general', 'D4', 2],
      ['gpu', 'D16', 1],
    ])
    expect(facts.latencies.rows[0]?.steps).toEqual({
      accepted: { count: 2, min: 2000, p50: 2000, p90: 2000, p99: 2000, max: 2000 },
      registered: { count: 2, min: 28_000, p50: 28_000, p90: 53_000, p99: 53_000, max: 53_000 },
      initialized: { count: 2, min: 5000, p50: 5000, p90: 10_000, p99: 10_000, max: 10_000 },
      total: { count: 2, min: 40_000, p50: 40_000, p90: 60_000, p99: 60_000, max: 60_000 },
    })
    expect(facts.latencies.rows[1]?.steps.accepted).toMatchObject({ p50: 4000 })
    expect(facts.launches).toEqual({ created: 3, ready: 3, underWay: 0, gaveUp: 0, leftEarly: 0 })
    expect(facts.plannedWaits).toEqual({ count: 6, min: 40_000, p50: 40_000, p90: 60_000, p99: 60_000, max: 60_000 })
  })

  test('that did not end with a node are counted', () => {
    const { launches, latencies, plannedWaits } = report([
      life('under way', since, unready),
      life('gave up', since, {
        ...unready,
        endedMs: since + hour,
        went: { kind: 'gave-up', reason: 'launch_timeout', message: '' },
      }),
      life('deleted', since, { ...unready, endedMs: since + hour, went: { kind: 'deleted' } }),
    ])
    expect(launches).toEqual({ created: 3, ready: 0, underWay: 1, gaveUp: 1, leftEarly: 1 })
    expect([latencies, plannedWaits]).toEqual([{ rows: [] }, undefined])
  })

  test('that failed are counted by offering, with those that Azure accepted first', () => {
    const refused = { instanceType: 'D4', zone: 'westus2-1', capacityType: 'spot', reason: 'SkuNotAvailable' }
    const facts = report([
      life('a', since, {
        refused: [refused, refused],
        vms: [vm(since + second, { toMs: since + 9 * second, instanceType: 'D8' }), vm(since + 10 * second)],
      }),
      life('b', since, {
        ...unready,
        refused: Array.from({ length: 5 }, () => refused),
        vms: [vm(since + second, { toMs: since + minute })],
        drainingMs: since + minute,
        endedMs: since + minute,
        went: { kind: 'gave-up', reason: 'insufficient_capacity', message: '' },
      }),
      life('ready before', since - hour, { refused: [refused] }),
    ])
    expect(facts.refusals).toEqual({
      rows: [
        { ...refused, times: 7, nodeClaims: 2, becameReady: 1 },
        {
          ...refused,
          instanceType: 'D8',
          reason: 'accepted, then failed',
          times: 1,
          nodeClaims: 1,
          becameReady: 1,
        },
      ],
      cutShort: 1,
    })
  })
})

describe('disruption', () => {
  test('is summed up by method', () => {
    const { methods } = report(
      [life('b', since)],
      [
        command('1'),
        command('2', { outcome: 'undone', message: 'x', savings: 9 }),
        command('3', { method: 'drift', reason: 'Drifted', savings: -0.1, candidates: ['c', 'd'] }),
        command('4', { endedMs: undefined as never, outcome: undefined as never }),
        command('5', { outcome: undefined as never }),
        command('before', { startedMs: since - 2 * hour, endedMs: since - hour }),
      ],
    )
    expect(methods).toMatchObject([
      { method: 'drift', reason: 'Drifted', commands: 1, done: 1, removed: 2, replacements: 1, savingsPerHour: -0.1 },
      {
        method: 'single-node',
        commands: 4,
        done: 1,
        undone: 1,
        running: 1,
        unknown: 1,
        removed: 1,
        savingsPerHour: 0.2,
      },
    ])
    // The command before the window saves within it until a day has passed.
    expect(methods[1]?.saved).toBeCloseTo(0.2 * 22 + 0.2 * 23)
    expect(methods[0]?.saved).toBeCloseTo(-0.1 * 22)
  })

  test('before the window is counted by what it saves within it alone', () => {
    const before = command('before', { startedMs: since - 2 * hour, endedMs: since - hour })
    expect(report([], [before]).methods).toMatchObject([
      { commands: 0, done: 0, savingsPerHour: 0, saved: expect.closeTo(4.6) },
    ])
  })

  test('that was undone is told by reason', () => {
    const undone = { outcome: 'undone', message: 'a pod came' } as const
    const { undone: rows } = report(
      [],
      [
        command('1', undone),
        command('2', { ...undone, candidates: ['c', 'a'], endedMs: since + 3 * hour }),
        command('3', { ...undone, message: 'budget' }),
        command('4'),
      ],
    )
    expect(rows).toEqual([
      { method: 'single-node', message: 'a pod came', commands: 2, candidates: ['a', 'c'], lastMs: since + 3 * hour },
      { method: 'single-node', message: 'budget', commands: 1, candidates: ['a'], lastMs: since + 2 * hour },
    ])
  })
})

describe('interruptions', () => {
  const noticed = since + hour + 300
  const interrupted = (name: string, more: Partial<Life> = {}) =>
    life(name, since - hour, {
      drainingMs: noticed,
      endedMs: noticed + minute,
      vms: [vm(since - hour, { toMs: noticed + minute })],
      went: { kind: 'interrupted', message: 'Preempt' },
      drainedPods: 3,
      ...more,
    })

  test('are survived when a replacement is ready before the VM is gone', () => {
    const facts = report([
      interrupted('a'),
      interrupted('b'),
      interrupted('c'),
      interrupted('d', { nodePool: 'gpu' }),
      interrupted('e', { nodePool: 'cpu', endedMs: undefined as never, isRunning: true, vms: [vm(since - hour)] }),
      // The planner was faster than the deletion.
      life('in time', noticed - 4 * second),
      life('late', noticed + 700, { readyMs: noticed + 2 * minute }),
      life('never ready', noticed + 1700, unready),
      life('no pods', noticed, { nodePool: 'gpu', came: { kind: 'by-hand' } }),
      life('earlier', noticed - 5 * second, { nodePool: 'gpu' }),
      life('much later', noticed + 3 * minute, { nodePool: 'gpu' }),
      life('lost', since - hour, { drainingMs: noticed, endedMs: noticed, went: { kind: 'vm-lost', message: '' } }),
    ])
    expect(
      facts.interruptions.map(({ nodeClaim, outcome, replacement }) => [nodeClaim, outcome, replacement?.nodeClaim]),
    ).toEqual([
      ['a', 'in-time', 'in time'],
      ['b', 'late', 'late'],
      ['c', 'late', 'never ready'],
      ['d', 'without-replacement', undefined],
      ['e', 'under-way', undefined],
    ])
    expect(facts.interruptionCounts).toEqual({
      nodes: 5,
      inTime: 1,
      late: 2,
      withoutReplacement: 1,
      underWay: 1,
      drainedPods: 15,
      vmsLost: 1,
    })
    expect(facts.interruptions[0]).toMatchObject({ noticedMs: noticed, goneMs: noticed + minute, message: 'Preempt' })
  })

  test('of another time are left out', () => {
    expect(report([interrupted('a', { drainingMs: since - minute })]).interruptions).toEqual([])
  })
})

const total = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0)

test('law: sums are the totals, whatever the history is', () => {
  fc.assert(
    fc.property(arbitraryHistory(), (history) => {
      const facts = reportOf(history)
      const { nodes, nodePools, launches, latencies } = facts
      expect(nodes.atStart + nodes.created - nodes.ended).toBe(nodes.atEnd)
      for (const key of ['atStart', 'created', 'ended', 'atEnd'] as const)
        expect(total(nodePools.map((pool) => pool[key]))).toBe(nodes[key])
      expect(total(nodePools.map(({ usd }) => usd))).toBeCloseTo(nodes.usd)
      expect(total(facts.births.map((row) => row.nodes))).toBe(nodes.created)
      expect(total(facts.deaths.map((row) => row.nodes))).toBe(nodes.ended)
      expect(launches.created).toBe(nodes.created)
      expect(launches.ready + launches.underWay + launches.gaveUp + launches.leftEarly).toBe(launches.created)
      expect(total(latencies.rows.map(({ ready }) => ready))).toBe(launches.ready)
      expect(latencies.all?.ready ?? 0).toBe(launches.ready)
      for (const row of facts.methods) {
        expect(row.done + row.undone + row.running + row.unknown).toBe(row.commands)
      }
      expect(total(facts.undone.map(({ commands }) => commands))).toBe(total(facts.methods.map(({ undone }) => undone)))
      const { nodes: all, inTime, late, withoutReplacement, underWay } = facts.interruptionCounts
      expect(inTime + late + withoutReplacement + underWay).toBe(all)
      expect(facts.interruptions).toHaveLength(all)
      for (const { times, nodeClaims, becameReady } of facts.refusals.rows) {
        expect(nodeClaims).toBeLessThanOrEqual(times)
        expect(becameReady).toBeLessThanOrEqual(nodeClaims)
      }
    }),
  )
})

test('law: nothing outside of the window counts, and two windows side by side count everything once', () => {
  fc.assert(
    fc.property(arbitraryHistory(), fc.double({ min: 0, max: 1, noNaN: true }), (history, share) => {
      const middle = Math.floor(history.sinceMs + share * (history.untilMs - history.sinceMs))
      const [all, first, second_] = [
        reportOf(history),
        reportOf({ ...history, untilMs: middle }),
        reportOf({ ...history, sinceMs: middle }),
      ]
      expect(first.nodes.created + second_.nodes.created).toBe(all.nodes.created)
      expect(first.nodes.ended + second_.nodes.ended).toBe(all.nodes.ended)
      expect(first.nodes.nodeHours + second_.nodes.nodeHours).toBeCloseTo(all.nodes.nodeHours)
      expect(first.nodes.atEnd).toBe(second_.nodes.atStart)
      expect(first.interruptions.length + second_.interruptions.length).toBe(all.interruptions.length)
      const nothing = reportOf({ ...history, sinceMs: middle, untilMs: middle })
      expect([nothing.nodes.created, nothing.nodes.ended, nothing.nodes.nodeHours]).toEqual([0, 0, 0])
    }),
  )
})

test('law: the order of the lists does not matter', () => {
  // Sums of numbers with fractions depend on their order in the last digits.
  const inexact = new Set(['nodeHours', 'usd', 'unpricedHours', 'saved', 'savingsPerHour'])
  const exact = (facts: ReportFacts) => JSON.stringify(facts, (key, value: unknown) => (inexact.has(key) ? 0 : value))
  fc.assert(
    fc.property(arbitraryHistory(), (history) => {
      // Two lifecycles of one name and time may take each other's place.
      const lives = [...new Map(history.lives.map((one) => [one.nodeClaim, one])).values()]
      const facts = reportOf({ ...history, lives })
      const turned = reportOf({ ...history, lives: lives.toReversed(), commands: history.commands.toReversed() })
      expect(exact(turned)).toBe(exact(facts))
    }),
  )
})

describe('a spread', () => {
  test('of nothing is none', () => {
    expect([spreadOf([]), weightedSpread([{ value: 1, weight: 0 }])]).toEqual([undefined, undefined])
  })

  test('has the nearest rank', () => {
    const values = Array.from({ length: 200 }, (_, at) => 200 - at)
    expect(spreadOf(values)).toEqual({ count: 200, min: 1, p50: 100, p90: 180, p99: 198, max: 200 })
  })

  test('law: percentiles are values, in order; a weight is as many values', () => {
    const weighted = fc.array(fc.record({ value: fc.integer(), weight: fc.nat(5) }), { minLength: 1 })
    fc.assert(
      fc.property(weighted, (values) => {
        const all = values.flatMap(({ value, weight }) => Array.from({ length: weight }, () => value))
        const spread = weightedSpread(values)
        expect(spread).toEqual(spreadOf(all))
        if (spread === undefined) return
        const { count, min, p50, p90, p99, max } = spread
        expect([min, p50, p90, p99, max].every((value) => all.includes(value))).toBe(true)
        expect([min, p50, p90, p99, max]).toEqual([min, p50, p90, p99, max].toSorted((a, b) => a - b))
        expect([count, min, max]).toEqual([all.length, Math.min(...all), Math.max(...all)])
      }),
    )
  })
})
