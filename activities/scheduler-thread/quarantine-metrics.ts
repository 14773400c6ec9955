import { Gauge, type Registry } from 'prom-client'
import { objectOf, type QuarantineEntries } from '../../core/quarantine.ts'

/** Publishes how many objects are quarantined, by kind. */
export function observeQuarantine(entries: () => QuarantineEntries, registry: Registry): Gauge {
  return new Gauge({
    name: 'joiner_quarantined_objects',
    help: 'Objects that are left out of planning because they crashed passes of the scheduler.',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      this.reset()
      // Pods are what crashes the scheduler, if anything does: an alert needs a series before it.
      this.set({ kind: 'Pod' }, 0)
      for (const [kind, { length }] of Object.entries(
        Object.groupBy([...entries().keys()], (id) => objectOf(id).kind),
      ) as [string, readonly string[]][])
        this.set({ kind }, length)
    },
  })
}
