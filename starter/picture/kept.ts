// Parts of a picture that Joiner keeps in ConfigMaps of its namespace.
import { readLateLists } from '../../activities/azure/answers/late-list.ts'
import { marksMap } from '../../activities/azure/capacity/mark.ts'
import { MarkStore } from '../../activities/azure/capacity/mark-store.ts'
import { keptUsages } from '../../activities/azure/capacity/quota-accounting.ts'
import { DurableDocument, type KeptFormat } from '../../activities/azure/catalogue/durable-document.ts'
import { keptPrices } from '../../activities/azure/catalogue/pricing.ts'
import { keptSizes } from '../../activities/azure/catalogue/size-list.ts'
import { imageVersionsMap, parseImages } from '../../activities/azure/node-class/image-cache.ts'
import { keptGroups } from '../../activities/azure/reservations/stored-groups.ts'
import { readLedger } from '../../activities/cost/ledger-store.ts'
import { readConfigMap } from '../../activities/kubernetes/client/config-map.ts'
import { readLoopPauses } from '../../activities/kubernetes/pauses/pauses.ts'
import { parseRefusals, refusalsMap } from '../../activities/provisioning/node-refusals/refusal-store.ts'
import { QuarantineStore } from '../../activities/scheduler-thread/quarantine-store.ts'
import { parseEvaluations } from '../../api/disruption-move.ts'
import { parseCancellations } from '../../api/kept/cancellations.ts'
import type { Entries, KeptFault } from '../../api/kept/document.ts'
import { parseWaiting } from '../../api/waiting-pods.ts'
import { parseWithheld, withheldMapName } from '../../api/withheld-machines.ts'
import type { PriceOf } from '../../core/cost/report.ts'
import { verdictMapName } from '../../core/disruption/verdicts/verdict.ts'
import { cancellationsMap, refusedCancellations as refusalText } from '../../core/node-claim/cancellation.ts'
import { Pauses } from '../../core/pauses/pauses.ts'
import { waitingMapName } from '../../core/scheduling/explain/waiting-classes.ts'
import type { Part, PartSource } from './picture.ts'

/** A large document takes seconds where the machine is busy. Less than a request may take, so that a document of several ConfigMaps is named whole. */
export const keptMs = 8000

function kept<T>(map: string, read: (source: PartSource) => Promise<T>): Part<T> {
  return { what: `ConfigMap ${map}`, limitMs: keptMs, read }
}

/** A part that a function takes from a document; an empty one where there is no ConfigMap. */
function parsed<T extends { readonly faults: readonly KeptFault[] }, V>(
  map: string,
  parse: (data: Entries) => T,
  take: (found: T, now: number) => V,
): Part<V> {
  return kept(map, async ({ client, namespace, now, note }) => {
    const found = parse((await readConfigMap(client, { name: map, namespace })) ?? {})
    note(map, found.faults)
    return take(found, now)
  })
}

function durable<T>(format: KeptFormat<T>) {
  return kept(format.name, ({ now, ...source }) =>
    new DurableDocument(source.client, format, { ...source, about: {}, now: () => now }).read(),
  )
}

/** The price list that Joiner keeps in the cluster; undefined: it keeps none. */
export interface KeptPrices {
  readonly priceOf: PriceOf
  readonly region: string
  /** Epoch ms: when it was read from Azure. */
  readonly readAtMs: number
}

const { read: readPrices, ...priceList } = durable(keptPrices)

export const prices: Part<{ readonly list: KeptPrices | undefined }> = {
  ...priceList,
  read: async (source) => {
    const found = await readPrices(source)
    if (found.kind !== 'read') return { list: undefined }
    const { region, list } = found.value
    // Azure lists sizes that it does not sell with a price of 0.
    const priceOf: PriceOf = (size, capacityType) =>
      (capacityType === 'spot' ? list.spot : list.onDemand).get(size) || undefined
    return { list: { region, readAtMs: found.readAtMs, priceOf } }
  },
}

/** Pauses in force, which planners apply. */
export const disruptionPauses = kept(
  'joiner-pauses',
  async (source) => new Pauses(await readLoopPauses(source, 'disruption', source.now)),
)
export const provisioningPauses = kept('joiner-pauses', (source) => readLoopPauses(source, 'provisioning', source.now))

/** What planners found of pods that wait. */
export const waiting = parsed(waitingMapName, parseWaiting, (found) => found.waiting)

/** Machines that the last pass of garbage collection kept since pods run there. */
export const withheld = parsed(withheldMapName, parseWithheld, ({ found }) => found)

/** What is to say of lifecycles that were cancelled in Temporal and go on; empty: nothing. */
export const refusedCancellations = parsed(
  cancellationsMap,
  parseCancellations,
  ({ cancellations }, now) => refusalText(cancellations, now) ?? '',
)

/** What evaluations found about the nodes of one ConfigMap, and in the first one the last of them. */
export const evaluations = (shard: number) => parsed(verdictMapName(shard), parseEvaluations, (found) => found)

/** Objects that planners leave out. */
export const quarantined = kept('joiner-quarantine', async (source) =>
  [...(await new QuarantineStore(source).read()).values()].filter(({ untilMs }) => untilMs > source.now),
)

/** Lists of Azure's that waits share and that do not come. */
export const lateLists = kept('joiner-late-lists', (source) => readLateLists(source, source.now))

/** Offerings that Azure refused. */
export const marks = kept(marksMap, async ({ client, namespace, now, note }) => {
  const found = await new MarkStore(client, namespace, () => now).read()
  note(marksMap, found.faults)
  return found.marks
})

/** What planners recorded of who used nodes in some hours. */
export function ledgerOf(window: { readonly fromMs: number; readonly toMs: number }) {
  return { ...kept('', (source) => readLedger(source, window)), what: 'ConfigMaps joiner-cost-N (who shared)' }
}

/** What only processes use, read for what cannot be used of it. */
export const ofProcesses = {
  marks,
  sizes: durable(keptSizes),
  usages: durable(keptUsages),
  reservations: durable(keptGroups),
  images: parsed(imageVersionsMap, parseImages, () => true),
  refusals: parsed(refusalsMap, parseRefusals, () => true),
}
