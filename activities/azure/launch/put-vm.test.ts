import { Writable } from 'node:stream'
import { createHttpHeaders, RestError } from '@azure/core-rest-pipeline'
import pino from 'pino'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { fakeArm } from '../../../test/fake-arm.ts'
import { goldenConfig, goldenNodeClass, goldenSubnet } from '../../../test/vectors/golden-cases.ts'
import { noTracing } from '../../telemetry/tracing.ts'
import { armErrorText, scrubbedMessage } from '../arm/azure-error.ts'
import type { VmSize } from '../catalogue/sku.ts'
import { NetworkFacts } from './network-facts.ts'
import { type PutInput, type PutVmDeps, putVm } from './put-vm.ts'
import { vmCreateMetrics } from './vm-create-metrics.ts'

const secret = '0123456789abcdef'
const config = goldenConfig('westus2', {
  nodeResourceGroup: 'MC_rg',
  networkPlugin: 'azure',
  networkPluginMode: 'overlay',
  vmMemoryOverheadPercent: 0.075,
  vnetSubnetID: goldenSubnet,
})

const nodeClass = goldenNodeClass({}, { kubernetesVersion: '1.36.3' })
const input: PutInput = {
  claim: {
    kind: 'NodeClaim',
    metadata: { ...nodeClass.metadata, name: 'default-abc', uid: 'claim-uid' },
    spec: {
      taints: [],
      startupTaints: [],
      requirements: [],
      nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
      requests: {},
    },
    status: { conditions: [] },
  } as unknown as PutInput['claim'],
  chosen: { typeName: 'Standard_D4s_v5', zone: 'westus2-3', capacityType: 'spot', ultraSsd: false },
  size: { name: 'Standard_D4s_v5', arch: 'amd64', acceleratedNetworking: true } as VmSize,
  image: { id: '/CommunityGalleries/g/images/i/versions/1', requirements: [] },
  attempt: 1,
  nodeClass,
  inClass: { nodeClass: 'default', state: '', turn: '' },
  bootstrapToken: { token: `abcdef.${secret}`, secretUid: 'secret-uid' },
}

/** Azure, which refuses each PUT of a VM with the next of some answers; and the requests it received. */
function refusing(answers: readonly { readonly status: number; readonly code: string; readonly message: string }[]) {
  const seen = { pools: [] as string[][], conditions: [] as (string | undefined)[], balancers: 0 }
  const azure = fakeArm(({ method, url, body, headers }) => {
    if (method === 'GET' && url.includes('virtualMachines'))
      return {
        status: 404,
        body: {
          error: {
            code: 'ResourceNotFound',
            message: "The Resource '…/virtualMachines/aks-default-abc' was not found",
          },
        },
      }
    if (url.includes('networkSecurityGroups'))
      return { status: 200, body: { value: [{ id: '/nsg', name: 'aks-agentpool-12345678-nsg' }] } }
    if (url.includes('loadBalancers')) {
      seen.balancers += 1
      const id = `/lb/kubernetes/backendAddressPools/pool-${seen.balancers}`
      return {
        status: 200,
        body: { value: [{ name: 'kubernetes', properties: { backendAddressPools: [{ id, name: 'kubernetes' }] } }] },
      }
    }
    const vm = JSON.parse(body as string) as {
      properties: {
        networkProfile: {
          networkInterfaceConfigurations: {
            properties: { ipConfigurations: { properties: { loadBalancerBackendAddressPools: { id: string }[] } }[] }
          }[]
        }
      }
    }
    const [nic] = vm.properties.networkProfile.networkInterfaceConfigurations
    seen.pools.push(
      nic?.properties.ipConfigurations[0]?.properties.loadBalancerBackendAddressPools.map(({ id }) => id) ?? [],
    )
    seen.conditions.push(headers.get('if-none-match'))
    const { status = 500, ...error } = answers[seen.pools.length - 1] ?? {}
    return { status, body: { error } }
  })
  const { network } = azure
  const deps = {
    azure,
    config,
    log: pino({ level: 'silent' }),
    vmCreates: vmCreateMetrics(new Registry()),
    cloudProvider: { measure: (_: unknown, call: () => unknown) => call() },
    network: new NetworkFacts(
      {
        securityGroups: () => network.networkSecurityGroups.list('MC_rg'),
        loadBalancers: () => network.loadBalancers.list('MC_rg'),
      },
      { nodeResourceGroup: 'MC_rg', log: pino({ level: 'silent' }), now: () => 0 },
    ),
    tracing: noTracing,
    now: () => 0,
    unavailable: { remembered: new Map() },
  } as unknown as PutVmDeps
  return { deps, seen }
}

const existsAlready = { status: 412, code: 'PreconditionFailed', message: 'exists' }

describe('the PUT of a VM', () => {
  it('makes a VM or nothing: one that is there meanwhile is checked by the next attempt', async () => {
    const { deps, seen } = refusing([existsAlready])
    await expect(putVm(deps, input)).rejects.toThrow('VM aks-default-abc exists by now')
    expect(seen.conditions).toEqual(['*'])
  })

  it('is repeated once with current pools, when Azure does not find one of the cached ones', async () => {
    const message = 'Resource /LB/kubernetes/backendAddressPools/pool-1 referenced by resource nic was not found.'
    const { deps, seen } = refusing([{ status: 400, code: 'InvalidResourceReference', message }, existsAlready])
    await expect(putVm(deps, input)).rejects.toThrow('exists by now')
    expect(seen.pools).toEqual([
      ['/lb/kubernetes/backendAddressPools/pool-1'],
      ['/lb/kubernetes/backendAddressPools/pool-2'],
    ])
    expect(seen.balancers).toBe(2)
  })
})

describe("an error of a VM's PUT", () => {
  const errors = {
    'that Azure answers': () => ({ status: 400, body: { error: { code: 'InvalidParameter', message: 'no' } } }),
    'that cuts the connection': () => {
      throw new RestError('socket hang up', { code: 'ECONNRESET' })
    },
  }

  it.each(Object.entries(errors))('%s shows nothing of what was sent', async (_, answer) => {
    const customData = Buffer.from(`token: abcdef.${secret}`).toString('base64')
    const { compute } = fakeArm(answer)
    const error: unknown = await compute.virtualMachines
      .createOrUpdate('MC_rg', 'vm', { location: 'westus2', osProfile: { customData } })
      .submitted()
      .catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(RestError)
    if (error instanceof RestError && error.request === undefined) {
      error.request = { body: customData, headers: createHttpHeaders() } as never
    }
    let logged = ''
    const sink = new Writable({
      write: (chunk, _encoding, done) => {
        logged += String(chunk)
        done()
      },
    })
    pino(sink).error({ err: error }, 'a launch failed')
    expect(logged).toContain('a launch failed')
    for (const text of [logged, scrubbedMessage(error), armErrorText(error), JSON.stringify(error), String(error)]) {
      expect(text).not.toContain(customData)
      expect(text).not.toContain(secret)
    }
  })
})
