// Metrics of Joiner's processes, as a monitoring system reads them.
import type { World } from '../world.ts'

/** Values by name with labels. */
export type Metrics = ReadonlyMap<string, number>

/** Reads the metrics of one process. Errors: it does not serve them. */
export async function scrape({ servers }: World, process = 'joiner'): Promise<Metrics> {
  const text = await servers.metrics(process)
  return new Map([...text.matchAll(/^([a-z].*) (\S+)$/gm)].map(([, name = '', value]) => [name, Number(value)]))
}

/** The sum over the series of a metric that bear all these labels; undefined: there are none. */
export function sum(values: Metrics, name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
  const found = [...values].filter(
    ([series]) =>
      (series === name || series.startsWith(`${name}{`)) &&
      Object.entries(labels).every(([key, value]) => new RegExp(`[{,]${key}="${value}"`).test(series)),
  )
  return found.length === 0 ? undefined : found.reduce((total, [, value]) => total + value, 0)
}

/** Waits until the bridge of the process `joiner` has compared lifecycles with NodeClaims so many times more. Each time it adds a key to its queue. */
export async function untilResyncs(world: World, more: number): Promise<void> {
  const added = async () => sum(await scrape(world), 'workqueue_adds_total', { name: 'bridge' }) ?? 0
  // What a process has to do when it begins comes before its first resync.
  const before = await world.until('the bridge has something to do', async () => (await added()) > 0 && added())
  await world.until(`${more} resyncs`, async () => (await added()) >= before + more)
}
