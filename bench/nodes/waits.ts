import { pino } from 'pino'
import { claimTopic } from '../../activities/kubernetes/cache/change-feed.ts'
import { ClusterCache } from '../../activities/kubernetes/cache/cluster-cache.ts'
import { claimJson, nodeJson } from '../../test/fakes/objects.ts'
import { circumstances, table } from '../report.ts'

const changes = 20_000

/** What a change of a NodeClaim and of its Node costs in the watch cache, by how many lifecycles wait; each change wakes one of them. */
export function waits(counts: readonly number[]): void {
  // The first run is for the compiler.
  measure(counts[0] ?? 10)
  const results = counts.map((waiters) => ({ waiters, ...measure(waiters) }))
  const [first] = results
  const rows = results.map(({ waiters, microseconds, woken }) => [
    String(waiters),
    microseconds.toFixed(1),
    first === undefined ? '' : (microseconds / first.microseconds).toFixed(2),
    woken.toFixed(2),
  ])
  const head = ['waiters', 'µs for a change', 'ratio to the first row', 'waiters asked for a change']
  console.log(`### Waits on the watch cache, ${circumstances()}\n\n${table(head, rows)}\n`)
}

function measure(waiters: number): { readonly microseconds: number; readonly woken: number } {
  const cache = new ClusterCache({} as never, pino({ level: 'silent' }))
  const ended = new AbortController()
  let version = 0
  let asked = 0
  const enter = (kind: 'NodeClaim' | 'Node', at: number) => {
    const object = kind === 'NodeClaim' ? claimJson(`c${at}`) : nodeJson(`c${at}`)
    Object.assign(object['metadata'] as object, { resourceVersion: String(++version) })
    cache.upsert(kind, object)
  }
  for (let at = 0; at < waiters; at++) {
    enter('NodeClaim', at)
    enter('Node', at)
    cache.waitFor([claimTopic(`c${at}`)], () => void (asked += 1), ended.signal).catch(() => {})
  }
  asked = 0
  const startMs = performance.now()
  for (let change = 0; change < changes; change++) enter(change % 2 === 0 ? 'NodeClaim' : 'Node', change % waiters)
  const tookMs = performance.now() - startMs
  ended.abort()
  return { microseconds: (tookMs * 1000) / changes, woken: asked / changes }
}
