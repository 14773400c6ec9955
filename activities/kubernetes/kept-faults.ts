import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import { faultText, type KeptFault, type NoteFaults } from '../../api/kept/document.ts'
import type { EventRecorder } from './event-recorder.ts'

interface Deps {
  readonly events: Pick<EventRecorder, 'record'>
  readonly log: Pick<Logger, 'warn' | 'info'>
  readonly namespace: string
}

/** Faults of one ConfigMap that are named; more say nothing new. */
const mostNamed = 20

/** What this process could not read of the documents that Joiner keeps in ConfigMaps. Each fault is named once, until it is gone. */
export class KeptFaults {
  readonly #deps: Deps
  /** By ConfigMap: why each key is not used. */
  readonly #known = new Map<string, ReadonlyMap<string, string>>()

  constructor(deps: Deps, registry: Registry) {
    this.#deps = deps
    gaugeOf(this.#known, registry)
  }

  readonly note: NoteFaults = (configMap, faults) => {
    const before = this.#known.get(configMap)
    if (faults.length === 0 && before === undefined) return
    this.#known.set(configMap, new Map(faults.map(({ key, why }) => [key, why])))
    for (const fault of faults.slice(0, mostNamed))
      if (before?.get(fault.key) !== fault.why) this.#name(configMap, fault)
    if (faults.length === 0 && before !== undefined && before.size > 0)
      this.#deps.log.info({ configMap }, 'kept documents can be read again')
  }

  #name(configMap: string, fault: KeptFault): void {
    const { events, log, namespace } = this.#deps
    const message = faultText(configMap, namespace, fault)
    log.warn({ configMap, key: fault.key, why: fault.why }, `kept document is damaged: ${message}`)
    events.record({
      about: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: configMap, namespace, uid: '' } },
      reason: 'KeptDocumentDamaged',
      message,
      values: [configMap, fault.key, fault.why],
    })
  }
}

/** Publishes how many documents of each ConfigMap cannot be read; 0 once they can again. */
function gaugeOf(known: ReadonlyMap<string, ReadonlyMap<string, string>>, registry: Registry): Gauge {
  return new Gauge({
    name: 'joiner_kept_documents_damaged',
    help: 'Documents of a ConfigMap of Joiner that this process cannot read and does not use; 0 once it can again.',
    labelNames: ['config_map'],
    registers: [registry],
    collect() {
      for (const [name, faults] of known) this.set({ config_map: name }, faults.size)
    },
  })
}
