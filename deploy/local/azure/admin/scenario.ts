import { isMap, isPair, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from 'yaml'
import { z } from 'zod'
import {
  type Checked,
  judged,
  list,
  numberFrom,
  oneOf,
  type Problem,
  problemOf,
  strictRecord,
  text,
  wrong,
} from '../../../../api/shapes/shape.ts'
import { matchFields } from '../catalogue/capacity-settings.ts'
import { publicationShape } from './admin-settings.ts'
import { faultShape } from './fault-shape.ts'
import { problemText, settingsShape } from './settings.ts'

/** A scenario that cannot be read. The message names file, line, field, value and remedy. */
export class ScenarioError extends Error {}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

const time = judged<string | number>((value) =>
  timeMs(value) === undefined ? wrong(value, 'write a time from the start such as 0, 500ms, 90s, 5m or 1h') : undefined,
)

/** What becomes of VMs that match, oldest first. Default of `count` and `share`: all. `share`: which part of them, from 0 to 1. */
const action = strictRecord(
  {
    do: oneOf('evict', 'delete', 'stop', 'freeze'),
    match: strictRecord({ ...matchFields, name: text }),
    count: numberFrom(1),
    share: numberFrom(0, 1),
  },
  ['do'],
)

const clearFaults = z.literal(true, { error: 'write true, or leave it out' })

const step = strictRecord(
  {
    at: time,
    clearFaults,
    settings: settingsShape,
    faults: list(faultShape),
    vms: list(action),
    publish: publicationShape,
  },
  ['at'],
)

const shape = strictRecord({ steps: list(step) }, ['steps'])

/** What happens when: steps at times from the start. */
export interface Scenario {
  readonly steps: readonly ScenarioStep[]
}

/** `line`: its line in the file, which messages name. */
export type ScenarioStep = Omit<Checked<typeof step>, 'at'> & { readonly atMs: number; readonly line: number }
export type VmAction = Checked<typeof action>

/** Reads a scenario. Errors: ScenarioError with the line of what is wrong. `name` is how errors call the text. */
export function parseScenario(yaml: string, name: string): Scenario {
  const lines = new LineCounter()
  const document = parseDocument(yaml, { lineCounter: lines })
  const [broken] = document.errors
  if (broken !== undefined)
    throw new ScenarioError(`${name}:${broken.linePos?.[0].line ?? 1}: ${broken.message.split('\n')[0]}`)
  quoteZones(document.contents)
  const content: unknown = document.toJS()
  const problem = problemOf(shape, content)
  const lineOf = (path: readonly (string | number)[]) => lineAt(document.contents, path, lines)
  if (problem !== undefined) throw new ScenarioError(`${name}:${lineOf(problem.path)}: ${stepText(problem)}`)
  const { steps } = content as Checked<typeof shape>
  return {
    steps: steps.map(({ at, ...rest }, index) => ({ ...rest, atMs: timeMs(at) ?? 0, line: lineOf(['steps', index]) })),
  }
}

function stepText(problem: Problem): string {
  return problem.path.length === 0 ? `the scenario is empty: write a map with the field steps` : problemText(problem)
}

/** `90s` in milliseconds; a bare number counts seconds. */
function timeMs(value: unknown): number | undefined {
  if (typeof value === 'number') return value >= 0 ? value * 1000 : undefined
  const [, amount = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(String(value)) ?? []
  return unit === '' ? undefined : Number(amount) * (units[unit] as number)
}

/** Zones are texts, and YAML reads `1` as a number. */
function quoteZones(contents: Node | null): void {
  if (contents === null) return
  visit(contents, {
    Pair(_key, { key, value }) {
      if (!isScalar(key) || (key.value !== 'zone' && key.value !== 'zones')) return
      for (const scalar of isSeq(value) ? value.items : [value])
        if (isScalar(scalar) && typeof scalar.value === 'number') scalar.value = String(scalar.value)
    },
  })
}

/** Line of the deepest node on a path that there is: of a field that is missing, its map's. */
function lineAt(contents: Node | null, path: readonly (string | number)[], lines: LineCounter): number {
  let node: unknown = contents
  let line = 1
  for (const key of path) {
    const pair = isMap(node) ? node.items.find((item) => isScalar(item.key) && item.key.value === key) : undefined
    const next = isPair(pair) ? pair.value : isSeq(node) ? node.items[Number(key)] : undefined
    const shown = isPair(pair) ? pair.key : next
    const offset = (shown as Node | undefined)?.range?.[0]
    if (offset === undefined) break
    line = lines.linePos(offset).line
    node = next
  }
  return line
}
