import { deployment, nodeClass, nodePool } from '../../test/applied-objects.ts'
import { World } from '../../test/world.ts'
import { circumstances, table } from '../report.ts'
import { type Usage, usages } from '../usage.ts'
import { scale } from './scale.ts'

/** How long nodes rest until what is left of a growth is collected; CPU at rest is that of this time. */
const restMs = 60_000

interface Taken {
  readonly nodes: number
  readonly grewMs: number
  readonly before: ReadonlyMap<string, Usage>
  readonly grown: ReadonlyMap<string, Usage>
  readonly rested: ReadonlyMap<string, Usage>
}

/** Prints what each of Joiner's processes takes while a cluster grows to so many nodes, and at rest: of profile single, and of the four Deployments. */
export async function sizes(counts: readonly number[]): Promise<void> {
  const rows = [...rowsOf('single', await grow(counts, true)), ...rowsOf('', await grow(counts, false))]
  const head = ['', 'nodes', 'CPU growing', 'CPU at rest', 'peak memory', 'memory at rest']
  console.log(`### What a process takes, one pod a node, instant cloud, ${circumstances()}\n\n${table(head, rows)}\n`)
}

async function grow(counts: readonly number[], isSingle: boolean): Promise<readonly Taken[]> {
  const world = await World.start({ cloud: 'instant' })
  try {
    if (isSingle) world.startJoiner()
    else world.startApart()
    await world.apply(nodePool({ consolidateAfter: 'Never' }), nodeClass(), deployment({ apart: true, replicas: 0 }))
    await world.untilReady('general')
    const use = () => {
      const all = Object.entries(world.cluster.supervisor.pids)
      return usages(Object.fromEntries(all.filter(([name]) => name.startsWith('joiner'))))
    }
    const taken: Taken[] = []
    for (const nodes of counts) {
      const before = await use()
      const startMs = await scale(world, nodes)
      await world.untilRunning(nodes, 600_000)
      const grewMs = Date.now() - startMs
      const grown = await use()
      await new Promise((resolve) => setTimeout(resolve, restMs))
      taken.push({ nodes, grewMs, before, grown, rested: await use() })
      console.error(`${nodes} nodes after ${(grewMs / 1000).toFixed(1)} s`)
    }
    return taken
  } finally {
    await world.stop()
  }
}

function rowsOf(profile: string, taken: readonly Taken[]): readonly (readonly string[])[] {
  return taken.flatMap(({ nodes, grewMs, before, grown, rested }) =>
    [...rested]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, usage]) => {
        const cores = (from: Usage | undefined, to: Usage | undefined, ms: number) =>
          `${Math.round((((to?.cpuSeconds ?? 0) - (from?.cpuSeconds ?? 0)) * 1e6) / ms)}m`
        return [
          profile === '' ? `\`${name}\`` : `profile ${profile}`,
          String(nodes),
          cores(before.get(name), grown.get(name), grewMs),
          cores(grown.get(name), usage, restMs),
          `${usage.peakRssMiB.toFixed(0)} MiB`,
          `${usage.rssMiB.toFixed(0)} MiB`,
        ]
      }),
  )
}
