import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import type { VmSize } from '../../../../activities/azure/catalogue/sku.ts'
import { validateObject } from '../../validate/validate-object.ts'
import { agentPoolsOf } from '../cluster/agent-pools.ts'
import { type Proposal, proposalsFor, writeProposals } from './propose.ts'

type Profile = NonNullable<Parameters<typeof agentPoolsOf>[1]['profiles']>[number]

const folder = mkdtempSync(join(tmpdir(), 'joiner-propose-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const user: Profile = { name: 'user1', mode: 'User', osType: 'Linux', vmSize: 'Standard_D4s_v5', maxPods: 110 }
const d4 = { name: 'Standard_D4s_v5', vCpus: 4, memoryGib: 16 } as VmSize

/** What is proposed in place of one agent pool that ARM knows and that has no nodes now. */
function proposed(profile: Profile, taken: readonly string[] = []): readonly Proposal[] {
  const pools = agentPoolsOf([], { profiles: [{ ...user, ...profile }], region: 'westus2' })
  return proposalsFor(pools, { sizes: new Map([[d4.name, d4]]), taken: new Set(taken) })
}

interface PoolJson {
  readonly spec: {
    readonly limits?: object
    readonly template: {
      readonly spec: {
        readonly requirements: readonly { readonly key: string; readonly values: readonly string[] }[]
        readonly taints?: object
      }
    }
  }
}

const specOf = ([proposal]: readonly Proposal[]) => ((proposal?.nodePool ?? {}) as PoolJson).spec
const valuesOf = (all: readonly Proposal[], key: string) =>
  specOf(all).template.spec.requirements.find((one) => one.key === key)?.values

describe('in place of an agent pool', () => {
  test.each<[string, Profile, string, readonly string[] | undefined]>([
    ['any size of the family is taken', {}, 'karpenter.azure.com/sku-family', ['D']],
    [
      'GPU sizes stay',
      { vmSize: 'Standard_NC24ads_A100_v4' },
      'node.kubernetes.io/instance-type',
      ['Standard_NC24ads_A100_v4'],
    ],
    ['Arm sizes stay Arm', { vmSize: 'Standard_D4ps_v5' }, 'kubernetes.io/arch', ['arm64']],
    ['spot stays spot', { scaleSetPriority: 'Spot' }, 'karpenter.sh/capacity-type', ['spot']],
    ['zones stay', { availabilityZones: ['1', '3'] }, 'topology.kubernetes.io/zone', ['westus2-1', 'westus2-3']],
    ['no zone stays no zone', {}, 'karpenter.azure.com/placement-scope', ['regional']],
  ])('%s', (_, profile, key, values) => {
    expect(valuesOf(proposed(profile), key)).toEqual(values)
  })

  test('the most nodes become limits, and without them a note says so', () => {
    expect(specOf(proposed({ enableAutoScaling: true, minCount: 0, maxCount: 3 })).limits).toEqual({
      cpu: '12',
      memory: '48Gi',
    })
    const fixed = proposed({ enableAutoScaling: false, maxCount: 3 })
    expect(fixed[0]?.notes.join('\n')).toMatch(/no limits/)
    expect(specOf(fixed).limits).toBeUndefined()
  })

  test('taints, FIPS, encryption, subnet and OS are kept', () => {
    const vnetSubnetID = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n'
    const all = proposed({
      nodeTaints: ['gpu=yes:NoSchedule', 'odd'],
      enableFIPS: true,
      enableEncryptionAtHost: true,
      vnetSubnetID,
      osSKU: 'AzureLinux',
    })
    expect(specOf(all).template.spec.taints).toEqual([{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }])
    expect(all[0]?.nodeClass).toMatchObject({
      spec: {
        imageFamily: 'AzureLinux',
        fipsMode: 'FIPS',
        security: { encryptionAtHost: true },
        vnetSubnetID,
        maxPods: 110,
      },
    })
  })

  test.each([{ mode: 'System' }, { osType: 'Windows' }])('of %o there is nothing', (profile) => {
    expect(proposed(profile)).toEqual([])
  })

  test('a name that the cluster has already is not taken again', () => {
    expect(proposed({}, ['user1']).map(({ name }) => name)).toEqual(['user1-joiner'])
  })

  test('what no AKSNodeClass can say is left out, so that all is valid', () => {
    for (const profile of [
      { maxPods: 5, osDiskSizeGB: 4095 },
      { osDiskSizeGB: 0 },
      { osSKU: 'Ubuntu2404', nodeLabels: { 'kubernetes.azure.com/x': 'y', a: 'b' } },
    ])
      for (const { nodePool, nodeClass } of proposed(profile))
        for (const object of [nodePool, nodeClass])
          expect(validateObject(object as Record<string, unknown>)).toMatchObject({ kind: 'checked', errors: [] })
  })
})

describe('manifests', () => {
  const two = agentPoolsOf([], { profiles: [user, { ...user, name: 'user2' }], region: 'westus2' })
  const both = proposalsFor(two, { sizes: new Map(), taken: new Set() })

  test('are one file', () => {
    const file = join(folder, 'all.yaml')
    expect(writeProposals(file, both)).toBe(`wrote 2 NodePools to ${file}`)
    const kinds = parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.get('kind'))
    expect(kinds).toEqual(['NodePool', 'AKSNodeClass', 'NodePool', 'AKSNodeClass'])
    expect(readFileSync(file, 'utf8')).toMatch(/^# in place of agent pool user1 \(Standard_D4s_v5\)$/m)
  })

  test('are a file each in a folder that need not be there', () => {
    writeProposals(join(folder, 'new', 'pools'), both)
    expect(readdirSync(join(folder, 'new', 'pools')).toSorted()).toEqual(['user1.yaml', 'user2.yaml'])
  })

  test('replace no file', () => {
    const file = join(folder, 'once.yml')
    writeProposals(file, both)
    expect(() => writeProposals(file, both)).toThrow(
      /--write-nodepools .*once\.yml: it is there already; remove it, or name another/,
    )
  })
})
