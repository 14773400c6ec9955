import { nodeImageVersion } from '../../../core/drift/node-image-version.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { labels, taintKeys } from '../../../core/requirements/labels.ts'
import { requirements } from '../../../core/requirements/requirements.ts'
import { describeTaint } from '../../../core/taints.ts'
import { osDiskPlacement } from '../catalogue/os-disk.ts'
import { armZones } from '../catalogue/zones.ts'
import { tagKeys, vmTags } from '../launch/virtual-machine.ts'
import type { NodeRequestInput } from '../launch/vm-request.ts'
import type { NodeClassSettings } from '../node-class/node-class-settings.ts'
import { labelsBeforeLaunch, machineLabels } from '../node-config/node-labels.ts'
import { machineDns, machineKubelet, machineLinux, osSku } from './machine-os.ts'

type Fields = Readonly<Record<string, unknown>>

/** What a PUT asks AKS for. Zones and tags are a machine's own; all else machines of one batch have in common. */
export interface MachineBody {
  readonly zones: readonly string[]
  readonly tags: Readonly<Record<string, string>>
  readonly shared: Fields
}

/** Returns a machine as ARM takes it. */
export function armMachine({ zones, tags, shared }: MachineBody): Fields {
  return { ...(zones.length === 0 ? {} : { zones }), properties: { ...shared, tags } }
}

/** Returns the machine of a NodeClaim: AKS makes its VM and all that the node needs to join (reference/azure-provider.md 4.7). */
export function machineBody(input: NodeRequestInput): MachineBody {
  const { config, nodeClass, claim, chosen, imageId } = input
  const { name, uid } = claim.metadata
  const nodePool = claim.metadata.labels[labels.nodePool]
  const owner = { uid, ...(nodePool === undefined ? {} : { nodePool }) }
  const { vnetSubnetID } = nodeClass.spec
  const dns = machineDns(nodeClass)
  return {
    zones: armZones(chosen.zone),
    tags: {
      ...vmTags({ config, nodeClass, claim: owner }),
      [tagKeys.aksMachine]: name,
      [tagKeys.attempt]: String(input.attempt),
    },
    shared: {
      nodeImageVersion: nodeImageVersion(imageId),
      network: vnetSubnetID === undefined ? {} : { vnetSubnetID },
      hardware: hardware(input),
      operatingSystem: operatingSystem(input),
      kubernetes: kubernetes(input),
      mode: isSystem(claim) ? 'System' : 'User',
      security: security(nodeClass),
      priority: chosen.capacityType === 'spot' ? 'Spot' : 'Regular',
      ...(dns === undefined ? {} : { localDNSProfile: dns }),
    },
  }
}

function hardware({ nodeClass, chosen, size }: NodeRequestInput): Fields {
  return {
    vmSize: chosen.typeName,
    ultraSsdEnabled: chosen.ultraSsd,
    ...(size.gpu?.vendor === 'nvidia' ? { gpuProfile: { driver: nodeClass.gpuDriver ? 'Install' : 'None' } } : {}),
  }
}

function operatingSystem({ nodeClass, size, kubernetesVersion }: NodeRequestInput): Fields {
  const { osDiskSizeGB, linuxOSConfig } = nodeClass.spec
  const linux = machineLinux(linuxOSConfig)
  return {
    osType: 'Linux',
    osSKU: osSku(nodeClass, kubernetesVersion),
    osDiskSizeGB,
    // Which local disk that is AKS decides, by the same rule.
    osDiskType: osDiskPlacement(size, nodeClass) === undefined ? 'Managed' : 'Ephemeral',
    enableFIPS: nodeClass.fips,
    ...(linux === undefined ? {} : { linuxProfile: { linuxOSConfig: linux } }),
  }
}

function kubernetes({ nodeClass, claim, chosen, size, kubernetesVersion }: NodeRequestInput): Fields {
  const { spec, kubelet } = nodeClass
  return {
    nodeLabels: machineLabels({
      claimLabels: labelsBeforeLaunch(claim.metadata.labels),
      wanted: requirements(claim.spec.requirements),
      chosen,
    }),
    orchestratorVersion: kubernetesVersion,
    ...(spec.kubelet === undefined ? {} : { kubeletConfig: machineKubelet(kubelet) }),
    nodeInitializationTaints: initialTaints(claim),
    // AKS would put these back whenever somebody removes one.
    nodeTaints: [],
    ...(spec.maxPods === undefined ? {} : { maxPods: spec.maxPods }),
    ...(nodeClass.artifactStreaming && size.arch === 'amd64' ? { artifactStreamingProfile: { enabled: true } } : {}),
  }
}

/** A new node keeps pods away until it is registered. */
function initialTaints({ spec }: Pick<NodeClaim, 'spec'>): readonly string[] {
  const given = [...spec.taints, ...spec.startupTaints].map(describeTaint)
  return [...new Set([...given, describeTaint({ key: taintKeys.unregistered, effect: 'NoExecute' })])]
}

const modeKey = 'kubernetes.azure.com/mode'

function isSystem({ metadata, spec }: Pick<NodeClaim, 'metadata' | 'spec'>): boolean {
  const wanted = requirements(spec.requirements).get(modeKey)
  const isRequired = wanted !== undefined && !wanted.complement && wanted.values.size === 1
  return isRequired ? wanted.values.has('system') : metadata.labels[modeKey] === 'system'
}

function security({ spec }: NodeClassSettings): Fields {
  const { encryptionAtHost = false, trustedLaunch: { vtpm = false, secureBoot = false } = {} } = spec.security ?? {}
  return {
    sshAccess: 'LocalUser',
    enableEncryptionAtHost: encryptionAtHost,
    enableVTPM: vtpm,
    enableSecureBoot: secureBoot,
  }
}
