import { describe, expect, it } from 'vitest'
import { groupId } from '../../../test/arm/fake-capacity-groups.ts'
import { azureConfig } from '../../../test/fakes/azure-config.ts'
import { namedGroups, parseGroupId } from './group-id.ts'

const named = (text: string) =>
  namedGroups({ metadata: { annotations: { 'joiner.sh/capacity-reservation-groups': text } } as never }, azureConfig)

describe('the id of a capacity reservation group', () => {
  it.each([
    ['as ARM writes it', groupId('g')],
    ['in another case', groupId('g').toUpperCase()],
    ['of a resource group with dots and brackets', groupId('g').replace('/reserved/', '/my.rg_(1)-x/')],
  ])('%s is read', (_, id) => {
    expect(parseGroupId(id, azureConfig)).toMatchObject({ id, name: expect.stringMatching(/^g$/i) })
  })

  it.each([
    [
      'a group of another subscription',
      groupId('g').replace(azureConfig.subscriptionId, '0'.repeat(8) + '-0000-0000-0000-' + '0'.repeat(12)),
    ],
    ['a path that leads upwards', groupId('..')],
    ['a resource group that leads upwards', groupId('g').replace('/reserved/', '/../')],
    ['a resource group that ends in a dot', groupId('g').replace('/reserved/', '/rg./')],
    ['a query', groupId('g?api-version=1')],
    ['an escape', groupId('g%2F..')],
    ['something below a group', `${groupId('g')}/capacityReservations/r`],
    ['another type', groupId('g').replace('capacityReservationGroups', 'virtualMachines')],
    ['a name alone', 'g'],
    ['a line feed at the end', `${groupId('g')}\n`],
    ['a name that is too long', groupId('g'.repeat(81))],
  ])('%s is refused', (_, id) => {
    expect(parseGroupId(id, azureConfig)).toBeUndefined()
  })
})

describe('the annotation of an AKSNodeClass', () => {
  it('names each group once, with spaces around it and whatever its case', () => {
    const { groups, problems } = named(` ${groupId('a')} ,${groupId('b')},${groupId('A')},`)
    expect([groups.map(({ name }) => name), problems]).toEqual([['a', 'b'], []])
  })

  it('says of each entry that cannot be used what is wrong with it, and uses the rest', () => {
    const { groups, problems } = named(`${groupId('a')},\u001b[31mred`)
    expect(groups.map(({ name }) => name)).toEqual(['a'])
    expect(problems).toEqual([expect.stringContaining('"\\u001b[31mred" is no capacity reservation group')])
  })

  it('names eight groups at most', () => {
    const { groups, problems } = named(Array.from({ length: 10 }, (_, at) => groupId(`g${at}`)).join())
    expect([groups.length, problems.length]).toEqual([8, 2])
    expect(named('x'.repeat(5000)).problems).toHaveLength(1)
  })
})
