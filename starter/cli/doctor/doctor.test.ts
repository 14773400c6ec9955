import { describe, expect, test } from 'vitest'
import { runHere } from '../../../test/readers/command-line.ts'
import { isAllowed } from './azure-roles.ts'
import { fail, ok, runChecks, warn, worst } from './check.ts'
import { asJson, summaryText } from './command.ts'

test('a kubeconfig that is not there is no bug of Joiner', async () => {
  expect(await runHere({}, 'doctor', '--kubeconfig', '/nonexistent')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^kubeconfig \/nonexistent: there is no such file/) as string,
  })
})

describe('permissions of Azure', () => {
  const assign = 'Microsoft.ManagedIdentity/userAssignedIdentities/assign/action'
  test.each<[string, readonly string[], readonly string[], boolean]>([
    ['Microsoft.Compute/virtualMachines/write', ['*'], [], true],
    ['Microsoft.Compute/virtualMachines/write', ['Microsoft.Compute/virtualMachines/*'], [], true],
    ['microsoft.compute/virtualmachines/WRITE', ['Microsoft.Compute/virtualMachines/*'], [], true],
    ['Microsoft.Compute/virtualMachines/write', ['*/read'], [], false],
    ['Microsoft.Compute/virtualMachines/read', ['*/read'], [], true],
    ['Microsoft.Compute/virtualMachines/write', ['*'], ['Microsoft.Compute/virtualMachines/write'], false],
    ['Microsoft.Compute/virtualMachines/write', ['Microsoft.Compute/virtualMachines'], [], false],
    [assign, ['Microsoft.ManagedIdentity/userAssignedIdentities/*/assign/action'], [], true],
    [assign, ['Microsoft.ManagedIdentity/userAssignedIdentities/*/read'], [], false],
    [assign, ['Microsoft.ManagedIdentity/userAssignedIdentities/assign/*/action'], [], true],
    [assign, ['Microsoft.*/userAssignedIdentities/*/action'], [], true],
    [assign, ['Microsoft.ManagedIdentity/userAssignedIdentities/a.*'], [], false],
    ['a'.repeat(200), [`${'*a'.repeat(100)}b`], [], false],
  ])('%s with %j without %j: %s', (action, actions, notActions, expected) => {
    expect(isAllowed([{ actions, notActions }], action)).toBe(expected)
  })

  test('what one role takes out another may give', () => {
    const write = 'Microsoft.Compute/virtualMachines/write'
    expect(isAllowed([{ actions: ['*'], notActions: [write] }, { actions: [write] }], write)).toBe(true)
    expect(isAllowed([], write)).toBe(false)
  })
})

describe('checks', () => {
  const silent = new Promise<never>(() => {})

  test('one that fails, and one that hangs, keep no other from its end', async () => {
    const ended: string[] = []
    const results = await runChecks(
      [
        { name: 'hangs', remedy: 'look at it', limitMs: 30, run: () => silent },
        { name: 'throws', remedy: 'fix it', run: () => Promise.reject(new Error('broken\n  in two')) },
        { name: 'works', remedy: '', run: () => Promise.resolve(ok('fine')) },
      ],
      ({ name }) => ended.push(name),
    )
    expect(results).toMatchObject([
      { name: 'hangs', status: 'fail', summary: 'did not end within 0.03 s', remedies: ['look at it'] },
      { name: 'throws', status: 'fail', summary: 'broken in two', remedies: ['fix it'] },
      { name: 'works', status: 'ok', summary: 'fine' },
    ])
    expect(ended.at(-1)).toBe('hangs')
    expect(summaryText(results)).toMatch(/^3 checks: 1 ok, 0 to look at, 2 failed\. Mend/)
  })

  test('the signal of a check that is given up fires', async () => {
    let stopped = false
    await runChecks([
      {
        name: 'hangs',
        remedy: '',
        limitMs: 10,
        run: (signal) => {
          signal.addEventListener('abort', () => {
            stopped = true
          })
          return silent
        },
      },
    ])
    expect(stopped).toBe(true)
  })

  test('several findings are as bad as the worst of them, and keep what all say', () => {
    const finding = worst([ok('a'), fail('b', ['run b'], ['detail']), warn('c', ['run c', 'run b'])])
    expect(finding).toEqual({
      status: 'fail',
      summary: 'b',
      details: ['a', 'c', 'detail'],
      remedies: ['run b', 'run c'],
    })
  })

  test('for programs there are the same findings, and whether all is healthy', () => {
    const printed = asJson([{ name: 'x', ms: 3, ...warn('so so', ['do']) }])
    expect(printed).toEqual({
      healthy: true,
      checks: [{ name: 'x', status: 'warn', summary: 'so so', details: [], remedies: ['do'], ms: 3 }],
    })
    expect(asJson([{ name: 'x', ms: 3, ...fail('bad', []) }])).toMatchObject({ healthy: false })
  })
})
