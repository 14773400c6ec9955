import { marksMap } from '../../activities/azure/capacity/mark.ts'
import { MarkStore } from '../../activities/azure/capacity/mark-store.ts'
import { keptUsages } from '../../activities/azure/capacity/quota-accounting.ts'
import { DurableDocument, type KeptFormat } from '../../activities/azure/catalogue/durable-document.ts'
import { keptSizes } from '../../activities/azure/catalogue/size-list.ts'
import { imageVersionsMap, parseImages } from '../../activities/azure/node-class/image-cache.ts'
import { keptGroups } from '../../activities/azure/reservations/stored-groups.ts'
import { type KeptSource, readConfigMap } from '../../activities/kubernetes/client/config-map.ts'
import { parseRefusals, refusalsMap } from '../../activities/provisioning/node-refusals/refusal-store.ts'
import type { Entries, KeptFault } from '../../api/kept/document.ts'

/** Reads what only processes use, for what cannot be read of it. Returns the readings by ConfigMap. Errors of each: the API server's. */
export function processesRead(source: KeptSource, now: number): readonly (readonly [string, Promise<unknown>])[] {
  const { client, namespace, note } = source
  const document = <T>(format: KeptFormat<T>) =>
    [format.name, new DurableDocument(client, format, { ...source, about: {}, now: () => now }).read()] as const
  const entries = (name: string, faultsOf: (data: Entries) => readonly KeptFault[]) =>
    [name, readConfigMap(client, { name, namespace }).then((data) => note?.(name, faultsOf(data ?? {})))] as const
  const marks = new MarkStore(client, namespace, () => now).read()
  return [
    document(keptSizes),
    document(keptUsages),
    document(keptGroups),
    [marksMap, marks.then(({ faults }) => note?.(marksMap, faults))],
    entries(imageVersionsMap, (data) => parseImages(data).faults),
    entries(refusalsMap, (data) => parseRefusals(data).faults),
  ]
}
