// Answers vector cases: one JSON line {"kind", "input"} in, one JSON line (the result) out.
import { createInterface } from 'node:readline'
import { evaluators } from './algebra.ts'
import type { CrdServer } from './crd-server.ts'
import { featureEvaluators } from './features/evaluators.ts'

let server: CrdServer | undefined

async function answerTo(kind: string, input: never): Promise<unknown> {
  try {
    if (kind === 'validation') {
      // Only these cases need real servers.
      server ??= await (await import('./crd-server.ts')).CrdServer.start()
      return await server.validate(input)
    }
    const evaluate = evaluators[kind] ?? featureEvaluators[kind]
    return evaluate === undefined ? { error: `kind "${kind}" is not supported` } : evaluate(input)
  } catch (error) {
    return { error: String(error) }
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === '') continue
  // Cases of features name a `feature` in the place of a kind.
  const { kind, feature, input } = JSON.parse(line) as { kind?: string; feature?: string; input: never }
  process.stdout.write(`${JSON.stringify(await answerTo(kind ?? feature ?? '', input))}\n`)
}
await server?.stop()
