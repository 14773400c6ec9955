import { nextTurn } from '../next-turn.ts'

/**
 * A gauge with a series for each of many objects, computed on each scrape. prom-client keeps and sorts the labels of every series, which
 * stops the process for seconds at 100,000 pods. Here each series is a line that is written and forgotten.
 */
export interface GaugeFamily {
  readonly name: string
  readonly help: string
  /** Labels as `labelText` writes them, and the value. The cluster may change during the iteration. */
  readonly samples: () => Iterable<readonly [labels: string, value: number]>
}

const chunkLength = 64 * 1024
/** Longest time that heartbeats, watches and decisions of this process wait for a scrape. */
const sliceMs = 5
const linesBetweenLooks = 64

/** Yields the families in Prometheus' text format, in chunks. Other work runs between them. */
export async function* exposition(families: Iterable<GaugeFamily>): AsyncGenerator<string> {
  let chunk = ''
  let lines = 0
  let sliceEnds = performance.now() + sliceMs
  for (const { name, help, samples } of families) {
    chunk += `# HELP ${name} ${help}\n# TYPE ${name} gauge\n`
    for (const [labels, value] of samples()) {
      chunk += `${name}${labels} ${value}\n`
      lines += 1
      if (lines % linesBetweenLooks !== 0 && chunk.length < chunkLength) continue
      if (chunk.length >= chunkLength) {
        yield chunk
        chunk = ''
      }
      if (performance.now() < sliceEnds) continue
      await nextTurn()
      sliceEnds = performance.now() + sliceMs
    }
  }
  if (chunk !== '') yield chunk
}

const special = /[\\"\n]/
const everySpecial = /[\\"\n]/g
const escapes: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' }

/** `a="b",c="d"`: labels without their braces, so that more can follow. Leaves out empty values, which Prometheus treats as absent. */
export function labelPairs(labels: Readonly<Record<string, string | undefined>>): string {
  let text = ''
  for (const name in labels) {
    const value = labels[name]
    if (value) text += `${text === '' ? '' : ','}${name}="${escaped(value)}"`
  }
  return text
}

function escaped(value: string): string {
  return special.test(value) ? value.replaceAll(everySpecial, (char) => escapes[char] ?? char) : value
}

/** Joins pairs into labels with braces, without the empty ones. */
export function labelText(...pairs: readonly string[]): string {
  let text = ''
  for (const pair of pairs) if (pair !== '') text += text === '' ? pair : `,${pair}`
  return text === '' ? '' : `{${text}}`
}
