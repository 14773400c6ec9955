import { describe, expect, it } from 'vitest'
import { apiVersions } from '../../activities/azure/arm/api-versions.ts'
import { facts } from './facts.ts'
import { sentFields } from './fields.ts'
import { judge, keysOf, problemsOf, unlistedIn } from './judge.ts'
import { Models } from './models.ts'
import { pageOf } from './page.ts'
import { type Write, writesOf } from './requests.ts'

type Json = Readonly<Record<string, unknown>>

const vmPut = 'PUT Microsoft.Compute/virtualMachines'
const vms = 'Microsoft.Compute/virtualMachines'
const own = await writesOf()

/** The PUTs of VMs with fields below `properties` replaced. */
function vmsWith(changes: Json, apiVersion: string = apiVersions[vms]): readonly Write[] {
  return own
    .filter(({ what }) => what === vmPut)
    .map(({ what, body }) => {
      const { properties, ...rest } = body as Json & { readonly properties: Json }
      return { what, apiVersion, body: { ...rest, properties: { ...properties, ...changes } } }
    })
}

describe('the requests of production', () => {
  it.each(['', `${vms}=2025-11-01`, `${vms}=2026-04-01`])(
    'have what the models have, with the setting "%s"',
    async (setting) => {
      expect(problemsOf(judge(await writesOf(setting)))).toEqual([])
    },
  )

  it('ask for versions whose models are there, but for machines', () => {
    expect(judge(own).map(({ what, apiVersion, isExact }) => [what, apiVersion, isExact])).toEqual([
      [vmPut, '2025-04-01', true],
      ['PUT Microsoft.Compute/virtualMachines/extensions', '2025-04-01', true],
      ['PATCH Microsoft.Compute/virtualMachines', '2025-04-01', true],
      ['PATCH Microsoft.Network/networkInterfaces', '2024-05-01', true],
      ['PATCH Microsoft.Compute/virtualMachines/extensions', '2025-04-01', true],
      ['PUT Microsoft.ContainerService/managedClusters/agentPools/machines', '2026-04-02-preview', false],
    ])
  })

  it('have no value of an enum whose version is not looked up, where the models are exact', () => {
    const values = judge(own)
      .filter(({ isExact }) => isExact)
      .flatMap(({ fields }) =>
        fields.flatMap(({ enum: name, values: sent }) => sent.map((value) => `${name} ${value}`)),
      )
    expect(values.filter((value) => facts[value] === undefined)).toEqual([])
  })
})

describe('the check fails for', () => {
  it.each<[string, Json, string]>([
    [
      'Standard in the own version',
      { securityProfile: { securityType: 'Standard' } },
      '"Standard" is no value of SecurityTypes: TrustedLaunch, ConfidentialVM',
    ],
    ['a value in other letters', { priority: 'spot' }, '"spot" is no value of VirtualMachinePriorityTypes'],
    ['a field that is not there', { securityProfile: { secureBoot: true } }, 'SecurityProfile has no such field'],
    ['a field of Azure alone', { provisioningState: 'Succeeded' }, 'VirtualMachine does not take it, it is read-only'],
    [
      'a field deep in the NIC',
      {
        networkProfile: {
          networkInterfaceConfigurations: [
            { name: 'a', properties: { ipConfigurations: [{ name: 'a', properties: { colour: 1 } }] } },
          ],
        },
      },
      'VirtualMachineNetworkInterfaceIPConfiguration has no such field',
    ],
  ])('%s', (_what, changes, problem) => {
    expect(problemsOf(judge(vmsWith(changes)))).toContainEqual(expect.stringContaining(problem))
  })

  it('the requests of 2025-11-01 that are sent with an earlier version', async () => {
    const later = (await writesOf(`${vms}=2025-11-01`)).filter(({ what }) => what === vmPut)
    const early = later.map((write) => ({ ...write, apiVersion: '2025-04-01' }))
    expect(problemsOf(judge(later))).toEqual([])
    expect(problemsOf(judge(early))).toContainEqual(expect.stringContaining('"Standard" is no value of SecurityTypes'))
  })

  it.each([
    [
      '2024-07-01',
      [
        'NetworkApiVersion 2022-11-01 is there from 2024-11-01 on',
        'networkInterfaceConfigurations[].tags.* is there from 2025-04-01 on',
      ],
    ],
    ['2024-11-01', ['networkInterfaceConfigurations[].tags.* is there from 2025-04-01 on']],
  ])('what is newer than a version without models, %s', (version, expected) => {
    const found = problemsOf(judge(vmsWith({}, version)))
    expect(found).toHaveLength(expected.length)
    for (const [at, text] of expected.entries()) expect(found[at]).toContain(text)
  })

  it('a kind of write that nothing is known about', () => {
    expect(() => judge([{ what: 'PUT Microsoft.Compute/disks', apiVersion: '2025-01-02', body: {} }])).toThrow(
      '"PUT Microsoft.Compute/disks": nothing says which models it has',
    )
  })
})

describe('a body', () => {
  it('beyond the list is found, and one of it is not', () => {
    const [listed] = judge(own)
    if (listed === undefined) throw new Error('no write was judged')
    expect(
      unlistedIn(
        vmsWith({}).map(({ body }) => body),
        listed,
      ),
    ).toEqual([])
    const dedicated = vmsWith({ host: { id: '/host' }, priority: 'Low' }).map(({ body }) => body)
    expect(unlistedIn(dedicated, listed)).toEqual(['properties.host.id', 'properties.priority Low'])
  })

  it('is read by the models as it is on the wire', () => {
    const models = new Models(`
      export interface Base { type?: string; readonly id?: string }
      export interface Flat extends Base { tags?: { [name: string]: string }; typePropertiesType?: Kinds; list?: Part[]; byName?: Record<string, Part> }
      export interface Part { enableVtpm?: boolean; kind: Closed }
      export declare enum KnownKinds { A = "a" }
      export type Kinds = string
      export type Closed = "x" | "y"
    `)
    const body = {
      id: '/a',
      tags: { one: '1' },
      properties: { type: 'a', list: [{ enableVTPM: true, kind: 'x' }, { kind: 'z' }], byName: { any: { kind: 'y' } } },
    }
    expect(sentFields([body], models, 'Flat').map((field) => [...keysOf(field), ...field.problems])).toEqual([
      ['id', 'Flat does not take it, it is read-only'],
      ['properties.byName.*.kind y'],
      ['properties.list[].enableVTPM'],
      ['properties.list[].kind x', 'properties.list[].kind z', '"z" is no value of Closed: x, y'],
      ['properties.type a'],
      ['tags.*'],
    ])
  })
})

it('the page shows what is not proved, and what only later versions send', async () => {
  const page = pageOf(judge(own), judge(await writesOf(`${vms}=2025-11-01`)))
  const [before = '', after = ''] = page.split('## With later versions')
  expect(before).not.toContain('`Standard`')
  expect(after).toMatch(/`properties.securityProfile.securityType` \| `Standard` +\| yes +\| 2025-11-01 \(/)
  expect(before).toMatch(/`properties.networkProfile.networkApiVersion` +\| `2022-11-01` +\| yes .*\| not proved/)
  expect(before).toMatch(/`properties.mode` +\| `System` +\| not proved; 2026-06-01: yes/)
})
