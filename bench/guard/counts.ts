import proto from '@temporalio/proto'
import type { Attributes } from '../../test/fast/temporal/history.ts'
import type { Run } from '../../test/fast/temporal/run.ts'
import type { FastWorld } from '../../test/fast/world/fast-world.ts'

/** How often what happened, by its name, such as `kubernetes create events`. */
export type Counts = Readonly<Record<string, number>>

const { History } = proto.temporal.api.history.v1

/** Counts all that has happened in a world: requests of Joiner by server, verb and kind; and of Temporal events and bytes by workflow, and Actions. */
export function countsOf({ network, temporal }: FastWorld): Counts {
  const counts = new Map<string, number>()
  const add = (name: string, count = 1) => counts.set(name, (counts.get(name) ?? 0) + count)
  for (const request of network.requests) add(kindOf(request))
  for (const run of temporal.runs) {
    add(`events ${run.identity.workflowType}`, run.history.length)
    add(`bytes ${run.identity.workflowType}`, History.encode(run.history.exported()).finish().length)
    add('Actions', actionsOf(run))
  }
  return Object.fromEntries([...counts].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** What is counted later and was not before. */
export function difference(later: Counts, earlier: Counts): Counts {
  const more = Object.entries(later).map(([name, count]) => [name, count - (earlier[name] ?? 0)] as const)
  return Object.fromEntries(more.filter(([, count]) => count > 0))
}

/** `get /api/v1/nodes/a` -> `kubernetes get nodes`; `GET virtualMachines/a` -> `azure GET virtualMachines`; `temporal describeSchedule` stays. */
function kindOf(request: string): string {
  const [verb = '', target = ''] = request.split(' ')
  if (verb === 'temporal') return request
  if (verb === 'version') return 'kubernetes get version'
  const [path = ''] = target.split('?')
  if (path.startsWith('/')) return `kubernetes ${verb} ${resourceOf(path)}`
  const [first = '', second = ''] = path.split('/')
  return `azure ${verb} ${azureCollections.has(second) ? second : first.startsWith('Microsoft.') ? second : first}`
}

/** What is asked for below the name of a place or of an image. */
const azureCollections = new Set(['versions', 'usages', 'prices'])

function resourceOf(path: string): string {
  const [, resource = path] = /^\/(?:api\/v1|apis\/[^/]+\/[^/]+)\/(?:namespaces\/[^/]+\/(?=.))?([^/]+)/.exec(path) ?? []
  return resource
}

/** Events that Temporal Cloud bills as an Action each. */
const billed: readonly (keyof Attributes)[] = [
  'workflowExecutionStartedEventAttributes',
  'workflowExecutionSignaledEventAttributes',
  'activityTaskScheduledEventAttributes',
  'timerStartedEventAttributes',
  'upsertWorkflowSearchAttributesEventAttributes',
  'workflowPropertiesModifiedEventAttributes',
  'workflowExecutionUpdateAcceptedEventAttributes',
]

/** Actions of a run. The markers of one workflow task are one, and a heartbeat that is recorded is one. */
function actionsOf({ history, heartbeats }: Run): number {
  const markers = history
    .of('markerRecordedEventAttributes')
    .map((marker) => String(marker.workflowTaskCompletedEventId))
  return billed.reduce((sum, key) => sum + history.of(key).length, new Set(markers).size + heartbeats)
}
