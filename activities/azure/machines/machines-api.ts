import type { AksMachineId } from '../../../core/node-claim/aks-machine.ts'
import { expecting } from '../../kubernetes/client/api-error.ts'
import { apiVersions } from '../arm/api-versions.ts'
import { listArm, sendArm } from '../arm/arm-rest.ts'
import { armErrorCode, armErrorText, isNotFoundAnswer } from '../arm/azure-error.ts'
import type { AzureConfig } from '../azure-config.ts'
import type { AzureParts } from '../parts.ts'

/** What requests about AKS machines need. */
export type MachinesApiDeps = Pick<AzureParts, 'azure' | 'config'>

/** A machine as AKS shows it, as far as it is read here. */
export interface AksMachine {
  readonly id: string
  readonly name: string
  readonly zones?: readonly string[]
  readonly properties?: {
    readonly provisioningState?: string
    /** Id of its VM. */
    readonly resourceId?: string
    readonly tags?: Readonly<Record<string, string>>
    readonly nodeImageVersion?: string
    readonly hardware?: { readonly vmSize?: string; readonly ultraSsdEnabled?: boolean }
    /** Unset for a regular one (reference/azure-provider.md 4.7). */
    readonly priority?: string | null
    readonly status?: {
      readonly creationTimestamp?: string
      /** What AKS would do about a machine that differs from its cluster; `Synced`: nothing. */
      readonly driftAction?: string
      readonly provisioningError?: MachineError & { readonly details?: readonly MachineError[] }
    }
  }
}

interface MachineError {
  readonly code?: string
  readonly message?: string
}

/** An agent pool, as far as it is read here. */
interface AgentPool {
  readonly name: string
  readonly properties?: { readonly mode?: string }
}

const version = `api-version=${apiVersions['Microsoft.ContainerService/managedClusters']}`

type Place = Pick<AksMachineId, 'pool'>

/** Returns a machine as AKS has it now; undefined when AKS says that there is no such machine, or no such pool. Errors: ARM's. */
export async function getMachine(deps: MachinesApiDeps, { pool, name }: AksMachineId): Promise<AksMachine | undefined> {
  const path = `${poolPath(deps.config, pool)}/machines/${name}?${version}`
  return sendArm<AksMachine>(deps, { path }).catch(expecting((error) => isMachineGone(error, name), undefined))
}

/** Returns all machines of a pool; none where the pool is gone. Errors: ARM's. */
export async function listMachines(deps: MachinesApiDeps, { pool }: Place): Promise<readonly AksMachine[]> {
  const path = `${poolPath(deps.config, pool)}/machines?${version}`
  return listArm<AksMachine>(deps, path).catch(expecting((error) => isMachineGone(error, pool), []))
}

/** Returns the names of the cluster's agent pools that consist of machines. Errors: ARM's. */
export async function listMachinePools(deps: MachinesApiDeps): Promise<readonly string[]> {
  const pools = await listArm<AgentPool>(deps, `${clusterPath(deps.config)}/agentPools?${version}`)
  return pools.filter(({ properties }) => properties?.mode === 'Machines').map(({ name }) => name)
}

/** Asks AKS for a machine, and sends `headers` besides. Returns it as AKS has it then, without its VM at times. Errors: ARM's. */
export function putMachine(
  deps: MachinesApiDeps,
  { pool, name }: AksMachineId,
  { body, headers = {} }: { readonly body: unknown; readonly headers?: Readonly<Record<string, string>> },
): Promise<AksMachine> {
  return sendArm<AksMachine>(deps, {
    method: 'PUT',
    path: `${poolPath(deps.config, pool)}/machines/${name}?${version}`,
    body,
    headers: { AllowSpotVMSystemNode: 'true', ...headers },
  })
}

/** Asks AKS to delete a machine with its VM. Gone already is success. Errors: ARM's. */
export async function deleteMachine(deps: MachinesApiDeps, { pool, name }: AksMachineId): Promise<void> {
  const path = `${poolPath(deps.config, pool)}/deleteMachines?${version}`
  const deletion = sendArm(deps, { method: 'POST', path, body: { machineNames: [name] } })
  await deletion.catch(expecting((error) => isMachineGone(error, name), undefined))
}

/** Returns the mode of node auto-provisioning, `Auto` or `Manual`; `Manual` where the cluster names none. Errors: ARM's; an answer that is no cluster. */
export async function napMode(deps: MachinesApiDeps): Promise<string> {
  const cluster = await sendArm<{
    readonly properties?: { readonly nodeProvisioningProfile?: { readonly mode?: string } }
  }>(deps, { path: `${clusterPath(deps.config)}?${version}` })
  if (cluster.properties === undefined)
    throw new Error(`GET ${clusterPath(deps.config)}: the answer of ARM has no field "properties"`)
  return cluster.properties.nodeProvisioningProfile?.mode ?? 'Manual'
}

/** Returns the path of the managed cluster. */
export function clusterPath({
  subscriptionId,
  clusterResourceGroup,
  clusterName,
}: Pick<AzureConfig, 'subscriptionId' | 'clusterResourceGroup' | 'clusterName'>): string {
  return `/subscriptions/${subscriptionId}/resourceGroups/${clusterResourceGroup}/providers/Microsoft.ContainerService/managedClusters/${clusterName}`
}

/** Returns the ARM id of a machine, as NodeClaims name it. */
export function machineIdText({ subscriptionId, resourceGroup, cluster, pool, name }: AksMachineId): string {
  const config = { subscriptionId, clusterResourceGroup: resourceGroup, clusterName: cluster }
  return `${clusterPath(config)}/agentPools/${pool}/machines/${name}`
}

function poolPath(config: AzureConfig, pool: string): string {
  return `${clusterPath(config)}/agentPools/${encodeURIComponent(pool)}`
}

/**
 * Returns whether AKS says that a machine or pool does not exist: `NotFound`, which its service answers for a cluster that it knows, `ResourceNotFound`
 * about that very name, or that none of the machines is valid (reference/azure-provider.md 4.7). A missing cluster or resource group proves nothing.
 */
export function isMachineGone(error: unknown, name: string): boolean {
  const code = armErrorCode(error)?.toLowerCase()
  if (code === 'invalidparameter') return /cannot find any valid machines/i.test(armErrorText(error))
  if (!isNotFoundAnswer(error)) return false
  if (code === 'notfound') return true
  const about = /resource '([^']+)'/i.exec(armErrorText(error))?.[1]?.toLowerCase()
  return code === 'resourcenotfound' && about?.endsWith(`/${name.toLowerCase()}`) === true
}
