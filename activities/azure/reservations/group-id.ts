import type { NodeClass } from '../../../api/objects.ts'
import { annotations } from '../../../core/requirements/labels.ts'
import { printableStart } from '../../../core/values/printable.ts'
import type { AzureConfig } from '../azure-config.ts'

/** A capacity reservation group, by the parts of its ARM id. */
export interface GroupId {
  readonly id: string
  readonly resourceGroup: string
  readonly name: string
}

/** Groups that an AKSNodeClass names, and what is wrong with the others. */
export interface NamedGroups {
  readonly groups: readonly GroupId[]
  readonly problems: readonly string[]
}

/** Most groups of one AKSNodeClass: each costs two requests a poll. */
const mostGroups = 8
const mostCharacters = 4000

// Neither part can be ".." or hold what ends a path: the parts become request paths.
const pattern =
  /^\/subscriptions\/([0-9a-f-]{36})\/resourceGroups\/([\w.()-]{0,89}[\w()-])\/providers\/Microsoft\.Compute\/capacityReservationGroups\/([a-z0-9](?:[\w.-]{0,78}\w)?)$/i

/** Returns the parts of a group's id; undefined for anything else, and for a group of another subscription. */
export function parseGroupId(
  text: string,
  { subscriptionId }: Pick<AzureConfig, 'subscriptionId'>,
): GroupId | undefined {
  const [id, subscription, resourceGroup, name] = pattern.exec(text) ?? []
  if (id === undefined || resourceGroup === undefined || name === undefined) return undefined
  return subscription?.toLowerCase() === subscriptionId.toLowerCase() ? { id, resourceGroup, name } : undefined
}

/** Whether two ids name the same group: ARM's ids have no case. */
export const groupKey = (id: string) => id.toLowerCase()

/** Most groups of all AKSNodeClasses and NodeClaims together: what is beyond them is not read. */
export const mostGroupsRead = 32

/** Returns each group once. */
export function distinctGroups(groups: readonly GroupId[]): readonly GroupId[] {
  return [...new Map(groups.map((group) => [groupKey(group.id), group])).values()]
}

/** Returns the groups in an AKSNodeClass' annotation `joiner.sh/capacity-reservation-groups`. Each problem names entry and remedy. */
export function namedGroups(
  { metadata }: Pick<NodeClass, 'metadata'>,
  config: Pick<AzureConfig, 'subscriptionId'>,
): NamedGroups {
  const text = metadata.annotations[annotations.reservationGroups] ?? ''
  if (text.length > mostCharacters)
    return { groups: [], problems: [`${text.length} characters; name at most ${mostGroups} groups`] }
  const groups = new Map<string, GroupId>()
  const problems: string[] = []
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue
    const group = parseGroupId(entry, config)
    if (group === undefined)
      problems.push(
        `"${printableStart(entry, 200)}" is no capacity reservation group of subscription ${config.subscriptionId}; write /subscriptions/${config.subscriptionId}/resourceGroups/GROUP/providers/Microsoft.Compute/capacityReservationGroups/NAME`,
      )
    else if (groups.size >= mostGroups && !groups.has(groupKey(group.id)))
      problems.push(`"${group.id}" is one group too many; name at most ${mostGroups}`)
    else if (!groups.has(groupKey(group.id))) groups.set(groupKey(group.id), group)
  }
  return { groups: [...groups.values()], problems: problems.slice(0, mostGroups) }
}
