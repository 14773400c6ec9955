import { describe, expect, it } from 'vitest'
import { type FakeAks, machineId, machineVm } from '../../../test/fakes/aks.ts'
import { foreignMachines, machineClaim, machinesWorld } from '../../../test/fakes/machines-world.ts'
import { claimJson, condition, nodeClassJson } from '../../../test/fakes/objects.ts'
import { useFakeTime } from '../../../test/fakes/time.ts'
import { ApiError } from '../../kubernetes/client/api-error.ts'
import { adoptMachines } from './adopt-machines.ts'

useFakeTime()

const key = 'joiner.sh/adopted-machine'
const fresh = (change: Parameters<typeof machineClaim>[1] = {}) => machineClaim('a', { isAdopted: false, ...change })

describe('adopting AKS machines', () => {
  it('gives each claim whose machine is its own the annotation, and shows it to all that plans', async () => {
    const { aks, deps, annotationsOf, reported } = machinesWorld(fresh(), claimJson('own'))
    aks.put('a')
    expect([...deps.cache.nodeClaims.values()].map(({ metadata }) => metadata.name)).toEqual(['own'])
    await adoptMachines(deps)
    expect(annotationsOf('a')[key]).toBe('uid-a')
    expect(annotationsOf('own')[key]).toBeUndefined()
    expect([...deps.cache.nodeClaims.values()].map(({ metadata }) => metadata.name).sort()).toEqual(['a', 'own'])
    expect(reported.map(({ reason, about }) => [reason, about])).toEqual([['AKSMachineAdopted', 'NodeClaim/a']])
  })

  it('changes nothing when run again', async () => {
    const { aks, deps, cluster } = machinesWorld(fresh())
    aks.put('a')
    await adoptMachines(deps)
    const { length } = cluster.attempts
    await adoptMachines(deps)
    expect(cluster.attempts).toHaveLength(length)
  })

  it.each<[string, Parameters<typeof machineClaim>[1]]>([
    ['that is being deleted', { isGoing: true }],
    ['whose machine is gone', {}],
  ])('takes a claim %s as well', async (_what, change) => {
    const { deps, annotationsOf } = machinesWorld(fresh(change))
    await adoptMachines(deps)
    expect(annotationsOf('a')[key]).toBe('uid-a')
  })

  it.each(foreignMachines)('leaves a machine %s alone, and says why', async (_what, tags) => {
    const { aks, deps, annotationsOf, reported } = machinesWorld(fresh())
    aks.put('a', { tags })
    await adoptMachines(deps)
    expect(annotationsOf('a')[key]).toBeUndefined()
    expect(reported.map(({ reason }) => reason)).toEqual(['AKSMachineNotAdopted'])
  })

  it('leaves a claim alone whose machine is gone and whose status names the VM of others', async () => {
    const { aks, azure, deps, annotationsOf, reported } = machinesWorld(fresh())
    azure.put('virtualMachines', machineVm('a'), { provisioningState: 'Succeeded' })
    await adoptMachines(deps)
    expect(aks.machines.size).toBe(0)
    expect(annotationsOf('a')[key]).toBeUndefined()
    expect(reported.map(({ reason }) => reason)).toEqual(['AKSMachineNotAdopted'])
  })

  it.each<[string, Parameters<typeof machineClaim>[1]]>([
    [
      'of another cluster',
      { annotations: { 'karpenter.azure.com/aks-machine-resource-id': machineId('a').replace('/test/', '/other/') } },
    ],
    ['that was not launched', { status: { conditions: [] } }],
  ])('leaves a claim %s alone', async (_what, change) => {
    const { aks, deps, annotationsOf } = machinesWorld(fresh(change))
    aks.put('a')
    await adoptMachines(deps)
    expect(annotationsOf('a')[key]).toBeUndefined()
  })

  it('adopts the others where a claim names a pool that cannot be listed', async () => {
    const odd = machineId('b').replace('/aksmanagedap/', '/system/')
    const other = machineClaim('b', {
      isAdopted: false,
      annotations: { 'karpenter.azure.com/aks-machine-resource-id': odd },
    })
    const { aks, deps, annotationsOf, reported } = machinesWorld(fresh(), other)
    aks.put('a')
    const answer = aks.answer.bind(aks)
    const refusal = { status: 400, body: { error: { code: 'OperationNotAllowed', message: 'no pool of machines' } } }
    aks.answer = (method, url, body) => (url.pathname.includes('/system/') ? refusal : answer(method, url, body))
    await adoptMachines(deps)
    expect([annotationsOf('a')[key], annotationsOf('b')[key]]).toEqual(['uid-a', undefined])
    expect(reported.map(({ reason, about }) => `${reason} ${about}`).sort()).toEqual([
      'AKSMachineAdopted NodeClaim/a',
      'AKSMachineNotAdopted NodeClaim/b',
    ])
  })

  it('is off unless the setting turns it on', async () => {
    const { aks, deps, annotationsOf } = machinesWorld(fresh())
    aks.put('a')
    await adoptMachines({ ...deps, config: { ...deps.config, managesMachines: false } })
    expect(annotationsOf('a')[key]).toBeUndefined()
    expect(aks.requests).toBe(0)
  })
})

describe('while node auto-provisioning is on', () => {
  it('nothing is adopted, and what was is given back; the AKSNodeClass says why until it is off', async () => {
    const { aks, deps, annotationsOf, condition, reported } = machinesWorld(fresh(), machineClaim('b'))
    aks.put('a')
    aks.put('b')
    aks.napMode = 'Auto'
    await adoptMachines(deps)
    expect([annotationsOf('a')[key], annotationsOf('b')[key]]).toEqual([undefined, undefined])
    expect([...deps.cache.nodeClaims.values()]).toEqual([])
    expect(condition('aksnodeclasses', 'default', 'AKSMachinesManaged')).toMatchObject({
      status: 'False',
      reason: 'NodeAutoProvisioningOn',
    })
    expect(reported.map(({ reason }) => reason)).toEqual(['AKSMachinesRefused'])
    aks.napMode = 'Manual'
    await adoptMachines(deps)
    expect([annotationsOf('a')[key], annotationsOf('b')[key]]).toEqual(['uid-a', 'uid-b'])
    expect(condition('aksnodeclasses', 'default', 'AKSMachinesManaged')).toBeUndefined()
  })

  it('an AKSNodeClass says so no more once the setting is off', async () => {
    const { aks, deps, condition } = machinesWorld(fresh())
    aks.napMode = 'Auto'
    await adoptMachines(deps)
    expect(condition('aksnodeclasses', 'default', 'AKSMachinesManaged')?.status).toBe('False')
    await adoptMachines({ ...deps, config: { ...deps.config, managesMachines: false } })
    expect(condition('aksnodeclasses', 'default', 'AKSMachinesManaged')).toBeUndefined()
  })

  it.each<[string, Partial<Pick<FakeAks, 'refusal' | 'strange'>>]>([
    ['refused', { refusal: { status: 403, code: 'AuthorizationFailed' } }],
    ['answered by something else', { strange: {} }],
    ['answered with no JSON object', { strange: 'proxy' }],
  ])('or while that is not known (%s), nothing changes', async (_how, answers) => {
    const { aks, deps, annotationsOf, condition } = machinesWorld(fresh(), machineClaim('b'))
    aks.put('a')
    Object.assign(aks, answers)
    await adoptMachines(deps)
    expect([annotationsOf('a')[key], annotationsOf('b')[key]]).toEqual([undefined, 'uid-b'])
    expect(condition('aksnodeclasses', 'default', 'AKSMachinesManaged')?.reason).toBe('ClusterNotReadable')
  })
})

it('machines are adopted though an AKSNodeClass cannot be told that they are managed again', async () => {
  const { aks, deps, cluster, annotationsOf } = machinesWorld(fresh())
  const said = { type: 'AKSMachinesManaged', status: 'False', reason: 'NodeAutoProvisioningOn', message: 'x' }
  cluster.put('aksnodeclasses', nodeClassJson('default', { status: { conditions: [condition('Ready'), said] } }))
  cluster.intercept(({ verb, path }) => {
    if (verb === 'patch' && path.includes('/aksnodeclasses/'))
      throw new ApiError(403, 'Forbidden', 'denied by a policy')
  })
  aks.put('a')
  await expect(adoptMachines(deps)).rejects.toThrow('denied by a policy')
  expect(annotationsOf('a')[key]).toBe('uid-a')
})
