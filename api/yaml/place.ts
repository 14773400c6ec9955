import { isMap, isNode, isScalar, isSeq, type LineCounter, type ParsedNode } from 'yaml'

/** Keys and indexes that lead to a field. */
export type Path = readonly (string | number)[]

/**
 * Returns the line of a field's key or of a list's element. A missing one has the line of its nearest existing parent; undefined when there is none.
 */
export function lineOfPath(contents: ParsedNode | null, path: Path, lines: LineCounter): number | undefined {
  let node: unknown = contents
  let offset: number | undefined
  for (const key of path) {
    const [found, inner] = step(node, key)
    if (!isNode(found) || !found.range) break
    offset = found.range[0]
    node = inner
  }
  return offset === undefined ? undefined : lines.linePos(offset).line
}

function step(node: unknown, key: string | number): readonly [holder: unknown, inner: unknown] {
  if (isSeq(node)) {
    const item: unknown = typeof key === 'number' ? node.items[key] : undefined
    return [item, item]
  }
  const pair = isMap(node)
    ? node.items.find((one) => isScalar(one.key) && String(one.key.value) === String(key))
    : undefined
  return [pair?.key, pair?.value]
}
