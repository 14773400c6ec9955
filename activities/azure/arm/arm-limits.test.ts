import { describe, expect, it } from 'vitest'
import { armOperation, remainingTokens } from './arm-limits.ts'

const subscription = 'https://management.azure.com/subscriptions/s'
const group = `${subscription}/resourceGroups/g/providers`

describe('an operation', () => {
  it.each([
    [
      'PUT',
      `${group}/Microsoft.Compute/virtualMachines/vm?api-version=1`,
      'put virtualMachines',
      ['armWrites', 'createVm'],
    ],
    ['PATCH', `${group}/Microsoft.Compute/virtualMachines/vm`, 'patch virtualMachines', ['armWrites', 'updateVm']],
    [
      'DELETE',
      `${group}/Microsoft.Compute/virtualMachines/vm?forceDeletion=true`,
      'delete virtualMachines',
      ['armDeletes', 'deleteVm'],
    ],
    ['GET', `${group}/Microsoft.Compute/virtualMachines/vm`, 'get virtualMachines', ['armReads', 'getVm']],
    ['GET', `${group}/Microsoft.Compute/virtualMachines?$skiptoken=x`, 'list virtualMachines', ['armReads', 'listVms']],
    ['PUT', `${group}/Microsoft.Compute/virtualMachines/vm/extensions/e`, 'put extensions', ['armWrites', 'updateVm']],
    [
      'POST',
      `${group}/Microsoft.Compute/virtualMachines/vm/retrieveBootDiagnosticsData`,
      'post virtualMachines/retrieveBootDiagnosticsData',
      ['armWrites', 'updateVm'],
    ],
    [
      'GET',
      `${subscription}/providers/Microsoft.Compute/locations/westus2/operations/id`,
      'get operations',
      ['armReads', 'getOperation'],
    ],
    ['GET', `${subscription}/providers/Microsoft.Compute/skus`, 'list skus', ['armReads']],
    ['GET', `${subscription}/providers/Microsoft.Compute/locations/westus2/usages`, 'list usages', ['armReads']],
    ['GET', `${group}/Microsoft.Network/networkInterfaces`, 'list networkInterfaces', ['armReads', 'networkReads']],
    [
      'DELETE',
      `${group}/Microsoft.Network/networkInterfaces/nic`,
      'delete networkInterfaces',
      ['armDeletes', 'networkWrites'],
    ],
    ['GET', `${group}/Microsoft.Network/virtualNetworks/v/subnets/s`, 'get subnets', ['armReads', 'networkReads']],
    ['GET', `${subscription}/resourceGroups/g`, 'get resourceGroups', ['armReads']],
  ] as const)('%s %s', (method, url, name, buckets) => {
    expect(armOperation(method, url)).toEqual({ name, buckets })
  })
})

describe('the remaining tokens of ARM', () => {
  const put = armOperation('PUT', `${group}/Microsoft.Compute/virtualMachines/vm`)
  const read = (headers: Readonly<Record<string, string>>) => {
    const { left, onlyItself } = remainingTokens(put, (name) => headers[name])
    return { left: Object.fromEntries(left), onlyItself }
  }

  it('are read from both kinds of headers', () => {
    expect(
      read({
        'x-ms-ratelimit-remaining-subscription-writes': '199',
        'x-ms-ratelimit-remaining-resource':
          'Microsoft.Compute/CreateVMSubscriptionMaximum;1400, Microsoft.Compute/CreateVMResource;11',
      }),
    ).toEqual({ left: { armWrites: 199, createVm: 1400 }, onlyItself: false })
  })

  it('may be none for the one VM, and enough for all others', () => {
    const headers = {
      'x-ms-ratelimit-remaining-resource':
        'Microsoft.Compute/CreateVMSubscriptionMaximum;1400,Microsoft.Compute/CreateVMResource;0',
    }
    expect(read(headers)).toEqual({ left: { createVm: 1400 }, onlyItself: true })
    expect(read({ ...headers, 'x-ms-ratelimit-remaining-subscription-writes': '0' }).onlyItself).toBe(false)
  })

  it('are unknown without headers, and where these cannot be read', () => {
    expect(read({})).toEqual({ left: {}, onlyItself: false })
    expect(read({ 'x-ms-ratelimit-remaining-resource': 'Microsoft.Compute/Other;many' })).toEqual({
      left: {},
      onlyItself: false,
    })
  })
})
