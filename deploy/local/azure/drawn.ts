import { createHash } from 'node:crypto'
import type { Machine } from './virtual-machines/machine.ts'

/** Ids that Azure draws: here the same for the same thing, also after a restart. */
export function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text.toLowerCase()).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}

/** Returns the MAC address of a NIC, as Azure writes it. */
export const macOf = (id: string) =>
  ['00', '0D', '3A', ...(uuidOf(id).slice(0, 6).toUpperCase().match(/../g) ?? [])].join('-')

/** Returns the etag of a VM and its NICs; it changes with what is shown. */
export function etagOf({ vmId, state, body, partTags }: Machine): string {
  return `W/"${uuidOf(`${vmId} ${state} ${JSON.stringify([body.tags, partTags])}`)}"`
}
