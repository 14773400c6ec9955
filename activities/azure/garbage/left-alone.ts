import { conditionOf } from '../../../core/conditions.ts'
import { forEachOf } from '../../concurrency.ts'
import { setConditions } from '../../kubernetes/client/status-writes.ts'
import { type EventSubject, subject } from '../../kubernetes/event-recorder.ts'
import type { WriteDeps } from '../../kubernetes/parts.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'
import type { AzureParts } from '../parts.ts'
import type { UnprovenDisk } from './found-resources.ts'

export type LeftAloneDeps = WriteDeps & Pick<AzureParts, 'log' | 'cluster' | 'namespace' | 'config'>

/** Condition that says whether most registered NodeClaims were found to have their VM; present while they were not. Does not affect Ready. */
const conditionType = 'InstancesFound'

const concurrency = 10

/** Returns Joiner's own namespace, the subject of events without a NodePool. */
export function ownNamespace({ namespace }: LeftAloneDeps): EventSubject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, uid: '' } }
}

/**
 * Reports why garbage collection deletes nothing or less than it found: in the log, by events, and in a condition of every AKSNodeClass, which
 * goes with the doubt. `why` is unset when nothing is in doubt.
 */
export async function reportWithheld(deps: LeftAloneDeps, why: string | undefined): Promise<void> {
  const nodeClasses = [...deps.cache.nodeClasses.values()]
  if (why !== undefined) {
    deps.log.error({ cluster: deps.cluster, why }, 'withheld deletions of garbage collection')
    for (const about of [ownNamespace(deps), ...nodeClasses.map(subject)])
      deps.events.record({ about, reason: 'GarbageWithheld', message: why, values: [about.metadata.name, why] })
  }
  const told = forEachOf(nodeClasses, concurrency, async ({ metadata }) => {
    await setConditions(deps, { kind: 'AKSNodeClass', ref: metadata }, ({ status }) => {
      if (why !== undefined)
        return { conditions: [{ type: conditionType, status: 'False', reason: 'InstancesMissing', message: why }] }
      return conditionOf(status.conditions, conditionType) === undefined ? undefined : { clear: [conditionType] }
    })
  })
  // Garbage is collected whether or not an AKSNodeClass can be told of it.
  await told.catch((error: unknown) =>
    deps.log.warn(
      { reason: scrubbedMessage(error) },
      'failed to write condition InstancesFound, retrying in the next pass',
    ),
  )
}

/** Reports why AKS machines without a NodeClaim are left alone. */
export function reportMachinesWithheld(deps: LeftAloneDeps, why: string): void {
  deps.log.error({ cluster: deps.cluster, why }, 'withheld deletions of AKS machines')
  deps.events.record({ about: ownNamespace(deps), reason: 'GarbageWithheld', message: why, values: ['machines', why] })
}

const causes: Readonly<Record<UnprovenDisk['cause'], string>> = {
  otherCluster: 'carries the mark of another cluster',
  malformed: 'has a mark that no Joiner made',
}

/** Reports disks that look like leftovers and are not proven to be of this cluster, each once a day. */
export function reportUnproven(deps: LeftAloneDeps, disks: readonly UnprovenDisk[]): void {
  for (const { name, cause } of disks) {
    const id = `az disk delete --resource-group ${deps.config.nodeResourceGroup} --name ${name}`
    const message = `Disk ${name} is unattached and ${causes[cause]}, so it is left alone; if nothing needs it, delete it: ${id}`
    deps.events.record({ about: ownNamespace(deps), reason: 'GarbageLeft', message, values: [name] })
  }
}
