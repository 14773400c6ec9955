import type { VirtualMachineExtension } from '@azure/arm-compute'
import { isTrue } from '../../../core/conditions.ts'
import { isAksMachine } from '../../../core/node-claim/aks-machine.ts'
import type { NodeClaim } from '../../../core/objects.ts'
import { annotations, labels } from '../../../core/requirements/labels.ts'
import { forEachOf } from '../../concurrency.ts'
import { updateClaim } from '../../kubernetes/client/object-writes.ts'
import type { WriteDeps } from '../../kubernetes/parts.ts'
import { isNotFoundAnswer, scrubbedMessage } from '../arm/azure-error.ts'
import type { AzureConfig } from '../azure-config.ts'
import { claimIdentity } from '../launch/claim-vm.ts'
import { vmOwner } from '../launch/ownership.ts'
import { vmName, vmTags } from '../launch/virtual-machine.ts'
import { nodeClassSettings } from '../node-class/node-class-settings.ts'
import type { AzureParts } from '../parts.ts'

export type BillingExtensionDeps = WriteDeps & Pick<AzureParts, 'log' | 'azure' | 'config' | 'vms'>

export const billingExtensionName = 'computeAksLinuxBilling'

/** The most of them that stand before a launch in the line for tokens of ARM: less than half a second. */
const concurrency = 4
/** Most PUTs of a pass, which makes room for the other sweeps; the next pass finds the rest. */
const mostPerPass = 500

/** Returns Azure's own record that a VM is an AKS node (reference/azure-provider.md 4.5). It changes nothing on the node. */
export function billingExtension(
  { location }: Pick<AzureConfig, 'location'>,
  tags: Readonly<Record<string, string>>,
): VirtualMachineExtension {
  return {
    location,
    tags,
    publisher: 'Microsoft.AKS',
    typePropertiesType: 'Compute.AKS.Linux.Billing',
    typeHandlerVersion: '1.0',
    autoUpgradeMinorVersion: true,
    settings: {},
  }
}

/**
 * Gives each node that has joined its billing extension, unless that is switched off. It is a sweep and no step of a launch: a launch ends when
 * its node joins, maybe before Azure calls the VM created, and no pod waits for this. The claim records when it is done, so a crash repeats one PUT,
 * which changes nothing. Failures are logged, and retried by the next pass.
 */
export async function ensureBillingExtensions(deps: BillingExtensionDeps, signal: AbortSignal): Promise<void> {
  if (!deps.config.billingExtension) return
  const due = [...deps.cache.nodeClaims.values()].filter(lacksExtension).slice(0, mostPerPass)
  if (due.length === 0) return
  const vms = await deps.vms.waitFor((snapshot) => snapshot, signal)
  await forEachOf(due, concurrency, async (claim) => {
    if (signal.aborted) return
    const { name } = claim.metadata
    const vm = vms.get(vmName(name))
    if (vm === undefined || vmOwner(vm, claimIdentity(claim), deps.config).kind !== 'claim') return
    try {
      await putExtension(deps, claim)
      await updateClaim(deps, claim.metadata, () => ({
        metadata: { annotations: { [annotations.billingExtension]: billingExtensionName } },
      }))
    } catch (error) {
      if (isNotFoundAnswer(error)) return
      deps.log.warn({ nodeClaim: name, why: scrubbedMessage(error) }, 'failed to install billing extension, retrying')
    }
  })
}

function lacksExtension(claim: NodeClaim): boolean {
  const { metadata, status } = claim
  return (
    !isAksMachine(claim) &&
    metadata.deletionTimestamp === undefined &&
    metadata.annotations[annotations.billingExtension] === undefined &&
    isTrue(status.conditions, 'Registered')
  )
}

async function putExtension(
  { azure, config, cache }: BillingExtensionDeps,
  { metadata, spec }: NodeClaim,
): Promise<void> {
  const nodeClass = cache.nodeClasses.get(spec.nodeClassRef.name)
  if (nodeClass === undefined) return
  const nodePool = metadata.labels[labels.nodePool]
  const tags = vmTags({
    config,
    nodeClass: nodeClassSettings(nodeClass, config),
    claim: { uid: metadata.uid, ...(nodePool === undefined ? {} : { nodePool }) },
  })
  await azure.compute.virtualMachineExtensions
    .createOrUpdate(
      config.nodeResourceGroup,
      vmName(metadata.name),
      billingExtensionName,
      billingExtension(config, tags),
    )
    .submitted()
}
