import { expect, test } from 'vitest'
import { commandsToTry, shellFile } from './shell.ts'

test("a shell gets a process's settings but what is the process's own, quoted, and aliases", () => {
  const settings = {
    KUBECONFIG: '/tmp/a b/kubeconfig',
    CLUSTER_NAME: "it's local",
    JOINER_ARM_ENDPOINT: 'https://127.0.0.1:1',
    JOINER_HEALTH_PORT: '0',
    JOINER_IDENTITY: 'joiner',
    MALLOC_ARENA_MAX: '2',
  }
  expect(shellFile(settings, { kubectl: "'/cache/kubectl'" })).toBe(
    `export KUBECONFIG='/tmp/a b/kubeconfig'
export CLUSTER_NAME='it'\\''s local'
export JOINER_ARM_ENDPOINT='https://127.0.0.1:1'
alias kubectl=''\\''/cache/kubectl'\\'''
`,
  )
})

test('the four commands that show most come first, after the one that prepares the shell', () => {
  const lines = commandsToTry('/tmp/my demo/shell', { tooBig: 'shop/train-1', draining: 'aks-shop-1' })
  const commands = lines.map((line) => line.replace(/\s+#.*/, ''))
  expect(commands.slice(0, 5)).toEqual([
    "source '/tmp/my demo/shell'",
    'joiner ui',
    'joiner top',
    'joiner why pod shop/train-1',
    'joiner history',
  ])
  expect(commands).toContain('joiner why node aks-shop-1')
})
