import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { FakeAzure } from '../../../test/fakes/azure.ts'
import { azureDeps } from '../../../test/fakes/azure-deps.ts'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { diskOf, karpenters, tagsOf } from '../../../test/fakes/garbage-world.ts'
import { at, claimJson, condition, nodeClassJson, poolJson } from '../../../test/fakes/objects.ts'
import { ended, pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { ApiError } from '../../kubernetes/client/api-error.ts'
import { ensureBillingExtensions } from './billing-extension.ts'
import { updateInPlace } from './in-place-update.ts'
import { RecentUpdates } from './recent-updates.ts'

useFakeTime()
afterEach(() => void vi.restoreAllMocks())

/** A claim with its VM and NIC, of a class that requests these tags. */
function world(tags: Json = { team: 'x' }, claim: Json = {}, vmTags: Readonly<Record<string, string>> = tagsOf('a')) {
  const cluster = new FakeCluster()
  const azure = new FakeAzure()
  cluster.put('nodepools', poolJson())
  cluster.put('aksnodeclasses', nodeClassJson('default', { spec: { tags } }))
  const known = azureDeps(cluster, azure)
  const add = (name: string) => {
    cluster.put('nodeclaims', claimJson(name, claim))
    const nic = azureIdOf('Network/networkInterfaces', `aks-${name}-1`, known.deps.config)
    const tags = { ...vmTags, ...(name === 'a' ? {} : tagsOf(name)) }
    azure.put('virtualMachines', `aks-${name}`, {
      tags,
      provisioningState: 'Succeeded',
      storageProfile: { osDisk: { name: diskOf(name) } },
      networkProfile: { networkInterfaces: [{ id: nic }] },
    })
    azure.put('networkInterfaces', `aks-${name}-1`, { tags, virtualMachine: { id: 'x' } })
  }
  add('a')
  const recent = new RecentUpdates()
  return {
    cluster,
    ...known,
    add,
    update: (ms?: number) => ended(updateInPlace(known.deps, recent, new AbortController().signal), ms),
    annotations: () => cluster.object('nodeclaims', 'a')?.metadata.annotations ?? {},
    vmTags: () => azure.get('virtualMachines', 'aks-a')?.tags,
    nicTags: () => azure.get('networkInterfaces', 'aks-a-1')?.tags,
  }
}

const azureIdOf = (type: string, name: string, { subscriptionId }: { readonly subscriptionId: string }) =>
  `/subscriptions/${subscriptionId}/resourceGroups/MC_group/providers/Microsoft.${type}/${name}`
const namesOf = (text: string | undefined) => JSON.parse(text ?? '[]') as readonly string[]

describe('tags of a node class', () => {
  test('are set on VM and NIC, and recorded on the claim; those of ownership stay', async () => {
    const { update, annotations, vmTags, nicTags } = world()
    expect(await update()).toEqual({ updated: 1 })
    expect(vmTags()).toMatchObject({ ...tagsOf('a'), team: 'x' })
    expect(nicTags()).toMatchObject({ ...tagsOf('a'), team: 'x' })
    expect(namesOf(annotations()['joiner.sh/tag-names'])).toContain('team')
    expect(annotations()).toHaveProperty(['karpenter.azure.com/in-place-update-hash'])
  })

  test('cost no request when nothing changed', async () => {
    const { azure, update } = world()
    await update()
    azure.writes.length = 0
    let asked = 0
    azure.intercept(() => {
      asked += 1
    })
    expect(await update()).toEqual({ updated: 0 })
    expect([azure.writes, asked]).toEqual([[], 0])
  })

  test('that a class no longer has are removed, and tags of others stay', async () => {
    const { cluster, azure, update, vmTags } = world()
    await update()
    azure.put('virtualMachines', 'aks-a', {
      ...azure.get('virtualMachines', 'aks-a')?.properties,
      tags: { ...vmTags(), theirs: 'y' },
    })
    cluster.edit('aksnodeclasses', 'default', { spec: { tags: { team: null, other: 'z' } } })
    await update()
    expect(vmTags()).toMatchObject({ other: 'z', theirs: 'y' })
    expect(vmTags()).not.toHaveProperty('team')
  })

  test('of ownership are not taken from a class', async () => {
    const { update, vmTags } = world({
      team: 'x',
      'karpenter.azure.com_aksmachine_nodeclaim': 'x',
      'joiner.sh_abandoned': 'x',
      'joiner.sh_cluster-uid': 'other',
    })
    await update()
    expect(vmTags()).toMatchObject(tagsOf('a'))
    expect(Object.keys(vmTags() ?? {})).not.toContain('joiner.sh_abandoned')
    expect(Object.keys(vmTags() ?? {})).not.toContain('karpenter.azure.com_aksmachine_nodeclaim')
  })

  test('that Azure would refuse are not sent: the class says so', async () => {
    const { azure, update, reported } = world({ Owner: 'a', owner: 'b' })
    expect(await update()).toEqual({ updated: 0 })
    expect([azure.writes, reported]).toEqual([[], []])
  })

  test('reach a VM whose tags of ownership have another case', async () => {
    const shouted = Object.fromEntries(Object.entries(tagsOf('a')).map(([name, value]) => [name.toUpperCase(), value]))
    const { update, vmTags } = world({ team: 'x' }, {}, shouted)
    expect(await update()).toEqual({ updated: 1 })
    expect(vmTags()).toMatchObject({ ...tagsOf('a'), team: 'x' })
    const names = Object.keys(vmTags() ?? {})
    expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length)
  })

  test('of ownership are not removed for what a claim says', async () => {
    const names = ['team', 'Joiner.sh_Attempt', 'joiner.sh_abandoned']
    const claim = { metadata: { annotations: { 'joiner.sh/tag-names': JSON.stringify(names) } } }
    const { update, vmTags } = world({ other: 'y' }, claim, { ...tagsOf('a'), team: 'x', 'joiner.sh_attempt': '1' })
    await update()
    expect(vmTags()).toMatchObject({ ...tagsOf('a'), other: 'y', 'joiner.sh_attempt': '1' })
    expect(vmTags()).not.toHaveProperty('team')
  })

  test('make a VM of Karpenter one of this claim', async () => {
    const { update, vmTags } = world({ team: 'x' }, {}, karpenters())
    await update()
    expect(vmTags()).toMatchObject(tagsOf('a'))
  })
})

describe('what is left alone', () => {
  test.each<[string, Json]>([
    ['that is being deleted', { metadata: { deletionTimestamp: at(0) } }],
    ['whose Node has not joined', { status: { conditions: [condition('Launched')] } }],
    ['without a VM', { status: { providerID: undefined } }],
    [
      'of another class',
      { spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'gone' } } },
    ],
  ])('a claim %s', async (_, claim) => {
    const { azure, update } = world({ team: 'x' }, claim)
    expect(await update()).toEqual({ updated: 0 })
    expect(azure.writes).toEqual([])
  })

  test.each<[string, Readonly<Record<string, string>>]>([
    ['without tags', {}],
    ['of another claim', tagsOf('b')],
    ['of another cluster', { ...tagsOf('a'), 'joiner.sh_cluster-uid': 'other' }],
    ['of an AKS machine', { ...tagsOf('a'), 'karpenter.azure.com_aksmachine_nodeclaim': 'x' }],
  ])('a VM %s, and the claim says so', async (_, tags) => {
    const { azure, update, reported, annotations } = world({ team: 'x' }, {}, tags)
    await update()
    expect(azure.writes).toEqual([])
    expect(reported.map(({ about }) => about)).toEqual(['NodeClaim/a'])
    expect(annotations()).not.toHaveProperty(['karpenter.azure.com/in-place-update-hash'])
  })

  test.each(['Creating', 'Deleting'])('a VM that is %s', async (state) => {
    const { azure, update } = world()
    azure.becomes('aks-a', state)
    expect(await update()).toEqual({ updated: 0 })
    expect(azure.writes).toEqual([])
  })

  test('a NIC of somebody else', async () => {
    const { azure, update, nicTags, vmTags } = world()
    azure.put('networkInterfaces', 'aks-a-1', { tags: { theirs: 'y' } })
    await update()
    expect(nicTags()).toEqual({ theirs: 'y' })
    expect(vmTags()).toMatchObject({ team: 'x' })
  })
})

describe('an update that another one overwrote', () => {
  beforeEach(() => {
    vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      const limit = new AbortController()
      setTimeout(() => limit.abort(), ms)
      return limit.signal
    })
  })

  test.each([
    { overwritten: 1, expected: 1 },
    // Such as by a policy: the next pass tries again.
    { overwritten: 9, expected: 0 },
  ])('is made once more: %o', async ({ overwritten, expected }) => {
    const { azure, update, annotations } = world()
    const before = azure.get('virtualMachines', 'aks-a')
    let asked = 0
    azure.intercept((request) => {
      if (request !== 'PATCH virtualMachines/aks-a') return undefined
      asked += 1
      return asked > overwritten ? undefined : { status: 200, body: before }
    })
    expect(await update(180_000)).toEqual({ updated: expected })
    expect(asked).toBe(2)
    const isStamped = 'karpenter.azure.com/in-place-update-hash' in annotations()
    expect(isStamped).toBe(expected === 1)
  })

  test('is made once more for a hundred VMs at most: a policy may undo all of them', async () => {
    const { azure, update, add } = world()
    for (let at = 1; at < 150; at++) add(`n${at}`)
    let asked = 0
    azure.intercept((request) => {
      const [method, path = ''] = request.split(' ')
      if (method !== 'PATCH' || !path.startsWith('virtualMachines/')) return undefined
      asked += 1
      return { status: 200, body: azure.get('virtualMachines', path.slice('virtualMachines/'.length)) }
    })
    expect(await update(240_000)).toEqual({ updated: 0 })
    expect(asked).toBe(250)
  })
})

describe('a request of an earlier process that takes effect minutes after the update of this one', () => {
  const noted = { 'joiner.sh/tag-names': JSON.stringify(['team', 'old', 'karpenter.sh_nodepool']) }

  test.each<[string, Readonly<Record<string, string>>]>([
    ['a tag that the class no longer has', { old: 'y' }],
    ['another value of a tag', { team: 'before' }],
  ])('leaves %s for no longer than to the next pass', async (_, late) => {
    const { azure, update, vmTags, nicTags } = world({ team: 'x' }, { metadata: { annotations: noted } })
    expect(await update()).toEqual({ updated: 1 })
    const wanted = vmTags()
    for (const [kind, name] of [
      ['virtualMachines', 'aks-a'],
      ['networkInterfaces', 'aks-a-1'],
    ] as const)
      azure.put(kind, name, { ...azure.get(kind, name)?.properties, tags: { ...azure.get(kind, name)?.tags, ...late } })
    await pass(300_000)
    expect(await update()).toEqual({ updated: 1 })
    expect([vmTags(), nicTags()]).toEqual([wanted, wanted])
  })

  test('is looked for once: then an update is done', async () => {
    const { azure, update } = world()
    await update()
    azure.writes.length = 0
    let asked = 0
    azure.intercept(() => void (asked += 1))
    for (const requests of [2, 2]) {
      await pass(300_000)
      expect(await update()).toEqual({ updated: 0 })
      expect([azure.writes, asked]).toEqual([[], requests])
    }
  })
})

describe('an update that is cut off', () => {
  test("before the VM was changed has recorded which tags are Joiner's, and goes on", async () => {
    const { azure, update, annotations, vmTags } = world()
    const end = azure.intercept((request) =>
      request === 'PATCH virtualMachines/aks-a' ? { status: 500, code: 'InternalServerError' } : undefined,
    )
    await expect(update()).rejects.toThrow()
    expect(namesOf(annotations()['joiner.sh/tag-names'])).toContain('team')
    expect(annotations()).not.toHaveProperty(['karpenter.azure.com/in-place-update-hash'])
    end()
    expect(await update()).toEqual({ updated: 1 })
    expect(vmTags()).toMatchObject({ team: 'x' })
  })

  test('of one VM keeps none of the hundreds after it from their tags', async () => {
    const { azure, update, add, vmTags } = world()
    for (let at = 1; at < 150; at++) add(`n${at}`)
    azure.intercept((request) =>
      request === 'PATCH virtualMachines/aks-a' ? { status: 403, code: 'AuthorizationFailed' } : undefined,
    )
    await expect(update()).rejects.toThrow('AuthorizationFailed')
    expect(vmTags()).not.toHaveProperty('team')
    const tagged = azure.names('virtualMachines').filter((name) => azure.get('virtualMachines', name)?.tags['team'])
    expect(tagged).toHaveLength(149)
  })

  test('of a NodeClaim that cannot be written keeps none of the others from its tags', async () => {
    const { azure, cluster, update, add } = world()
    for (let at = 1; at < 150; at++) add(`n${at}`)
    cluster.intercept(({ verb, path, body }) => {
      const { 'karpenter.azure.com/in-place-update-hash': hash } =
        (body as { metadata?: { annotations?: Json } } | undefined)?.metadata?.annotations ?? {}
      if (verb === 'patch' && path.endsWith('/nodeclaims/a') && hash !== undefined)
        throw new ApiError(403, 'Forbidden', 'denied by a policy')
    })
    await expect(update()).rejects.toThrow('denied by a policy')
    const tagged = azure.names('virtualMachines').filter((name) => azure.get('virtualMachines', name)?.tags['team'])
    expect(tagged).toHaveLength(150)
  })

  test('by a NodeClaim whose billing extension cannot be recorded leaves all their tags', async () => {
    const { cluster, deps, update, vmTags } = world()
    Object.assign(deps.config, { billingExtension: true })
    cluster.intercept(({ verb, path, body }) => {
      if (
        verb === 'patch' &&
        path.endsWith('/nodeclaims/a') &&
        JSON.stringify(body).includes('joiner.sh/billing-extension')
      )
        throw new ApiError(403, 'Forbidden', 'denied by a policy')
    })
    await ended(ensureBillingExtensions(deps, new AbortController().signal))
    expect(await update()).toEqual({ updated: 1 })
    expect(vmTags()).toMatchObject({ team: 'x' })
  })

  test('of one VM keeps no other from its tags', async () => {
    const { cluster, azure, update, annotations } = world()
    cluster.put('nodeclaims', claimJson('b'))
    azure.put('virtualMachines', 'aks-b', { tags: tagsOf('b'), provisioningState: 'Succeeded' })
    azure.intercept((request) =>
      request === 'PATCH virtualMachines/aks-b' ? { status: 403, code: 'AuthorizationFailed' } : undefined,
    )
    await expect(update()).rejects.toThrow()
    expect(annotations()).toHaveProperty(['karpenter.azure.com/in-place-update-hash'])
    expect(azure.get('virtualMachines', 'aks-a')?.tags).toMatchObject({ team: 'x' })
  })
})

// Each name is that of a test of upstream's suite nodeclaim/inplaceupdate.
describe('upstream inplaceupdate', () => {
  const hash = ['karpenter.azure.com/in-place-update-hash']

  test('should update VM, NIC, and Extensions if there are missing tags', async () => {
    const { azure, deps, update, annotations, vmTags, nicTags } = world()
    const extensions: unknown[] = []
    azure.intercept((request, body) => {
      if (request === 'PATCH virtualMachines/aks-a/extensions/computeAksLinuxBilling') extensions.push(body)
    })
    Object.assign(deps.config, { billingExtension: true })
    expect(await update()).toEqual({ updated: 1 })
    for (const tags of [vmTags(), nicTags(), (extensions[0] as { tags: object }).tags])
      expect(tags).toMatchObject({ team: 'x', 'karpenter.azure.com_cluster': deps.config.clusterName })
    expect(extensions).toHaveLength(1)
    expect(annotations()).toHaveProperty(hash)
  })

  test('should add a hash annotation to NodeClaim if there are no identities or tags', async () => {
    const { azure, update, annotations } = world({})
    await update()
    expect(annotations()).toHaveProperty(hash)
    azure.writes.length = 0
    expect(await update()).toEqual({ updated: 0 })
    expect(azure.writes).toEqual([])
  })

  test("should propagate update to tags from NodeClass with tags containing '/' replaced with '_'", async () => {
    const { cluster, update, annotations, vmTags, nicTags } = world()
    await update()
    const before = annotations()['karpenter.azure.com/in-place-update-hash']
    cluster.edit('aksnodeclasses', 'default', { spec: { tags: { 'this/tag/has/slashes': 'y' } } })
    expect(await update()).toEqual({ updated: 1 })
    for (const tags of [vmTags(), nicTags()]) {
      expect(tags).toMatchObject({ this_tag_has_slashes: 'y' })
      expect(Object.keys(tags ?? {}).filter((name) => name.includes('/'))).toEqual([])
    }
    expect(annotations()['karpenter.azure.com/in-place-update-hash']).not.toBe(before)
  })

  test('should not apply tags if claim is not registered yet. Retry succeeds', async () => {
    const { azure, cluster, update, annotations, vmTags } = world(
      { team: 'x' },
      { status: { conditions: [condition('Launched'), condition('Registered', 'Unknown')] } },
    )
    expect(await update()).toEqual({ updated: 0 })
    expect(azure.writes).toEqual([])
    expect(annotations()).not.toHaveProperty(hash)
    cluster.edit('nodeclaims', 'a', { status: { conditions: [condition('Launched'), condition('Registered')] } })
    expect(await update()).toEqual({ updated: 1 })
    expect(vmTags()).toMatchObject({ team: 'x' })
    expect(annotations()).toHaveProperty(hash)
  })

  test('should handle invalid ProviderID gracefully: the VM is found by its name and proven by its tags', async () => {
    const { update, vmTags } = world({ team: 'x' }, { status: { providerID: 'invalid-provider-id' } })
    expect(await update()).toEqual({ updated: 1 })
    expect(vmTags()).toMatchObject({ team: 'x' })
  })

  test('should handle VM not found gracefully', async () => {
    const { azure, update, annotations } = world()
    azure.remove('virtualMachines', 'aks-a')
    expect(await update()).toEqual({ updated: 0 })
    expect(azure.writes).toEqual([])
    expect(annotations()).not.toHaveProperty(hash)
  })
})
