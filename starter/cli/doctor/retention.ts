import { type Finding, ok, warn } from './check.ts'

const hourMs = 3_600_000
/** A lifecycle that ended during a night can be looked at in the morning. */
const leastHours = 24
/** What ended in a week can be compared. docs/temporal.md says what it takes. */
const recommendedHours = 7 * 24

/** Returns whether a namespace keeps what ended for long enough to look into it. `retentionMs`: undefined where Temporal does not say. */
export function retentionFinding(
  retentionMs: number | undefined,
  { namespace, address }: { readonly namespace: string; readonly address: string },
): Finding {
  if (retentionMs === undefined)
    return ok(`namespace "${namespace}": Temporal does not say how long it keeps what ended`)
  const hours = retentionMs / hourMs
  const kept = `namespace "${namespace}" keeps what ended for ${hours >= 1 ? `${Math.floor(hours)} h` : `${Math.round(hours * 60)} min`}`
  const update = `temporal operator namespace update --namespace ${namespace} --retention ${recommendedHours}h --address ${address}`
  if (hours < leastHours)
    return warn(`${kept}, less than a day: a lifecycle that failed may be gone before somebody looks into it`, [update])
  if (hours < recommendedHours) return ok(`${kept}; ${recommendedHours} h are recommended: ${update}`)
  return ok(kept)
}
