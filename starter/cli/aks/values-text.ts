import { Document, isMap, isScalar, isSeq } from 'yaml'
import { commentOf, documentText, forKubectl } from '../../document/yaml-text.ts'
import type { ChartValue } from './chart-value.ts'

/** Returns a values file of the chart, with the source of each value in a comment. `head`: comment lines before all values. */
export function valuesText(values: readonly ChartValue[], head: readonly string[]): string {
  const document = new Document({}, forKubectl)
  for (const one of values) {
    document.setIn(one.path, document.createNode(one.value))
    comment(document, one)
  }
  document.commentBefore = commentOf(...head)
  return documentText(document)
}

/** Beside a value of one line, and above what takes more. */
function comment(document: Document, { path, value, source, remedy }: ChartValue): void {
  const text = commentOf(remedy === undefined ? source : `${source}; ${remedy}`)
  const node = document.getIn(path, true)
  if (isScalar(node) && typeof value === 'string' && !value.includes('\n')) {
    node.comment = text
    return
  }
  if (isSeq(node) && node.items.length === 0) {
    node.comment = text
    return
  }
  const parent = document.getIn(path.slice(0, -1), true)
  const pair = isMap(parent)
    ? parent.items.find(({ key }) => (isScalar(key) ? key.value : key) === path.at(-1))
    : undefined
  if (pair === undefined) throw new Error(`there is no key ${path.join('.')} to comment on`)
  const key = document.createNode(path.at(-1))
  key.commentBefore = text
  pair.key = key
}
