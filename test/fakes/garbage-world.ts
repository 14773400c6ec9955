import type { GarbageReport } from '../../activities/azure/contract.ts'
import { GarbageCollector } from '../../activities/azure/garbage/garbage.ts'
import { osDiskName } from '../../activities/azure/launch/os-disk-name.ts'
import { vmTags } from '../../activities/azure/launch/virtual-machine.ts'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { taintIdleNodes } from '../../activities/kubernetes/lifecycle/idle-nodes.ts'
import type { WriteDeps } from '../../activities/kubernetes/parts.ts'
import { nodeClassSpec } from '../../api/node-class.ts'
import { withDefaults } from '../../api/served.ts'
import { FakeAzure } from './azure.ts'
import { azureConfig } from './azure-config.ts'
import { azureDeps } from './azure-deps.ts'
import { FakeCluster } from './cluster.ts'
import { at, claimJson, nodeClassJson, nodeJson, poolJson } from './objects.ts'
import { ended } from './time.ts'

export const tagsOf = (claim: string, nodePool = 'default') =>
  vmTags({
    config: azureConfig,
    nodeClass: { spec: withDefaults(nodeClassSpec, {}) },
    claim: { uid: `uid-${claim}`, nodePool },
  })

export const karpenters = (nodePool = 'default') => {
  const { 'joiner.sh_nodeclaim-uid': _uid, 'joiner.sh_cluster-uid': _cluster, ...tags } = tagsOf('x', nodePool)
  return tags
}

export const diskOf = (claim: string, attempt = 1, clusterUid = azureConfig.clusterUid) =>
  osDiskName(clusterUid, claim, attempt)

export const unattached = { diskState: 'Unattached' }

/** Runs a pass as the workflow does: what the role azure leaves undecided, the role core answers. */
export async function collectAsWorkflow(collector: GarbageCollector, core: WriteDeps): Promise<GarbageReport> {
  const { signal } = new AbortController()
  const { undecided, ...report } = await collector.collect(signal)
  if (undecided === undefined) return report
  const later = await collector.collect(signal, await taintIdleNodes(core, undecided, signal))
  const both = Object.keys(later).map((kind) => [kind, [...named(report, kind), ...named(later, kind)]])
  return Object.fromEntries(both) as GarbageReport
}

const named = (report: GarbageReport, kind: string) => report[kind as keyof GarbageReport] ?? []

/** A cluster with one healthy node `good`, and garbage as the test adds it. */
export function world() {
  const cluster = new FakeCluster()
  const azure = new FakeAzure()
  cluster.put('nodepools', poolJson())
  cluster.put('aksnodeclasses', nodeClassJson())
  const known = azureDeps(cluster, azure)
  const collector = new GarbageCollector(known.deps)
  const collect = () => ended(collectAsWorkflow(collector, known.deps))
  const made = {
    ...known,
    cluster,
    azure,
    collect,
    add: (name: string, change: Adding = {}) => add(made, name, change),
  }
  made.add('good')
  return made
}

export interface Adding {
  readonly claim?: Json | false
  readonly node?: Json | false
  readonly vm?: Readonly<Record<string, string>> | false
  readonly ageMinutes?: number
  readonly state?: string
}

/** A node with all that belongs to it; `false`: without that part. */
function add(
  { cluster, azure }: { cluster: FakeCluster; azure: FakeAzure },
  name: string,
  { claim, node, vm, ageMinutes = 60, state = 'Succeeded' }: Adding,
): void {
  if (claim !== false) cluster.put('nodeclaims', claimJson(name, claim ?? {}))
  if (node !== false) cluster.put('nodes', nodeJson(name, node ?? {}))
  if (vm === false) return
  const id = `/subscriptions/${azureConfig.subscriptionId}/resourceGroups/MC_group/providers/Microsoft.Compute/virtualMachines/aks-${name}`
  azure.put('virtualMachines', `aks-${name}`, {
    tags: vm ?? tagsOf(name),
    provisioningState: state,
    timeCreated: at(-60 * ageMinutes),
    storageProfile: { osDisk: { name: diskOf(name) } },
    networkProfile: { networkInterfaces: [{ id: `/x/networkInterfaces/aks-${name}-1` }] },
  })
  azure.put('networkInterfaces', `aks-${name}-1`, { tags: vm ?? tagsOf(name), virtualMachine: { id } })
  azure.put('disks', diskOf(name), { managedBy: id, diskState: 'Attached' })
}

export const nothing: GarbageReport = {
  virtualMachines: [],
  networkInterfaces: [],
  disks: [],
  nodeClaims: [],
  nodes: [],
}
