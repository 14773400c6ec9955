import { describe, expect, test } from 'vitest'
import type { Adoption } from '../../../core/adoption.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { at, claimJson, condition, goingClaim, nodeJson, poolJson } from '../../../test/fakes/objects.ts'
import { planningDeps } from '../../../test/fakes/planning.ts'
import { ended, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { ApiError } from '../../kubernetes/client/api-error.ts'
import { adoptMachines } from './adopt-claims.ts'

useFakeTime()

const machine = (name: string, change: Partial<Adoption> = {}): Adoption => ({
  claimName: name,
  claimUid: `uid-${name}`,
  nodePool: 'default',
  instanceType: 'Standard_D4s_v5',
  zone: 'westus2-1',
  capacityType: 'spot',
  node: `aks-${name}`,
  ...change,
})

/** A cluster with the NodePool `default` and the Nodes of lost NodeClaims. */
async function world(...nodes: readonly string[]) {
  const cluster = new FakeCluster()
  cluster.put('nodepools', poolJson('default', { spec: { disruption: { budgets: [{ nodes: '1' }] } } }))
  for (const name of nodes) cluster.put('nodes', nodeJson(name))
  const known = await planningDeps(cluster)
  return {
    ...known,
    cluster,
    adopt: (...machines: readonly Adoption[]) =>
      ended(adoptMachines(known.deps as never, machines, new AbortController().signal)),
    claim: (name: string) => cluster.object('nodeclaims', name),
    goes: (name: string) => cluster.put('nodes', nodeJson(name, { metadata: { deletionTimestamp: at(0) } })),
  }
}

const kinds = (outcomes: Awaited<ReturnType<Awaited<ReturnType<typeof world>>['adopt']>>) =>
  outcomes.map(({ claimName, kind }) => `${claimName} ${kind}`)

describe('the NodeClaim of a VM that lost its own', () => {
  test('is made under its name, says whose VM it takes, and gets its lifecycle', async () => {
    const { adopt, claim, lifecycles, reported } = await world('a')
    expect(kinds(await adopt(machine('a')))).toEqual(['a adopted'])
    expect(claim('a')).toMatchObject({
      metadata: {
        annotations: { 'joiner.sh/adopted-from': 'uid-a' },
        finalizers: ['karpenter.sh/termination'],
        ownerReferences: [{ kind: 'NodePool', name: 'default' }],
      },
      spec: { nodeClassRef: { name: 'default' } },
    })
    expect(lifecycles.started).toEqual(['a'])
    expect(reported).toContainEqual(expect.objectContaining({ reason: 'NodeAdopted', about: 'Node/aks-a' }))
  })

  test('is compared by drift with what its Node remembers', async () => {
    const { adopt, claim, cluster } = await world('a')
    const hashes = {
      'karpenter.sh/nodepool-hash': '1',
      'karpenter.sh/nodepool-hash-version': 'v3',
      'karpenter.azure.com/aksnodeclass-hash': '2',
      'karpenter.azure.com/aksnodeclass-hash-version': 'v2',
    }
    cluster.edit('nodes', 'aks-a', { metadata: { annotations: hashes } })
    await adopt(machine('a'))
    expect(claim('a')?.metadata.annotations).toMatchObject(hashes)
  })

  test('is made once: an attempt that is repeated goes on with it', async () => {
    const { adopt, claim, cluster, lifecycles } = await world('a')
    await adopt(machine('a'))
    const before = claim('a')
    cluster.lag()
    expect(kinds(await adopt(machine('a')))).toEqual(['a adopted'])
    expect(claim('a')).toEqual(before)
    expect(lifecycles.started).toEqual(['a', 'a'])
  })

  test('is not made where there is one of its name, its NodePool is gone, or the API server refuses it', async () => {
    const { adopt, cluster, reported, lifecycles } = await world('a', 'b', 'c')
    cluster.put('nodeclaims', claimJson('a', { metadata: { uid: 'new' } }))
    cluster.intercept(({ verb, body }) => {
      if (verb === 'create' && JSON.stringify(body).includes('"c"')) throw new ApiError(422, 'Invalid', 'no such value')
    })
    const outcomes = await adopt(machine('a'), machine('b', { nodePool: 'gone' }), machine('c'))
    expect(outcomes.map(({ kind, why }) => `${kind} ${why}`)).toEqual([
      expect.stringMatching(
        /^left there is a NodeClaim a that was not made for this VM; .*kubectl delete nodeclaim a$/,
      ),
      expect.stringMatching(/^left NodePool "gone" does not exist/),
      expect.stringMatching(/^left .*no such value/),
    ])
    expect(lifecycles.started).toEqual([])
    expect(reported.filter(({ reason }) => reason === 'NodeNotAdopted')).toHaveLength(3)
  })

  test('is made although that of another VM fails, which is tried again', async () => {
    const { adopt, claim, cluster } = await world('a', 'b')
    const end = cluster.intercept(({ verb, body }) => {
      if (verb === 'create' && JSON.stringify(body).includes('"a"')) throw new ApiError(503, 'Unavailable', 'not now')
    })
    await expect(adopt(machine('a'), machine('b'))).rejects.toThrow('not now')
    expect([claim('a'), claim('b')?.metadata.name]).toEqual([undefined, 'b'])
    end()
    expect(kinds(await adopt(machine('a'), machine('b')))).toEqual(['a adopted', 'b adopted'])
  })

  test('whose Node is being deleted is made within the budgets of its NodePool', async () => {
    const { adopt, cluster, goes } = await world('a', 'b', 'c')
    for (const name of ['a', 'b']) goes(name)
    const all = [machine('a', { isLeaving: true }), machine('b', { isLeaving: true }), machine('c')]
    expect(kinds(await adopt(...all))).toEqual(['a adopted', 'b waiting', 'c adopted'])
    expect(kinds(await adopt(...all))).toEqual(['a adopted', 'b waiting', 'c adopted'])
    cluster.put('nodeclaims', goingClaim('a'))
    expect(kinds(await adopt(...all.slice(1)))).toEqual(['b waiting', 'c adopted'])
    for (const kind of ['nodeclaims', 'nodes'] as const) cluster.remove(kind, kind === 'nodes' ? 'aks-a' : 'a')
    expect(kinds(await adopt(...all.slice(1)))).toEqual(['b adopted', 'c adopted'])
  })

  test('whose Node is being deleted waits for nodes that disruption has chosen', async () => {
    const { adopt, cluster, goes } = await world('a')
    goes('a')
    cluster.put('nodeclaims', claimJson('x', { metadata: { annotations: { 'joiner.sh/disruption-command': 'y' } } }))
    expect(kinds(await adopt(machine('a', { isLeaving: true })))).toEqual(['a waiting'])
  })

  test('whose Node is being deleted counts by budgets in percent of all Nodes, not only of those that are made now', async () => {
    const { adopt, cluster, goes } = await world('a', 'b', 'c', 'd')
    cluster.put('nodepools', poolJson('default', { spec: { disruption: { budgets: [{ nodes: '50%' }] } } }))
    for (const name of ['a', 'b', 'c']) goes(name)
    const one = async (name: string) => kinds(await adopt(machine(name, { isLeaving: true })))
    expect([await one('a'), await one('b'), await one('c')].flat()).toEqual(['a adopted', 'b adopted', 'c waiting'])
  })

  test('is made and deleted where an operator wants its VM to end', async () => {
    const { adopt, claim, goes } = await world('a', 'b')
    goes('b')
    const ends = { isToEnd: true } as const
    const outcomes = await adopt(machine('a', ends), machine('b', { ...ends, isLeaving: true }))
    expect(kinds(outcomes)).toEqual(['a adopted', 'b adopted'])
    expect([claim('a'), claim('b')].every((one) => one?.metadata.deletionTimestamp !== undefined)).toBe(true)
  })

  test('of an AKS machine that is to end is drained by its own Node alone', async () => {
    const { adopt, claim, cluster } = await world('a', 'b')
    cluster.put('nodeclaims', claimJson('b'))
    const providerId = (name: string) => String((nodeJson(name)['spec'] as Json)['providerID'])
    const ends = (node: string): Partial<Adoption> => ({
      isToEnd: true,
      node: `aks-${node}`,
      machine: { id: '/machines/a', providerId: providerId(node) },
    })
    // Whoever schedules activities may write anything: the Node is that of another NodeClaim.
    const [refused] = await adopt(machine('a', { ...ends('b'), claimUid: 'uid-b' }))
    expect(refused).toMatchObject({ kind: 'left', why: expect.stringContaining('Node aks-b is not known as its own') })
    expect(claim('a')?.metadata.deletionTimestamp).toBeUndefined()
    cluster.remove('nodeclaims', 'a')
    expect(kinds(await adopt(machine('a', ends('a'))))).toEqual(['a adopted'])
    expect(claim('a')).toMatchObject({ status: { providerID: providerId('a') } })
    expect(claim('a')?.metadata.deletionTimestamp).toBeDefined()
  })

  test('is not deleted once it is registered', async () => {
    const { adopt, claim, cluster } = await world('a')
    await adopt(machine('a'))
    cluster.edit('nodeclaims', 'a', { status: { conditions: [condition('Registered')] } })
    const [outcome] = await adopt(machine('a', { isToEnd: true }))
    expect(outcome).toMatchObject({ kind: 'left', why: expect.stringContaining('kubectl delete nodeclaim a') })
    expect(claim('a')?.metadata.deletionTimestamp).toBeUndefined()
  })
})
