// Answers vector cases: one JSON line {"kind", "input"} in, one JSON line (the result) out.
import { createInterface } from 'node:readline'
import { evaluators } from './algebra.ts'

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === '') continue
  const { kind, input } = JSON.parse(line) as { kind: string; input: never }
  const evaluate = evaluators[kind]
  let answer: unknown
  try {
    answer = evaluate === undefined ? { error: `kind "${kind}" is not supported` } : evaluate(input)
  } catch (error) {
    answer = { error: String(error) }
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
