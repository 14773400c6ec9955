import { expect, it } from 'vitest'
import { Addresses } from './addresses.ts'

const subnet = (prefix: string, othersHold = 0) => ({
  id: '/subscriptions/s/virtualNetworks/v/subnets/one',
  name: 'one',
  prefix,
  othersHold,
  network: { name: 'v', subnets: [] },
})

it('gives out all but the five addresses that Azure keeps, and those again that were released', () => {
  const addresses = new Addresses()
  const small = subnet('10.0.0.16/28')
  const all = addresses.free(small, 11)
  expect(all.map(({ ip }) => ip)).toEqual(Array.from({ length: 11 }, (_, index) => `10.0.0.${20 + index}`))
  addresses.hold(all)
  expect(addresses.usage(small)).toEqual({ held: 11, limit: 11 })
  expect(() => addresses.free(small, 1)).toThrow(
    'Subnet one with address prefix 10.0.0.16/28 does not have enough capacity for 1 IP addresses.',
  )
  addresses.release(all.slice(3, 4))
  expect(addresses.free(small, 1)).toEqual(all.slice(3, 4))
})

it('counts what others hold', () => {
  expect(() => new Addresses().free(subnet('10.0.0.0/24', 250), 2)).toThrow('does not have enough capacity for 2')
})
