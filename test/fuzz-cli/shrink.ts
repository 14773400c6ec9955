import type { Case } from './cases.ts'
import { failureOf } from './judge.ts'
import type { Runner } from './runner.ts'

const mostRuns = 300

/** The case with less in its mutated file, which still fails in the same way; the case itself where nothing can be left out. */
export async function shrunk(one: Case, message: string, runner: Runner): Promise<Case> {
  let smallest = one
  let runs = 0
  for (let parts = 2; runs < mostRuns; ) {
    const text = Buffer.from(smallest.files[0]?.bytes ?? []).toString('utf8')
    const units = text.includes('\n') ? text.split(/(?<=\n)/) : text.split(/(?<=[,{}[\]])/)
    const size = Math.ceil(units.length / parts)
    let found: Case | undefined
    for (let at = 0; at < units.length && found === undefined && runs < mostRuns; at += size, runs++) {
      const rest = withText(smallest, [...units.slice(0, at), ...units.slice(at + size)].join(''))
      if (failureOf(rest, await runner.run(rest)) === message) found = rest
    }
    if (found === undefined && size === 1) break
    parts = found === undefined ? Math.min(parts * 2, units.length) : Math.max(2, parts - 1)
    smallest = found ?? smallest
  }
  return smallest
}

function withText(one: Case, text: string): Case {
  const [first, ...rest] = one.files
  return first === undefined ? one : { ...one, files: [{ ...first, bytes: new TextEncoder().encode(text) }, ...rest] }
}
