import { readYaml } from '../../api/yaml/read.ts'
import type { Case } from './cases.ts'
import type { Outcome } from './runner.ts'

const trace = /^\s+at .*(?:\d+:\d+|<anonymous>)/m
const obeyed = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u
/** What is wrong with the way in which a case ended; undefined: nothing. */
export function failureOf({ words }: Case, outcome: Outcome): string | undefined {
  if (outcome.kind === 'died') return `the thread died: ${outcome.message}`
  if (outcome.kind !== 'ran') return outcome.kind === 'hung' ? 'did not end' : 'needed too much memory'
  const { code, out, err } = outcome
  if (trace.test(err) || trace.test(out)) return 'printed a stack trace'
  if (code !== 0 && code !== 1 && code !== 2) return `ended with ${code}: ${err.slice(0, 300)}`
  if (code !== 0 && (err + out).trim() === '') return `ended with ${code} and said nothing`
  const found = obeyed.exec(out) ?? obeyed.exec(err)
  if (found !== null) return `printed the character U+${(found[0].codePointAt(0) ?? 0).toString(16)}`
  return outputFailure(words, code, out)
}

/** What is printed for programs can be read by them. */
function outputFailure(words: Case['words'], code: number, out: string): string | undefined {
  const [command] = words
  const isJson = words.includes('json') && (code === 0 || command === 'validate')
  const isYaml = code === 0 && (command === 'convert' || words.includes('yaml'))
  try {
    if (isJson) JSON.parse(out)
  } catch (error) {
    return `printed what is no JSON: ${(error as Error).message}`
  }
  const [problem] = isYaml ? readYaml(out).flatMap(({ problems }) => problems) : []
  return problem === undefined ? undefined : `printed what is no YAML: line ${problem.line}: ${problem.message}`
}
