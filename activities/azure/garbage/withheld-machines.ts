import type { Registry } from 'prom-client'
import type { NoteFaults } from '../../../api/kept/document.ts'
import {
  formatWithheld,
  parseWithheld,
  type WithheldMachine,
  type WithheldMachines,
  withheldKey,
  withheldMapName,
  withheldRemedy,
  withheldText,
} from '../../../api/withheld-machines.ts'
import { readConfigMap, writeConfigMap } from '../../kubernetes/client/config-map.ts'
import { subject } from '../../kubernetes/event-recorder.ts'
import { scrubbedMessage } from '../arm/azure-error.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { withheldGauges } from './garbage-metrics.ts'
import { type LeftAloneDeps, ownNamespace } from './left-alone.ts'

export interface WithheldMachinesDeps extends LeftAloneDeps {
  readonly catalogue: Catalogue
  readonly registry: Registry
  readonly note?: NoteFaults
}

/** Returns what a size costs a day in USD; nothing where no price list names it. */
export function costOf(
  { catalogue }: Pick<WithheldMachinesDeps, 'catalogue'>,
  instanceType: string,
  capacityType: string,
): Pick<WithheldMachine, 'instanceType' | 'costPerDay'> {
  const size = catalogue.size(instanceType)
  const pricePerHour = size && catalogue.price(size, capacityType).pricePerHour
  return { instanceType, ...(pricePerHour === undefined ? {} : { costPerDay: pricePerHour * 24 }) }
}

/** Reports the machines that are kept: by metrics, a log line, an event on each Node, and in a ConfigMap for the command line. */
export async function reportWithheldMachines(
  deps: WithheldMachinesDeps,
  machines: readonly WithheldMachine[],
  doubt?: string,
): Promise<void> {
  const { kept, costs } = withheldGauges(deps.registry)
  kept.reset()
  costs.reset()
  for (const { kind, name, costPerDay } of machines) {
    kept.set({ kind, name }, 1)
    if (costPerDay !== undefined) costs.set({ kind, name }, costPerDay)
  }
  for (const machine of machines) {
    const node = deps.cache.nodes.get(machine.node)
    const message = `No NodeClaim stands for ${withheldText(machine)}. It is kept; to have it deleted: ${withheldRemedy(machine)}`
    const about = node === undefined ? ownNamespace(deps) : subject(node)
    deps.events.record({ about, reason: 'GarbageWithheld', message, values: [machine.kind, machine.name] })
  }
  if (machines.length > 0)
    deps.log.warn({ machines: machines.map(withheldText) }, 'kept machines that run pods without a nodeclaim')
  if (doubt !== undefined) deps.log.error({ why: doubt }, 'withheld adoption of machines without a nodeclaim')
  await store(deps, machines, doubt).catch((error: unknown) =>
    deps.log.warn(
      { reason: scrubbedMessage(error), configMap: withheldMapName },
      'failed to store withheld machines, retrying in the next pass',
    ),
  )
}

async function store(
  deps: WithheldMachinesDeps,
  machines: readonly WithheldMachine[],
  doubt: string | undefined,
): Promise<void> {
  const { client, namespace, note, now } = deps
  const ref = { name: withheldMapName, namespace }
  const { found, faults } = await readStored(deps)
  note?.(withheldMapName, faults)
  if (machines.length === 0 && found.count === 0 && faults.length === 0) return
  await writeConfigMap(client, ref, { [withheldKey]: formatWithheld(now(), machines, doubt) })
}

async function readStored({ client, namespace }: WithheldMachinesDeps) {
  return parseWithheld((await readConfigMap(client, { name: withheldMapName, namespace })) ?? {})
}

/** Returns the machines that the pass before kept. Errors: the API server's. */
export async function readStoredWithheld(deps: WithheldMachinesDeps): Promise<WithheldMachines> {
  return (await readStored(deps)).found
}
