// What Azure knows of a VM that does not join, read by the SDK's clients.
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { joinEvidence } from '../activities/azure/join/join-evidence.ts'
import { group, joinersClient, vmBody } from './simulator/sdk-clients.ts'
import { SimulatorProcess } from './simulator/simulator-process.ts'
import { goldenConfig } from './vectors/golden-cases.ts'

let simulator: SimulatorProcess

beforeAll(async () => {
  simulator = await SimulatorProcess.start()
})

afterAll(() => simulator?.stop())

test('a VM that runs and never joins is told of by its statuses and its serial log', async () => {
  const azure = joinersClient(simulator)
  await simulator.fault({ kind: 'neverJoins' })
  await azure.compute.virtualMachines.createOrUpdate(group, 'aks-mute', vmBody('aks-mute'), { updateIntervalInMs: 20 })
  const config = goldenConfig('westus2', {
    nodeResourceGroup: group,
    networkPlugin: 'azure',
    networkPluginMode: 'overlay',
    vmMemoryOverheadPercent: 0.075,
  })
  const evidence = await joinEvidence(
    { azure, config, log: pino({ level: 'silent' }) },
    'mute',
    new AbortController().signal,
  )
  expect(evidence).toMatch(
    /^VM: Provisioning succeeded, VM running; agent: Ready .*serial log ends: .*kubelet\.service: never started$/,
  )
})
