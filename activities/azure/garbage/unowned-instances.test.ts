import { describe, expect, test } from 'vitest'
import { machineTags } from '../../../test/fakes/aks.ts'
import { type Adding, collectAsWorkflow, tagsOf, world } from '../../../test/fakes/garbage-world.ts'
import { machineClaim, machinesWorld } from '../../../test/fakes/machines-world.ts'
import { claimJson, condition, vmProviderId } from '../../../test/fakes/objects.ts'
import { ended, useFakeTime } from '../../../test/fakes/time.ts'
import { GarbageCollector } from './garbage.ts'

useFakeTime()

const foreignId = 'Provider:///AZ/i-0'
const otherGroup = 'azure:///subscriptions/x/resourceGroups/y/providers/Microsoft.Compute/virtualMachines/aks-odd'
const withId = (providerID: string): Adding => ({ claim: { status: { providerID } } })

/** A pass over three healthy nodes and the NodeClaim `odd`. */
function oddWorld(change: Adding) {
  const known = world()
  known.add('second')
  known.add('third')
  known.add('odd', change)
  const conditionOf = (type: string, name = 'odd') =>
    known.cluster.object('nodeclaims', name)?.status.conditions?.find((each) => each.type === type)
  const reads: string[] = []
  known.azure.intercept((request) => {
    if (request.startsWith('GET virtualMachines/aks-')) reads.push(request)
  })
  return {
    ...known,
    reads,
    conditionOf,
    ready: () => [conditionOf('Ready')?.status, conditionOf('Ready')?.reason],
    lines: (text: string) => known.logged.filter((line) => line.includes(text)).length,
    events: () => known.reported.filter(({ reason }) => reason === 'InstanceNotOwned'),
  }
}

const wayOut =
  'Until that is corrected the NodeClaim keeps its finalizer; to give the VM up: kubectl delete nodeclaim odd --wait=false, then joiner node force-finish odd --leave-vm --reason TEXT'

describe('a registered NodeClaim whose VM is not its own', () => {
  test.each<[string, Adding, string, number]>([
    ['by an id of another provider', withId(foreignId), `status.providerID "${foreignId}" names another VM than`, 0],
    ['by an id of another resource group', withId(otherGroup), 'correct AZURE_NODE_RESOURCE_GROUP', 0],
    ['by the id of the VM of another', withId(vmProviderId('good')), 'else status.providerID', 0],
    ['by tags that are gone', { vm: {} }, 'VM aks-odd has no tag karpenter.azure.com_cluster, so Joiner does not', 1],
    [
      'by the tags of another cluster',
      { vm: { ...tagsOf('odd'), 'karpenter.azure.com_cluster': 'x' } },
      'cluster "x"',
      1,
    ],
    ['by the tag of an earlier claim', { vm: tagsOf('earlier') }, 'belongs to an earlier NodeClaim of the name', 1],
  ])('%s is not Ready, and says so once, with the remedy', async (_, change, why, reads) => {
    const { collect, conditionOf, ready, events, lines, reads: asked, azure } = oddWorld(change)
    for (let pass = 0; pass < 3; pass++) await collect()
    const found = conditionOf('InstanceOwned')
    expect(found).toMatchObject({ status: 'False', reason: 'InstanceNotOwned' })
    expect(found?.message).toContain(why)
    expect(found?.message).toContain(wayOut)
    expect(ready()).toEqual(['False', 'InstanceNotOwned'])
    expect(events()).toEqual([{ reason: 'InstanceNotOwned', about: 'NodeClaim/odd', message: found?.message }])
    expect(lines('VM of nodeclaim is not its own')).toBe(1)
    expect([asked.length, azure.writes]).toEqual([reads, []])
    for (const name of ['good', 'second', 'third']) expect(conditionOf('InstanceOwned', name)).toBeUndefined()
  })

  test('is said also when it is the only one, and all deletions are withheld', async () => {
    const { cluster, add, collect, reported } = world()
    cluster.remove('nodeclaims', 'good')
    add('odd', { ...withId(foreignId), vm: false })
    await collect()
    expect(reported.map(({ reason }) => reason)).toContain('InstanceNotOwned')
    expect(reported.map(({ reason }) => reason)).toContain('GarbageWithheld')
  })

  test('is said of one that is being deleted, before its drain has ended', async () => {
    const { collect, cluster, conditionOf } = oddWorld(withId(foreignId))
    const { metadata } = claimJson('odd') as { metadata: object }
    cluster.edit('nodeclaims', 'odd', { metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } })
    await collect()
    expect(conditionOf('InstanceOwned')?.status).toBe('False')
  })

  test('recovers when the id is right again', async () => {
    const { collect, cluster, conditionOf, ready, lines } = oddWorld(withId(foreignId))
    await collect()
    cluster.edit('nodeclaims', 'odd', { status: { providerID: vmProviderId('odd') } })
    for (let pass = 0; pass < 2; pass++) await collect()
    expect(conditionOf('InstanceOwned')).toBeUndefined()
    expect(ready()).not.toContain('InstanceNotOwned')
    expect(lines('VM of nodeclaim is its own again')).toBe(1)
  })

  test('recovers when the id is right again and its VM is gone', async () => {
    const { collect, cluster, conditionOf } = oddWorld({ ...withId(foreignId), vm: false })
    await collect()
    cluster.edit('nodeclaims', 'odd', { status: { providerID: vmProviderId('odd') } })
    await collect()
    expect(conditionOf('InstanceOwned')).toBeUndefined()
  })

  test('says another reason when that changes', async () => {
    const { collect, cluster, conditionOf } = oddWorld(withId(foreignId))
    await collect()
    cluster.edit('nodeclaims', 'odd', { status: { providerID: otherGroup } })
    await collect()
    expect(conditionOf('InstanceOwned')?.message).toContain(otherGroup)
  })
})

describe('no NodeClaim is said to have a foreign VM', () => {
  test.each<[string, Adding]>([
    ['whose VM the list lacks', { vm: false }],
    [
      'whose VM the list lacks, with a silent Node',
      { vm: false, node: { status: { conditions: [condition('Ready', 'Unknown')] } } },
    ],
    ['that is not registered', { claim: { status: { providerID: foreignId, conditions: [condition('Launched')] } } }],
    ['whose VM is being made', { claim: { status: { conditions: [] } }, vm: false, node: false }],
    ['whose VM is being deleted', { state: 'Deleting' }],
    ['whose id differs in upper and lower case', withId(vmProviderId('odd').toUpperCase().replace('AZURE', 'azure'))],
  ])('%s', async (_, change) => {
    const { collect, conditionOf, events } = oddWorld(change)
    await collect()
    expect([conditionOf('InstanceOwned'), events()]).toEqual([undefined, []])
  })

  test.each([
    ['by an old list', false],
    ['while Azure fails', true],
  ])('%s', async (_, fails) => {
    const { azure, collect, conditionOf, events, lines } = oddWorld({ vm: tagsOf('earlier') })
    azure.intercept((request) => {
      if (request !== 'GET virtualMachines/aks-odd') return
      if (fails) throw new Error('503')
      azure.put('virtualMachines', 'aks-odd', { tags: tagsOf('odd') })
    })
    await collect()
    expect([conditionOf('InstanceOwned'), events()]).toEqual([undefined, []])
    expect(lines('failed to check the VM of nodeclaim')).toBe(fails ? 1 : 0)
  })

  test('by tags, while most VMs of the list are not proven: no VM is read for it', async () => {
    const { add, collect, conditionOf, reads } = oddWorld({ vm: {} })
    for (const name of ['b', 'c', 'd', 'e']) add(name, { vm: {} })
    await collect()
    expect([conditionOf('InstanceOwned'), reads]).toEqual([undefined, []])
  })

  test('and one that was keeps its condition while Azure fails', async () => {
    const { azure, cluster, collect, conditionOf } = oddWorld({ ...withId(foreignId), vm: false })
    await collect()
    cluster.edit('nodeclaims', 'odd', { status: { providerID: vmProviderId('odd') } })
    azure.intercept((request) => {
      if (request === 'GET virtualMachines/aks-odd') throw new Error('503')
    })
    await collect()
    expect(conditionOf('InstanceOwned')?.status).toBe('False')
  })
})

describe('of an AKS machine', () => {
  type Tagged = { readonly tags?: Readonly<Record<string, string>> }
  test.each<[string, Parameters<typeof machineClaim>[1], Tagged, string | undefined]>([
    ['that is the claim’s nothing is said', {}, {}, undefined],
    ['a VM elsewhere is said', { status: { providerID: otherGroup } }, {}, 'which is no VM of resource group'],
    ['foreign tags are said', {}, { tags: { ...machineTags('a'), 'karpenter.azure.com_cluster': 'x' } }, 'cluster "x"'],
  ])('%s', async (_, claim, machine, why) => {
    const { aks, cluster, deps } = machinesWorld(machineClaim('a', claim))
    aks.put('a', machine)
    for (const name of ['b', 'c']) {
      cluster.put('nodeclaims', machineClaim(name))
      aks.put(name)
    }
    await ended(collectAsWorkflow(new GarbageCollector(deps), deps))
    const found = cluster.object('nodeclaims', 'a')?.status.conditions?.find(({ type }) => type === 'InstanceOwned')
    expect(found?.message ?? 'nothing').toContain(why ?? 'nothing')
  })
})
