import { describe, expect, it } from 'vitest'
import { allocatable, type InstanceType } from '../../core/instance-type.ts'
import type { NodeClass, RequirementSpec, Taint } from '../../core/objects.ts'
import { quantity } from '../../core/quantity.ts'
import { requirements } from '../../core/requirements.ts'
import { parseResources } from '../../core/resources.ts'
import {
  type GoldenOptions,
  goldenConfig,
  goldenNodeClass,
  goldenPrices,
  goldenSizes,
  goldenSubnet,
} from '../../test/golden-cases.ts'
import { goldenSuite } from '../../test/golden-suite.ts'
import type { AzureConfig } from './azure-config.ts'
import { chooseOffering } from './choose-offering.ts'
import { selectImage } from './images.ts'
import { instanceTypes } from './instance-types.ts'
import { nodeClassSettings } from './node-class-settings.ts'
import { launchedLabels, requiresUltraSsd } from './node-labels.ts'
import type { VmSize } from './sku.ts'
import { attemptOf, providerId } from './virtual-machine.ts'
import { vmRequest } from './vm-request.ts'

interface CreateCase {
  readonly name: string
  readonly region: string
  readonly options: GoldenOptions
  readonly error?: string
  readonly nodeClass: {
    readonly defaultedSpec: Readonly<Record<string, unknown>>
    readonly status: Pick<NodeClass['status'], 'kubernetesVersion'> & {
      readonly images: NodeClass['status']['images'] | null
      readonly localDNSState: string
    }
  }
  readonly nodeClaim: {
    readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
    readonly spec: {
      readonly requirements: readonly RequirementSpec[]
      readonly taints?: readonly Taint[]
      readonly startupTaints?: readonly Taint[]
      readonly resources?: { readonly requests?: Readonly<Record<string, string>> }
    }
  }
  readonly expected?: {
    readonly bootstrap: {
      readonly kubeletFlags: Readonly<Record<string, string>>
      readonly nodeLabels: Readonly<Record<string, string>>
    }
    readonly vm: {
      readonly tags: Readonly<Record<string, string>>
      readonly zones: readonly string[]
      readonly identity?: unknown
      readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>
    }
    readonly nic: { readonly properties: { readonly ipConfigurations: readonly { readonly name: string }[] } }
    readonly returnedNodeClaim: {
      readonly labels: Readonly<Record<string, string>>
      readonly providerID: string
      readonly imageID: string
      readonly capacity: Readonly<Record<string, string>>
      readonly allocatable: Readonly<Record<string, string>>
    }
  }
}

const uid = 'claim-uid'
const token = 'abcdef.0123456789abcdef'

function create({ region, options, nodeClass, nodeClaim }: CreateCase) {
  const config = goldenConfig(region, options)
  const stored = goldenNodeClass({
    ...nodeClass.defaultedSpec,
    ...(nodeClass.status.localDNSState === 'Enabled' ? { localDNS: { mode: 'Required' } } : {}),
  })
  const settings = nodeClassSettings(stored, config)
  const sizes = goldenSizes(`skus/${region}.json`, region)
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
  const wanted = requirements(nodeClaim.spec.requirements)
  const requests = parseResources(nodeClaim.spec.resources?.requests)
  const choice = chooseOffering(types, { uid, requirements: wanted, requests })
  const image = choice && selectImage(nodeClass.status.images ?? [], choice.instanceType)
  if (choice === undefined || image === undefined) return undefined
  const { instanceType, zone, capacityType } = choice
  const chosen = { typeName: instanceType.name, instanceType, zone, capacityType, ultraSsd: requiresUltraSsd(wanted) }
  const body = vmRequest({
    config,
    nodeClass: settings,
    claim: claimOf(nodeClaim),
    chosen,
    size: sizes.find(({ name }) => name === instanceType.name) as VmSize,
    imageId: image.id,
    kubernetesVersion: nodeClass.status.kubernetesVersion ?? '',
    attempt: 1,
    bootstrapToken: token,
  })
  return { config, instanceType, image, body, labels: launchedLabels(chosen, wanted, region) }
}

function claimOf({ metadata, spec }: CreateCase['nodeClaim']) {
  return {
    metadata: { ...goldenNodeClass({}).metadata, name: metadata.name, uid, labels: metadata.labels ?? {} },
    spec: {
      taints: spec.taints ?? [],
      startupTaints: spec.startupTaints ?? [],
      requirements: spec.requirements,
      nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
      requests: {},
    },
  }
}

/** The node configuration that a VM would find in its custom data. */
function nodeConfig(customData: string | undefined) {
  const document = Buffer.from(customData ?? '', 'base64').toString()
  const payload = /<<'JOINER_CONFIG' > \S+\n([A-Za-z0-9+/=]+)\nJOINER_CONFIG/.exec(document)?.[1]
  return JSON.parse(Buffer.from(payload ?? '', 'base64').toString()) as {
    readonly kubelet_config: {
      readonly kubelet_flags: Readonly<Record<string, string>>
      readonly kubelet_node_labels: Readonly<Record<string, string>>
    }
    readonly bootstrapping_config: { readonly tls_bootstrapping_token: string }
  }
}

// A choice among equal zones is free; labels that follow from it are compared by the case's own placement.
const free: ReadonlySet<string> = new Set(['topology.kubernetes.io/zone'])
const fixed = (labels: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(labels).filter(([key]) => !free.has(key)))

function sameFlags(flags: Readonly<Record<string, string>>) {
  const reserved = (text = '') =>
    Object.fromEntries(
      text.split(',').map((part) => [part.split('=')[0], String(quantity(part.split('=')[1] ?? '0').nano)]),
    )
  return { ...flags, '--kube-reserved': reserved(flags['--kube-reserved']) }
}

const nanos = (amounts: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, quantity(amount).nano]))
const capacityOf = (type: InstanceType) =>
  Object.fromEntries(Object.entries(type.capacity).flatMap(([k, v]) => (v.nano === 0n ? [] : [[k, v.nano]])))

goldenSuite('vectors/vm-create.json', 42, ({ cases }: { readonly cases: readonly CreateCase[] }) => {
  it.for(cases)('$name', (golden) => {
    const made = create(golden)
    const { expected } = golden
    if (expected === undefined) return expect(made).toBeUndefined()
    if (made === undefined) throw new Error('nothing was chosen')
    const { body, config, image, instanceType } = made
    const { kubelet_config: kubelet } = nodeConfig(body.osProfile?.customData)
    expect(sameFlags(kubelet.kubelet_flags)).toEqual(sameFlags(expected.bootstrap.kubeletFlags))
    expect(fixed(kubelet.kubelet_node_labels)).toEqual(fixed(expected.bootstrap.nodeLabels))
    expectBody(body, expected)
    expect(fixed({ ...golden.nodeClaim.metadata.labels, ...made.labels })).toMatchObject(
      fixed(expected.returnedNodeClaim.labels),
    )
    expect(providerId(config, golden.nodeClaim.metadata.name)).toBe(expected.returnedNodeClaim.providerID)
    expect(image.id).toBe(expected.returnedNodeClaim.imageID)
    expect(capacityOf(instanceType)).toEqual(nanos(expected.returnedNodeClaim.capacity))
    expect(allocatable(instanceType)['memory']?.nano).toBe(nanos(expected.returnedNodeClaim.allocatable)['memory'])
  })
})

/** The VM as upstream's, but for what Joiner does otherwise on purpose: the inline NIC, names with the attempt, the claim's UID. */
function expectBody(body: ReturnType<typeof vmRequest>, { vm, nic }: NonNullable<CreateCase['expected']>): void {
  const { osDisk, imageReference } = vm.properties['storageProfile'] ?? {}
  expect({ ...body.tags }).toEqual({ ...vm.tags, 'joiner.sh_nodeclaim-uid': uid })
  expect((body.zones ?? []).length).toBe(vm.zones.length)
  expect(body.identity).toEqual(vm.identity)
  expect(body.hardwareProfile).toEqual(vm.properties['hardwareProfile'])
  expect(body.storageProfile?.imageReference).toEqual(imageReference)
  expect({ ...body.storageProfile?.osDisk, name: '' }).toEqual({ ...(osDisk as object), name: '' })
  expect({ ...body.osProfile, customData: '' }).toEqual({ ...vm.properties['osProfile'], customData: '' })
  expect(body.priority).toBe(vm.properties['priority'])
  expect(body.evictionPolicy).toBe(vm.properties['evictionPolicy'])
  expect(body.billingProfile).toEqual(vm.properties['billingProfile'])
  expect(body.securityProfile).toEqual(vm.properties['securityProfile'])
  expect(body.additionalCapabilities).toEqual(vm.properties['additionalCapabilities'])
  const [inline] = body.networkProfile?.networkInterfaceConfigurations ?? []
  expect(inline?.ipConfigurations?.map(({ name }) => name).slice(1)).toEqual(
    nic.properties.ipConfigurations.map(({ name }) => name).slice(1),
  )
  expect(inline?.deleteOption).toBe('Delete')
}

describe('a request', () => {
  const config: AzureConfig = goldenConfig('westus2', {
    nodeResourceGroup: 'MC_rg',
    networkPlugin: 'azure',
    networkPluginMode: 'overlay',
    vmMemoryOverheadPercent: 0.075,
    vnetSubnetID: goldenSubnet,
    additionalTags: { 'team/owner': 'platform' },
  })
  const request = (attempt: number, labels: Readonly<Record<string, string>> = {}) =>
    vmRequest({
      config,
      nodeClass: nodeClassSettings(goldenNodeClass({}), config),
      claim: claimOf({ metadata: { name: 'default-abc', labels }, spec: { requirements: [] } }),
      chosen: { typeName: 'Standard_D4s_v5', zone: 'westus2-3', capacityType: 'spot', ultraSsd: false },
      size: { name: 'Standard_D4s_v5', arch: 'amd64', acceleratedNetworking: true } as VmSize,
      imageId: '/CommunityGalleries/g/images/i/versions/1',
      kubernetesVersion: '1.36.3',
      attempt,
      bootstrapToken: token,
    })

  it('names VM by the claim, NIC and disk by the attempt too', () => {
    const body = request(3, { 'karpenter.sh/nodepool': 'default' })
    expect(body.osProfile?.computerName).toBe('aks-default-abc')
    expect(body.storageProfile?.osDisk?.name).toBe('aks-default-abc-3')
    expect(body.networkProfile?.networkInterfaceConfigurations?.[0]?.name).toBe('aks-default-abc-3')
    expect(body.zones).toEqual(['3'])
    expect(attemptOf(body)).toBe(3)
    expect(body.tags).toMatchObject({ team_owner: 'platform', 'karpenter.sh_nodepool': 'default' })
  })

  it("does not give a node the labels of an earlier attempt's choice", () => {
    const body = request(2, { 'topology.kubernetes.io/zone': 'westus2-1', team: 'a' })
    const labels = nodeConfig(body.osProfile?.customData).kubelet_config.kubelet_node_labels
    expect(labels['topology.kubernetes.io/zone']).toBeUndefined()
    expect(labels['team']).toBe('a')
  })

  it('holds the token in its custom data and nowhere else', () => {
    const body = request(1)
    expect(nodeConfig(body.osProfile?.customData).bootstrapping_config.tls_bootstrapping_token).toBe(token)
    const { osProfile: _osProfile, ...rest } = body
    expect(JSON.stringify(rest)).not.toContain('0123456789abcdef')
  })
})
