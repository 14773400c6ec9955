import type { SimulatorConfig } from '../server/config.ts'
import type { Machine } from '../virtual-machines/machine.ts'
import type { AgentPool, AksMachine } from './agent-pools.ts'
import { nodeImageOf } from './machine-vm.ts'

interface Place {
  readonly config: SimulatorConfig
  /** Resource group of the cluster. */
  readonly group: string
}

/** An agent pool as ARM shows it. */
export function poolResource({ cluster, name, properties }: AgentPool, { config, group }: Place) {
  return {
    id: `/subscriptions/${config.subscriptionId}/resourceGroups/${group}/providers/Microsoft.ContainerService/managedClusters/${cluster}/agentPools/${name}`,
    name,
    type: 'Microsoft.ContainerService/managedClusters/agentPools',
    properties: { provisioningState: 'Succeeded', ...properties },
  }
}

/** A machine as ARM shows it. Like AKS, it shows the priority of spot machines only. */
export function machineResource(
  { machine, vm }: { readonly machine: AksMachine; readonly vm: Machine | undefined },
  { config, group }: Place,
): Record<string, unknown> {
  const { cluster, pool, name, body, createdAt, eTag } = machine
  const { priority, ...properties } = body.properties
  const failure = vm?.state === 'Failed' ? vm.failure : undefined
  const error =
    failure === undefined
      ? {}
      : {
          provisioningError: {
            code: wrapperCodes[failure.code] ?? failure.code,
            message: `Code="${failure.code}" Message="${failure.message}"`,
            details: [{ code: failure.code, message: failure.message }],
          },
        }
  return {
    id: `/subscriptions/${config.subscriptionId}/resourceGroups/${group}/providers/Microsoft.ContainerService/managedClusters/${cluster}/agentPools/${pool}/machines/${name}`,
    name,
    type: 'Microsoft.ContainerService/managedClusters/agentPools/machines',
    ...(body.zones === undefined ? {} : { zones: body.zones }),
    properties: {
      ...properties,
      ...(priority === 'Spot' ? { priority } : {}),
      nodeImageVersion: nodeImageOf(body),
      eTag,
      resourceId: `/subscriptions/${config.subscriptionId}/resourceGroups/${config.nodeResourceGroup}/providers/Microsoft.Compute/virtualMachines/${machine.vm}`,
      provisioningState: provisioningState(machine, vm),
      status: { creationTimestamp: createdAt, driftAction: 'Synced', vmState: vm?.power ?? 'deleted', ...error },
    },
  }
}

/** AKS gives some errors of VMs a code of its own, and theirs in the details. */
const wrapperCodes: Readonly<Record<string, string>> = { OperationNotAllowed: 'QuotaExceeded' }

/** Where the VM is gone without AKS, its machine still succeeds: it does not notice. A deletion that failed is over. */
function provisioningState({ isDeleting }: AksMachine, vm: Machine | undefined): string {
  return isDeleting === true && vm?.deleteFailure === undefined ? 'Deleting' : (vm?.state ?? 'Succeeded')
}
