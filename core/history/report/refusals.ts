import type { TimeRange } from '../../cost/bill.ts'
import type { Life, RefusedCapacity } from '../life.ts'
import { mostRefused } from '../record.ts'
import { endOf, inOrder } from './window.ts'

/** Launches that failed for one offering and reason. */
interface RefusalCount extends RefusedCapacity {
  readonly times: number
  readonly nodeClaims: number
  /** Of these NodeClaims, those that became ready nevertheless, with another VM. */
  readonly becameReady: number
}

export interface Refusals {
  readonly rows: readonly RefusalCount[]
  /** NodeClaims that have as many refusals as a lifecycle keeps: there may have been more. */
  readonly cutShort: number
}

/** The reason of a VM that Azure accepted and that ended before its Node was ready, while nobody deleted it. */
const failedVm = 'accepted, then failed'

/** Returns what failed to launch, for NodeClaims that were being launched at some time of the window; the most frequent offering comes first. */
export function refusals(lives: readonly Life[], window: TimeRange): Refusals {
  const launching = lives.filter(
    (life) =>
      life.createdMs < window.toMs && Math.min(life.readyMs ?? Number.POSITIVE_INFINITY, endOf(life)) >= window.fromMs,
  )
  const all = launching.flatMap((life) => [...life.refused, ...failedVms(life)].map((refused) => ({ life, refused })))
  const groups = Map.groupBy(all, ({ refused: { instanceType, zone, capacityType, reason } }) =>
    JSON.stringify([instanceType, zone, capacityType, reason]),
  )
  const rows = [...groups.values()].flatMap((own): readonly RefusalCount[] => {
    const [first] = own
    if (first === undefined) return []
    const claims = new Set(own.map(({ life }) => life))
    const ready = [...claims].filter(({ readyMs }) => readyMs !== undefined)
    return [{ ...first.refused, times: own.length, nodeClaims: claims.size, becameReady: ready.length }]
  })
  return {
    rows: rows.sort(
      inOrder(
        ({ times }) => -times,
        ({ instanceType }) => instanceType,
        ({ zone }) => zone,
        ({ capacityType }) => capacityType,
        ({ reason }) => reason,
      ),
    ),
    cutShort: launching.filter(({ refused }) => refused.length >= mostRefused).length,
  }
}

function failedVms({ vms, readyMs, drainingMs, ...life }: Life): readonly RefusedCapacity[] {
  const until = Math.min(readyMs ?? Number.POSITIVE_INFINITY, drainingMs ?? endOf(life))
  return vms
    .filter(({ toMs }) => toMs !== undefined && toMs < until)
    .map(({ instanceType, zone, capacityType }) => ({ instanceType, zone, capacityType, reason: failedVm }))
}
