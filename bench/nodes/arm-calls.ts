import { measureNodeCalls, type NodeCalls } from '../../test/arm/arm-calls.ts'
import { World } from '../../test/world.ts'
import { circumstances, seconds, table } from '../report.ts'

/** Up to so many VMs boot and join the cluster as Nodes; more would measure kube-apiserver. */
const mostThatJoin = 100

/** Counts ARM's load per node, from launch to gone, for each number of nodes in turn. */
export async function armCalls(counts: readonly number[]): Promise<void> {
  const world = await World.start()
  try {
    await world.startWithNodeClass()
    const results: NodeCalls[] = []
    for (const nodes of counts) {
      console.error(`${nodes} nodes ...`)
      if (nodes > mostThatJoin) await world.fault({ kind: 'neverJoins', count: nodes })
      const until = nodes > mostThatJoin ? 'Launched' : 'Registered'
      results.push(await measureNodeCalls(world, nodes, { until, limitMs: 60_000 + nodes * 600 }))
    }
    console.log(report(results))
  } finally {
    await world.stop()
  }
}

function report(results: readonly NodeCalls[]): string {
  const row = (name: string, cell: (result: NodeCalls) => string | number) => [
    name,
    ...results.map((r) => `${cell(r)}`),
  ]
  const launch = (operation: string) => (r: NodeCalls) => r.launch.mostOfOneVm[operation] ?? 0
  const deletion = (operation: string) => (r: NodeCalls) => r.deletion.mostOfOneVm[operation] ?? 0
  const rows = [
    row('how far the nodes came', ({ nodes }) => (nodes > mostThatJoin ? 'VM created' : 'registered')),
    row('PUT of a VM, most of any', launch('PUT virtualMachines')),
    row('GET before the PUT, most of any', launch('GET virtualMachines')),
    row('DELETE of a VM, most of any', deletion('DELETE virtualMachines')),
    row('GET before the DELETE, most of any', deletion('GET virtualMachines')),
    row('pages of shared VM lists while launching', ({ launch: { vmListPages } }) => vmListPages),
    row('... in', ({ launch: { elapsedMs } }) => seconds(elapsedMs)),
    row('pages of shared VM lists while deleting', ({ deletion: { vmListPages } }) => vmListPages),
    row('... in', ({ deletion: { elapsedMs } }) => seconds(elapsedMs)),
    row('other calls, of no single VM', (r) => others(r)),
  ]
  return `### Calls to Azure per node, ${circumstances()}\n\n${table(['', ...results.map(({ nodes }) => `${nodes} nodes`)], rows)}\n`
}

function others({ launch, deletion }: NodeCalls): string {
  const all = [...Object.entries(launch.shared), ...Object.entries(deletion.shared)]
  const sums = new Map<string, number>()
  for (const [operation, count] of all) sums.set(operation, (sums.get(operation) ?? 0) + count)
  return [...sums].map(([operation, count]) => `${operation} ${count}`).join(', ') || 'none'
}
