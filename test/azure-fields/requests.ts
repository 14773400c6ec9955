// Every write about nodes that goes to ARM, made by the code of production from classes that use every field.
import type { VirtualMachine } from '@azure/arm-compute'
import { apiVersionOf, parseApiVersions } from '../../activities/azure/arm/api-versions.ts'
import type { AzureConfig } from '../../activities/azure/azure-config.ts'
import { gib } from '../../activities/azure/catalogue/os-disk.ts'
import type { VmSize } from '../../activities/azure/catalogue/sku.ts'
import { billingExtension, billingExtensionName } from '../../activities/azure/in-place/billing-extension.ts'
import { changeExtension, changeNic, changeVm } from '../../activities/azure/in-place/in-place-requests.ts'
import { virtualMachine } from '../../activities/azure/launch/virtual-machine.ts'
import { armMachine, machineBody } from '../../activities/azure/machines/machine-body.ts'
import { putMachine } from '../../activities/azure/machines/machines-api.ts'
import { nodeClassSettings } from '../../activities/azure/node-class/node-class-settings.ts'
import { fakeArm } from '../fake-arm.ts'
import { azureConfig } from '../fakes/azure-config.ts'
import { goldenNodeClass } from '../vectors/golden-cases.ts'
import { sampleSpec } from './sample-spec.ts'

/** A write to ARM. */
export interface Write {
  /** Method and type, such as `PUT Microsoft.Compute/virtualMachines`. */
  readonly what: string
  readonly apiVersion: string
  readonly body: unknown
}

/** As many classes as the longest enum of a class has values. */
const variants = [0, 1, 2, 3, 4]

/** Returns the writes with a setting of `azure.apiVersions`. */
export async function writesOf(setting = ''): Promise<readonly Write[]> {
  const apiVersions = parseApiVersions(setting)
  const writes: Write[] = []
  const azure = fakeArm(({ method, url, body }) => {
    const { pathname } = new URL(url)
    writes.push({
      what: `${method} ${typeIn(pathname)}`,
      apiVersion: apiVersionOf(pathname, apiVersions) ?? '',
      body: JSON.parse(body as string),
    })
    return { status: 200, body: {} }
  })
  for (const index of variants) await writeAll({ azure, config: configOf(index, apiVersions) }, index)
  return writes
}

type Arm = Parameters<typeof changeVm>[0]

async function writeAll(arm: Arm, index: number): Promise<void> {
  const { azure, config } = arm
  const group = config.nodeResourceGroup
  const { claim, chosen, nodeClass, size, imageId } = nodeOf(config, index)
  const vm = virtualMachine({
    config,
    nodeClass,
    network: { securityGroupId: '/nsg', securityGroupName: 'nsg', routeTableName: 'routes', poolIds: ['/pool'] },
    claim: { name: claim.metadata.name, uid: claim.metadata.uid, nodePool: 'default' },
    size,
    zone: chosen.zone,
    capacityType: chosen.capacityType,
    imageId,
    customData: 'e30=',
    bootstrapTokenUid: 'secret-uid',
    attempt: 1,
    ultraSsd: chosen.ultraSsd,
    reservationGroupId: '/group',
  })
  await azure.compute.virtualMachines.createOrUpdate(group, 'vm', vm).submitted()
  const extension = billingExtension(config, { owner: 'a' })
  await azure.compute.virtualMachineExtensions.createOrUpdate(group, 'vm', billingExtensionName, extension).submitted()
  const wanted = { state: { tags: { owner: 'b' }, identities: ['/identity'] }, ours: ['owner'] }
  const before: VirtualMachine = {
    location: config.location,
    ...(index % 2 === 0 ? {} : { identity: { type: 'SystemAssigned' as const } }),
  }
  await changeVm(arm, { ...before, name: 'vm' }, wanted)
  await changeNic(arm, { name: 'nic' }, wanted)
  await changeExtension(arm, claim.metadata.name, wanted.state)
  const machine = { claim, chosen, nodeClass, size, imageId, config, kubernetesVersion: '1.36.3', attempt: 1 }
  const id = { subscriptionId: 's', resourceGroup: 'g', cluster: 'c', pool: 'machines', name: 'machine' }
  await putMachine(arm, id, { body: armMachine(machineBody(machine)) })
}

/** A node of a class that uses every field. */
function nodeOf(config: AzureConfig, index: number) {
  const isOdd = index % 2 === 1
  const { osDiskType, ...spec } = sampleSpec(index)
  const stored = goldenNodeClass(index === 3 ? { ...spec, osDiskType } : spec)
  const placement = (['CacheDisk', 'ResourceDisk', 'NvmeDisk'] as const)[index % 3] ?? 'CacheDisk'
  const size = {
    name: 'Standard_D2s_v5',
    arch: 'amd64',
    acceleratedNetworking: true,
    gpu: { vendor: 'nvidia' },
    localDisks: [{ placement, size: gib(4096) }],
  } as unknown as VmSize
  const labels: Readonly<Record<string, string>> = isOdd ? { 'kubernetes.azure.com/mode': 'system' } : {}
  return {
    claim: {
      metadata: { ...stored.metadata, name: 'default-abc', uid: 'claim-uid', labels },
      spec: {
        taints: [],
        startupTaints: [],
        requirements: [],
        nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
        requests: {},
      },
    },
    chosen: {
      typeName: size.name,
      zone: index === 4 ? '0' : 'westus2-1',
      capacityType: isOdd ? 'on-demand' : 'spot',
      ultraSsd: true,
    },
    nodeClass: nodeClassSettings(stored, config),
    size,
    imageId: `${isOdd ? '/subscriptions/s/galleries' : '/CommunityGalleries'}/AKSUbuntu/images/2404gen2containerd/versions/202610.20.0`,
  }
}

function configOf(index: number, apiVersions: AzureConfig['apiVersions']): AzureConfig {
  return {
    ...azureConfig,
    ...(apiVersions === undefined ? {} : { apiVersions }),
    // Each pod has an address of the subnet.
    networkPluginMode: '',
    nodeIdentities: ['/identity'],
    diskEncryptionSetId: '/set',
    sshPublicKey: 'ssh-rsa AAAA',
    bootDiagnostics: index !== 4,
  }
}

/** `Microsoft.Compute/virtualMachines/extensions`. */
function typeIn(path: string): string {
  const [provider = '', ...rest] = path.slice(path.lastIndexOf('/providers/') + '/providers/'.length).split('/')
  return [provider, ...rest.filter((_part, at) => at % 2 === 0)].join('/')
}
