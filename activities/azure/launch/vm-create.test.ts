import { expect, it } from 'vitest'
import type { NodeClass } from '../../../api/objects.ts'
import { nodeClassHash, nodeClassHashVersion } from '../../../core/node-class/node-class-hash.ts'
import type { RequirementSpec, Taint } from '../../../core/objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { requirements } from '../../../core/requirements/requirements.ts'
import { parseResources } from '../../../core/resources.ts'
import { quantity } from '../../../core/values/quantity.ts'
import { cseEnvironment } from '../../../deploy/local/azure/boot/cse-environment.ts'
import { NodeConfig } from '../../../deploy/local/azure/boot/node-config.ts'
import { type Judgement, judge, unlistedIn } from '../../../test/azure-fields/judge.ts'
import { writesOf } from '../../../test/azure-fields/requests.ts'
import { fakeArm } from '../../../test/fake-arm.ts'
import { forbiddenDifferences, type Variables, withoutOwnFields } from '../../../test/vectors/azure-differences.ts'
import {
  type GoldenOptions,
  goldenConfig,
  goldenNodeClass,
  goldenPrices,
  goldenSizes,
} from '../../../test/vectors/golden-cases.ts'
import { goldenSuite } from '../../../test/vectors/golden-suite.ts'
import { parseApiVersions } from '../arm/api-versions.ts'
import { instanceTypes } from '../catalogue/instance-types.ts'
import { osDiskPlacement } from '../catalogue/os-disk.ts'
import type { VmSize } from '../catalogue/sku.ts'
import { billingExtension, billingExtensionName } from '../in-place/billing-extension.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'
import { chooseLaunch } from './choose-launch.ts'
import { NetworkFacts, type NodeNetwork } from './network-facts.ts'
import { osDiskName } from './os-disk-name.ts'
import { launchRecord } from './record-launch.ts'
import { claimNameOf, vmName, vmTags } from './virtual-machine.ts'
import { vmRequest } from './vm-request.ts'

type Json = Readonly<Record<string, unknown>>

const listed = writesOf().then(judge)
const listedFor = async (part: string) =>
  (await listed).find(({ what }) => what === `PUT Microsoft.Compute/virtualMachines${part}`) as Judgement

interface CreateCase {
  readonly name: string
  readonly region: string
  readonly options: GoldenOptions
  readonly azure: { readonly networkSecurityGroup: string; readonly loadBalancers: readonly unknown[] }
  readonly error?: string
  readonly nodeClass: {
    readonly defaultedSpec: Json
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
    readonly resourceGroup: string
    readonly vmName: string
    readonly nicName: string
    readonly vm: Json & { readonly zones: readonly string[] | null; readonly tags: Json; readonly properties: Json }
    readonly nic: { readonly location: string; readonly tags: Json; readonly properties: NicProperties }
    readonly extensions: readonly { readonly extensionName: string; readonly body: Json & { readonly tags: Json } }[]
    readonly bootstrap: {
      readonly kubeletFlags: Readonly<Record<string, string>>
      readonly nodeLabels: Readonly<Record<string, string>>
      readonly variables: Variables
    }
    readonly returnedNodeClaim: {
      readonly labels: Readonly<Record<string, string>>
      readonly annotations: Readonly<Record<string, string>>
      readonly providerID: string
      readonly imageID: string
      readonly capacity: Readonly<Record<string, string>>
      readonly allocatable: Readonly<Record<string, string>>
    }
  }
}

interface NicProperties extends Json {
  readonly ipConfigurations: readonly { readonly name: string; readonly properties: Json }[]
}

const uid = 'claim-uid'
const token = 'abcdef.0123456789abcdef'

/** Prepares everything that a launch works with, up to the choice of the offering. */
async function launchOf({ region, options, azure, nodeClass, nodeClaim }: CreateCase) {
  const config = goldenConfig(region, options)
  const spec = nodeClass.defaultedSpec
  const isDnsOn = nodeClass.status.localDNSState === 'Enabled'
  const stored = goldenNodeClass(isDnsOn ? { ...spec, localDNS: { mode: 'Required' } } : spec, {
    images: nodeClass.status.images ?? [],
    kubernetesVersion: nodeClass.status.kubernetesVersion ?? '',
  })
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
  const claim = {
    metadata: { ...stored.metadata, name: nodeClaim.metadata.name, uid, labels: nodeClaim.metadata.labels ?? {} },
    spec: {
      taints: nodeClaim.spec.taints ?? [],
      startupTaints: nodeClaim.spec.startupTaints ?? [],
      requirements: nodeClaim.spec.requirements,
      nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
      requests: parseResources(nodeClaim.spec.resources?.requests),
    },
  }
  const network = await networkOf(azure, options.nodeResourceGroup)
  return {
    config,
    spec,
    stored,
    settings,
    sizes,
    claim,
    network,
    choice: chooseLaunch(types, { claim, nodeClass: stored }),
  }
}

/** Returns the facts as the product reads them, from lists as ARM answers them. */
async function networkOf(azure: CreateCase['azure'], nodeResourceGroup: string): Promise<NodeNetwork> {
  const name = azure.networkSecurityGroup
  const id = `/subscriptions/12345678-1234-1234-1234-123456789012/resourceGroups/${nodeResourceGroup}/providers/Microsoft.Network/networkSecurityGroups/${name}`
  const arm = fakeArm(({ url }) => ({
    status: 200,
    body: { value: url.includes('loadBalancers') ? azure.loadBalancers : [{ id, name }] },
  }))
  const facts = new NetworkFacts(
    {
      securityGroups: () => arm.network.networkSecurityGroups.list(nodeResourceGroup),
      loadBalancers: () => arm.network.loadBalancers.list(nodeResourceGroup),
    },
    { nodeResourceGroup, log: undefined as never, now: () => 0 },
  )
  return { ...(await facts.network()), poolIds: (await facts.pools()).ids }
}

/** Returns what goes over the wire for the VM and for its extension. */
async function wireOf(
  launch: Awaited<ReturnType<typeof launchOf>>,
  versions = '',
): Promise<{ readonly vm: VmOnWire; readonly extension: Json }> {
  const { config, settings, sizes, claim, network, stored, choice } = launch
  if (choice.kind !== 'chosen') throw new Error(choice.message)
  const bodies: unknown[] = []
  const arm = fakeArm(({ body }) => {
    bodies.push(JSON.parse(body as string))
    return { status: 201, body: {} }
  })
  const { compute } = arm
  const vm = vmRequest({
    config: { ...config, apiVersions: parseApiVersions(versions) },
    nodeClass: settings,
    network,
    claim,
    chosen: choice.chosen,
    size: sizes.find(({ name }) => name === choice.chosen.typeName) as VmSize,
    imageId: choice.image.id,
    kubernetesVersion: stored.status.kubernetesVersion ?? '',
    attempt: 1,
    bootstrapToken: { token, secretUid: 'secret-uid' },
  })
  const nodePool = claim.metadata.labels['karpenter.sh/nodepool']
  const tags = vmTags({ config, nodeClass: settings, claim: { uid, ...(nodePool === undefined ? {} : { nodePool }) } })
  await compute.virtualMachines.createOrUpdate(config.nodeResourceGroup, 'vm', vm).submitted()
  await compute.virtualMachineExtensions
    .createOrUpdate(config.nodeResourceGroup, 'vm', billingExtensionName, billingExtension(config, tags))
    .submitted()
  return { vm: bodies[0] as VmOnWire, extension: bodies[1] as Json }
}

interface VmOnWire extends Json {
  readonly properties: Json & {
    readonly osProfile: Json & { readonly customData: string }
    readonly networkProfile: {
      readonly networkInterfaceConfigurations: readonly {
        readonly name: string
        readonly tags: Json
        readonly properties: NicProperties
      }[]
    }
  }
}

/*
 * What Joiner does otherwise on purpose, all of it:
 * - the NIC is a part of the VM's PUT, with deleteOption Delete; such a NIC has no allocation method and no location of its own;
 * - NIC and OS disk carry the attempt's number in their names, since Azure keeps a failed VM's NIC for a while; a disk's name, which has no
 *   tags, also says whose it is;
 * - tags say which NodeClaim (by UID) a VM was made for, and which bootstrap token (by the UID of its Secret) it holds;
 * - where the first local disk of a size is too small for the OS disk, a later one is taken before a managed disk;
 * - names and types that the URL of a PUT says are not repeated in its body.
 */
const attemptName = (name: string) => `${name}-1`
const withUid = (tags: Json) => ({
  ...tags,
  'joiner.sh_cluster-uid': 'cluster-uid',
  'joiner.sh_nodeclaim-uid': uid,
})

/** Returns the settings of an OS disk on a local disk that is not the size's first. */
function laterDisk({ choice, sizes, settings }: Awaited<ReturnType<typeof launchOf>>): Json {
  const size = sizes.find(({ name }) => choice.kind === 'chosen' && name === choice.chosen.typeName)
  const placement = osDiskPlacement(size ?? {}, settings)
  const isFirst = placement === size?.localDisks?.[0]?.placement
  return isFirst || placement === undefined
    ? {}
    : { caching: 'ReadOnly', diffDiskSettings: { option: 'Local', placement } }
}

function expectedVm({ vm }: NonNullable<CreateCase['expected']>, ownDisk: Json): Json {
  const { name: _inUrl, zones, tags, ...rest } = vm
  const { networkProfile: _apart, storageProfile, ...properties } = vm.properties
  const { osDisk, ...storage } = storageProfile as Json & { readonly osDisk: Json & { readonly name: string } }
  return {
    ...rest,
    tags: { ...withUid(tags), 'joiner.sh_bootstrap-token-uid': 'secret-uid' },
    ...(zones === null || zones.length === 0 ? {} : { zones }),
    properties: {
      ...properties,
      storageProfile: {
        ...storage,
        osDisk: { ...osDisk, ...ownDisk, name: osDiskName('cluster-uid', claimNameOf(osDisk.name), 1) },
      },
    },
  }
}

function expectedNic({ nic, nicName }: NonNullable<CreateCase['expected']>): Json {
  const { ipConfigurations, ...properties } = nic.properties
  return {
    name: attemptName(nicName),
    tags: withUid(nic.tags),
    properties: {
      ...properties,
      primary: true,
      deleteOption: 'Delete',
      ipConfigurations: ipConfigurations.map(
        ({ name, properties: { privateIPAllocationMethod: _notInline, ...ip } }) => ({
          name: name === nicName ? attemptName(name) : name,
          properties: ip,
        }),
      ),
    },
  }
}

/** Returns the node configuration that a VM would find in its custom data. */
function nodeConfig(customData: string) {
  const document = Buffer.from(customData, 'base64').toString()
  const payload = /<<'JOINER_CONFIG' > \S+\n([A-Za-z0-9+/=]+)\nJOINER_CONFIG/.exec(document)?.[1]
  return JSON.parse(Buffer.from(payload ?? '', 'base64').toString()) as {
    readonly kubelet_config: {
      readonly kubelet_flags: Readonly<Record<string, string>>
      readonly kubelet_node_labels: Readonly<Record<string, string>>
    }
  }
}

/** Returns the amounts of a flag such as `--kube-reserved`, whose order and form are free. */
const amounts = (text = '') =>
  Object.fromEntries(text.split(',').map((part) => [part.split('=')[0], quantity(part.split('=')[1] ?? '0').nano]))
const comparable = (flags: Readonly<Record<string, string>>) => ({
  ...flags,
  '--kube-reserved': amounts(flags['--kube-reserved']),
  '--system-reserved': amounts(flags['--system-reserved']),
})
const nanos = (given: Readonly<Record<string, string>> = {}) =>
  Object.fromEntries(Object.entries(given).map(([name, amount]) => [name, quantity(amount).nano]))

/** Replaces Joiner's zone with the case's, where the claim leaves several zones and the choice is free. */
function settleZone(golden: CreateCase, launch: Awaited<ReturnType<typeof launchOf>>) {
  const { choice } = launch
  const zone = golden.expected?.returnedNodeClaim.labels['topology.kubernetes.io/zone']
  if (choice.kind !== 'chosen' || zone === undefined || zone === choice.chosen.zone) return launch
  const { instanceType, capacityType } = choice.chosen
  const wanted = requirements(golden.nodeClaim.spec.requirements).get('topology.kubernetes.io/zone')
  expect(wanted?.complement === false && wanted.values.size === 1).toBe(false)
  const priceIn = (of: string) =>
    instanceType.offerings.find(
      ({ requirements: has }) =>
        has.get('topology.kubernetes.io/zone')?.values.has(of) &&
        has.get('karpenter.sh/capacity-type')?.values.has(capacityType),
    )?.price
  expect(priceIn(zone)).toBe(priceIn(choice.chosen.zone))
  return { ...launch, choice: { ...choice, chosen: { ...choice.chosen, zone } } }
}

goldenSuite('azure/vm-create', 42, ({ cases }: { readonly cases: readonly CreateCase[] }) => {
  const failing = cases.filter(({ error }) => error !== undefined)
  it.for(failing)('$name fails before any PUT', async (golden) => {
    const { choice } = await launchOf(golden)
    const size = /no compatible images found for instance type (\S+)/.exec(golden.error ?? '')?.[1]
    if (size === undefined) {
      expect(golden.error).toContain('insufficient capacity')
      expect(choice).toMatchObject({ kind: 'exhausted', message: expect.stringContaining('unavailable') })
    } else {
      expect(choice).toMatchObject({ kind: 'nodeClassNotReady', message: expect.stringContaining(`none for ${size}`) })
    }
  })

  const created = cases.filter(({ expected }) => expected !== undefined)
  it.for(created)('$name: the PUT of the VM', async (golden) => {
    const expected = golden.expected as NonNullable<CreateCase['expected']>
    const launch = settleZone(golden, await launchOf(golden))
    const { vm, extension } = await wireOf(launch)
    const { networkProfile, ...properties } = vm.properties
    const { customData } = properties.osProfile
    expect({
      ...vm,
      properties: withoutOwnFields({
        ...properties,
        osProfile: { ...properties.osProfile, customData: '<customData>' },
      }),
    }).toEqual(expectedVm(expected, laterDisk(launch)))
    expect(vm.properties).toHaveProperty('diagnosticsProfile', { bootDiagnostics: { enabled: true } })
    expect(networkProfile.networkInterfaceConfigurations).toEqual([expectedNic(expected)])
    expect(launch.config.nodeResourceGroup).toBe(expected.resourceGroup)
    expect(vmName(launch.claim.metadata.name)).toBe(expected.vmName)
    const config = nodeConfig(customData)
    expect(comparable(config.kubelet_config.kubelet_flags)).toEqual(comparable(expected.bootstrap.kubeletFlags))
    expect(config.kubelet_config.kubelet_node_labels).toEqual(expected.bootstrap.nodeLabels)
    expect(forbiddenDifferences(cseEnvironment(new NodeConfig(config)), expected.bootstrap.variables)).toEqual([])
    expect(expected.extensions.map(({ extensionName }) => extensionName)).toEqual([billingExtensionName])
    const { name: _inUrl, type: _too, tags, ...body } = expected.extensions[0]?.body ?? { tags: {} }
    expect(extension).toEqual({ ...body, tags: withUid(tags) })
  })

  it.for(created)('$name: the PUT of the VM from 2025-11-01 on says its security type', async (golden) => {
    const launch = await launchOf(golden)
    const { vm: before } = await wireOf(launch)
    const { vm: after } = await wireOf(launch, 'Microsoft.Compute/virtualMachines=2025-11-01')
    const securityProfile = { securityType: 'Standard', ...(before.properties['securityProfile'] as Json | undefined) }
    expect(after).toEqual({ ...before, properties: { ...before.properties, securityProfile } })
  })

  it.for(created)('$name: the PUTs of VM and extension have fields of the list only', async (golden) => {
    const { vm, extension } = await wireOf(await launchOf(golden))
    expect([
      ...unlistedIn([vm], await listedFor('')),
      ...unlistedIn([extension], await listedFor('/extensions')),
    ]).toEqual([])
  })

  it.for(created)('$name: what the NodeClaim records', async (golden) => {
    const { returnedNodeClaim: expected } = golden.expected as NonNullable<CreateCase['expected']>
    const { config, spec, stored, claim, choice } = settleZone(golden, await launchOf(golden))
    if (choice.kind !== 'chosen') throw new Error(choice.message)
    const stamped = {
      ...stored,
      metadata: {
        ...stored.metadata,
        annotations: {
          [annotations.nodeClassHash]: nodeClassHash(spec),
          [annotations.nodeClassHashVersion]: nodeClassHashVersion,
        },
      },
    }
    const record = launchRecord({
      config,
      nodeClass: stamped,
      claim,
      chosen: choice.chosen,
      imageId: choice.image.id,
      price: {},
    })
    const { 'karpenter.sh/nodepool': nodePool } = claim.metadata.labels
    const own = nodePool === undefined ? {} : { 'karpenter.sh/nodepool': nodePool }
    expect({ ...own, ...record.labels }).toEqual(expected.labels)
    // The names of tags are Joiner's own annotation.
    const { 'joiner.sh/tag-names': tagNames = '', ...hashes } = record.annotations
    expect(hashes).toEqual(expected.annotations)
    expect(JSON.parse(tagNames)).toContain('karpenter.azure.com_cluster')
    expect(record.status).toMatchObject({ providerID: expected.providerID, imageID: expected.imageID })
    expect(nanos(record.status.capacity)).toEqual(nanos(expected.capacity))
    expect(nanos(record.status.allocatable)).toEqual(nanos(expected.allocatable))
  })
})
