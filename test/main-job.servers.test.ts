import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { deployment, nodeClass, nodePool } from './applied-objects.ts'
import { largePayloadsIn } from './histories/corpus.ts'
import { type Seen, World } from './world.ts'

let world: World
/** The NodeClaim whose Node was deleted by hand. */
let deletedByHand = ''

beforeAll(async () => {
  world = await World.start()
  // As the chart runs it: a process for each Deployment, none of which may do more than its roles need. A short resync, so that an idle time holds several.
  world.startApart({ JOINER_RESYNC_INTERVAL: '5s' })
  await world.apply(nodePool(), nodeClass(), deployment({ apart: true }))
})

afterAll(() => world?.stop())

const historyLengths = async () => {
  const lifecycles = await world.lifecycles("ExecutionStatus = 'Running'")
  const exact = lifecycles.map(async ({ id }) => [
    id,
    (await world.temporal.workflow.getHandle(id).describe()).historyLength,
  ])
  const loops = (['provisioning', 'disruption'] as const).map(async (name) => [
    name,
    (await world.loop(name).describe()).historyLength,
  ])
  return Object.fromEntries(await Promise.all([...exact, ...loops])) as Record<string, number>
}

test('pending pods become nodes that join with their own identity, one VM each', async () => {
  await world.scale('inflate', 5)
  await world.untilRunning(5)
  const [claims, nodes, azure] = [await world.list('nodeclaims'), await world.list('nodes'), await world.azure()]
  expect(claims).toHaveLength(5)
  expect(nodes).toHaveLength(5)
  expect(azure.virtualMachines.map(({ state }) => state)).toEqual(Array(5).fill('Succeeded'))
  const used = (await world.list('pods')).map(({ spec }) => spec.nodeName)
  expect(new Set(used)).toEqual(new Set(nodes.map(({ metadata }) => metadata.name)))
  await world.until('every NodeClaim is Ready', async () =>
    (await world.list('nodeclaims')).every(({ status }) =>
      status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
    ),
  )
})

test('claims carry the drift hashes of what they were made from', async () => {
  const [[pool], [nodeClassSeen], claims] = await Promise.all([
    world.list('nodepools'),
    world.list('aksnodeclasses'),
    world.list('nodeclaims'),
  ])
  const hashes = { ...hashesOf(pool), ...hashesOf(nodeClassSeen) }
  expect(Object.keys(hashes)).toHaveLength(4)
  const inPlace = { 'karpenter.azure.com/in-place-update-hash': expect.stringMatching(/^\d+$/) }
  for (const claim of claims) expect(hashesOf(claim)).toEqual({ ...hashes, ...inPlace })
})

function hashesOf(object: Seen | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(object?.metadata.annotations ?? {}).filter(([key]) => /-hash(-version)?$/.test(key)),
  )
}

test('an idle minute with resyncs adds no event to any lifecycle or loop', async () => {
  // What belongs to the start (conditions, the first look of the disruption loop) settles first.
  let before = await historyLengths()
  await world.until('histories have settled', async () => {
    await new Promise((resolve) => setTimeout(resolve, 3000))
    const now = await historyLengths()
    const same = JSON.stringify(now) === JSON.stringify(before)
    before = now
    return same
  })
  expect(Object.keys(before)).toHaveLength(7)
  await new Promise((resolve) => setTimeout(resolve, 60_000))
  const after = await historyLengths()
  const grown = Object.keys(after).filter((id) => after[id] !== before[id])
  expect(Object.fromEntries(await Promise.all(grown.map((id) => newEvents(id, before[id] ?? 0))))).toEqual({})
  expect(Object.keys(after)).toEqual(Object.keys(before))
})

/** The events of a workflow after so many, in a few words each. */
async function newEvents(id: string, known: number): Promise<readonly [string, readonly string[]]> {
  const handle = id === 'provisioning' || id === 'disruption' ? world.loop(id) : world.temporal.workflow.getHandle(id)
  const { events } = JSON.parse(historyToJSON(await handle.fetchHistory())) as { readonly events: readonly object[] }
  return [id, events.slice(known).map((event) => JSON.stringify(event, decoded).slice(0, 1000))]
}

/** Payloads are base64 in the JSON of a history. */
function decoded(key: string, value: unknown): unknown {
  return key === 'data' && typeof value === 'string' ? Buffer.from(value, 'base64').toString() : value
}

test('a deleted node is drained, its VM goes, and its pod runs elsewhere', async () => {
  const [node] = await world.list('nodes')
  const name = node?.metadata.name ?? ''
  deletedByHand = name.replace(/^aks-/, '')
  await world.operator.kubectl(['delete', 'node', name, '--wait=false'])
  await world.until('the node is gone and 5 pods run', async () => {
    const gone = !(await world.list('nodes')).some(({ metadata }) => metadata.name === name)
    return gone && (await world.running()) === 5
  })
  await world.until('the VM is gone', async () => !(await world.azure()).virtualMachines.some((vm) => vm.name === name))
  // The claim is let go only after its VM.
  await world.until('5 claims are left', async () => (await world.list('nodeclaims')).length === 5)
})

/** Its Node was deleted by hand; or the machine was too busy to answer in time, which costs a task or a look more. */
function isTroubled(id: string, history: string): boolean {
  const late = history.includes('EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT') || history.includes('"name":"observe"')
  return late || id.includes(`/${deletedByHand}/`)
}

const eventsOf = (history: string) =>
  (JSON.parse(history) as { readonly events: readonly { readonly eventType: string }[] }).events

/** The kinds of a history's events, in order. */
const kindsOf = (history: string) =>
  eventsOf(history)
    .map(({ eventType }) => eventType.replace('EVENT_TYPE_', ''))
    .join(' ')

test('empty nodes are disrupted, drained and deleted; nothing is left; an untroubled lifecycle has 40 events at most', async () => {
  await world.scale('inflate', 0)
  await world.untilNothingLeft()
  const lifecycles = await world.lifecycles()
  expect(lifecycles).toHaveLength(6)
  for (const { id } of lifecycles) {
    const { historyLength, status } = await world.temporal.workflow.getHandle(id).describe()
    expect(status.name, id).toBe('COMPLETED')
    expect(historyLength, id).toBeLessThan(80)
  }
  const histories = [...(await world.histories())]
  expect(histories.flatMap(([id, text]) => largePayloadsIn(text).map((large) => `${id}: ${large}`))).toEqual([])
  const untroubled = histories.filter(([id, text]) => id.startsWith('nodeclaim/') && !isTroubled(id, text))
  const lengths = untroubled
    .map(([id, text]) => ({ id, events: eventsOf(text).length, kinds: kindsOf(text) }))
    .toSorted((one, other) => one.events - other.events)
  const seen = JSON.stringify(lengths, undefined, 1)
  expect(lengths[Math.floor((lengths.length - 1) / 2)]?.events, seen).toBeLessThanOrEqual(40)
  // A second signal would be an event more, a whole further task 44.
  expect(lengths.at(-1)?.events, seen).toBeLessThanOrEqual(44)
  const created = (await world.journal()).filter(({ method }) => method === 'PUT').map(({ name }) => name)
  expect(new Set(created).size).toBe(6)
})
