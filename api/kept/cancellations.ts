import { z } from 'zod'
import { type Accepted, acceptedKey, type Cancellations, refusedKey } from '../../core/node-claim/cancellation.ts'
import { damaged, type Entries, instant, type KeptFault, name, readEntries, readJson, readValue } from './document.ts'

const accepted = z
  .object({ at: instant, nodeClaim: name, nodePool: name })
  .transform(({ at, ...claim }): Accepted => ({ ...claim, atMs: at }))

/** Reads the entries of the ConfigMap of cancellations. */
export function parseCancellations(data: Entries): {
  readonly cancellations: Cancellations
  readonly faults: readonly KeptFault[]
} {
  const { documents, faults } = readEntries<Accepted | number>(data, (key, text) => {
    if (key.startsWith(acceptedKey(''))) return readJson(accepted, text)
    return key.startsWith(refusedKey(''))
      ? readValue(instant, text)
      : damaged('it is neither accepted.UID nor refused.UID')
  })
  const ofKind = <T extends Accepted | number>(prefix: string, isOne: (value: Accepted | number) => value is T) =>
    new Map([...documents].flatMap(([key, value]) => (isOne(value) ? [[key.slice(prefix.length), value]] : [])))
  return {
    cancellations: {
      accepted: ofKind(acceptedKey(''), (value) => typeof value === 'object'),
      refused: ofKind(refusedKey(''), (value) => typeof value === 'number'),
      damaged: faults.map(({ key }) => key),
    },
    faults,
  }
}
