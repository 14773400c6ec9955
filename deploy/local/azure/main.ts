// The Azure simulator: ARM, the token endpoint and the retail price API on one HTTPS port.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { problemOf } from '../../../api/shapes/shape.ts'
import { problemText } from './admin/settings.ts'
import { configShape, type ProcessConfig } from './server/config.ts'
import { startSimulator } from './simulator.ts'

const { values } = parseArgs({ options: { config: { type: 'string' } } })
if (values.config === undefined) {
  console.error('usage: node deploy/local/azure/main.ts --config FILE')
  process.exit(2)
}
const config = JSON.parse(readFileSync(values.config, 'utf8')) as ProcessConfig
const problem = problemOf(configShape, config)
if (problem !== undefined) {
  console.error(`${values.config}: ${problemText(problem)}`)
  process.exit(2)
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(0))
try {
  const { address } = await startSimulator(config)
  console.log(`listening on ${address}`)
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exit(1)
}
