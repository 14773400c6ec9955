// Documents as somebody, or another version, may have written them.
import { Registry } from 'prom-client'
import { vi } from 'vitest'
import { KeptFaults } from '../../activities/kubernetes/kept-faults.ts'

export const now = Date.parse('2026-11-28T12:00:00Z')
export const hour = 3_600_000
const casesOfEach = 200
const deep = '['.repeat(100_000)

/** Values of other types and sizes than the one that is there, none of which any document may have in its place. */
function otherThan(value: unknown): readonly unknown[] {
  const long = 'x'.repeat(200_000)
  if (typeof value === 'string') return [null, 5, true, { a: 1 }, [['x']], long]
  if (typeof value === 'number') return [null, String(value), 'NaN', true, { a: 1 }, [1], 1e308, -1e308]
  if (typeof value === 'boolean') return [null, String(value), 1, {}]
  if (Array.isArray(value)) return [null, 'x', 5, { length: 1 }, Array.from({ length: 50_000 }, () => ({}))]
  return [null, 'x', 5, [value]]
}

/** So many texts that are malformed in one place each. `accepts`: what is right there all the same. */
export function malformed(
  good: string,
  accepts: (path: string, value: unknown) => boolean,
  count = casesOfEach,
): readonly string[] {
  // Written when they are chosen: a document of a megabyte has tens of thousands of places.
  const texts: (() => string)[] = []
  const json = JSON.parse(good) as unknown
  const visit = (value: unknown, path: string, put: (other: unknown) => unknown) => {
    for (const other of otherThan(value)) if (!accepts(path, other)) texts.push(() => JSON.stringify(put(other)))
    if (typeof value !== 'object' || value === null) return
    for (const [key, each] of Object.entries(value))
      visit(each, `${path}.${key}`, (other) =>
        put(Array.isArray(value) ? value.with(Number(key), other) : { ...value, [key]: other }),
      )
  }
  visit(json, '', (other) => other)
  const cut = Array.from(
    { length: casesOfEach },
    (_, at) => () => good.slice(0, Math.floor((at * good.length) / casesOfEach)),
  )
  const whole = ['', 'null', '7', 'NaN', deep, `{"a":${deep}`].map((text) => () => text)
  const all = [...whole, ...texts, ...cut]
  return Array.from({ length: count }, (_, at) => all[Math.floor((at * all.length) / count)]?.() ?? '')
}

/** Reports as a process does: what its log says, and its metric. */
export function process() {
  const warn = vi.fn<(fields: object, line: string) => void>()
  const events = vi.fn()
  const registry = new Registry()
  const log = { warn, info() {} } as never
  const faults = new KeptFaults({ events: { record: events }, log, namespace: 'joiner' }, registry)
  return { note: faults.note, lines: () => warn.mock.calls.map(([, line]) => line), events, registry }
}
