// What a node costs in requests, by the API server's own record.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isTrue } from '../core/conditions.ts'
import type { Condition } from '../core/objects.ts'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { type AuditedRequest, auditedRequests } from './audit-log.ts'
import { World } from './world.ts'

const nodes = 10

/**
 * Most requests of Joiner for each node that comes up. The NodeClaim: create, labels, Launched, Registered, Initialized. Its Node: registered,
 * initialized. Events: Registered, Initialized, Nominated for a pod, and that the new node is not consolidated, told on NodeClaim and Node; beside these, events of
 * states that pass by themselves, which are at most 10 at once and one a second after that, however many nodes there are (ADR 30). The half more is for
 * what a busy machine makes necessary.
 */
const budget: Readonly<Record<string, number>> = {
  'create nodeclaims': 1,
  'patch nodeclaims': 1,
  'patch nodeclaims/status': 3.5,
  'get nodeclaims': 0.5,
  'patch nodes': 2.5,
  'get nodes': 0.5,
  'create secrets': 1,
  'delete secrets': 1.2,
  'create events': 6.5,
}
/** Kinds that are never read as a whole once the caches are there. */
const large = ['pods', 'nodes', 'nodeclaims']

let world: World

beforeAll(async () => {
  world = await World.start({ audit: true })
  await world.startWithPool(nodePool({ consolidateAfter: '1h' }), nodeClass(), deployment({ apart: true }))
  // The first pod is planned for by an attempt that has just taken the fence, which catches up.
  await world.scale('inflate', 1)
  await world.untilRunning(1)
})

afterAll(() => world?.stop())

const areInitialized = async () => {
  const claims = await world.list('nodeclaims')
  const isInitialized = ({ status }: (typeof claims)[number]) =>
    isTrue((status?.conditions ?? []) as readonly Condition[], 'Initialized')
  return claims.length === nodes + 1 && claims.every(isInitialized)
}

test('a node that comes up costs no more requests than it should, and no list of a large kind', async () => {
  const startMs = Date.now()
  await world.scale('inflate', nodes + 1)
  await world.untilRunning(nodes + 1)
  await world.until('every NodeClaim is initialized', areInitialized)
  const endMs = Date.now()
  const all = await world.until('the API server has recorded its requests', async () => {
    const recorded = await auditedRequests(world.cluster.stateDir)
    return recorded.some(({ atMs }) => atMs > endMs + 1000) && recorded
  })
  const own = all.filter(({ actor, atMs }) => actor === 'joiner' && atMs >= startMs && atMs <= endMs)
  const perNode = (what: string) => own.filter((each) => each.what === what).length / nodes
  const over = Object.entries(budget).filter(([what, most]) => perNode(what) > most)
  expect(over.map(([what, most]) => `${what}: ${perNode(what)} of ${most}`)).toEqual([])
  expect(perNode('create nodeclaims')).toBe(1)
  expect(own.filter(isLargeList)).toEqual([])
})

function isLargeList({ what, name }: AuditedRequest): boolean {
  return large.some((resource) => what === `list ${resource}`) && name === undefined
}
