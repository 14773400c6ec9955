import type { CachedKind } from '../../activities/kubernetes/cache/cached-kinds.ts'
import type { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'

interface Looks {
  readonly cache: Pick<ClusterCache, 'onChange'>
  /** Whose changes are looked at. */
  readonly kinds: readonly CachedKind[]
  /** Time from a change to its look, and from one look to the next while something is due. */
  readonly everyMs: number
  /** Says whether something is due that no change follows. Must not fail. */
  readonly look: () => Promise<'done' | 'due'>
}

/** Looks once at first, and then only after changes: a cluster at rest costs nothing. One look is not overtaken by the next. Returns what ends it. */
export function lookAfterChanges({ cache, kinds, everyMs, look }: Looks): () => void {
  let timer: NodeJS.Timeout | undefined
  let state: 'resting' | 'looking' | 'changed' | 'ended' = 'resting'
  const later = () => {
    if (state === 'looking') state = 'changed'
    if (state === 'resting') timer ??= setTimeout(() => void lookNow(), everyMs)
  }
  const lookNow = async () => {
    timer = undefined
    state = 'looking'
    const isDue = (await look()) === 'due'
    const before = state as 'looking' | 'changed' | 'ended'
    if (before === 'ended') return
    state = 'resting'
    if (isDue || before === 'changed') later()
  }
  const unsubscribe = cache.onChange(({ kind }) => {
    if (kinds.includes(kind)) later()
  })
  later()
  return () => {
    state = 'ended'
    clearTimeout(timer)
    unsubscribe()
  }
}
