import { pino } from 'pino'
import type { AzureClient } from '../../../activities/azure/arm/client.ts'
import type { OfferingId } from '../../../activities/azure/capacity/mark.ts'
import { Quota } from '../../../activities/azure/capacity/quota.ts'
import { keptUsages } from '../../../activities/azure/capacity/quota-accounting.ts'
import { UnavailableOfferings } from '../../../activities/azure/capacity/unavailable-offerings.ts'
import { DurableDocument } from '../../../activities/azure/catalogue/durable-document.ts'
import type { VmSize } from '../../../activities/azure/catalogue/sku.ts'
import { ClusterCache } from '../../../activities/kubernetes/cache/cluster-cache.ts'
import type { KubernetesClient } from '../../../activities/kubernetes/client/client.ts'
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, realTest, test } from '../scenario.ts'

const namespace = 'joiner'
const log = pino({ level: 'silent' })
const path = `/api/v1/namespaces/${namespace}/configmaps/joiner-unavailable-offerings`
const d4: OfferingId = {
  instanceType: 'Standard_D4s_v5',
  family: 'standardDSv5Family',
  vCpus: 4,
  zone: 'westus2-1',
  capacityType: 'on-demand',
}
const d8 = { ...d4, instanceType: 'Standard_D8s_v5', vCpus: 8 }
const f4 = { ...d4, instanceType: 'Standard_F4s_v2', family: 'standardFSv2Family' }

let world: World
/** With the rights of Joiner's ServiceAccount and no others. */
let client: KubernetesClient
const started: UnavailableOfferings[] = []
const never = new AbortController().signal

beforeAll(async () => {
  world = await World.start()
  client = await world.kubernetes()
})

afterAll(async () => {
  for (const replica of started) replica.stop()
  await client?.close()
  await world?.stop()
})

async function replica(): Promise<UnavailableOfferings> {
  const offerings = new UnavailableOfferings({ client, namespace, now: Date.now, log })
  started.push(offerings)
  offerings.start()
  await offerings.synced(never)
  return offerings
}

const refusal = { ttlMs: 3_600_000, reason: 'AllocationFailure', zones: ['0', 'westus2-1', 'westus2-2'] }

const cli = (...args: readonly string[]) => world.joiner(...args, '--joiner-namespace', namespace)

const within = (what: string, ms: number, look: () => boolean) => world.until(what, () => Promise.resolve(look()), ms)

test('a mark of one replica counts in the other at once, survives a restart, and is cleared by hand', async () => {
  const [one, other] = [await replica(), await replica()]
  await one.mark(d4, 'zoneOfCapacityType', refusal)
  expect([one.isMarked(d4), one.isMarked(d8), one.isMarked(f4)]).toEqual([true, true, false])
  await within('the other replica knows it', 1000, () => other.isMarked(d8))
  expect((await replica()).isMarked(d8)).toBe(true)

  expect(await cli('blocked', 'capacity', 'list')).toMatch(
    /Standard_D4s_v5 .*on-demand +westus2-1 +AllocationFailure .*(1h|59m)[\s\S]*standardDSv5Family, 4 vCPUs and more/,
  )
  await other.mark(f4, 'zoneOfCapacityType', refusal)
  const versions = started.map(({ version }) => version)
  expect(await cli('blocked', 'capacity', 'clear', '--instance-type', 'Standard_D4s_v5')).toMatch(/2 marks cleared/)
  await within('every replica offers it again', 1000, () =>
    started.every((each) => !each.isMarked(d4) && !each.isMarked(d8)),
  )
  expect(started.every((each) => each.isMarked(f4))).toBe(true)
  expect(started.every((each, at) => each.version > (versions[at] ?? 0))).toBe(true)
  expect(await cli('blocked', 'capacity', 'clear', '--all')).toMatch(/2 marks cleared/)
  expect(await cli('blocked', 'capacity', 'list')).toBe('nothing is left out\n')
  await expect(cli('blocked', 'capacity', 'clear')).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/--all/),
  })
})

test('marks that several replicas make at once are all kept', async () => {
  const replicas = await Promise.all([replica(), replica(), replica()])
  const sizes = Array.from({ length: 60 }, (_, at) => ({
    ...d4,
    instanceType: `Standard_T${at}`,
    family: `family${at}`,
  }))
  await Promise.all(
    sizes.map((size, at) => (replicas[at % 3] as UnavailableOfferings).mark(size, 'zoneOfCapacityType', refusal)),
  )
  expect(Object.keys((await world.operator.api<Map>('GET', path)).data)).toHaveLength(120)
  await within('all replicas know all', 1000, () =>
    replicas.every((each) => sizes.every((size) => each.isMarked(size))),
  )
  await cli('blocked', 'capacity', 'clear', '--all')
})

test('a ConfigMap that somebody deletes clears all, and is made again', async () => {
  const one = await replica()
  await one.mark(d4, 'zoneOfCapacityType', refusal)
  await world.operator.kubectl(['delete', 'configmap', 'joiner-unavailable-offerings', '-n', namespace])
  await within('nothing is marked', 1000, () => !one.isMarked(d4))
  await one.mark(f4, 'zoneOfCapacityType', refusal)
  expect(Object.keys((await world.operator.api<Map>('GET', path)).data)).toHaveLength(2)
  await cli('blocked', 'capacity', 'clear', '--all')
})

interface Map {
  readonly data: Readonly<Record<string, string>>
}

test('what NodeClaims took and gave back counts on top of what Azure counted', async () => {
  const cache = new ClusterCache(client, log)
  const azure = {
    compute: { usage: { list: usages } },
  } as unknown as AzureClient
  // The sizes that this world buys are of family D, whatever they are called.
  const sizeOf = (name: string) => ({ name, family: 'D', vCpus: Number(/\d+/.exec(name)?.[0] ?? 0) }) as VmSize
  const about = { subscription: 'of the test' }
  const document = new DurableDocument(client, keptUsages, { namespace, about, now: Date.now })
  const quota = new Quota({ azure, document, location: 'westus2', cache, sizeOf, log, now: Date.now })
  cache.start()
  await cache.synced()
  await quota.poll()
  world.startJoiner()
  await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment())
  await world.untilReady('general')
  await world.scale('inflate', 1)
  await world.untilRunning(1)
  const [vm] = (await world.azure()).virtualMachines
  const vCpus = sizeOf(vm?.size ?? '').vCpus
  expect(vCpus).toBeGreaterThan(0)
  await within('the launch counts', 1000, () => quota.inFlight.get('d') === vCpus)
  expect(quota.hasRoom({ family: 'D', vCpus: 100 - vCpus, capacityType: 'on-demand' })).toBe(true)
  expect(quota.shortages({ family: 'D', vCpus: 101 - vCpus, capacityType: 'on-demand' })).toEqual([
    { pool: 'd', limit: 100, current: 0, inFlight: vCpus, needed: 101 - vCpus },
  ])

  quota.reserve('another', { family: 'D', vCpus: 10, capacityType: 'on-demand' })
  expect(quota.inFlight.get('d')).toBe(vCpus + 10)
  quota.release('another')

  await world.scale('inflate', 0)
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.until('the VM is gone', async () => (await world.azure()).virtualMachines.length === 0)
  await within('the deletion counts', 5000, () => (quota.inFlight.get('d') ?? 0) === 0)
  cache.stop()
  quota.stop()
})

async function* usages() {
  yield { name: { value: 'D' }, limit: 100, currentValue: 0, unit: 'Count' }
}

test('a policy that forbids VMs is reported with its name, marks nothing, and is not tried again at once', async () => {
  const message = `Resource 'a' was disallowed by policy. Policy identifiers: '[{"policyAssignment":{"name":"Allowed sizes"}}]'.`
  await world.fault({ kind: 'failSync', code: 'RequestDisallowedByPolicy', status: 403, message, count: 100 })
  const puts = async () => (await world.journal()).filter(({ method }) => method === 'PUT').length
  const before = await puts()
  await world.scale('inflate', 1)
  const event = await world.until('an event reports it', async () =>
    (await world.list('events')).find(({ reason }) => reason === 'LaunchFailed'),
  )
  expect(event.message).toMatch(
    /^PolicyDenied: an Azure policy forbids the VM: Allowed sizes\. .* Azure said: RequestDisallowed/,
  )
  const [claim] = await world.list('nodeclaims')
  expect(claim?.status?.conditions?.find(({ type }) => type === 'Launched')).toMatchObject({
    status: 'Unknown',
    reason: 'CreateInstanceFailed',
    message: event.message,
  })
  expect(await cli('blocked', 'capacity', 'list')).toBe('nothing is left out\n')

  // The wait is a minute, but not for a claim that is deleted.
  await world.scale('inflate', 0)
  await world.operator.kubectl(['delete', 'nodeclaims', '--all', '--wait=false'])
  await world.until('the NodeClaim is gone', async () => (await world.list('nodeclaims')).length === 0)
  expect((await puts()) - before).toBe(1)
  await world.operator.simulator('DELETE', '/faults')
})

test('the last vCPUs of the region are given out once, and Azure is not asked for more', async () => {
  await world.crash()
  await world.operator.simulator('POST', '/settings', { quotas: { cores: 5 } })
  const puts = async () => (await world.journal()).filter(({ method }) => method === 'PUT').length
  const before = await puts()
  world.startJoiner('second')
  await world.apply(deployment({ name: 'apart', replicas: 4, apart: true }))
  await world.until('two of them run', async () => (await world.running('apart')) === 2)
  const event = await world.until('the others hear of the quota', async () =>
    (await world.list('events')).find(({ reason }) => reason === 'InsufficientCapacityError'),
  )
  expect(event.message).toMatch(
    /the total regional vCPU quota \(cores\) has no room for 2 vCPUs: limit 5, used \d, in flight \d; ask for more/,
  )
  expect((await puts()) - before).toBe(2)
  expect((await world.azure()).virtualMachines).toHaveLength(2)
})

realTest('joiner blocked quota shows what is used and which NodePools it blocks', async () => {
  const stdout = await world.joinerWith(world.installation.processSpec('quota').env ?? {}, 'blocked', 'quota', '--all')
  expect(stdout).toMatch(/^FAMILY +LIMIT +USED +IN FLIGHT +FREE +BLOCKS\n/)
  expect(stdout).toMatch(/\ncores +5 +\d+ +\+?\d+ +\d+ /)
  expect(stdout).toMatch(/\nstandardDSv5Family +\d+/)
})
