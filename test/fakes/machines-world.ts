import { LateList } from '../../activities/azure/answers/late-list.ts'
import { awaitInstance } from '../../activities/azure/launch/instance.ts'
import { providerIdOf } from '../../activities/azure/launch/virtual-machine.ts'
import { machineDeps } from '../../activities/azure/machines/launch-machine.ts'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { machineId, machineTags, machineVm } from './aks.ts'
import { azureConfig } from './azure-config.ts'
import { azureDeps } from './azure-deps.ts'
import { FakeCluster } from './cluster.ts'
import { launch, newClaim, ref, world } from './launch-world.ts'
import { claimJson, goingClaim, nodeClassJson } from './objects.ts'
import { ended } from './time.ts'

/** The provider id of a machine's VM. */
const machineProviderId = (name: string) =>
  providerIdOf(
    `/subscriptions/${azureConfig.subscriptionId}/resourceGroups/${azureConfig.nodeResourceGroup}/providers/Microsoft.Compute/virtualMachines/${machineVm(name)}`,
  )

interface Change {
  readonly annotations?: Json
  readonly providerId?: string
  readonly isGoing?: boolean
  readonly isAdopted?: boolean
  readonly status?: Json
}

/** The NodeClaim of an AKS machine of the same name. */
export function machineClaim(
  name: string,
  { annotations, providerId = machineProviderId(name), isGoing = false, isAdopted = true, status }: Change = {},
): Json {
  const metadata = {
    annotations: {
      'karpenter.azure.com/aks-machine-resource-id': machineId(name),
      ...(isAdopted ? { 'joiner.sh/adopted-machine': `uid-${name}` } : {}),
      ...annotations,
    },
  }
  const change = { metadata, status: { providerID: providerId, nodeName: machineVm(name), ...status } }
  return isGoing ? goingClaim(name, change) : claimJson(name, change)
}

/** A cluster whose AKS machines are managed, with these NodeClaims. */
export function machinesWorld(...claims: readonly Json[]) {
  const cluster = new FakeCluster()
  for (const claim of claims) cluster.put('nodeclaims', claim)
  cluster.put('aksnodeclasses', nodeClassJson())
  const known = azureDeps(cluster)
  const deps = { ...known.deps, config: { ...azureConfig, managesMachines: true } }
  const conditionsOf = (resource: 'nodeclaims' | 'aksnodeclasses', name: string) =>
    cluster.object(resource, name)?.status.conditions ?? []
  return {
    ...known,
    cluster,
    deps,
    aks: known.azure.aks,
    annotationsOf: (name: string) => cluster.object('nodeclaims', name)?.metadata.annotations ?? {},
    condition: (resource: 'nodeclaims' | 'aksnodeclasses', name: string, type: string) =>
      conditionsOf(resource, name).find((one) => one.type === type),
  }
}

/** Tags of machines that are not the NodeClaim `a`'s. */
export const foreignMachines: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['without tags', {}],
  ['of another cluster', { ...machineTags('a'), 'karpenter.azure.com_cluster': 'other' }],
  ['of another NodeClaim', machineTags('b')],
  ['of another NodePool', { ...machineTags('a'), 'karpenter.sh_nodepool': 'other' }],
  ['of another cluster of the same name', { ...machineTags('a'), 'joiner.sh_cluster-uid': 'other' }],
  ['of an earlier NodeClaim of the name', { ...machineTags('a'), 'joiner.sh_nodeclaim-uid': 'other' }],
]

/** What AKS says of a machine whose VM Azure refused. */
export const refusedVm = (code: string, message = '') => ({
  code: 'VMExtensionError',
  message: 'no',
  details: [{ code, message }],
})

/** The image of the class, as shared galleries and machines name it. */
export const machineImage = 'AKSUbuntu-2404gen2containerd-202610.20.0'

const images = [
  {
    id: '/subscriptions/s/resourceGroups/AKS-Ubuntu/providers/Microsoft.Compute/galleries/AKSUbuntu/images/2404gen2containerd/versions/202610.20.0',
    requirements: [],
  },
]

/** As `world` of launches, where nodes are made as AKS machines. */
export function machineWorld(claim: Json = newClaim(), inBatches = false) {
  const nodeClass = nodeClassJson()
  const known = world(claim, { ...nodeClass, status: { ...(nodeClass['status'] as Json), images } })
  const config = { ...azureConfig, managesMachines: true, makesMachines: { pool: 'aksmanagedap', inBatches } }
  const { azure, log, now } = { ...known.deps, azure: known.azure.client }
  const machines = machineDeps({ azure, config, log }, new LateList('AKS machines', { log, now }))
  const deps = { ...known.deps, config, ...machines }
  const { signal } = new AbortController()
  return {
    ...known,
    deps,
    aks: known.azure.aks,
    launch: (attempt = 1) => ended(launch(deps, { claim: ref, attempt }, signal)),
    awaits: () => ended(awaitInstance(deps, ref, signal), 300_000),
    claim: () => known.cluster.object('nodeclaims', 'a'),
  }
}
