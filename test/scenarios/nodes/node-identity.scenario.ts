// A node in the hands of somebody else: what it says of itself changes nothing, and its own end holds nothing up.
import { deployment, nodeClass, nodePool } from '../../applied-objects.ts'
import { nodeIdentityScenario } from '../../hostile/node-identity.ts'
import { asNode } from '../../ownership/foreign.ts'
import { World } from '../../world.ts'
import { afterAll, beforeAll, expect, isFast, test } from '../scenario.ts'

let world: World

beforeAll(async () => {
  world = await World.start()
  world.startJoiner()
  await world.apply(nodeClass())
})

afterAll(() => world?.stop())

test('a node that lies about itself, poses as another and holds its Node is treated as any other', async () => {
  const { taken, broken } = await nodeIdentityScenario(world, { isReal: !isFast })
  expect(broken).toEqual([])
  expect(taken).toContain('lies about its node, and holds it')
})

test('a node that says it is another Node is registered again, and one that forbids its disruption ends by expiry', async () => {
  const pool = nodePool({ name: 'expiring', consolidateAfter: 'Never' })
  const template = { spec: { ...pool.spec.template.spec, expireAfter: '2m', terminationGracePeriod: '10s' } }
  await world.apply(
    { ...pool, spec: { ...pool.spec, template } },
    deployment({ name: 'expiring', replicas: 1, nodeSelector: { 'karpenter.sh/nodepool': 'expiring' } }),
  )
  await world.until('the pod runs', async () => (await world.running('expiring')) === 1)
  const [claim] = await claimsOf('expiring')
  const name = `aks-${claim?.metadata.name}`
  const own = (await nodeNamed(name))?.metadata.uid
  const protect = 'karpenter.sh/do-not-disrupt=true'
  await asNode(world, name)(['annotate', 'node', name, protect, 'joiner.sh/node-uid=another', '--overwrite'])
  await world.until(
    'it is registered again',
    async () => (await nodeNamed(name))?.metadata.annotations?.['joiner.sh/node-uid'] === own,
  )
  expect((await claimsOf('expiring')).map(({ metadata }) => metadata.uid)).toEqual([claim?.metadata.uid])
  await world.until('it has expired, and is gone', async () => (await nodeNamed(name)) === undefined, 300_000)
  await world.until('its pod runs elsewhere', async () => (await world.running('expiring')) === 1)
})

test('pods that select what a node says no longer get another node', async () => {
  const [key, value] = ['example.com/team', 'a']
  const pool = nodePool({ name: 'team', consolidateAfter: 'Never' })
  const template = { ...pool.spec.template, metadata: { labels: { [key]: value } } }
  const pods = (name: string) => deployment({ name, replicas: 1, cpu: '100m', nodeSelector: { [key]: value } })
  await world.apply({ ...pool, spec: { ...pool.spec, template } }, pods('before'))
  await world.until('the pod runs', async () => (await world.running('before')) === 1)
  const [claim] = await claimsOf('team')
  const name = `aks-${claim?.metadata.name}`
  await asNode(world, name)(['label', 'node', name, `${key}-`])
  await world.apply(pods('after'))
  await world.until('the next pod runs', async () => (await world.running('after')) === 1)
  expect(await claimsOf('team')).toHaveLength(2)
})

const nodeNamed = async (name: string) => (await world.list('nodes')).find(({ metadata }) => metadata.name === name)

const claimsOf = async (pool: string) =>
  (await world.list('nodeclaims')).filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === pool)
