import type { KubeletStart } from '../boot/kubelet-start.ts'
import type { SimulatorConfig } from '../server/config.ts'
import type { AksKubelet, MachineBody } from '../virtual-machines/machine.ts'
import type { AksMachineBody } from './agent-pools.ts'

interface NamedBody {
  readonly vm: string
  readonly pool: string
  readonly body: AksMachineBody
}

const defaultKubernetes = '1.36.3'
const defaultMaxPods = 250
const defaultImage = 'AKSUbuntu-2404gen2containerd-202610.20.0'

/** The node image of a machine, such as `AKSUbuntu-2404gen2containerd-202610.20.0`. */
export function nodeImageOf({ properties }: AksMachineBody): string {
  return properties.nodeImageVersion ?? defaultImage
}

/** The VM of a machine: in the node resource group, with the machine's tags and those of AKS (reference/azure-provider.md 4.1, 4.7). */
export function vmOfMachine({ vm, pool, body }: NamedBody, config: SimulatorConfig): MachineBody {
  const { hardware, operatingSystem, priority, network } = body.properties
  const subnet = { id: network?.vnetSubnetID ?? config.subnetId }
  const tags = tagsOf(pool, body)
  const isSpot = priority === 'Spot'
  return {
    location: config.location,
    tags,
    ...(body.zones === undefined || body.zones.length === 0 ? {} : { zones: body.zones }),
    properties: {
      hardwareProfile: { vmSize: hardware?.vmSize ?? '' },
      priority: isSpot ? 'Spot' : 'Regular',
      ...(isSpot ? { evictionPolicy: 'Delete' as const } : {}),
      storageProfile: {
        osDisk: { name: `${vm}_OsDisk`, deleteOption: 'Delete', diskSizeGB: operatingSystem?.osDiskSizeGB ?? 128 },
        imageReference: { id: galleryImage(nodeImageOf(body)) },
      },
      networkProfile: {
        networkInterfaceConfigurations: [
          {
            name: `${vm}-nic`,
            tags,
            properties: {
              primary: true,
              deleteOption: 'Delete',
              ipConfigurations: [{ name: 'ipconfig1', properties: { subnet } }],
            },
          },
        ],
      },
      osProfile: { adminUsername: 'azureuser', computerName: vm },
    },
  }
}

/** The tags that a machine's VM gets. */
export function tagsOf(pool: string, { properties }: AksMachineBody): Record<string, string> {
  return { ...properties.tags, 'aks-managed-poolName': pool, 'aks-managed-creationSource': 'machines' }
}

/** The kubelet that AKS starts on a machine. */
export function aksKubelet({ pool, body }: NamedBody, { nodeResourceGroup }: SimulatorConfig): AksKubelet {
  const { kubernetes = {}, mode = 'User' } = body.properties
  const taints = [...(kubernetes.nodeInitializationTaints ?? []), ...(kubernetes.nodeTaints ?? [])]
  return {
    version: `v${kubernetes.orchestratorVersion ?? defaultKubernetes}`,
    labels: {
      ...kubernetes.nodeLabels,
      agentpool: pool,
      'kubernetes.azure.com/agentpool': pool,
      'kubernetes.azure.com/cluster': nodeResourceGroup,
      'kubernetes.azure.com/mode': mode.toLowerCase(),
      'kubernetes.azure.com/node-image-version': nodeImageOf(body),
    },
    taints: [...new Set(taints)].map(taintOf),
    maxPods: kubernetes.maxPods ?? defaultMaxPods,
    kubeReserved: { cpu: '100m', memory: '1843Mi' },
    systemReserved: {},
    evictionHard: { 'memory.available': '100Mi' },
    hasCloudProvider: true,
    remarks: [],
  }
}

/** Reads `key=value:Effect` or `key:Effect`. */
function taintOf(text: string): KubeletStart['taints'][number] {
  const [, key = text, value, effect = 'NoSchedule'] = /^([^=:]+)(?:=([^:]*))?:(.+)$/.exec(text) ?? []
  return { key, effect, ...(value === undefined ? {} : { value }) }
}

/** The version in AKS' shared gallery that a node image names. */
function galleryImage(nodeImage: string): string {
  const [, gallery = '', definition = '', version = ''] = /^([^-]+)-(.+)-([^-]+)$/.exec(nodeImage) ?? []
  const group = gallery === 'AKSAzureLinux' ? 'AKS-AzureLinux' : 'AKS-Ubuntu'
  return `/subscriptions/109a5e88-712a-48ae-9078-9ca8b3c81345/resourceGroups/${group}/providers/Microsoft.Compute/galleries/${gallery}/images/${definition}/versions/${version}`
}
