import { describe, expect, test } from 'vitest'
import { doctorConfig } from '../../../test/fakes/azure-config.ts'
import { ArmRefusal } from '../../picture/arm-reader.ts'
import type { DoctorContext } from './check.ts'
import { examineMachines } from './instances.ts'

const id = (cluster: string) =>
  `/subscriptions/sub/resourceGroups/clusters/providers/Microsoft.ContainerService/managedClusters/${cluster}/agentPools/p/machines/m`

function claim(cluster: string, isAdopted: boolean) {
  const annotations = {
    'karpenter.azure.com/aks-machine-resource-id': id(cluster),
    ...(isAdopted ? { 'joiner.sh/adopted-machine': 'uid' } : {}),
  }
  return {
    metadata: { name: 'm', uid: 'uid', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z', annotations },
    spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }, requirements: [] },
    status: {
      providerID: 'azure:///subscriptions/sub/resourceGroups/mc_demo/providers/Microsoft.Compute/virtualMachines/vm',
    },
  }
}

interface World {
  readonly claims?: readonly unknown[]
  readonly isOn?: boolean
  readonly mode?: string
  readonly refusal?: ArmRefusal
  /** Agent pools by name, with their mode; given where nodes are made as machines of the pool `machines`. */
  readonly pools?: Readonly<Record<string, string>>
}

function look({ claims = [], isOn = true, mode = 'Manual', refusal, pools }: World) {
  const config = doctorConfig('sub', {
    MANAGE_EXISTING_AKS_MACHINES: String(isOn),
    ...(pools === undefined
      ? {}
      : {
          PROVISION_MODE: 'aksmachineapi',
          AKS_MACHINES_POOL_NAME: 'machines',
          USE_SIG: 'true',
          SIG_SUBSCRIPTION_ID: 'sig',
        }),
  })
  const context = {
    config,
    kubernetes: {
      listPages: async function* () {
        yield { items: claims }
      },
    },
    arm: {
      get: () =>
        refusal === undefined
          ? Promise.resolve({ properties: { nodeProvisioningProfile: { mode } } })
          : Promise.reject(refusal),
      list: () =>
        Promise.resolve(Object.entries(pools ?? {}).map(([name, of]) => ({ name, properties: { mode: of } }))),
    },
  } as unknown as DoctorContext
  return examineMachines(context, new AbortController().signal)
}

describe('AKS machines', () => {
  test.each<[string, World, string, string]>([
    ['of which there are none, unmanaged', { isOn: false }, 'ok', 'no NodeClaim is an AKS machine'],
    ['that are left alone', { isOn: false, claims: [claim('demo', false)] }, 'warn', '1 NodeClaims are AKS machines'],
    ['that are all managed', { claims: [claim('demo', true)] }, 'ok', 'all 1 NodeClaims'],
    ['that are not adopted yet', { claims: [claim('demo', false)] }, 'warn', '1 of 1 NodeClaims'],
    ['while node auto-provisioning is on', { mode: 'Auto' }, 'fail', 'manages the same NodeClaims'],
    ['of a pool that is there', { isOn: false, pools: { Machines: 'Machines' } }, 'ok', 'all 0 NodeClaims'],
    ['of a pool that is not there', { isOn: false, pools: { other: 'Machines' } }, 'fail', 'does not exist'],
    ['of a pool of another mode', { isOn: false, pools: { machines: 'User' } }, 'fail', 'has the mode "User"'],
    ['of a cluster that cannot be read', { refusal: new ArmRefusal(403, 'AuthorizationFailed', 'no') }, 'fail', 'no'],
  ])('%s', async (_what, world, status, said) => {
    const finding = await look(world)
    expect(finding.status).toBe(status)
    expect(finding.summary).toContain(said)
    expect((finding.remedies ?? []).length > 0).toBe(status !== 'ok')
  })

  test('of another cluster are named with the reason', async () => {
    const { details } = await look({ claims: [claim('other', false)] })
    expect(details?.[0]).toContain('this is cluster "demo"')
  })
})
