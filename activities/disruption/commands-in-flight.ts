import { Gauge, type Registry } from 'prom-client'
import { methodFacts } from '../../core/disruption/command.ts'
import type { NodeClaim } from '../../core/objects.ts'
import { stampOf } from '../kubernetes/commands/command-objects.ts'
import { commandMethod } from './proposals.ts'

/** Publishes the running disruption commands, by the stamps of their candidates; computed on each scrape, so also while nothing is evaluated. */
export function observeCommandsInFlight(
  nodeClaims: { values(): Iterable<NodeClaim> },
  isReported: () => boolean,
  registry: Registry,
): Gauge {
  return new Gauge({
    name: 'joiner_disruption_commands_in_flight',
    help: 'Disruption commands that are running.',
    labelNames: ['reason', 'consolidation_type'],
    registers: [registry],
    collect() {
      this.reset()
      if (!isReported()) return
      const stamps = new Set([...nodeClaims.values()].map(stampOf))
      for (const stamp of stamps) {
        const method = stamp && commandMethod(stamp)
        if (!method) continue
        const { reason, consolidationType } = methodFacts[method]
        this.inc({ reason: reason.toLowerCase(), consolidation_type: consolidationType })
      }
    },
  })
}
