// Five hundred nodes at once are more work than this machine can do. That makes Joiner slower, and nothing worse.

import { defaultPayloadConverter } from '@temporalio/common'
import type { temporal } from '@temporalio/proto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { World } from './world.ts'

type HistoryEvent = temporal.api.history.v1.IHistoryEvent

const nodes = 500
const slowTaskMs = 5000
/** A safeguard: how long it takes is a matter of the machine, and of `npm run bench -- scale-up`. */
const patienceMs = 900_000

let world: World

beforeAll(async () => {
  world = await World.start({ cloud: 'instant' })
  world.startJoiner('second')
  await world.startWithPool(nodePool({ consolidateAfter: '30s' }), nodeClass(), deployment({ apart: true }))
})

afterAll(() => world?.stop())

interface LeaseSeen {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly holderIdentity: string; readonly leaseTransitions: number }
}

/** Who holds each Lease of Joiner's, and how often it changed hands. */
async function holders(): Promise<Readonly<Record<string, string>>> {
  const path = '/apis/coordination.k8s.io/v1/namespaces/joiner/leases'
  const { items } = await world.operator.api<{ items: readonly LeaseSeen[] }>('GET', path)
  return Object.fromEntries(
    items.map(({ metadata, spec }) => [metadata.name, `${spec.holderIdentity} ${spec.leaseTransitions}`]),
  )
}

const msOf = ({ eventTime }: HistoryEvent) => Number(eventTime?.seconds ?? 0) * 1000 + (eventTime?.nanos ?? 0) / 1e6

/** How often the local activity of a marker was begun. */
function localAttempts({ markerRecordedEventAttributes: marker }: HistoryEvent): number {
  const [payload] = marker?.details?.['data']?.payloads ?? []
  return payload == null ? 0 : (defaultPayloadConverter.fromPayload<{ attempt?: number }>(payload).attempt ?? 1)
}

/** What was done in vain in one history. */
function vainIn(events: readonly HistoryEvent[]): Readonly<Record<string, number>> {
  const starts = new Map(
    events
      .filter((event) => event.workflowTaskStartedEventAttributes)
      .map((event) => [Number(event.eventId), msOf(event)]),
  )
  const isSlow = (event: HistoryEvent) => {
    const started = event.workflowTaskCompletedEventAttributes?.startedEventId
    return started != null && msOf(event) - (starts.get(Number(started)) ?? Number.NEGATIVE_INFINITY) > slowTaskMs
  }
  const count = (is: (event: HistoryEvent) => unknown) => events.filter(is).length
  return {
    'activities begun again': count(({ activityTaskStartedEventAttributes: started }) => (started?.attempt ?? 1) > 1),
    'local activities begun again': count((event) => localAttempts(event) > 1),
    'workflow tasks failed or too late': count(
      (event) => event.workflowTaskFailedEventAttributes ?? event.workflowTaskTimedOutEventAttributes,
    ),
    'workflow tasks over 5 s': count(isSlow),
  }
}

async function vain(): Promise<Readonly<Record<string, number>>> {
  const all: Record<string, number> = {}
  for (const { id } of await world.lifecycles()) {
    const { events = [] } = await world.temporal.workflow.getHandle(id).fetchHistory()
    for (const [what, count] of Object.entries(vainIn(events ?? []))) all[what] = (all[what] ?? 0) + count
  }
  return all
}

test(
  `${nodes} nodes come and go without work in vain, lost Leases or silent Nodes`,
  async () => {
    const before = await holders()
    await world.scale('inflate', nodes)
    await world.untilRunning(nodes, patienceMs)
    const { virtualMachines } = await world.azure()
    expect(virtualMachines).toHaveLength(nodes)
    await world.scale('inflate', 0)
    await world.untilNothingLeft(patienceMs)
    const silent = (await world.list('events')).filter(({ reason }) => reason === 'NodeNotReady')
    expect({ holders: await holders(), 'silent Nodes': silent.length, ...(await vain()) }).toEqual({
      holders: before,
      'silent Nodes': 0,
      'activities begun again': 0,
      'local activities begun again': 0,
      'workflow tasks failed or too late': 0,
      'workflow tasks over 5 s': 0,
    })
  },
  2 * patienceMs,
)
