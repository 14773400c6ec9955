import { describe, expect, it } from 'vitest'
import type { NodeClass } from '../../../api/objects.ts'
import { machineNameOf } from '../../../core/node-claim/aks-machine.ts'
import type { RequirementSpec, Taint } from '../../../core/objects.ts'
import { parseResources } from '../../../core/resources.ts'
import { type Judgement, judge, unlistedIn } from '../../../test/azure-fields/judge.ts'
import { writesOf } from '../../../test/azure-fields/requests.ts'
import {
  type GoldenOptions,
  goldenConfig,
  goldenNodeClass,
  goldenPrices,
  goldenSizes,
} from '../../../test/vectors/golden-cases.ts'
import { goldenFunctions } from '../../../test/vectors/golden-functions.ts'
import { goldenSuite } from '../../../test/vectors/golden-suite.ts'
import { instanceTypes } from '../catalogue/instance-types.ts'
import type { VmSize } from '../catalogue/sku.ts'
import { chooseLaunch } from '../launch/choose-launch.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'
import { armMachine, machineBody } from './machine-body.ts'

type Json = Readonly<Record<string, unknown>>

interface MachineCase {
  readonly name: string
  readonly region: string
  readonly options: GoldenOptions
  readonly nodeClass: {
    readonly defaultedSpec: Json
    readonly status: NodeClass['status'] & { readonly localDNSState: 'Enabled' | 'Disabled' | '' }
  }
  readonly nodeClaim: {
    readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
    readonly spec: {
      readonly requirements: readonly RequirementSpec[]
      readonly taints?: readonly Taint[]
      readonly startupTaints?: readonly Taint[]
    }
  }
  readonly expected: { readonly machineName: string; readonly machine: Json }
}

interface Change {
  readonly spec?: Json
  readonly claim?: Partial<MachineCase['nodeClaim']['spec']>
}

/** The body that a case leads to, with a test's changes of class and claim. */
function bodyOf(
  { region, options, nodeClass, nodeClaim }: MachineCase,
  { spec = {}, claim: changed = {} }: Change = {},
) {
  const config = goldenConfig(region, options)
  const { status } = nodeClass
  const stored = goldenNodeClass(
    { ...nodeClass.defaultedSpec, ...spec },
    {
      images: status.images,
      kubernetesVersion: status.kubernetesVersion ?? '',
      ...(status.localDNSState === '' ? {} : { localDnsState: status.localDNSState }),
    },
  )
  const settings = nodeClassSettings(stored, config)
  const sizes = goldenSizes(region)
  const types = instanceTypes({
    sizes,
    region,
    nodeClass: settings,
    prices: goldenPrices(region),
    isMarked: () => false,
    hasQuota: () => true,
    memoryOverheadPercent: options.vmMemoryOverheadPercent,
    nodeResourceGroup: options.nodeResourceGroup,
  })
  const { metadata } = nodeClaim
  const given = { ...nodeClaim.spec, ...changed }
  const claim = {
    metadata: { ...stored.metadata, name: metadata.name, uid: 'claim-uid', labels: metadata.labels ?? {} },
    spec: {
      taints: given.taints ?? [],
      startupTaints: given.startupTaints ?? [],
      requirements: given.requirements,
      nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
      requests: parseResources({}),
    },
  }
  const choice = chooseLaunch(types, { claim, nodeClass: stored })
  if (choice.kind !== 'chosen') throw new Error(choice.message)
  return machineBody({
    config,
    nodeClass: settings,
    claim,
    chosen: choice.chosen,
    size: sizes.find(({ name }) => name === choice.chosen.typeName) as VmSize,
    imageId: choice.image.id,
    kubernetesVersion: stored.status.kubernetesVersion ?? '',
    attempt: 1,
  })
}

const ownTags = {
  'joiner.sh_cluster-uid': 'cluster-uid',
  'joiner.sh_nodeclaim-uid': 'claim-uid',
  'joiner.sh_attempt': '1',
}

/** What Karpenter sends, with what Joiner adds: the tags that prove ownership, and the label that keeps startup taints from coming twice. */
function withOwn({ machine }: MachineCase['expected']): Json {
  const properties = machine['properties'] as {
    readonly tags: Json
    readonly kubernetes: { readonly nodeLabels: Json }
  }
  const { tags, kubernetes } = properties
  const nodeLabels = { ...kubernetes.nodeLabels, 'karpenter.sh/do-not-sync-taints': 'true' }
  return {
    ...machine,
    properties: { ...properties, tags: { ...tags, ...ownTags }, kubernetes: { ...kubernetes, nodeLabels } },
  }
}

goldenSuite('azure/machine-create', 19, ({ cases }: { readonly cases: readonly MachineCase[] }) => {
  it.each(cases)('$name', (golden) => {
    expect(machineNameOf(golden.nodeClaim.metadata.name)).toBe(golden.expected.machineName)
    expect(armMachine(bodyOf(golden))).toEqual(withOwn(golden.expected))
  })

  it('all have fields of the list only', async () => {
    const listed = judge(await writesOf()).find(({ what }) => what.endsWith('/machines')) as Judgement
    const bodies = cases.map((golden) => armMachine(bodyOf(golden)))
    expect(unlistedIn(bodies, listed)).toEqual([])
  })

  const [minimal] = cases as [MachineCase]

  describe('beyond the vectors', () => {
    it('taints of both kinds come once, with the one that keeps pods away', () => {
      const taint: Taint = { key: 'a', value: 'b', effect: 'NoSchedule' }
      const { shared } = bodyOf(minimal, { claim: { taints: [taint], startupTaints: [taint] } })
      expect(shared['kubernetes']).toMatchObject({
        nodeInitializationTaints: ['a=b:NoSchedule', 'karpenter.sh/unregistered:NoExecute'],
        nodeTaints: [],
      })
    })

    it.each<[string, Json, string, unknown]>([
      ['a subnet', { vnetSubnetID: '/subnets/own' }, 'network', { vnetSubnetID: '/subnets/own' }],
      [
        'kernel settings',
        {
          linuxOSConfig: {
            swapFileSize: '2Gi',
            transparentHugePageDefrag: 'defer',
            sysctls: {
              netIPv4TCPKeepaliveIntvl: 9,
              netIPv4IPLocalPortRange: '1 2',
              vmSwappiness: 1,
              netIPv4TCPTwReuse: true,
            },
          },
        },
        'operatingSystem',
        {
          linuxProfile: {
            linuxOSConfig: {
              swapFileSizeMB: 2048,
              transparentHugePageDefrag: 'defer',
              sysctls: {
                netIpv4TcpkeepaliveIntvl: 9,
                netIpv4IpLocalPortRange: '1 2',
                vmSwappiness: 1,
                netIpv4TcpTwReuse: true,
              },
            },
          },
        },
      ],
      [
        'a period of quota, and pods',
        { maxPods: 40, kubelet: { cpuCFSQuotaPeriod: '50ms', failSwapOn: false } },
        'kubernetes',
        { maxPods: 40, kubeletConfig: { cpuCfsQuotaPeriod: '50ms', failSwapOn: false, containerLogMaxSizeMB: 50 } },
      ],
    ])('%s', (_what, spec, part, expected) => {
      expect(bodyOf(minimal, { spec }).shared[part]).toMatchObject(expected as Json)
    })

    const own = 'karpenter.sh/unregistered:NoExecute'
    const one: Taint = { key: 'a', value: 'b', effect: 'NoSchedule' }
    const two: Taint = { key: 'c', value: 'd', effect: 'NoExecute' }
    const three: Taint = { key: 'e', value: 'f', effect: 'PreferNoSchedule' }
    const unregistered: Taint = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' }

    it.each<[string, readonly Taint[], readonly Taint[], readonly string[]]>([
      ['of both kinds', [one], [two], ['a=b:NoSchedule', 'c=d:NoExecute', own]],
      [
        'that has the one of new nodes at startup',
        [one],
        [two, unregistered],
        ['a=b:NoSchedule', 'c=d:NoExecute', own],
      ],
      ['that has the one of new nodes for good', [one, unregistered], [two], ['a=b:NoSchedule', own, 'c=d:NoExecute']],
      ['of no kind', [], [], [own]],
      ['without startup taints', [one], [], ['a=b:NoSchedule', own]],
      ['without other taints', [], [two], ['c=d:NoExecute', own]],
      [
        'of several startup taints',
        [one],
        [two, three],
        ['a=b:NoSchedule', 'c=d:NoExecute', 'e=f:PreferNoSchedule', own],
      ],
      ['of several effects', [one, two, three], [], ['a=b:NoSchedule', 'c=d:NoExecute', 'e=f:PreferNoSchedule', own]],
      [
        'without a value',
        [{ key: 'x', value: '', effect: 'NoSchedule' }],
        [{ key: 'y', effect: 'NoExecute' }],
        ['x:NoSchedule', 'y:NoExecute', own],
      ],
    ])('all taints of a claim %s are initial ones', (_what, taints, startupTaints, expected) => {
      expect(bodyOf(minimal, { claim: { taints, startupTaints } }).shared['kubernetes']).toMatchObject({
        nodeInitializationTaints: expected,
        nodeTaints: [],
      })
    })

    const labelled = (labels?: Readonly<Record<string, string>>): MachineCase => {
      const { name } = minimal.nodeClaim.metadata
      const metadata = labels === undefined ? { name } : { name, labels }
      return { ...minimal, nodeClaim: { ...minimal.nodeClaim, metadata } }
    }
    const modeKey = 'kubernetes.azure.com/mode'

    it.each([
      [undefined, 'User'],
      ['system', 'System'],
      ['user', 'User'],
      ['', 'User'],
      ['invalid-mode', 'User'],
    ])('with the mode %s is of the mode %s', (mode, expected) => {
      expect(bodyOf(labelled(mode === undefined ? {} : { [modeKey]: mode })).shared['mode']).toBe(expected)
    })

    const labelsOf = (golden: MachineCase, requirements = golden.nodeClaim.spec.requirements) =>
      (bodyOf(golden, { claim: { requirements } }).shared['kubernetes'] as { readonly nodeLabels: Json }).nodeLabels
    const inValues = (key: string, value: string): RequirementSpec => ({ key, operator: 'In', values: [value] })

    it('has the labels of its claim, and those that its requirements and its choice decide', () => {
      const custom = { 'z-label': 'z', 'custom-label': 'custom-value', 'long-label': 'a'.repeat(1000) }
      const given = minimal.nodeClaim.spec.requirements
      const found = labelsOf(labelled(custom), [...given, inValues('custom-requirement', 'custom-value')])
      expect(found).toMatchObject({ ...custom, 'custom-requirement': 'custom-value' })
      expect(labelsOf(labelled(custom), [...given, inValues('custom-requirement', 'custom-value')])).toEqual(found)
    })

    it.each(['on-demand', 'spot'])(
      'has the label of its capacity type %s, also without labels of its claim',
      (type) => {
        const key = 'karpenter.sh/capacity-type'
        const others = minimal.nodeClaim.spec.requirements.filter((one) => one.key !== key)
        expect(labelsOf(labelled(), [...others, inValues(key, type)])).toMatchObject({ [key]: type })
      },
    )

    it.each([
      ['kubernetes.io/custom-label', false],
      ['k8s.io/custom-label', false],
      ['kubelet.kubernetes.io/custom-label', true],
    ])('has the label %s of its claim: %s', (key, has) => {
      expect(key in labelsOf(labelled({ [key]: 'custom-value' }))).toBe(has)
    })

    it.each([
      ['Standard_D64s_v3', undefined, 'Ephemeral', 128],
      ['Standard_D64s_v3', 256, 'Ephemeral', 256],
      ['Standard_D2s_v3', 30, 'Ephemeral', 30],
      ['Standard_D2s_v3', undefined, 'Managed', 128],
      // Its cache has 30 GiB, its temporary disk 160.
      ['Standard_B20ms', undefined, 'Ephemeral', 128],
      ['Standard_B20ms', 160, 'Ephemeral', 160],
      ['Standard_B20ms', 161, 'Managed', 161],
    ])('of the size %s, with a disk of %s GB, has a disk that is %s of %i GB', (size, osDiskSizeGB, osDiskType, gb) => {
      const requirements = [inValues('node.kubernetes.io/instance-type', size)]
      const spec = osDiskSizeGB === undefined ? {} : { osDiskSizeGB }
      expect(bodyOf(minimal, { spec, claim: { requirements } }).shared['operatingSystem']).toMatchObject({
        osDiskType,
        osDiskSizeGB: gb,
      })
    })

    it.each<[string, Json, string]>([
      ['asks for a managed disk', { osDiskType: 'Managed' }, 'Managed'],
      ['has Trusted Launch, for which no disk has room', { security: { trustedLaunch: { vtpm: true } } }, 'Managed'],
      ['has encryption at host', { security: { encryptionAtHost: true } }, 'Ephemeral'],
    ])('of a class that %s has a disk of that kind', (_what, spec, osDiskType) => {
      const requirements = [inValues('node.kubernetes.io/instance-type', 'Standard_B20ms')]
      const { shared } = bodyOf(minimal, { spec: { osDiskSizeGB: 160, ...spec }, claim: { requirements } })
      expect(shared['operatingSystem']).toMatchObject({ osDiskType })
    })

    it('has no settings of the kubelet where the class has none', () => {
      expect(bodyOf(minimal).shared['kubernetes']).not.toHaveProperty('kubeletConfig')
    })

    it('a regional machine names no zone', () => {
      expect(armMachine({ zones: [], tags: {}, shared: {} })).toEqual({ properties: { tags: {} } })
    })
  })
})

goldenFunctions({
  aksMachineNameFromNodeClaimName: [5, ({ nodeClaim }: { readonly nodeClaim: string }) => machineNameOf(nodeClaim)],
})

describe('no machine', () => {
  it.each(['', '1st-abcde', 'pool.a-abcde', 'a'.repeat(35), `a-${'b'.repeat(40)}`])('is called after %s', (name) => {
    expect(machineNameOf(name)).toBeUndefined()
  })
})
