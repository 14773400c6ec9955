// Every fault that can be asked of the simulator, as Joiner's SDK clients see it.
import { readFile } from 'node:fs/promises'
import { ComputeManagementClient } from '@azure/arm-compute'
import { afterEach, describe, expect, test } from 'vitest'
import { armErrorCode, isNotFoundAnswer, retryAfterSeconds } from '../../../activities/azure/arm/azure-error.ts'
import { simulatedAzure } from '../../../test/simulated-azure.ts'
import {
  collect,
  credential,
  group,
  joinersClient,
  nicConfiguration,
  plainClient,
  vmBody,
} from '../../../test/simulator/sdk-clients.ts'
import { ids, SimulatorProcess } from '../../../test/simulator/simulator-process.ts'

const { simulator, azure } = await simulatedAzure()

afterEach(() => simulator.reset())

const vms = () => azure.compute.virtualMachines
const create = (name: string, changes = {}) =>
  vms().createOrUpdate(group, name, vmBody(name, changes), { updateIntervalInMs: 50 })
const spot = { priority: 'Spot', evictionPolicy: 'Delete' }

/** What a promise is rejected with. */
async function errorOf(work: PromiseLike<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

describe('failSync', () => {
  test.each([
    'AllocationFailed',
    'ZonalAllocationFailed',
    'SkuNotAvailable',
    'OverconstrainedZonalAllocationRequest',
    'OverconstrainedAllocationRequest',
  ])('a create is refused with %s, and nothing is left', async (code) => {
    await simulator.fault({ kind: 'failSync', code })
    const error = await errorOf(create('vm').submitted())
    expect(error).toMatchObject({ name: 'RestError', statusCode: 409, code })
    expect(armErrorCode(error)).toBe(code)
    expect(await simulator.state()).toEqual({ aksMachines: [], virtualMachines: [], networkInterfaces: [], disks: [] })
    await create('vm')
  })

  test('gives status and message as asked', async () => {
    const message = 'Operation could not be completed as it results in exceeding approved Total Regional Cores quota.'
    await simulator.fault({ kind: 'failSync', code: 'OperationNotAllowed', status: 403, message })
    expect(await errorOf(create('vm').submitted())).toMatchObject({ statusCode: 403, message })
  })

  test('hits only what it is aimed at, as often as asked', async () => {
    const match = { sku: 'Standard_D2s_v5', zone: '2', capacityType: 'spot' } as const
    await simulator.fault({ kind: 'failSync', code: 'SkuNotAvailable', match, count: 2 })
    await create('on-demand', { zones: ['2'] })
    await create('elsewhere', spot)
    await create('larger', { ...spot, zones: ['2'], hardwareProfile: { vmSize: 'Standard_D4s_v5' } })
    for (const name of ['first', 'second'])
      expect(armErrorCode(await errorOf(create(name, { ...spot, zones: ['2'] }).submitted()))).toBe('SkuNotAvailable')
    await create('third', { ...spot, zones: ['2'] })
  })

  test('hits another operation when that is named', async () => {
    await simulator.fault({ kind: 'failSync', operation: 'DELETE virtualMachines', code: 'Conflict' })
    await create('vm')
    expect(armErrorCode(await errorOf(vms().delete(group, 'vm').submitted()))).toBe('Conflict')
    await vms().delete(group, 'vm', { updateIntervalInMs: 50 })
  })
})

describe('failAsync', () => {
  test('the operation fails, and the VM stays as Failed with the code in its instance view', async () => {
    await simulator.fault({ kind: 'failAsync', code: 'AllocationFailed', message: 'There is no room.' })
    const poller = create('vm')
    await poller.submitted()
    expect(String(await errorOf(poller.pollUntilDone()))).toContain('AllocationFailed. There is no room.')
    const vm = await vms().get(group, 'vm', { expand: 'instanceView' })
    expect(vm.provisioningState).toBe('Failed')
    expect(vm.instanceView?.statuses?.[0]).toMatchObject({
      code: 'ProvisioningState/failed/AllocationFailed',
      message: 'There is no room.',
    })
    // The same PUT again is Azure's way to try once more.
    expect(await create('vm')).toMatchObject({ vmId: vm.vmId, provisioningState: 'Succeeded' })
  })
})

describe('throttle', () => {
  test("Joiner's client is reported at once, with the time to wait", async () => {
    await simulator.fault({ kind: 'throttle', retryAfterSeconds: 7 })
    const error = await errorOf(create('told').submitted())
    expect(error).toMatchObject({ statusCode: 429, code: 'TooManyRequests' })
    expect(retryAfterSeconds(error)).toBe(7)
    expect(await simulator.journal('told')).toHaveLength(1)
  })

  test("the SDK's own retries wait for as long as Retry-After says", async () => {
    await simulator.fault({ kind: 'throttle', retryAfterSeconds: 1, count: 2 })
    const name = 'throttled'
    await plainClient(simulator).compute.virtualMachines.createOrUpdate(group, name, vmBody(name)).submitted()
    const [first, second, third, ...more] = (await simulator.journal(name)).map(({ atMs }) => atMs)
    expect(more).toEqual([])
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(1000)
    expect((third ?? 0) - (second ?? 0)).toBeGreaterThanOrEqual(1000)
    expect((await simulator.state()).virtualMachines).toHaveLength(1)
  })

  test('hits reads too', async () => {
    await simulator.fault({ kind: 'throttle', retryAfterSeconds: 1 })
    expect(armErrorCode(await errorOf(collect(vms().list(group))))).toBe('TooManyRequests')
  })
})

describe('latency', () => {
  test('the answer comes so much later', async () => {
    const ms = 400
    await simulator.fault({ kind: 'latency', ms, operation: 'GET virtualMachines' })
    const before = performance.now()
    await errorOf(vms().get(group, 'vm'))
    expect(performance.now() - before).toBeGreaterThanOrEqual(ms)
  })

  test('a create that its caller has given up is made all the same', async () => {
    await simulator.fault({ kind: 'latency', ms: 300 })
    const error = await errorOf(
      vms()
        .createOrUpdate(group, 'vm', vmBody('vm'), { requestOptions: { timeout: 50 } })
        .submitted(),
    )
    expect(error).toMatchObject({ name: 'AbortError' })
    await simulator.until(
      'the VM is made',
      async () => (await vms().get(group, 'vm')).provisioningState === 'Succeeded',
    )
  })
})

describe('stallBody', () => {
  test('the VM is made, and the answer stops in its body until the caller gives up', async () => {
    await simulator.fault({ kind: 'stallBody' })
    const { promise: came, resolve: hasCome } = Promise.withResolvers<void>()
    const caller = new AbortController()
    const error = errorOf(
      vms()
        .createOrUpdate(group, 'vm', vmBody('vm'), {
          abortSignal: caller.signal,
          requestOptions: { onDownloadProgress: ({ loadedBytes }) => loadedBytes > 0 && hasCome() },
        })
        .submitted(),
    )
    await came
    expect(await vms().get(group, 'vm')).toMatchObject({ name: 'vm' })
    caller.abort()
    expect(await error).toMatchObject({ name: 'AbortError' })
  })

  test('hits lists that are named, and the next one is whole', async () => {
    await create('vm')
    await simulator.fault({ kind: 'stallBody', operation: 'GET virtualMachines' })
    const { promise: came, resolve: hasCome } = Promise.withResolvers<void>()
    const caller = new AbortController()
    const requestOptions = { onDownloadProgress: () => hasCome() }
    const stalled = errorOf(vms().list(group, { abortSignal: caller.signal, requestOptions }).next())
    await came
    expect(await collect(vms().list(group))).toHaveLength(1)
    caller.abort()
    await stalled
  })
})

describe('resetAfterCommit', () => {
  test('the answer is lost and the VM is there, once; the same PUT finds it', async () => {
    await simulator.fault({ kind: 'resetAfterCommit' })
    const error = await errorOf(create('vm').submitted())
    expect(error).toMatchObject({ name: 'RestError', code: 'ECONNRESET' })
    expect(armErrorCode(error)).toBeUndefined()
    const { vmId } = await vms().get(group, 'vm')
    expect((await create('vm')).vmId).toBe(vmId)
    expect(await simulator.state()).toMatchObject({
      virtualMachines: [{ name: 'vm' }],
      networkInterfaces: ['vm-nic'],
      disks: ['vm-disk'],
    })
  })

  test("the SDK's own retry repeats the PUT, and there is one VM", async () => {
    await simulator.fault({ kind: 'resetAfterCommit' })
    const name = 'repeated'
    const vm = await plainClient(simulator).compute.virtualMachines.createOrUpdate(group, name, vmBody(name))
    expect(vm.provisioningState).toBe('Succeeded')
    expect((await simulator.journal(name)).map(({ method }) => method)).toEqual(['PUT', 'PUT'])
    expect((await simulator.state()).virtualMachines).toHaveLength(1)
  })
})

describe('what becomes of a VM', () => {
  test('neverJoins: ARM knows nothing of it', async () => {
    await simulator.fault({ kind: 'neverJoins' })
    expect((await create('mute')).provisioningState).toBe('Succeeded')
    await create('usual')
    const { virtualMachines } = await simulator.state()
    expect(virtualMachines.map(({ name, joins }) => [name, joins])).toEqual([
      ['mute', false],
      ['usual', true],
    ])
  })

  test('evict: a spot VM is taken back after it was created, with its NIC and disk; others are not', async () => {
    await simulator.fault({ kind: 'evict', afterMs: 200 })
    await create('usual')
    expect((await create('vm', spot)).provisioningState).toBe('Succeeded')
    await simulator.until('the VM is gone', async () => isNotFoundAnswer(await errorOf(vms().get(group, 'vm'))))
    expect(await simulator.state()).toMatchObject({
      virtualMachines: [{ name: 'usual' }],
      networkInterfaces: ['usual-nic'],
      disks: ['usual-disk'],
    })
  })

  test('evict by hand: the eviction policy decides, and only spot VMs are taken', async () => {
    await create('usual')
    await create('kept', { ...spot, evictionPolicy: 'Deallocate' })
    await create('gone', spot)
    await expect(simulator.happen('usual', 'evict')).rejects.toThrow('is not a spot VM')
    await simulator.happen('kept', 'evict')
    await simulator.happen('gone', 'evict')
    await simulator.until('the VM is gone', async () => isNotFoundAnswer(await errorOf(vms().get(group, 'gone'))))
    const view = (await vms().get(group, 'kept', { expand: 'instanceView' })).instanceView
    expect(view?.statuses?.map(({ code }) => code)).toContain('PowerState/deallocated')
  })

  test('keepsNics: the NIC outlives its VM', async () => {
    await simulator.fault({ kind: 'keepsNics' })
    await create('vm')
    await vms().delete(group, 'vm', { updateIntervalInMs: 50 })
    expect(await simulator.state()).toEqual({
      aksMachines: [],
      virtualMachines: [],
      networkInterfaces: ['vm-nic'],
      disks: [],
    })
    const nic = await azure.network.networkInterfaces.get(group, 'vm-nic')
    expect(nic.virtualMachine).toBeUndefined()
    expect(nic.tags).toEqual(nicConfiguration('vm').tags)
    await azure.network.networkInterfaces.delete(group, 'vm-nic')
    expect((await simulator.state()).networkInterfaces).toEqual([])
  })
})

describe('tokens', () => {
  const withToken = (token: string, endpoint = simulator.url) =>
    new ComputeManagementClient(
      { getToken: async () => ({ token, expiresOnTimestamp: Date.now() + 3_600_000 }) },
      ids.subscriptionId,
      { endpoint },
    ).virtualMachines.get(group, 'vm')
  const scope = 'https://management.azure.com/.default'

  test('an access token that was not handed out is refused', async () => {
    const { token } = await credential(simulator).getToken(scope)
    const forged = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
    for (const bad of ['garbage', 'local.9999999999999.x.y', `${token}x`, forged])
      expect(await errorOf(withToken(bad))).toMatchObject({ statusCode: 401, code: 'InvalidAuthenticationToken' })
    expect(await errorOf(withToken(token))).toMatchObject({ statusCode: 404 })
  })

  test('an access token that has expired is refused', async () => {
    const other = await SimulatorProcess.start({ tokenSeconds: 1 }, simulator)
    try {
      const { token } = await credential(other).getToken(scope)
      await other.until('the token is refused', async () => {
        const error = await errorOf(withToken(token, other.url))
        return (error as { code?: string }).code === 'ExpiredAuthenticationToken'
      })
      expect(await errorOf(withToken(token, other.url))).toMatchObject({ statusCode: 401 })
    } finally {
      await other.stop()
    }
  })

  test.each([
    ['expired', { exp: 1 }, 'AADSTS700024'],
    ['for another audience', { aud: 'https://kubernetes.default.svc' }, 'AADSTS700212'],
    ['garbage', 'garbage', 'AADSTS50027'],
  ])('a federated token that is %s buys none', async (_what, token, code) => {
    await simulator.federate(token)
    try {
      const error = await errorOf(joinersClient(simulator).compute.virtualMachines.get(group, 'vm'))
      expect(error).toMatchObject({ name: 'AuthenticationRequiredError' })
      expect(String(error)).toContain(code)
      const body = { client_id: ids.clientId, client_assertion: await readFile(simulator.tokenFile, 'utf8') }
      const answer = await simulator.send('POST', `/${ids.tenantId}/oauth2/v2.0/token`, { body })
      expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    } finally {
      await simulator.federate()
    }
  })
})
