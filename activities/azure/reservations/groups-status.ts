import type { NodeClass } from '../../../api/objects.ts'
import { conditionOf } from '../../../core/conditions.ts'
import { setConditions } from '../../kubernetes/client/status-writes.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import type { WriteDeps } from '../../kubernetes/parts.ts'
import type { AzureParts } from '../parts.ts'

export type GroupsStatusDeps = WriteDeps & Pick<AzureParts, 'log' | 'events' | 'reservations'>

const type = 'CapacityReservationsReady'

/**
 * Reports capacity reservation groups of a node class that cannot be used, in a condition and an event. The class stays ready: its other offerings can
 * be bought. A class that names no groups, and never did, gets no condition.
 */
export async function reportGroups(deps: GroupsStatusDeps, nodeClass: NodeClass): Promise<void> {
  const { groups, problems } = deps.reservations.named(nodeClass)
  const found = [
    ...problems,
    ...groups.flatMap(({ id }) => {
      const group = deps.reservations.group(id)
      if (group?.kind === 'gone') return [`${id} does not exist`]
      return group?.kind === 'unreadable' ? [`${id} ${group.why}`] : []
    }),
  ]
  const before = conditionOf(nodeClass.status.conditions, type)
  if (groups.length === 0 && problems.length === 0 && before === undefined) return
  const message = found.join('; ').slice(0, 1024)
  await setConditions(deps, { kind: 'AKSNodeClass', ref: nodeClass.metadata }, () => ({
    conditions: [
      found.length === 0 ? { type, status: 'True' } : { type, status: 'False', reason: 'GroupsNotUsable', message },
    ],
  }))
  if (found.length === 0) return
  deps.log.warn({ nodeClass: nodeClass.metadata.name, why: message }, 'capacity reservation groups cannot be used')
  const values = [nodeClass.metadata.uid, message]
  deps.events.record({ about: subject(nodeClass), reason: 'CapacityReservationsNotReady', message, values })
}
