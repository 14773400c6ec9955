import type { LoadBalancer, NetworkSecurityGroup } from '@azure/arm-network'
import pino from 'pino'
import { describe, expect, it } from 'vitest'
import { azureFailure, failureMessage } from '../arm/azure-failure.ts'
import { NetworkFacts } from './network-facts.ts'

const hour = 3_600_000

/** A network whose lists can be changed and are counted. */
function network(groups: readonly string[] = ['aks-agentpool-12345678-nsg']) {
  const state = { groups, pools: ['a'], nowMs: 0, failing: false, lists: { groups: 0, balancers: 0 } }
  async function* securityGroups(): AsyncIterable<NetworkSecurityGroup> {
    state.lists.groups += 1
    await Promise.resolve()
    if (state.failing) throw new Error('ARM is away')
    yield* state.groups.map((name) => ({ id: `/groups/${name}`, name }))
  }
  async function* loadBalancers(): AsyncIterable<LoadBalancer> {
    state.lists.balancers += 1
    await Promise.resolve()
    if (state.failing) throw new Error('ARM is away')
    yield { name: 'kubernetes', backendAddressPools: state.pools.map((name) => ({ id: `/pools/${name}`, name })) }
  }
  const log = pino({ level: 'silent' })
  const facts = new NetworkFacts(
    { securityGroups, loadBalancers },
    { nodeResourceGroup: 'MC_rg', log, now: () => state.nowMs },
  )
  return { state, facts }
}

describe("the cluster's security group", () => {
  it('is found by its name in any case, and gives the route table its name', async () => {
    const { facts } = network(['mine', 'AKS-AgentPool-12345678-NSG', 'aks-agentpool-1234567-nsg'])
    expect(await facts.network()).toEqual({
      securityGroupId: '/groups/AKS-AgentPool-12345678-NSG',
      securityGroupName: 'AKS-AgentPool-12345678-NSG',
      routeTableName: 'aks-agentpool-12345678-routetable',
    })
  })

  it.each([
    [[], 'found none; correct AZURE_NODE_RESOURCE_GROUP'],
    [['mine'], 'Network Contributor'],
    [
      ['aks-agentpool-12345678-nsg', 'aks-agentpool-87654321-nsg'],
      'found "aks-agentpool-12345678-nsg", "aks-agentpool-87654321-nsg"; delete those',
    ],
  ])('must be exactly one: %j', async (groups, message) => {
    const { facts } = network(groups)
    await expect(facts.network()).rejects.toThrow(message)
    const error: unknown = await facts.network().catch((caught: unknown) => caught)
    const failure = azureFailure(error)
    expect(failure).toMatchObject({ reason: 'ClusterNetworkUnknown', retry: 'waitForUser' })
    expect(failure && failureMessage(error, failure)).toMatch(/^ClusterNetworkUnknown: resource group "MC_rg": /)
  })

  it('is listed once for all, and once more after a failure', async () => {
    const { facts, state } = network()
    state.failing = true
    await expect(Promise.all([facts.network(), facts.network()])).rejects.toThrow('ARM is away')
    expect(state.lists.groups).toBe(1)
    state.failing = false
    await Promise.all([facts.network(), facts.network(), facts.network()])
    state.nowMs = 1000 * hour
    await facts.network()
    expect(state.lists.groups).toBe(2)
  })
})

describe('backend pools', () => {
  it('are listed again after the clock was set back', async () => {
    const { facts, state } = network()
    state.nowMs = 31 * 24 * hour
    await facts.pools()
    state.nowMs = 0
    await facts.pools()
    expect(state.lists.balancers).toBe(2)
  })

  it('are listed once for launches that run side by side, and again after 2 hours', async () => {
    const { facts, state } = network()
    const [first, second] = await Promise.all([facts.pools(), facts.pools()])
    expect([first.ids, second.ids]).toEqual([['/pools/a'], ['/pools/a']])
    state.nowMs = 2 * hour - 1
    await facts.pools()
    expect(state.lists.balancers).toBe(1)
    state.nowMs = 2 * hour
    await facts.pools()
    expect(state.lists.balancers).toBe(2)
  })

  it('are read again once for all launches that failed with the same ones', async () => {
    const { facts, state } = network()
    const stale = await facts.pools()
    state.pools = ['b']
    const fresh = await Promise.all([facts.poolsAfter(stale), facts.poolsAfter(stale), facts.poolsAfter(stale)])
    expect(fresh.map(({ ids }) => ids)).toEqual([['/pools/b'], ['/pools/b'], ['/pools/b']])
    expect((await facts.poolsAfter(stale)).ids).toEqual(['/pools/b'])
    expect(state.lists.balancers).toBe(2)
    await facts.poolsAfter(await facts.pools())
    expect(state.lists.balancers).toBe(3)
  })

  it('are read again after a list that failed', async () => {
    const { facts, state } = network()
    const stale = await facts.pools()
    state.failing = true
    await expect(facts.poolsAfter(stale)).rejects.toThrow('ARM is away')
    state.failing = false
    expect((await facts.poolsAfter(stale)).ids).toEqual(['/pools/a'])
  })

  it('are there before the first launch, and a failure in the background harms no launch', async () => {
    const { facts, state } = network()
    state.failing = true
    facts.warm()
    await expect(facts.pools()).rejects.toThrow()
    state.failing = false
    facts.warm()
    expect((await facts.pools()).ids).toEqual(['/pools/a'])
    expect(state.lists.balancers).toBe(2)
  })
})
