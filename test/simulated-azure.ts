import { afterAll } from 'vitest'
import type { AzureClient } from '../activities/azure/arm/client.ts'
import type { SimulatorConfig } from '../deploy/local/azure/server/config.ts'
import { joinersClient } from './simulator/sdk-clients.ts'
import { SimulatorProcess } from './simulator/simulator-process.ts'

/** A simulator for the suite of the file that awaits this, with the clients that Joiner uses; it is stopped after the suite. */
export async function simulatedAzure(
  settings: Partial<SimulatorConfig> = {},
): Promise<{ readonly simulator: SimulatorProcess; readonly azure: AzureClient }> {
  const simulator = await SimulatorProcess.start(settings)
  afterAll(() => simulator.stop())
  return { simulator, azure: joinersClient(simulator) }
}
