import type { WaitingClass } from '../../../core/scheduling/explain/waiting-classes.ts'
import { cut } from '../../document/text.ts'
import { ago, counted, few, monthly } from '../../document/words.ts'
import type { ClusterView } from '../../view/cluster-view.ts'
import { bar, bytesText, coresText, shareOf, shareStyle } from './bars.ts'
import type { Resource } from './columns.ts'
import type { TopState } from './keys.ts'
import { type Paint } from './paint.ts'

/** Whether a list of the kind came, so that none means none. */
function isListed({ unlisted = [] }: ClusterView, kind: string): boolean {
  return !unlisted.includes(kind)
}

/** Returns totals on one line. */
export function totalsLine(view: ClusterView): string {
  const { totals, nodes } = view
  const { pods, pending, pricePerHour, unpriced } = totals
  const isUnpriced = unpriced === totals.nodes && totals.nodes > 0
  const notReady = nodes.filter(({ isReady }) => !isReady).length
  return [
    isListed(view, 'nodes') ? counted(totals.nodes, 'node') : 'nodes not known',
    ...(notReady === 0 || !isListed(view, 'nodes') ? [] : [`${notReady} not ready`]),
    ...(isListed(view, 'nodeclaims') ? [] : ['phases not known']),
    ...(isListed(view, 'pods') ? [counted(pods, 'pod'), `${pending} pending`] : ['pods not known']),
    ...(isUnpriced ? ['USD not known'] : [`${pricePerHour.toFixed(3)} USD/hour`, `${monthly(pricePerHour)} USD/month`]),
    ...(unpriced === 0 || isUnpriced ? [] : [`${counted(unpriced, 'node')} without a price`]),
  ].join('  ')
}

/** Returns a line for each resource: how much of it pods request; none where pods are not known. */
export function usageLines(
  view: ClusterView,
  shown: readonly Resource[],
  { barWidth, width, paint }: { readonly barWidth: number; readonly width: number; readonly paint: Paint },
): readonly string[] {
  if (!isListed(view, 'pods')) return []
  const totals = { ...view.totals, podRoom: podRoom(view) }
  return shown.map((resource) => {
    const [requested, allocatable] =
      resource === 'pods' ? [totals.pods, totals.podRoom] : [totals.requested[resource], totals.allocatable[resource]]
    const share = shareOf(requested, allocatable)
    const name = cut(`${resource.padEnd(6)}  `, width)
    const drawn = cut(share === undefined ? '-' : bar(share, barWidth), width - name.length)
    const amounts = cut(`  ${amountsText(resource, requested, allocatable)}`, width - name.length - drawn.length)
    return `${name}${paint(drawn, shareStyle(share ?? 0))}${amounts}`
  })
}

function amountsText(resource: Resource, requested: number, allocatable: number): string {
  if (resource === 'cpu') return `${coresText(requested)} of ${coresText(allocatable)} cores requested`
  if (resource === 'memory') return `${bytesText(requested)} of ${bytesText(allocatable)} requested`
  return `${requested} of ${allocatable} pods`
}

/** Returns why pods wait, a line for each of the largest classes. */
export function pendingLines({ pending }: ClusterView, most: number, now: number): readonly string[] {
  const lines = pending.slice(0, most).map((one) => pendingLine(one, now))
  const more = pending.length - lines.length
  return more > 0 && lines.length > 0
    ? [...lines.slice(0, -1), `${lines.at(-1)}  (and ${counted(more, 'cause')} more)`]
    : lines
}

function pendingLine({ state, cause, count, pods, sinceMs, plannedOn, finding }: WaitingClass, now: number): string {
  const what = cause === undefined ? state : `${state} (${cause})`
  const where = plannedOn.length === 0 ? '' : ` on ${few(plannedOn, 2)}`
  const names = few(pods.slice(0, 1), 1)
  // The cause first: a narrow terminal cuts the end.
  return `pending  ${counted(count, 'pod')} ${what}${where} for ${ago(now - sinceMs)}: ${finding} (such as ${names})`
}

/** Returns how many pods all nodes have room for. */
function podRoom({ nodes }: ClusterView): number {
  return nodes.reduce((sum, { allocatable }) => sum + allocatable.pods, 0)
}

/** Says that no node is shown, and of which there are none; nodes that could not be read are not none. */
export function emptyText(view: ClusterView, { filter, nodePool }: Pick<TopState, 'filter' | 'nodePool'>): string {
  if (view.nodes.length === 0) return isListed(view, 'nodes') ? 'no nodes' : 'nodes not known'
  const what = [
    ...(nodePool === undefined ? [] : [`of the NodePool "${nodePool}"`]),
    ...(filter ? [`with "${filter}"`] : []),
  ]
  return `no nodes ${what.join(' ')}`
}
