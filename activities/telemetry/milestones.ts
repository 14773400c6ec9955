import type { Logger } from 'pino'
import type { NodeClaim } from '../../core/objects.ts'
import { labels } from '../../core/requirements/labels.ts'
import { formatResources } from '../../core/resources.ts'
import type { PlannedNodeClaim } from '../../core/scheduling/snapshot.ts'

/** Most instance types that a log line names. */
const mostTypes = 5

/**
 * Logs the milestones of a NodeClaim's lifecycle at info, by Karpenter's messages and field names: people search their logs for these.
 * The attempt that writes a milestone logs it; after a crash between the write and the line it is missing.
 */
export const milestones = {
  created: (log: Logger, { metadata: { name } }: NodeClaim, planned: PlannedNodeClaim) =>
    log.info(
      {
        NodePool: { name: planned.nodePool },
        NodeClaim: { name },
        requests: formatResources(planned.requests),
        'instance-types': typesText(planned.instanceTypes),
      },
      'created nodeclaim',
    ),
  launched: (log: Logger, claim: NodeClaim) => {
    const { metadata, status } = claim
    log.info(
      {
        ...subjects(claim),
        'provider-id': status.providerId,
        'instance-type': metadata.labels[labels.instanceType],
        zone: metadata.labels[labels.zone],
        'capacity-type': metadata.labels[labels.capacityType],
        allocatable: formatResources(status.allocatable),
      },
      'launched nodeclaim',
    )
  },
  registered: (log: Logger, claim: NodeClaim) => log.info(subjects(claim), 'registered nodeclaim'),
  initialized: (log: Logger, claim: NodeClaim) =>
    log.info({ ...subjects(claim), allocatable: formatResources(claim.status.allocatable) }, 'initialized nodeclaim'),
  deleted: (log: Logger, claim: NodeClaim) => log.info(subjects(claim), 'deleted nodeclaim'),
} as const

function subjects({ metadata, status }: NodeClaim) {
  const nodePool = metadata.labels[labels.nodePool]
  return {
    NodeClaim: { name: metadata.name },
    ...(nodePool === undefined ? {} : { NodePool: { name: nodePool } }),
    ...(status.nodeName === undefined ? {} : { Node: { name: status.nodeName } }),
  }
}

function typesText(types: readonly string[]): string {
  const others = types.length - mostTypes
  return `${types.slice(0, mostTypes).join(', ')}${others > 0 ? ` and ${others} other(s)` : ''}`
}
