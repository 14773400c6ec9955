import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fastify } from 'fastify'
import { AccessTokens } from './access-tokens.ts'
import { registerAdmin } from './admin.ts'
import { registerAdminScenario } from './admin-scenario.ts'
import { registerAdminSettings } from './admin-settings.ts'
import { registerArm } from './arm.ts'
import type { ArmDeps } from './arm-deps.ts'
import { CallCounts } from './call-counts.ts'
import { CapacityPools } from './capacity-pools.ts'
import type { SimulatorConfig } from './config.ts'
import { Faults } from './faults.ts'
import { GalleryToken } from './gallery-token.ts'
import { GraphRows } from './graph-rows.ts'
import { registerIdentity } from './identity.ts'
import { ImageVersions } from './image-versions.ts'
import { Journal } from './journal.ts'
import { Kubelets } from './kubelet.ts'
import { MachineLifecycle } from './lifecycle.ts'
import { Machines } from './machines.ts'
import { NetworkResources } from './network-resources.ts'
import { Operations } from './operations.ts'
import { registerPrices } from './price-list.ts'
import { Quotas } from './quota.ts'
import { Resources } from './resources.ts'
import { parseScenario } from './scenario.ts'
import { ScenarioPlayer } from './scenario-player.ts'
import { SkuCatalogue } from './sku-catalogue.ts'
import { Throttling } from './throttling.ts'
import { VmUsage } from './vm-usage.ts'

/** A simulator that listens. */
export interface RunningSimulator {
  /** `https://127.0.0.1:PORT`. */
  readonly address: string
  close(): Promise<void>
}

/** Starts the simulator in this process, with the state that is on disk. Errors: a file that cannot be used, a port that is taken. */
export async function startSimulator(config: SimulatorConfig): Promise<RunningSimulator> {
  const app = fastify({
    https: { cert: readFileSync(config.certFile), key: readFileSync(config.keyFile) },
    routerOptions: { caseSensitive: false },
    bodyLimit: 4 * 1024 * 1024,
  })
  // Some clients say that they send JSON and send nothing, with DELETE for instance.
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined)
    else void parseJson(request, body, done)
  })
  const deps = makeDeps(config)
  const player = new ScenarioPlayer(deps)
  const { scenarioFile } = config
  const scenario =
    scenarioFile === undefined ? undefined : parseScenario(readFileSync(scenarioFile, 'utf8'), scenarioFile)
  registerIdentity(app, config, deps.tokens)
  registerArm(app, deps)
  registerPrices(app, config)
  registerAdmin(app, deps)
  registerAdminSettings(app, deps)
  registerAdminScenario(app, player)
  deps.lifecycle.resume()
  const address = await app.listen({ port: config.port, host: '127.0.0.1' })
  if (scenario !== undefined) player.play(scenario)
  return {
    address,
    close: () => {
      player.stop()
      return app.close()
    },
  }
}

function makeDeps(config: SimulatorConfig): ArmDeps {
  const journal = new Journal(join(config.stateDir, 'state.jsonl'))
  const machines = new Machines(journal)
  const operations = new Operations(journal)
  const resources = new Resources(config)
  const faults = new Faults()
  const kubelets = new Kubelets(config, machines)
  const catalogue = new SkuCatalogue(config)
  const usage = new VmUsage(machines)
  return {
    config,
    machines,
    operations,
    resources,
    graph: new GraphRows(config, machines, resources),
    network: new NetworkResources(config, machines),
    faults,
    catalogue,
    lifecycle: new MachineLifecycle({ config, machines, operations, resources, kubelets, faults }),
    images: new ImageVersions(),
    galleryToken: new GalleryToken(),
    quotas: new Quotas({ config, catalogue, usage }),
    pools: new CapacityPools({ config, catalogue, usage }),
    tokens: new AccessTokens(config),
    calls: new CallCounts(),
    throttling: new Throttling(config.throttling ?? 'off'),
    journal: [],
    violations: [],
  }
}
