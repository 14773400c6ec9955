import { expect, test } from 'vitest'
import { type ClaimVmDeps, getVm } from './claim-vm.ts'

test.each([
  [60, ['aks-'.concat('c'.repeat(60))]],
  [61, []],
  [253, []],
])(
  'for a NodeClaim whose name has %i characters Azure is asked for a VM only where one can have the name',
  async (length, names) => {
    const asked: string[] = []
    const virtualMachines = { get: async (_group: string, name: string) => void asked.push(name) }
    const deps = {
      azure: { compute: { virtualMachines } },
      config: { nodeResourceGroup: 'mc' },
      cloudProvider: { measure: (_labels: unknown, run: () => Promise<unknown>) => run() },
    } as unknown as ClaimVmDeps
    expect(await getVm(deps, 'c'.repeat(length))).toBeUndefined()
    expect(asked).toEqual(names)
  },
)
