// Finds import cycles: the strongly connected components of the import graph (Tarjan).
import type { Source } from './sources.ts'

/** Files that import each other in a circle: each reaches each other one. */
export interface Cycle {
  readonly files: readonly string[]
  /** A shortest circle in it, beginning and ending with the same file. */
  readonly path: readonly string[]
}

/** All import cycles, with imports of types, largest first. A file that imports itself is one. */
export function importCycles(sources: readonly Source[]): readonly Cycle[] {
  const graph = new Map(sources.map(({ path, imports }) => [path, imports]))
  return components(graph)
    .filter(({ length, 0: first = '' }) => length > 1 || graph.get(first)?.includes(first))
    .map((files) => ({ files: files.toSorted(), path: shortestCircle(graph, new Set(files)) }))
    .toSorted((a, b) => b.files.length - a.files.length || (a.files[0] ?? '').localeCompare(b.files[0] ?? ''))
}

type Graph = ReadonlyMap<string, readonly string[]>

function components(graph: Graph): readonly (readonly string[])[] {
  const found: (readonly string[])[] = []
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const onStack = new Set<string>()

  const visit = (node: string): number => {
    index.set(node, index.size)
    let lowest = index.get(node) ?? 0
    stack.push(node)
    onStack.add(node)
    for (const next of graph.get(node) ?? []) {
      if (!index.has(next)) lowest = Math.min(lowest, visit(next))
      else if (onStack.has(next)) lowest = Math.min(lowest, low.get(next) ?? index.get(next) ?? lowest)
    }
    low.set(node, lowest)
    if (lowest === index.get(node)) {
      const files = stack.splice(stack.indexOf(node))
      for (const file of files) onStack.delete(file)
      found.push(files)
    }
    return lowest
  }
  for (const node of graph.keys()) if (!index.has(node)) visit(node)
  return found
}

/** A shortest circle through files of a component, found from each of them breadth first. */
function shortestCircle(graph: Graph, within: ReadonlySet<string>): readonly string[] {
  const circles = [...within].toSorted().flatMap((start) => {
    const before = new Map<string, string>()
    const queue = [start]
    for (const file of queue)
      for (const next of graph.get(file) ?? []) {
        if (next === start) return [wayBack(before, start, file)]
        if (!within.has(next) || before.has(next)) continue
        before.set(next, file)
        queue.push(next)
      }
    return []
  })
  return circles.toSorted((a, b) => a.length - b.length)[0] ?? []
}

function wayBack(before: ReadonlyMap<string, string>, start: string, end: string): readonly string[] {
  const path = [start]
  for (let at: string | undefined = end; at !== undefined && at !== start; at = before.get(at)) path.unshift(at)
  return [start, ...path]
}
