// The Azure simulator: ARM, the token endpoint and the retail price API on one HTTPS port.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { fastify } from 'fastify'
import { registerAdmin } from './admin.ts'
import { registerArm } from './arm.ts'
import { CallCounts } from './call-counts.ts'
import { priceItems, sizes } from './catalogue.ts'
import type { SimulatorConfig } from './config.ts'
import { Faults } from './faults.ts'
import { AccessTokens, registerIdentity } from './identity.ts'
import { Journal } from './journal.ts'
import { Kubelets } from './kubelet.ts'
import { MachineLifecycle } from './lifecycle.ts'
import { Machines } from './machines.ts'
import { Operations } from './operations.ts'
import { Resources } from './resources.ts'
import { Throttling } from './throttling.ts'

const { values } = parseArgs({ options: { config: { type: 'string' } } })
if (values.config === undefined) {
  console.error('usage: node deploy/local/azure/main.ts --config FILE')
  process.exit(2)
}
const config = JSON.parse(readFileSync(values.config, 'utf8')) as SimulatorConfig
const journal = new Journal(join(config.stateDir, 'state.jsonl'))
const machines = new Machines(journal)
const operations = new Operations(journal)
const resources = new Resources(config)
const faults = new Faults()
const kubelets = new Kubelets(config, machines)
const lifecycle = new MachineLifecycle({ config, machines, operations, resources, kubelets, faults })
const tokens = new AccessTokens(config)
const app = fastify({
  https: { cert: readFileSync(config.certFile), key: readFileSync(config.keyFile) },
  routerOptions: { caseSensitive: false },
  bodyLimit: 4 * 1024 * 1024,
})
registerIdentity(app, config, tokens)
const deps = {
  config,
  machines,
  operations,
  resources,
  lifecycle,
  faults,
  tokens,
  calls: new CallCounts(),
  throttling: new Throttling(config.throttling ?? 'off'),
  journal: [],
}
registerArm(app, deps)
registerAdmin(app, deps)

const pricePage = 100
app.get<{ Querystring: Record<string, string> }>('/api/retail/prices', (request) => {
  const asked = /armRegionName eq '([^']*)'/.exec(request.query['$filter'] ?? '')?.[1]
  const all = asked === config.location ? [...sizes.values()].flatMap((size) => [...priceItems(size, config)]) : []
  const skip = Number(request.query['$skip'] ?? 0)
  const next = new URL(request.url, `https://${request.host}`)
  next.searchParams.set('$skip', String(skip + pricePage))
  return {
    BillingCurrency: 'USD',
    Items: all.slice(skip, skip + pricePage),
    NextPageLink: skip + pricePage < all.length ? next.href : null,
    Count: Math.min(pricePage, all.length - skip),
  }
})

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(0))
lifecycle.resume()
const address = await app.listen({ port: config.port, host: '127.0.0.1' })
console.log(`listening on ${address}`)
