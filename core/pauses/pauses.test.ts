import { describe, expect, test } from 'vitest'
import {
  formatPause,
  isScopeName,
  type Pause,
  type PauseScope,
  Pauses,
  pauseKey,
  pauseText,
  scopeOf,
  storedPauses,
} from './pauses.ts'

const now = Date.parse('2026-11-21T12:00:00Z')
const pause = (scope: PauseScope, reason = 'release day'): Pause => ({ reason, sinceMs: now, scope })
const cluster: PauseScope = { kind: 'cluster' }
const general: PauseScope = { kind: 'nodePool', name: 'general' }
const node: PauseScope = { kind: 'node', name: 'aks-general-x7k2p' }
const drifted: PauseScope = { kind: 'reason', reason: 'Drifted' }
const target = { nodePool: 'general', node: 'aks-general-x7k2p', nodeClaim: 'general-x7k2p', reason: 'Drifted' }

describe('entries of the ConfigMap', () => {
  test.each<[PauseScope, string]>([
    [cluster, 'disruption'],
    [general, 'disruption.nodepool.general'],
    [node, 'disruption.node.aks-general-x7k2p'],
    [{ kind: 'node', name: 'node.of.many.dots' }, 'disruption.node.node.of.many.dots'],
    [drifted, 'disruption.reason.Drifted'],
  ])('%j is stored under %s and read back', (scope, key) => {
    const stored: Pause = { ...pause(scope), untilMs: now + 60_000, by: 'alice' }
    expect(pauseKey('disruption', scope)).toBe(key)
    expect(key).toMatch(/^[-._a-zA-Z0-9]+$/)
    expect(storedPauses({ [key]: formatPause(stored) }, 'disruption', now).inForce).toEqual([stored])
  })

  test('an entry whose time is over does not count, from that very moment', () => {
    const data = { 'disruption.node.a': formatPause({ ...pause(node), untilMs: now }) }
    expect(storedPauses(data, 'disruption', now - 1)).toMatchObject({ over: [], inForce: [{ untilMs: now }] })
    expect(storedPauses(data, 'disruption', now)).toMatchObject({ over: ['disruption.node.a'], inForce: [] })
  })

  test('an entry that cannot be read is a pause of its scope without end', () => {
    const { inForce } = storedPauses({ 'disruption.nodepool.general': 'oops {' }, 'disruption', now)
    expect(inForce).toEqual([{ reason: 'the entry cannot be read: oops {', sinceMs: 0, scope: general }])
    const odd = storedPauses({ 'disruption.nodepool.general': '{"until":"tomorrow","by":7}' }, 'disruption', now)
    expect(odd.inForce).toEqual([{ reason: 'no reason given', sinceMs: 0, scope: general }])
  })

  test.each([
    'disruption.zone.1',
    'disruption.nodepool.',
    'disruption.nodepool.Not_A_Name',
    'disruption.reason.Old',
    'typo',
  ])('key %s cannot be read: all disruption is paused', (key) => {
    const { inForce, unreadable } = storedPauses({ [key]: '{"reason":"why"}' }, 'disruption', now)
    expect(inForce).toEqual([{ reason: `why (key "${key}" is no scope)`, sinceMs: 0, scope: cluster }])
    expect(unreadable).toEqual([key])
    expect(new Pauses(inForce).covering(target)).toBeDefined()
    expect(storedPauses({ [key]: '{}' }, 'provisioning', now).inForce).toEqual([])
  })

  test('each loop has its own; a part of provisioning is all of it', () => {
    const data = { provisioning: '{"reason":"p"}', disruption: '{"reason":"d"}', 'provisioning.nodepool.general': '{}' }
    expect(storedPauses(data, 'disruption', now).inForce.map(({ reason }) => reason)).toEqual(['d'])
    const { inForce } = storedPauses(data, 'provisioning', now)
    expect(inForce.map((each) => scopeOf(each).kind)).toEqual(['cluster', 'cluster'])
  })

  test('a name must be one that Kubernetes gives and leave room for the key', () => {
    expect(['general', 'a.b-c', 'a'.repeat(233)].map(isScopeName)).toEqual([true, true, true])
    expect(['', 'A', '-a', 'a b', 'a'.repeat(234)].map(isScopeName)).toEqual([false, false, false, false, false])
  })
})

describe('the objects that a pause covers', () => {
  test('the widest scope is named first', () => {
    const all = [pause(drifted), pause(node), pause(general), pause(cluster)]
    const named = [all, all.slice(0, 3), all.slice(0, 2), all.slice(0, 1), []].map((inForce) => {
      const found = new Pauses(inForce).covering(target)
      return found && scopeOf(found).kind
    })
    expect(named).toEqual(['cluster', 'nodePool', 'node', 'reason', undefined])
  })

  test.each<[string, PauseScope, boolean]>([
    ['another pool', { kind: 'nodePool', name: 'gpu' }, false],
    ['another node', { kind: 'node', name: 'aks-other' }, false],
    ['the node by its NodeClaim', { kind: 'node', name: 'general-x7k2p' }, true],
    ['another reason', { kind: 'reason', reason: 'Empty' }, false],
  ])('%s', (_, scope, covers) => {
    const pauses = new Pauses([pause(scope)])
    expect(pauses.covering(target) !== undefined).toBe(covers)
    expect(pauses.wholeLoop).toBeUndefined()
  })

  test('a pool shows pauses of all or one of its reasons, a claim only its own', () => {
    const all = [pause(drifted), pause(node), pause(general), pause(cluster), pause({ kind: 'nodePool', name: 'gpu' })]
    const kinds = (shown: readonly Pause[]) => shown.map((each) => scopeOf(each).kind)
    expect(kinds(new Pauses(all).onNodePool('general'))).toEqual(['reason', 'nodePool', 'cluster'])
    expect(kinds(new Pauses(all).onNodeClaim('general-x7k2p', 'aks-general-x7k2p'))).toEqual(['node'])
    expect(new Pauses(all).onNodeClaim('general-zzzzz', undefined)).toEqual([])
  })
})

test('a pause in words: who, why, since when, until when', () => {
  const full = { ...pause(general), untilMs: now + 3_600_000, by: 'alice' }
  expect(pauseText('disruption', full)).toBe(
    'disruption of NodePool "general" is paused by alice since 2026-11-21T12:00:00Z until 2026-11-21T13:00:00Z: release day',
  )
  expect(pauseText('provisioning', { reason: 'audit', sinceMs: 0 })).toBe('provisioning is paused until resumed: audit')
  expect(pauseText('disruption', pause(drifted))).toMatch(/^disruption for reason Drifted is paused since/)
})
