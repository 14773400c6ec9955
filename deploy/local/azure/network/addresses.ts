import { ArmError } from '../server/arm-error.ts'
import type { KnownSubnet } from './network-setup.ts'

/** A private address in a subnet. */
export interface Address {
  readonly subnetId: string
  readonly ip: string
}

/** Azure keeps the first four addresses of a subnet and its last. */
const [keptFirst, keptLast] = [4, 1]

/** Which addresses of which subnet are held. */
export class Addresses {
  readonly #held = new Map<string, Set<number>>()
  readonly #last = new Map<string, number>()

  /** How many addresses VMs and NICs hold, and how many of the subnet there are to hold. */
  usage(subnet: KnownSubnet): { readonly held: number; readonly limit: number } {
    return { held: this.#of(subnet.id).size + (subnet.othersHold ?? 0), limit: capacity(subnet) }
  }

  /** Addresses that are free, to be held later. Errors: 400 SubnetIsFull. */
  free(subnet: KnownSubnet, count: number): readonly Address[] {
    const { held, limit } = this.usage(subnet)
    if (held + count > limit) {
      throw new ArmError(
        400,
        'SubnetIsFull',
        `Subnet ${subnet.name} with address prefix ${subnet.prefix} does not have enough capacity for ${count} IP addresses.`,
      )
    }
    const taken = this.#of(subnet.id)
    const [first, size] = [firstOf(subnet), limit]
    const found: Address[] = []
    let offset = this.#last.get(subnet.id.toLowerCase()) ?? -1
    while (found.length < count) {
      offset = (offset + 1) % size
      if (!taken.has(first + offset)) found.push({ subnetId: subnet.id, ip: ipOf(first + offset) })
    }
    this.#last.set(subnet.id.toLowerCase(), offset)
    return found
  }

  hold(addresses: readonly Address[]): void {
    for (const { subnetId, ip } of addresses) this.#of(subnetId).add(numberOf(ip))
  }

  release(addresses: readonly Address[]): void {
    for (const { subnetId, ip } of addresses) this.#of(subnetId).delete(numberOf(ip))
  }

  #of(subnetId: string): Set<number> {
    const key = subnetId.toLowerCase()
    const held = this.#held.get(key) ?? new Set<number>()
    this.#held.set(key, held)
    return held
  }
}

function capacity({ prefix }: KnownSubnet): number {
  const bits = Number(prefix.split('/')[1])
  return Math.max(0, 2 ** (32 - bits) - keptFirst - keptLast)
}

function firstOf({ prefix }: KnownSubnet): number {
  const [ip = '', bits] = prefix.split('/')
  const size = 2 ** (32 - Number(bits))
  return Math.floor(numberOf(ip) / size) * size + keptFirst
}

function numberOf(ip: string): number {
  return ip.split('.').reduce((number, part) => number * 256 + Number(part), 0)
}

function ipOf(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.')
}
