/** Bounds of a node group. */
export interface GroupBounds {
  readonly min: number
  readonly max: number
}

const groupName = /\bname:\s*"?aks-([a-z0-9]{1,12})-\d+-vmss"?/gi
const longestStatus = 1_000_000

/** Reads the bounds of agent pools, by name, from what Cluster Autoscaler reports: YAML, and before 1.30 a text of its own. */
export function boundsIn(status: string): ReadonlyMap<string, GroupBounds> {
  const text = status.slice(0, longestStatus)
  const names = [...text.matchAll(groupName)]
  const found = new Map<string, GroupBounds>()
  for (const [at, match] of names.entries()) {
    const part = text.slice(match.index, names[at + 1]?.index)
    const min = /\bminSize[:=]\s*(\d{1,6})\b/.exec(part)?.[1]
    const max = /\bmaxSize[:=]\s*(\d{1,6})\b/.exec(part)?.[1]
    if (min !== undefined && max !== undefined) found.set(match[1] ?? '', { min: Number(min), max: Number(max) })
  }
  return found
}
